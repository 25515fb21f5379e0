"""Consultations in the background: an answer by its handle, for its owner alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from consult.consulted import Consulted
from consult.providers.chat_completions import ChatCompletions
from satchel.base.errors import AssistantFailed, Conflict, InvalidInput, NotFound
from satchel.base.records import replace
from satchel.consult import consultation
from satchel.consult.consultation import Consultation, Panel
from satchel.consult.records import raise_if_cancelled
from tables import in_one_test

pytestmark = pytest.mark.parametrize("consulted", ["compatible"], indirect=True)


@pytest.fixture
def gate(consulted: Consulted) -> Any:
    """The model answers once this is set."""
    opened, answer = threading.Event(), consulted.provider.answer

    def late(request: Any) -> Any:
        opened.wait(60)
        return answer(request)

    consulted.provider.answer = late  # type: ignore[method-assign]
    yield opened
    opened.set()


def test_the_answer_comes_by_the_handle_and_is_recorded(consulted: Consulted, gate: threading.Event) -> None:
    consulting = consulted.satchel.consulting
    begun = consulting.start([consulted.model], "Why?", conversation="s")
    assert (begun.state, begun.result) == ("running", None)
    assert consulting.get(begun.handle).state == "running"
    gate.set()
    done = consulting.get(begun.handle, wait=20)
    assert isinstance(done.result, Consultation)
    assert (done.state, done.result.turn) == ("done", 1)
    assert consulting.conversations.list(conversation="s").items[0].turns == 1
    assert consulting.get(begun.handle).result == done.result


def test_several_models_answer_by_one_handle(consulted: Consulted) -> None:
    begun = consulted.satchel.consulting.start(["compatible:a", "compatible:b", "nonsense"], "Why?")
    done = consulted.satchel.consulting.get(begun.handle, wait=20).result
    assert isinstance(done, Panel)
    assert (len(done.answers), len(done.failures)) == (2, 1)


def test_what_cannot_be_asked_is_refused_at_once(consulted: Consulted) -> None:
    with pytest.raises(NotFound, match=r"missing\.py"):
        consulted.satchel.consulting.start([consulted.model], "Why?", context=["missing.py"])
    with pytest.raises(InvalidInput, match="a dry run takes no time"):
        consulted.satchel.consulting.start([consulted.model], "Why?", dry_run=True)


def test_a_failure_later_on_is_told_by_the_handle(consulted: Consulted, gate: threading.Event) -> None:
    begun = consulted.satchel.consulting.start([consulted.model], "Why?")
    assert isinstance(consulted.provider, ChatCompletions)
    consulted.provider.key = "another"
    gate.set()
    failed = consulted.satchel.consulting.get(begun.handle, wait=20)
    assert isinstance(failed.error, AssistantFailed)
    assert (failed.state, failed.result, failed.error.reason) == ("failed", None, "unauthorized")


def test_nobody_else_reaches_it(consulted: Consulted) -> None:
    consulting = consulted.satchel.consulting
    begun = consulting.start([consulted.model], "Why?")
    consulting._workplace = replace(consulting._workplace, owner="person bob")
    for cancel in (False, True):
        with pytest.raises(NotFound, match="there is no consultation"):
            consulting.get(begun.handle, cancel=cancel)
    consulting._workplace = replace(consulting._workplace, owner=consulted.satchel.workplace.owner)
    assert consulting.get(begun.handle, wait=20).state == "done"


def test_a_cancelled_one_records_nothing(consulted: Consulted, gate: threading.Event) -> None:
    begun = consulted.satchel.consulting.start([consulted.model], "Why?", conversation="s")
    ended = consulted.satchel.consulting.get(begun.handle, cancel=True)
    assert ended.error is not None
    assert (ended.state, ended.error.code) == ("failed", "interrupted")
    assert consulted.satchel.consulting.conversations.list().total == 0


def test_too_many_at_once_are_refused(consulted: Consulted) -> None:
    over = threading.Event()

    def ask(tell: Callable[[str], None], is_cancelled: Callable[[], bool]) -> Consultation:
        tell("asking nobody")
        over.wait(60)
        raise_if_cancelled(lambda: True)
        raise AssertionError

    for _ in range(consultation.MAX_RUNNING):
        consultation.start_background("someone", ask)
    with pytest.raises(Conflict, match="8 consultations are running"):
        consultation.start_background("someone", ask)
    over.set()


@in_one_test("wait", [-1, 46, float("nan")])
def test_a_wait_out_of_range_is_refused(consulted: Consulted, wait: float) -> None:
    with pytest.raises(InvalidInput, match="out of range"):
        consulted.satchel.consulting.get("x", wait=wait)


def test_finished_answers_of_one_owner_push_out_none_of_another(consulted: Consulted) -> None:
    done = consulted.ask()
    first = consultation.start_background("ann", lambda *_: done)
    others = [consultation.start_background("bob", lambda *_: done) for _ in range(66)]
    assert consultation.get_background("ann", first.handle).result is done
    assert consultation.get_background("bob", others[2].handle).result is done
    with pytest.raises(NotFound):
        consultation.get_background("bob", others[0].handle)
