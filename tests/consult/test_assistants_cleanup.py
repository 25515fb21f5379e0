"""What is made at a provider is deleted after the call, or else recorded, and swept by a later one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from consult.answered_turns import stores_left
from consult.providers.asking import LASTING, PASSING, Details, Log, Pauses, silence_until
from consult.providers.openai_api import OpenAIApi
from consult.providers.openai_asking import FILES, openai, sweep
from satchel import Satchel
from satchel.base.errors import AssistantFailed, Interrupted
from satchel.consult.models import Ask
from satchel.consult.openai import OpenAIResponses
from satchel.consult.vector_stores import LIFE_MS, VectorStore, VectorStores

if TYPE_CHECKING:
    from conftest import ManualClock

pytestmark = [pytest.mark.usefixtures("direct"), pytest.mark.slow]


@pytest.fixture
def provider() -> Iterator[OpenAIApi]:
    with OpenAIApi() as server:
        yield server


@pytest.mark.parametrize(("kind", "said"), [("status", "answered 500"), ("hang", "did not send anything")])
def test_what_cannot_be_deleted_is_said_and_swept_later(
    provider: OpenAIApi, pauses: Pauses, log: Log, kind: str, said: str
) -> None:
    provider.fail("delete_store", kind, times=3)
    helper = openai(provider, pauses, silence=silence_until(kind))
    reply = helper.ask(Ask("Why?", searchable=FILES, stores=log))
    assert reply.text == "It is so."
    assert [said in note and "will be later" in note for note in reply.notes] == [True]
    provider.faults.clear()
    (left,) = log.left.values()
    sweep(helper, left)
    assert (provider.stores, provider.files) == ({}, {})


def test_a_cleanup_takes_no_longer_than_it_may(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    provider.fail("delete_store", "hang", times=1_000)
    reply = openai(provider, pauses, cleanup=0.3).ask(Ask("Why?", searchable=FILES, stores=log))
    assert "not done within" in reply.notes[0]
    assert len(log.left) == 1


def leave_behind(provider: OpenAIApi, pauses: Pauses, log: Log) -> VectorStore:
    """Leave a store with files, as a crash does: nothing can be deleted, then what was known is forgotten."""
    provider.fail("delete_store", "status", times=3)
    provider.fail("delete_file", "status", times=3)
    openai(provider, pauses).ask(Ask("Why?", searchable=FILES, stores=log))
    provider.faults.clear()
    (left,) = log.left.values()
    return left


def test_a_store_whose_id_was_never_learnt_is_swept_by_its_name(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    left = leave_behind(provider, pauses, log)
    assert len(provider.files) == 2
    sweep(openai(provider, pauses), replace(left, external_id=None))
    assert (provider.stores, provider.files) == ({}, {})


def test_a_sweep_touches_nothing_of_others(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    left, other = leave_behind(provider, pauses, log), Log()
    kept = leave_behind(provider, pauses, other)
    sweep(openai(provider, pauses), left)
    assert [store.id for store in provider.stores.values()] == [kept.external_id]
    assert len(provider.files) == 2


def test_sweeping_what_is_gone_already_succeeds(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    left = leave_behind(provider, pauses, log)
    sweep(openai(provider, pauses), left)
    sweep(openai(provider, pauses), left)
    assert provider.stores == {}


def test_a_sweep_that_cannot_tell_fails(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    left = leave_behind(provider, pauses, log)
    provider.fail("list_stores", "status", times=3)
    with pytest.raises(AssistantFailed):
        sweep(openai(provider, pauses), left)


CLEANUP = ("list_stores", "list_files", "delete_store", "delete_file")


def begin_unsure(provider: OpenAIApi, step: str) -> None:
    """Let an answer be lost, so that what was made has to be looked for, where a test is about looking."""
    if step in {"list_stores", "list_files"}:
        provider.fail("create_store", "lose")
        provider.fail("upload", "lose")


@pytest.fixture
def recorded(satchel: Satchel, clock: ManualClock, provider: OpenAIApi) -> VectorStores:
    """Where the project records its stores, at the time of the provider."""
    clock.now = provider.now * 1_000
    return VectorStores(satchel.workplace)


@pytest.mark.parametrize("step", CLEANUP)
@pytest.mark.parametrize(("kind", "details", "pause"), PASSING, ids=str)
def test_what_passes_while_cleaning_up_is_tried_again(
    provider: OpenAIApi, pauses: Pauses, recorded: VectorStores, step: str, kind: str, details: Details, pause: float
) -> None:
    begin_unsure(provider, step)
    provider.fail(step, kind, **details)
    reply = openai(provider, pauses).ask(Ask("Why?", searchable=FILES, stores=recorded))
    assert (reply.text, reply.notes) == ("It is so.", ())
    assert pause in pauses.seconds
    assert (provider.stores, provider.files, stores_left(recorded)) == ({}, {}, ())


def leave_a_store(
    provider: OpenAIApi, pauses: Pauses, recorded: VectorStores, clock: ManualClock, kind: str = "status"
) -> OpenAIResponses:
    """Leave a store as a crash does, made and filled and nothing deleted, until it is time to sweep."""
    provider.fail("delete_store", "status", times=1_000)
    helper = openai(provider, pauses, silence=silence_until(kind))
    helper.ask(Ask("Why?", searchable=FILES, stores=recorded))
    provider.faults.clear()
    clock.advance(LIFE_MS)
    return helper


def assert_the_next_sweep_leaves_nothing(
    provider: OpenAIApi, recorded: VectorStores, helper: OpenAIResponses, clock: ManualClock
) -> None:
    """Let all be well again and the time come, and sweep."""
    provider.faults.clear()
    clock.advance(LIFE_MS)
    assert recorded.sweep(helper.sweeper) == []
    assert (provider.stores, provider.files, stores_left(recorded)) == ({}, {}, ())


# of a deletion a 404 says that there is nothing to delete
LASTING_AT_CLEANUP = [
    pytest.param(step, kind, details, id=f"{step}-{kind}-{details.get('status', '')}")
    for step in CLEANUP
    for kind, details, _ in LASTING
    if not (step.startswith("delete") and details.get("status") == 404)
]


@pytest.mark.parametrize(("step", "kind", "details"), LASTING_AT_CLEANUP)
def test_what_lasts_while_cleaning_up_costs_no_answer_and_is_swept_later(
    provider: OpenAIApi,
    pauses: Pauses,
    recorded: VectorStores,
    clock: ManualClock,
    step: str,
    kind: str,
    details: Details,
) -> None:
    begin_unsure(provider, step)
    provider.fail(step, kind, times=1_000, **details)
    helper = openai(provider, pauses, silence=silence_until(kind))
    reply = helper.ask(Ask("Why?", searchable=FILES, stores=recorded))
    assert reply.text == "It is so."
    assert ["could not be deleted yet and will be later" in note for note in reply.notes] == [True]
    assert len(stores_left(recorded, helper.sweeper.account)) == 1
    assert_the_next_sweep_leaves_nothing(provider, recorded, helper, clock)


@pytest.mark.parametrize(("step", "kind", "details"), LASTING_AT_CLEANUP)
def test_what_lasts_while_sweeping_is_told_and_swept_later_still(
    provider: OpenAIApi,
    pauses: Pauses,
    recorded: VectorStores,
    clock: ManualClock,
    step: str,
    kind: str,
    details: Details,
) -> None:
    helper = leave_a_store(provider, pauses, recorded, clock, kind)
    provider.fail(step, kind, times=1_000, **details)
    swept = recorded.sweep(helper.sweeper)
    assert len(swept) == 1
    assert [store.attempts for store in stores_left(recorded)] == [1]
    assert_the_next_sweep_leaves_nothing(provider, recorded, helper, clock)


@pytest.mark.parametrize("step", CLEANUP)
def test_a_sweep_that_is_cancelled_ends_at_once_and_forgets_nothing(
    provider: OpenAIApi, pauses: Pauses, recorded: VectorStores, clock: ManualClock, step: str
) -> None:
    helper = leave_a_store(provider, pauses, recorded, clock)
    provider.fail(step, "cancel")
    with pytest.raises(Interrupted):
        recorded.sweep(helper.sweeper, is_cancelled=provider.cancelled.is_set)
    assert len(stores_left(recorded)) == 1
