"""Undo: the last correction of a session, an agent or a person is taken back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

from clients_at_work import Clients
from conftest import ManualClock
from satchel import Conflict, NotFound, Satchel
from satchel.keep.corrections import undoing


@pytest.fixture
def clients(open_in: Callable[..., Satchel], project: Path, monkeypatch: pytest.MonkeyPatch) -> Clients:
    """Sessions of clients in one project."""
    return Clients(lambda **options: open_in(project, **options), monkeypatch)


def live(satchel: Satchel) -> list[str]:
    return sorted(one.ref for one in satchel.finding.search("signs", kinds=["entry", "constraint", "strategy"]).results)


def test_what_was_retracted_holds_again(satchel: Satchel) -> None:
    kept = [
        satchel.entries.write("discovery", "the gateway signs").ref,
        satchel.constraints.add("the gateway signs").ref,
        satchel.strategies.save("gateway", "the gateway signs").ref,
    ]
    for ref in kept:
        satchel.corrections.retract(ref, "wrong", agent="ann")
    assert live(satchel) == []
    undone = [satchel.corrections.undo(agent="ann") for _ in kept]
    assert [(one.ref, one.action, one.heir) for one in undone] == [(ref, "retracted", None) for ref in reversed(kept)]
    assert live(satchel) == sorted(kept)
    assert all(one.notes == () for one in satchel.items.read(kept).items)


def test_what_was_replaced_holds_again_and_its_heir_no_more(satchel: Satchel) -> None:
    old = satchel.entries.write("discovery", "the gateway signs").ref
    new = satchel.entries.write("discovery", "the mailer signs", supersedes=old, agent="ann").ref
    undone = satchel.corrections.undo(agent="ann")
    assert (undone.ref, undone.action, undone.heir) == (old, "replaced", new)
    assert live(satchel) == [old]
    assert satchel.items.read([new]).items[0].notes == ("retracted by ann: taken back",)
    with pytest.raises(NotFound):
        satchel.corrections.undo(agent="ann")


def test_what_was_confirmed_is_so_no_more(satchel: Satchel) -> None:
    ref = satchel.entries.write("discovery", "the gateway signs", agent="ann").ref
    satchel.corrections.confirm(ref, agent="ben")
    assert satchel.corrections.undo(agent="ben").action == "confirmed"
    assert satchel.items.read([ref]).items[0].notes == ()
    assert satchel.corrections.confirm(ref, agent="ben").by == ("ben",)


def test_only_ones_own_is_taken_back(satchel: Satchel) -> None:
    ref = satchel.entries.write("discovery", "the gateway signs").ref
    satchel.corrections.retract(ref, agent="ann")
    with pytest.raises(NotFound, match="there is nothing to undo here"):
        satchel.corrections.undo(agent="ben")
    assert live(satchel) == []


def test_of_two_sessions_each_takes_back_its_own(clients: Clients) -> None:
    one, other = clients.start("claude-code"), clients.start("codex")
    ref = one.entries.write("discovery", "the gateway signs").ref
    theirs = other.entries.write("discovery", "the mailer signs").ref
    one.corrections.retract(theirs)
    other.corrections.retract(ref)
    assert one.corrections.undo().ref == theirs
    assert live(one) == [theirs]


def test_what_was_corrected_again_since_is_not_taken_back(satchel: Satchel) -> None:
    old = satchel.entries.write("discovery", "the gateway signs").ref
    new = satchel.entries.write("discovery", "the mailer signs", supersedes=old, agent="ann").ref
    satchel.corrections.retract(new, "neither", agent="ben")
    with pytest.raises(Conflict, match=f"{new}, which replaced {old}, is no longer valid: retracted by ben: neither"):
        satchel.corrections.undo(agent="ann")


def test_an_analysis_does_not_hold_again_beside_a_newer_one(satchel: Satchel) -> None:
    old = satchel.entries.write("codebase_analysis", {"summary": "one"}).ref
    satchel.corrections.retract(old, agent="ann")
    new = satchel.entries.write("codebase_analysis", {"summary": "two"}).ref
    with pytest.raises(Conflict, match=f"{new} is now the analysis of its run. Retract {new} first"):
        satchel.corrections.undo(agent="ann")
    assert [one.ref for one in satchel.entries.read(status="live")] == [new]


def test_what_was_written_last_is_taken_back_first(satchel: Satchel) -> None:
    note = satchel.entries.write("discovery", "the gateway signs", agent="ann").ref
    rule = satchel.constraints.add("the mailer signs", agent="ann").ref
    undone = [satchel.corrections.undo(agent="ann") for _ in range(2)]
    assert [(one.ref, one.action) for one in undone] == [(rule, "written"), (note, "written")]
    assert live(satchel) == []
    with pytest.raises(NotFound, match="there is nothing to undo here"):
        satchel.corrections.undo(agent="ann")


def test_a_decision_gets_its_last_value_back_once(satchel: Satchel) -> None:
    satchel.decisions.set("ttl", 300, rationale="the gateway", agent="ann")
    satchel.decisions.set("ttl", 60, agent="ann")
    assert satchel.corrections.undo(agent="ann").action == "set"
    now = satchel.decisions.get("ttl").decision
    assert (now.value, now.rationale) == (300, "the gateway")
    with pytest.raises(NotFound):
        satchel.corrections.undo(agent="ann")


def test_an_undo_that_ends_halfway_leaves_the_decision(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    satchel.decisions.set("ttl", 300, agent="ann")
    satchel.decisions.set("ttl", 60, agent="ann")
    with monkeypatch.context() as patch:
        patch.setattr(undoing, "record_taken_back", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            satchel.corrections.undo(agent="ann")
    assert satchel.decisions.get("ttl").decision.value == 60
    satchel.corrections.undo(agent="ann")
    assert satchel.decisions.get("ttl").decision.value == 300


@pytest.mark.parametrize("kind", ["entry", "rule", "strategy"])
def test_what_was_written_before_a_replacement_is_taken_back_after_it(satchel: Satchel, kind: str) -> None:
    write: Callable[[str, str | None], str] = {
        "entry": lambda text, old: satchel.entries.write("discovery", text, supersedes=old, agent="ann").ref,
        "rule": lambda text, old: satchel.constraints.add(text, supersedes=old, agent="ann").ref,
        "strategy": lambda text, old: satchel.strategies.save(text, text, supersedes=old, agent="ann").ref,
    }[kind]
    first, second = write("the gateway signs", None), write("the mailer signs", None)
    write("the printer signs", second)
    undone = [satchel.corrections.undo(agent="ann") for _ in range(3)]
    assert [(one.ref, one.action) for one in undone] == [
        (second, "replaced"),
        (second, "written"),
        (first, "written"),
    ]


def test_a_new_decision_is_deprecated_by_an_undo(satchel: Satchel) -> None:
    satchel.decisions.set("ttl", 300, agent="ann")
    satchel.corrections.undo(agent="ann")
    assert satchel.decisions.get("ttl").decision.status == "deprecated"


def test_what_somebody_else_changed_since_is_not_undone(satchel: Satchel) -> None:
    satchel.decisions.set("ttl", 300, agent="ann")
    satchel.decisions.set("ttl", 60, agent="ben")
    with pytest.raises(Conflict, match="d1 ttl, which somebody has changed since"):
        satchel.corrections.undo(agent="ann")
    ref = satchel.entries.write("discovery", "the gateway signs", agent="ann").ref
    satchel.corrections.retract(ref, "wrong", agent="ben")
    with pytest.raises(Conflict, match="retracted by ben: wrong"):
        satchel.corrections.undo(agent="ann")
    assert satchel.decisions.get("ttl").decision.value == 60


def test_a_pin_is_taken_back(satchel: Satchel) -> None:
    ref = satchel.entries.write("discovery", "the gateway signs", agent="ben").ref
    satchel.pins.pin(ref, agent="human:ann")
    assert satchel.corrections.undo(agent="human:ann").action == "pinned"
    assert satchel.pins.list().total == 0


def test_a_correction_made_last_is_taken_back_first(satchel: Satchel) -> None:
    ref = satchel.entries.write("discovery", "the gateway signs", agent="ann").ref
    satchel.corrections.retract(ref, agent="ann")
    assert satchel.corrections.undo(agent="ann").action == "retracted"
    assert live(satchel) == [ref]


def test_a_message_that_nobody_read_is_withdrawn(satchel: Satchel) -> None:
    sent = satchel.messages.send("hey", agent="ann").ref
    assert satchel.corrections.undo(agent="ann").ref == sent
    assert satchel.messages.inbox(agent="ben").total == 0


def test_what_cannot_be_undone_is_named_and_nothing_older_is_undone_instead(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    satchel = open_in(project, clock=clock)
    note = satchel.entries.write("discovery", "the gateway signs", agent="ann").ref
    clock.advance(1)
    satchel.patterns.report("KeyError", "no key b", agent="ann")
    sent = satchel.messages.send("hey", agent="ann").ref
    satchel.messages.read(satchel.messages.inbox(agent="ben"))
    clock.advance(1)
    satchel.files.claim(["a.py"], agent="ann")
    problem = f"you sent {sent}, which ben read, claimed a.py, reported x1: undo cannot take that back"
    remedy = f'`satchel undo {note}` takes back your note {note} "the gateway signs"'
    with pytest.raises(Conflict, match=f"{problem}. {remedy}"):
        satchel.corrections.undo(agent="ann")
    assert live(satchel) == [note]
    assert satchel.corrections.undo(note, agent="ann").ref == note
    assert live(satchel) == []
    with pytest.raises(NotFound, match=r"claimed a\.py, reported x1: undo cannot take that back"):
        satchel.corrections.undo(agent="ann")
