from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from consult.answered_turns import stores_left
from consult.providers.asking import LASTING, PASSING, Details, Log, Pauses, content, silence_until
from consult.providers.openai_api import OpenAIApi
from consult.providers.openai_asking import FILES, MODEL, WINDOW, assert_nothing_is_left, openai
from satchel import Satchel
from satchel.base.errors import AssistantFailed, Interrupted, InvalidInput
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


def test_files_are_searched_in_a_store_that_is_gone_afterwards(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    reply = openai(provider, pauses).ask(Ask("Why?", searchable=FILES, stores=log))
    assert {name.partition("--")[2]: raw for name, raw in provider.searched.items()} == {
        "src--auth.py": b"def refresh(): ...\n",
        "Makefile.txt": b"all:\n\ttrue\n",
    }
    assert (reply.queries, reply.dropped, reply.notes) == (("how is it",), (), ())
    assert reply.cited in {("src/auth.py",), ("Makefile",)}
    assert log.steps == ["announced", "made", "deleted"]
    assert_nothing_is_left(provider, log)


def test_the_store_is_recorded_before_it_is_made_and_its_id_before_it_is_filled(
    provider: OpenAIApi, pauses: Pauses, log: Log
) -> None:
    class Watching(Log):
        def announce(self, provider: str) -> VectorStore:
            assert server.seen("create_store") == []
            return super().announce(provider)

        def made(self, store: VectorStore, external_id: str) -> VectorStore:
            assert server.stores[external_id].name == store.name
            assert server.seen("upload") == []
            return super().made(store, external_id)

    server = provider
    openai(provider, pauses).ask(Ask("Why?", searchable=FILES, stores=Watching()))
    assert_nothing_is_left(provider, log)


def test_what_the_store_of_the_project_records_is_gone_and_swept(
    provider: OpenAIApi, pauses: Pauses, satchel: Satchel, clock: ManualClock
) -> None:
    clock.now = provider.now * 1_000
    recorded = VectorStores(satchel.workplace)
    helper = openai(provider, pauses)
    helper.ask(Ask("Why?", searchable=FILES, stores=recorded))
    assert stores_left(recorded) == ()
    provider.fail("delete_store", "status", times=3)
    helper.ask(Ask("Why?", searchable=FILES, stores=recorded))
    assert [store.external_id for store in stores_left(recorded, helper.sweeper.account)] == list(provider.stores)
    clock.advance(2 * LIFE_MS)
    assert recorded.sweep(helper.sweeper) == []
    assert (provider.stores, provider.files, stores_left(recorded)) == ({}, {}, ())


def test_stores_of_another_key_are_not_swept_with_this_one(provider: OpenAIApi, pauses: Pauses) -> None:
    other = OpenAIResponses(MODEL, "OPENAI_API_KEY", key="sk-other", base_url=provider.url)
    assert other.sweeper.account != openai(provider, pauses).sweeper.account
    assert "sk-other" not in other.sweeper.account


def test_progress_is_told(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    told: list[str] = []
    openai(provider, pauses).ask(Ask("Why?", searchable=FILES, stores=log, on_progress=told.append))
    assert told == [
        "making a vector store",
        "uploaded 2 of 2 files",
        "indexed 0 of 2 files",
        "indexed 0 of 2 files",
        "asking openai:gpt-test",
    ]


def test_many_files_go_in_batches(
    provider: OpenAIApi, pauses: Pauses, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("satchel.consult.vector_stores.BATCH_FILES", 2)
    files = {f"f{number}.py": content(f"x = {number}\n") for number in range(5)}
    openai(provider, pauses).ask(Ask("Why?", searchable=files, stores=log))
    assert [len(request.json["file_ids"]) for request in provider.seen("add_batch")] == [2, 2, 1]
    assert provider.peak_files == 5
    assert_nothing_is_left(provider, log)


def test_no_more_files_are_uploaded_within_a_minute_than_the_provider_takes(
    provider: OpenAIApi, pauses: Pauses, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("satchel.consult.vector_stores.UPLOADS_A_MINUTE", 2)
    told: list[str] = []
    files = {f"f{number}.py": content(f"x = {number}\n") for number in range(5)}
    ask = Ask("Why?", searchable=files, stores=log, on_progress=told.append)
    openai(provider, pauses).ask(ask)
    assert [50 < seconds <= 60 for seconds in pauses.seconds[:2]] == [True, True]
    assert told[1:4] == [
        "waiting: the provider takes no more files within this minute",
        "waiting: the provider takes no more files within this minute",
        "uploaded 5 of 5 files",
    ]
    assert_nothing_is_left(provider, log)


def test_files_that_the_provider_does_not_take_are_named_with_the_reason(
    provider: OpenAIApi, pauses: Pauses, log: Log
) -> None:
    provider.unreadable = {"odd"}
    provider.refused_files = {"worst"}
    files = {name: content(text) for name, text in [("a.py", "x"), ("worst.py", "x"), ("odd.py", "x"), ("z.py", " \n")]}
    reply = openai(provider, pauses).ask(Ask("Why?", searchable=files, stores=log))
    assert [(held.path, held.reason) for held in reply.dropped] == [
        ("odd.py", "not_indexed"),
        ("worst.py", "not_taken"),
        ("z.py", "empty"),
    ]
    assert reply.dropped[0].detail == "the file cannot be read"
    assert_nothing_is_left(provider, log)


def test_a_store_that_takes_nothing_fails_the_call(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    provider.unreadable = {"satchel"}
    with pytest.raises(AssistantFailed, match="took none of the files: the file cannot be read"):
        openai(provider, pauses).ask(Ask("Why?", searchable=FILES, stores=log))
    assert provider.seen("respond") == []
    assert_nothing_is_left(provider, log)


def test_of_all_reasons_why_nothing_was_taken_the_most_telling_is_given(
    provider: OpenAIApi, pauses: Pauses, log: Log
) -> None:
    provider.unreadable = {"broken"}
    files = {"a_blank.py": content(" "), "broken.py": content("x")}
    with pytest.raises(AssistantFailed, match="took none of the files: the file cannot be read"):
        openai(provider, pauses).ask(Ask("Why?", searchable=files, stores=log))
    assert_nothing_is_left(provider, log)


def test_an_error_of_the_caller_while_files_are_uploaded_leaves_nothing(
    provider: OpenAIApi, pauses: Pauses, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("satchel.consult.vector_stores._TOLD_EVERY", 1)

    def broken(told: str) -> None:
        if told.startswith("uploaded"):
            raise ValueError("the terminal is gone")

    files = {f"f{number:02d}.py": content(f"x = {number}\n") for number in range(60)}
    with pytest.raises(ValueError, match="the terminal is gone"):
        openai(provider, pauses).ask(Ask("Why?", searchable=files, stores=log, on_progress=broken))
    assert len(provider.seen("upload")) < 60
    assert_nothing_is_left(provider, log)


def test_only_empty_files_make_no_store(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    reply = openai(provider, pauses).ask(Ask("Why?", searchable={"a.py": content("")}, stores=log))
    assert ([held.path for held in reply.dropped], log.steps) == (["a.py"], [])
    assert "tools" not in provider.requests[0].json


@pytest.mark.parametrize(
    "path", ["a b/ü \U0001f600.rs", 'quo"te.py', "x/" * 150 + "deep.py", ".hidden", "new\nline.md"]
)
def test_any_path_can_be_uploaded(provider: OpenAIApi, pauses: Pauses, log: Log, path: str) -> None:
    reply = openai(provider, pauses).ask(Ask("Why?", searchable={path: content("x")}, stores=log))
    assert (reply.cited, list(provider.searched.values())) == ((path,), [b"x"])


def test_the_searched_passages_leave_room_in_the_window(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    ask = Ask("Why?", searchable=FILES, stores=log, tokens=WINDOW.tokens - WINDOW.output - 4_000)
    openai(provider, pauses).ask(ask)
    assert provider.seen("respond")[0].json["tools"][0]["max_num_results"] == 5


def test_files_without_a_log_of_stores_are_refused(provider: OpenAIApi, pauses: Pauses) -> None:
    with pytest.raises(InvalidInput, match="has to be recorded"):
        openai(provider, pauses).ask(Ask("Why?", searchable=FILES))
    assert provider.requests == []


def test_indexing_that_takes_too_long_is_given_up(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    provider.polls = 1_000_000
    with pytest.raises(AssistantFailed, match=r"not done indexing within 0\.6 seconds"):
        openai(provider, pauses, indexing=0.1).ask(Ask("Why?", searchable=FILES, stores=log))
    assert_nothing_is_left(provider, log)


BEFORE_THE_ANSWER = ("create_store", "upload", "add_batch", "poll", "list_batch", "respond")


def let_one_fail(provider: OpenAIApi, step: str) -> None:
    """Let one file not be indexed where a test is about asking which one it was."""
    if step == "list_batch":
        provider.unreadable = {"Makefile"}


@pytest.mark.parametrize("step", BEFORE_THE_ANSWER)
@pytest.mark.parametrize(("kind", "details", "pause"), PASSING, ids=str)
def test_what_passes_is_tried_again_and_leaves_nothing(
    provider: OpenAIApi, pauses: Pauses, log: Log, step: str, kind: str, details: Details, pause: float
) -> None:
    let_one_fail(provider, step)
    provider.fail(step, kind, **details)
    reply = openai(provider, pauses).ask(Ask("Why?", searchable=FILES, stores=log))
    assert (reply.text, reply.notes) == ("It is so.", ())
    assert pause in pauses.seconds
    assert_nothing_is_left(provider, log)


@pytest.mark.parametrize("step", BEFORE_THE_ANSWER)
@pytest.mark.parametrize(("kind", "details", "reason"), LASTING, ids=str)
def test_what_lasts_is_told_and_leaves_nothing(
    provider: OpenAIApi, pauses: Pauses, log: Log, step: str, kind: str, details: Details, reason: str
) -> None:
    let_one_fail(provider, step)
    provider.fail(step, kind, times=1_000, **details)
    provider.pieces = ("It is so.",) * 8
    with pytest.raises(AssistantFailed) as failed:
        openai(provider, pauses, silence=silence_until(kind)).ask(Ask("Why?", searchable=FILES, stores=log))
    # a file that is refused is dropped; it is none left that fails the call
    is_dropped = step == "upload" and reason in {"refused", "too_long"}
    assert failed.value.reason == ("not_indexed" if is_dropped else reason)
    assert (provider.stores, provider.files) == ({}, {})
    # a store whose making was never confirmed stays recorded, to be looked for again
    is_unsure = step == "create_store" and (kind in {"hang", "drop", "html"} or details.get("status") == 500)
    assert len(log.left) == is_unsure


@pytest.mark.parametrize("step", BEFORE_THE_ANSWER)
def test_a_call_cancelled_at_any_step_ends_at_once_and_leaves_nothing(
    provider: OpenAIApi, pauses: Pauses, log: Log, step: str
) -> None:
    let_one_fail(provider, step)
    provider.fail(step, "cancel")
    with pytest.raises(Interrupted):
        openai(provider, pauses).ask(Ask("Why?", searchable=FILES, stores=log, is_cancelled=provider.cancelled.is_set))
    assert (provider.stores, provider.files) == ({}, {})
    assert len(log.left) == (step == "create_store")


def test_a_call_cancelled_between_pieces_ends_at_once_and_leaves_nothing(
    provider: OpenAIApi, pauses: Pauses, log: Log
) -> None:
    cancelled = threading.Event()
    provider.fail("respond", "cut")
    provider.pieces = ("a",) * 8
    ask = Ask("Why?", searchable=FILES, stores=log, on_text=lambda _: cancelled.set(), is_cancelled=cancelled.is_set)
    with pytest.raises(Interrupted):
        openai(provider, pauses).ask(ask)
    assert_nothing_is_left(provider, log)


def test_an_error_of_the_caller_leaves_nothing(provider: OpenAIApi, pauses: Pauses, log: Log) -> None:
    def broken(_: str) -> None:
        raise ValueError("the terminal is gone")

    with pytest.raises(ValueError, match="the terminal is gone"):
        openai(provider, pauses).ask(Ask("Why?", searchable=FILES, stores=log, on_text=broken))
    assert_nothing_is_left(provider, log)
