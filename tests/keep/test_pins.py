"""Pins: who pins what, and what becomes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from satchel import Satchel, open_satchel
from satchel.base.errors import Conflict, InvalidInput, NotFound, Refused
from satchel.keep.sessions.caller import Caller


def refs(satchel: Satchel) -> list[str]:
    return [pin.ref for pin in satchel.pins.list().items]


def test_notes_decisions_rules_strategies_and_packages_are_pinned(satchel: Satchel) -> None:
    kept = [
        satchel.entries.write("discovery", "a note").ref,
        satchel.decisions.set("key", "value").ref,
        satchel.constraints.add("a rule").ref,
        satchel.strategies.save("topic", "an insight").ref,
        satchel.packages.save("a package", content="what it holds").ref,
    ]
    for ref in kept:
        assert satchel.pins.pin(ref, agent="human:ann").by == "human:ann"
    assert sorted(refs(satchel)) == sorted(kept)
    shown = satchel.brief(agent="z", budget=2_000, dry_run=True).items
    assert {one.ref: one.priority for one in shown} == dict.fromkeys(kept, "critical")


def test_what_is_pinned_stays_as_a_line_after_it_was_delivered(satchel: Satchel) -> None:
    note = satchel.entries.write("discovery", "The port is 7347", agent="builder")
    satchel.pins.pin(note.ref)
    assert "The port is 7347" in satchel.brief(agent="z").text
    assert note.ref in [one.ref for one in satchel.brief(agent="z").items]


def test_what_replaces_a_pinned_item_is_pinned_and_the_old_one_again_when_it_holds(satchel: Satchel) -> None:
    old = satchel.entries.write("discovery", "The port is 80", agent="builder")
    satchel.pins.pin(old.ref)
    new = satchel.entries.write("discovery", "The port is 7347", supersedes=old.ref, agent="builder")
    assert refs(satchel) == [new.ref]
    satchel.corrections.undo(agent="builder")
    assert refs(satchel) == [old.ref]


def test_an_item_is_pinned_once_and_unpinned_once(satchel: Satchel) -> None:
    rule = satchel.constraints.add("a rule")
    assert satchel.pins.unpin(rule.ref).already
    assert not satchel.pins.pin(rule.ref, agent="human:ann").already
    again = satchel.pins.pin(rule.ref, agent="human:bob")
    assert (again.already, again.by) == (True, "human:ann")
    assert satchel.pins.unpin(rule.ref).pinned_at is None
    assert refs(satchel) == []


def test_what_holds_no_more_or_is_of_its_time_is_not_pinned(satchel: Satchel) -> None:
    note = satchel.entries.write("discovery", "a note")
    satchel.corrections.retract(note.ref)
    pad = satchel.entries.write("scratchpad", {"iteration": 1, "attempted": ["it"]}, task_id="t")
    old, draft = (satchel.decisions.set(key, "1", status=key) for key in ("deprecated", "draft"))
    assert satchel.pins.pin(draft.ref).pinned_at is not None
    for ref, problem in (
        (note.ref, Conflict),
        (old.ref, Conflict),
        (pad.ref, InvalidInput),
        ("e999", NotFound),
        ("m1", InvalidInput),
    ):
        with pytest.raises(problem):
            satchel.pins.pin(ref)


def test_only_a_person_pins(satchel: Satchel, project: Path) -> None:
    note = satchel.entries.write("discovery", "a note")
    caller = Caller.of_request("token", "s1")
    with open_satchel(cwd=project, caller=caller, environ={}) as agent, pytest.raises(Refused):
        agent.pins.pin(note.ref)


def test_what_is_forgotten_is_pinned_no_more(satchel: Satchel) -> None:
    note = satchel.entries.write("discovery", "a note")
    satchel.pins.pin(note.ref)
    satchel.housekeeping.forget(note.ref)
    assert refs(satchel) == []
