"""What a run proposes that is over needs a person until one accepts or rejects it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from clients_at_work import Clients
from satchel import Conflict, InvalidInput, NotFound, Refused, Satchel
from satchel.brief.room.records import Need
from satchel.keep.sessions.caller import SERVER
from tool_asking import Asker


def proposals(satchel: Satchel, who: str | None = None) -> list[Need]:
    return [one for one in satchel.room.needs(who).items if one.kind == "proposal"]


def learn(satchel: Satchel, task: str = "token-refresh", run: str | None = None) -> None:
    """Let a task pass review after it had failed."""
    for kind, content in (
        ("review_verdict", {"passed": False, "summary": "it fails at night"}),
        ("scratchpad", {"attempted": ["refresh before expiry"], "test_status": "passing", "done": True}),
        ("review_verdict", {"passed": True}),
    ):
        satchel.entries.write(kind, content, task_id=task, run_id=run)


@pytest.fixture
def ended(satchel: Satchel) -> Satchel:
    """Where a run is over that proposes something."""
    satchel.runs.start("r1")
    learn(satchel, run="r1")
    assert proposals(satchel) == []
    satchel.runs.end("r1")
    return satchel


def test_a_run_that_ended_proposes_what_is_saved_when_a_person_accepts_it(ended: Satchel, person: Satchel) -> None:
    (need,) = proposals(person)
    assert (need.text, need.run, need.actions) == (
        "token-refresh: refresh before expiry (passed review after failing once: it fails at night)",
        *("r1", ("accept", "reject")),
    )
    assert need.ref is not None
    saved = person.room.accept_proposal(need.ref, person="human:ann")
    assert (saved.topic, saved.agent) == ("token-refresh", "human:ann")
    assert [one.ref for one in ended.strategies.find()] == [saved.ref]
    assert proposals(person) == []
    with pytest.raises(Conflict):
        person.room.reject_proposal(need.ref)


def test_what_one_person_rejects_is_proposed_to_none(ended: Satchel, person: Satchel) -> None:
    (need,) = proposals(person, "human:bob")
    assert need.ref is not None
    person.room.reject_proposal(need.ref, person="human:ann")
    assert proposals(person) == proposals(person, "human:bob") == []
    assert ended.strategies.find().total == 0


def test_what_an_agent_saved_itself_is_not_proposed(ended: Satchel) -> None:
    Asker(ended).text("save_strategy", topic="token refresh", insight="refresh before expiry", agent="dev")
    assert proposals(ended) == []


def test_in_main_the_end_of_a_session_proposes(
    open_in: Callable[..., Satchel], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = Clients(partial(open_in, project), monkeypatch)
    ann, ben = clients.start(), clients.start()
    learn(clients.turn_to(ann))
    assert proposals(ben) == []
    clients.end(ann)
    assert [one.run for one in proposals(ben)] == ["main"]


def test_what_was_forgotten_is_proposed_no_more(ended: Satchel) -> None:
    (need,) = proposals(ended)
    for entry in ended.entries.read(run_id="*").items:
        ended.housekeeping.forget(entry.ref)
    assert proposals(ended) == []
    assert need.ref is not None


@pytest.mark.parametrize(("ref", "error"), [("proposal:9", NotFound), ("proposal:1", NotFound), ("d1", InvalidInput)])
def test_what_proposes_nothing_is_not_accepted(
    ended: Satchel, person: Satchel, ref: str, error: type[Exception]
) -> None:
    learn(ended, "open")
    with pytest.raises(error):
        person.room.accept_proposal(ref)


def test_no_agent_accepts(ended: Satchel, open_in: Callable[..., Satchel], project: Path) -> None:
    (need,) = proposals(ended)
    assert need.ref is not None
    with pytest.raises(Refused):
        open_in(project, caller=SERVER).room.accept_proposal(need.ref)
