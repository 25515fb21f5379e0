"""What has changed since a person looked: each change is shown until it was seen, and no longer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from satchel import InvalidInput, NotFound, Refused, Satchel
from satchel.brief.room import since
from satchel.brief.room.records import Changed
from satchel.keep.sessions.caller import COMMAND, SERVER

if TYPE_CHECKING:
    from conftest import ManualClock

ANN = "human:ann"


def changed(satchel: Satchel, person: str = ANN) -> list[tuple[str, str]]:
    return [(one.ref, one.action) for one in satchel.room.since(person).items]


def only(satchel: Satchel, person: str = ANN) -> Changed:
    (one,) = satchel.room.since(person).items
    return one


def test_a_decision_is_shown_beside_what_the_person_knew(satchel: Satchel, clock: ManualClock) -> None:
    ref = satchel.decisions.set("port", 80, agent="dev").ref
    assert (only(satchel).action, only(satchel).before, only(satchel).after) == ("set", None, "80")
    clock.advance(1)
    satchel.room.see(person=ANN)
    clock.advance(1)
    for port in (81, 82):
        satchel.decisions.set("port", port, rationale="80 is taken", agent="dev")
    one = only(satchel)
    assert (one.ref, one.action, one.before, one.after) == (ref, "changed", "80", "82")
    assert (one.text, one.agent) == ("port: 82", "dev")


def test_a_rule_is_added_and_retracted(satchel: Satchel) -> None:
    ref = satchel.constraints.add("no eval", agent="dev").ref
    assert changed(satchel) == [(ref, "added")]
    satchel.room.see(person=ANN)
    satchel.corrections.retract(ref, "needed", agent="dev")
    assert changed(satchel) == [(ref, "retracted")]


def test_a_solved_error_names_its_fix(satchel: Satchel) -> None:
    reported = satchel.patterns.report("KeyError", "no key", solution="use get", agent="dev")
    one = only(satchel)
    assert (one.kind, one.action, one.text, one.item) == ("fix", "solved", "KeyError: use get", reported.pattern.ref)


def test_a_fix_that_was_tried_is_credited_to_who_tried_it(satchel: Satchel) -> None:
    fix = satchel.patterns.report("KeyError", "no key", solution="use get", agent=ANN).recorded
    assert fix is not None
    assert satchel.room.since(ANN).items == ()
    satchel.patterns.outcome(fix.ref, True, agent="qa")
    one = only(satchel)
    assert (one.ref, one.action, one.agent) == (fix.ref, "confirmed", "qa")


def test_edits_are_one_change_for_each_agent(satchel: Satchel, clock: ManualClock) -> None:
    for agent, file, change in (("dev", "a.py", "created"), ("dev", "a.py", "modified"), ("qa", "b.py", "modified")):
        clock.advance(1)
        satchel.files.record(file, change, agent=agent)
    assert [(one.ref, one.text) for one in satchel.room.since(ANN).items] == [
        ("files:qa", "b.py"),
        ("files:dev", "a.py"),
    ]
    satchel.room.see(["files:dev"], person=ANN)
    satchel.files.record("c.py", "created", agent="dev")
    assert [(one.ref, one.text) for one in satchel.room.since(ANN).items] == [
        ("files:dev", "c.py"),
        ("files:qa", "b.py"),
    ]


def test_a_correction_is_shown_and_so_is_that_it_was_taken_back(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel, person = open_in(project), open_in(project, caller=COMMAND)
    note = satchel.entries.write("discovery", "the gateway signs requests", agent="dev").ref
    satchel.corrections.retract(note, "it does not", agent="dev")
    one = only(satchel)
    assert (one.kind, one.action, one.item) == ("correction", "retracted", note)
    assert one.text == f"{note}: it does not: the gateway signs requests"
    person.room.see([one.ref], person=ANN)
    assert changed(satchel) == []
    satchel.corrections.undo(agent="dev")
    assert changed(satchel) == [(one.ref, "retracted, taken back")]


def test_each_person_has_seen_what_they_saw(satchel: Satchel) -> None:
    port, host = (satchel.decisions.set(key, 1, agent="dev").ref for key in ("port", "host"))
    satchel.room.see([port], person=ANN)
    assert (changed(satchel), changed(satchel, "human:bob")) == ([(host, "set")], [(host, "set"), (port, "set")])
    satchel.room.see(["decision"], person="human:bob")
    assert (changed(satchel, "human:bob"), changed(satchel, "human")) == ([], [(host, "set"), (port, "set")])


def test_what_changes_after_the_answer_is_not_passed_over(satchel: Satchel) -> None:
    ref = satchel.decisions.set("port", 80, agent="dev").ref
    answer = satchel.room.since(ANN)
    satchel.decisions.set("port", 81, agent="dev")
    rule = satchel.constraints.add("no eval", agent="dev").ref
    satchel.room.see([ref], up_to=answer.seq, person=ANN)
    assert changed(satchel) == [(rule, "added"), (ref, "changed")]
    satchel.room.see(up_to=answer.seq, person=ANN)
    assert changed(satchel) == [(rule, "added"), (ref, "changed")]


def test_to_have_seen_more_is_never_taken_back(satchel: Satchel) -> None:
    satchel.decisions.set("port", 80, agent="dev")
    before = satchel.room.since(ANN).seq
    satchel.decisions.set("host", 1, agent="dev")
    satchel.room.see(person=ANN)
    satchel.room.see(up_to=before, person=ANN)
    assert changed(satchel) == []


def test_the_last_mark_of_everything_is_undone_for_ten_minutes(satchel: Satchel, clock: ManualClock) -> None:
    rule, port = (
        satchel.constraints.add("no eval", agent="dev").ref,
        satchel.decisions.set("port", 80, agent="dev").ref,
    )
    satchel.room.see([port], person=ANN)
    first = satchel.room.see(person=ANN).seq
    assert satchel.room.unsee(f"everything:{first}", person=ANN)
    assert changed(satchel) == [(rule, "added")]  # what had its own mark keeps it
    assert not satchel.room.unsee(f"everything:{first}", person=ANN)
    first = satchel.room.see(person=ANN).seq
    host = satchel.decisions.set("host", 1, agent="dev").ref
    last = satchel.room.see(person=ANN).seq
    assert not satchel.room.unsee(f"everything:{first}", person=ANN)
    clock.advance(600_000)
    assert satchel.room.unsee(f"everything:{last}", person=ANN)
    assert changed(satchel) == [(host, "set")]
    last = satchel.room.see(person=ANN).seq
    clock.advance(600_001)
    assert not satchel.room.unsee(f"everything:{last}", person=ANN)


def test_what_is_too_old_to_be_looked_at_is_seen_with_the_rest(satchel: Satchel) -> None:
    for number in range(1_003):
        satchel.files.record(f"f{number}.py", "created", agent="dev")
    found = satchel.room.since(ANN)
    assert (found.totals, found.items[0].text.rpartition(" and ")[2]) == ((("files", 1),), "995 more")
    satchel.room.see(up_to=found.seq, person=ANN)
    assert satchel.room.since(ANN).items == ()


def test_what_a_person_did_is_no_news_to_them(satchel: Satchel) -> None:
    ref = satchel.decisions.set("port", 80, agent=ANN).ref
    assert (changed(satchel), changed(satchel, "human:bob")) == ([], [(ref, "set")])


def test_actions_in_their_own_name_are_listed_apart_from_the_news(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    satchel = open_in(project, environ={"SATCHEL_PERSON": "ann"}, caller=COMMAND)
    satchel.entries.write("discovery", "the gateway signs requests", agent="dev")
    satchel.housekeeping.record_action("trusted this store")
    clock.advance(1_000)
    satchel.decisions.set("port", 80, agent="dev")
    found = satchel.room.since(ANN)
    assert ([one.kind for one in found.items], found.totals) == (["decision"], (("decision", 1),))
    assert [one.text for one in found.own] == ["trusted this store"]
    others = satchel.room.since("human:bob")
    assert ([one.kind for one in others.items], others.own) == (["decision", "action"], ())
    for number in range(since.MOST):
        satchel.housekeeping.record_action(f"trusted store {number}")
    found = satchel.room.since(ANN)
    assert (len(found.own), found.own_total, found.own[0].text) == (since.MOST, since.MOST + 1, "trusted store 49")


def test_an_action_in_their_own_name_that_was_undone_says_so_and_the_undo_is_no_other(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    satchel = open_in(project, environ={"SATCHEL_PERSON": "ann"}, caller=COMMAND, agent=ANN)
    rule = satchel.constraints.add("no floats", agent=ANN).ref
    port = satchel.decisions.set("port", 80).ref
    for act in (lambda: satchel.corrections.retract(rule, "no"), lambda: satchel.decisions.set("port", 81)):
        clock.advance(1_000)
        act()
        own = satchel.room.since(ANN).own
        assert own[0].action == "done"
        clock.advance(1_000)
        satchel.corrections.undo()
        assert [(one.action, one.text) for one in satchel.room.since(ANN).own] == [
            ("undone", own[0].text),
            *[(one.action, one.text) for one in own[1:]],
        ]
    assert [one.text for one in satchel.room.since(ANN).own] == [f"changed {port}", f"changed {rule}"]


def test_what_a_person_took_back_of_their_own_is_not_called_restored(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    satchel = open_in(project, environ={"SATCHEL_PERSON": "ann"}, caller=COMMAND, agent=ANN)
    rule = satchel.constraints.add("no floats", agent=ANN).ref
    clock.advance(1_000)
    satchel.corrections.undo()
    assert [one.text for one in satchel.room.since(ANN).own] == [f"took back a change of {rule}"]


def test_what_was_forgotten_leaves_nothing(satchel: Satchel) -> None:
    ref = satchel.decisions.set("port", 80, agent="dev").ref
    satchel.room.see([ref], person=ANN)
    satchel.housekeeping.forget(ref)
    with satchel.workplace.engine.read() as transaction:
        assert transaction.all("SELECT * FROM seen") == []
    (one,) = satchel.room.since(ANN).items
    assert (one.kind, one.action, one.text) == ("action", "forgotten", ref)


@pytest.mark.parametrize("refs", [[], "d1", [1], ["nonsense"], ["correction:x"], ["hook:zz"]])
def test_what_is_no_change_is_refused(satchel: Satchel, refs: object) -> None:
    with pytest.raises(InvalidInput):
        satchel.room.see(refs, person=ANN)  # type: ignore[arg-type]


@pytest.mark.parametrize("ref", ["d9", "c9", "y9", "files:nobody", "correction:9", "hook:9"])
def test_what_is_not_there_is_not_seen(satchel: Satchel, ref: str) -> None:
    with pytest.raises(NotFound):
        satchel.room.see([ref], person=ANN)


def test_a_change_that_has_not_happened_is_not_seen(satchel: Satchel) -> None:
    with pytest.raises(InvalidInput, match="does not exist yet"):
        satchel.room.see(up_to=10_000, person=ANN)


def test_an_agent_does_not_say_what_a_person_has_seen(open_in: Callable[..., Satchel], project: Path) -> None:
    with pytest.raises(Refused):
        open_in(project, caller=SERVER).room.see(person=ANN)


def test_what_was_stored_before_persons_had_names_is_the_only_persons_own(satchel: Satchel) -> None:
    satchel.decisions.set("port", 80, agent="human")
    satchel.constraints.add("Never log a token", agent="human")
    assert satchel.room.since("human:ann").items == ()
    satchel.messages.send("hello", agent="human:ben")
    assert len(satchel.room.since("human:ann").items) == 2
