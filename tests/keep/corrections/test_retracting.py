"""Retracting: a note, rule or strategy holds no more, and stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from satchel import InvalidInput, NotFound, Satchel
from satchel.keep.sessions.caller import COMMAND
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock

Keep = Callable[[Satchel], str]


def keep_note(satchel: Satchel) -> str:
    return satchel.entries.write("discovery", "the gateway signs requests", agent="ann").ref


def keep_rule(satchel: Satchel) -> str:
    return satchel.constraints.add("the gateway signs requests", agent="ann", tags=["api"], layer="data").ref


def keep_strategy(satchel: Satchel) -> str:
    return satchel.strategies.save("gateway", "the gateway signs requests", agent="ann").ref


every_kind = pytest.mark.parametrize("keep", [keep_note, keep_rule, keep_strategy])


@pytest.fixture
def person(open_in: Callable[..., Satchel], project: Path) -> Satchel:
    """The same store, as a person at a terminal uses it."""
    return open_in(project, caller=COMMAND)


@every_kind
def test_what_was_retracted_is_found_only_when_it_is_asked_for(satchel: Satchel, keep: Keep) -> None:
    ref = keep(satchel)
    retracted = satchel.corrections.retract(ref, "it does not", agent="ben")
    assert (retracted.ref, retracted.done, retracted.text) == (ref, True, retracted.text)
    found = satchel.finding.search("gateway")
    assert (found.results, found.notes) == ((), ("1 that is closed, replaced or retracted: status=superseded",))
    assert [one.ref for one in satchel.finding.search("gateway", status="superseded").results] == [ref]
    assert satchel.briefings.brief(query="gateway").items == ()


@every_kind
def test_its_item_says_by_whom_and_why(satchel: Satchel, keep: Keep) -> None:
    ref = keep(satchel)
    satchel.corrections.retract(ref, "it does not", agent="ben")
    told = () if ref.startswith("c") else ("retracted by ben: it does not",)
    assert satchel.items.read([ref]).items[0].notes == told, "a rule says so itself"


@every_kind
def test_retracting_is_a_change_of_its_own(satchel: Satchel, keep: Keep) -> None:
    ref = keep(satchel)
    later = satchel.constraints.add("a later one").seq
    satchel.corrections.retract(ref)
    assert getattr(satchel.items.read([ref]).items[0].record, "seq", 0) > later


@every_kind
def test_retracting_again_changes_nothing_and_says_so(satchel: Satchel, clock: ManualClock, keep: Keep) -> None:
    ref = keep(satchel)
    satchel.corrections.retract(ref, "first", agent="ann")
    before = satchel.items.read([ref])
    clock.advance(1_000)
    again = satchel.corrections.retract(ref, "second", agent="ben")
    assert again.already == "retracted by ann: first"
    assert satchel.items.read([ref]) == before


def test_a_rule_says_why_by_whom_and_since_when_it_does_not_hold(satchel: Satchel, clock: ManualClock) -> None:
    ref = keep_rule(satchel)
    now = clock.advance(5_000)
    satchel.corrections.retract(ref, "no longer needed", agent="ben")
    (ended,) = satchel.constraints.find(status="inactive").items
    assert (ended.active, ended.reason, ended.deactivated_by) == (False, "no longer needed", "ben")
    assert (ended.deactivated_at, ended.agent, ended.tags, ended.layer) == (now, "ann", ("api",), "data")
    assert satchel.constraints.find().total == 0


def test_the_reason_and_the_agent_may_be_left_out(satchel: Satchel) -> None:
    satchel.corrections.retract(keep_rule(satchel))
    (ended,) = satchel.constraints.find(status="inactive").items
    assert (ended.reason, ended.deactivated_by) == (None, None)


def test_the_default_agent_retracts_where_none_is_named(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, agent="planner")
    satchel.corrections.retract(keep_rule(satchel))
    assert satchel.constraints.find(status="inactive").items[0].deactivated_by == "planner"


def test_the_reason_is_cleaned_and_redacted(satchel: Satchel) -> None:
    ref = keep_note(satchel)
    retracted = satchel.corrections.retract(ref, "leaked ghp_" + "a1B2" * 9)
    assert any("secret was redacted" in note for note in retracted.notes)
    assert "ghp_" not in satchel.items.read([ref]).items[0].notes[0]


class TestWhatOnlyAPersonRetracts:
    def test_a_critical_rule_stays_and_a_person_is_asked(self, satchel: Satchel, person: Satchel) -> None:
        rule = satchel.constraints.add("never log a token", priority="critical", agent="ann").ref
        answer = satchel.corrections.retract(rule, "the log is off", agent="ben")
        assert (answer.done, answer.asked) == (False, "m1")
        assert satchel.constraints.find().total == 1
        (asked,) = person.messages.inbox(agent="human").items
        assert asked.message == (
            'ben asks you to retract c1 "never log a token" because: the log is off. `satchel retract c1` does it'
        )
        assert person.corrections.retract(rule, "yes").done
        assert satchel.constraints.find().total == 0

    @pytest.mark.parametrize("author", ["human", "Human", "human:ann"])
    def test_what_a_person_wrote_stays(self, satchel: Satchel, author: str) -> None:
        ref = satchel.entries.write("discovery", "the gateway signs", agent=author).ref
        assert not satchel.corrections.retract(ref, agent="ben").done
        assert satchel.finding.search("gateway", kinds=["entry"]).total == 1

    def test_an_agent_named_at_a_terminal_is_no_person(self, satchel: Satchel, person: Satchel) -> None:
        rule = satchel.constraints.add("never log a token", priority="critical").ref
        assert not person.corrections.retract(rule, agent="ben").done
        assert person.corrections.retract(rule, agent="human").done


class TestDecisions:
    def test_an_agent_that_disputes_one_asks_who_set_it(self, satchel: Satchel) -> None:
        ref = satchel.decisions.set("session_ttl", 600, agent="ann").ref
        asked = satchel.corrections.retract(ref, "the gateway keeps 300 s", agent="ben")
        assert (asked.done, asked.asked, asked.asked_of) == (False, "m1", "ann")
        (message,) = satchel.messages.inbox(agent="ann").items
        assert (message.sender, message.type, message.priority) == ("ben", "request", "high")
        assert 'ben disputes d1 "session_ttl: 600" because: the gateway keeps 300 s.' in message.message
        assert satchel.decisions.get("session_ttl").decision.value == 600

    def test_a_draft_of_ones_own_ends(self, satchel: Satchel) -> None:
        ref = satchel.decisions.set("session_ttl", 600, status="draft", agent="ann").ref
        assert not satchel.corrections.retract(ref, agent="ben").done
        done = satchel.corrections.retract(ref, "the gateway keeps 300 s", agent="ann")
        assert (done.done, done.ref, done.text) == (True, ref, "session_ttl: 600")
        ended = satchel.decisions.get("session_ttl").decision
        assert (ended.status, ended.rationale) == ("deprecated", "the gateway keeps 300 s")
        with pytest.raises(InvalidInput, match="set_decision"):
            satchel.corrections.retract(ref, agent="ann")

    def test_a_person_is_asked_where_one_set_it_or_nobody_is_known(self, satchel: Satchel, person: Satchel) -> None:
        refs = [person.decisions.set("a", 1, agent="human:eva").ref, satchel.decisions.set("b", 1).ref]
        assert [satchel.corrections.retract(ref, agent="ben").asked_of for ref in refs] == ["human:eva", "human"]

    def test_who_may_set_it_anew_is_told_to(self, satchel: Satchel, person: Satchel) -> None:
        ref = satchel.decisions.set("session_ttl", 600, agent="ann").ref
        for caller, agent in ((satchel, "ann"), (person, "human")):
            with pytest.raises(InvalidInput, match="set_decision"):
                caller.corrections.retract(ref, agent=agent)
        with pytest.raises(InvalidInput, match="set_decision"):
            satchel.corrections.confirm(ref, agent="ben")


@in_one_test("ref", ["c99", "d99", "e99", "s99"])
def test_an_unknown_id_is_said(satchel: Satchel, ref: str) -> None:
    keep_rule(satchel)
    with pytest.raises(NotFound, match=f"there is no .* {ref} in this project"):
        satchel.corrections.retract(ref)


@in_one_test(
    ("ref", "remedy"),
    [
        ("p1", "supersedes"),
        ("x1", "report_outcome"),
        ("y1", "report_outcome"),
        ("f1", "Notes \\(e\\), rules \\(c\\) and strategies \\(s\\)"),
    ],
)
def test_what_is_corrected_otherwise_is_refused_with_how(satchel: Satchel, ref: str, remedy: str) -> None:
    with pytest.raises(InvalidInput, match=remedy):
        satchel.corrections.retract(ref)


@in_one_test("ref", ["", "c-1", "c1.5", "c²", "q1", True, None, 7])
def test_what_is_no_id_is_refused(satchel: Satchel, ref: str) -> None:
    with pytest.raises(InvalidInput):
        satchel.corrections.retract(ref)


@pytest.mark.parametrize(("reason", "agent", "problem"), [(" ", None, "reason is empty"), (None, "", "agent is empty")])
def test_an_empty_reason_or_agent_is_refused_and_nothing_changes(
    satchel: Satchel, reason: str | None, agent: str | None, problem: str
) -> None:
    ref = keep_rule(satchel)
    with pytest.raises(InvalidInput, match=problem):
        satchel.corrections.retract(ref, reason, agent=agent)
    assert satchel.constraints.find().total == 1


@every_kind
def test_an_item_of_another_project_is_not_found(open_in: Callable[..., Satchel], project: Path, keep: Keep) -> None:
    one, other = open_in(project, project="one"), open_in(project, project="other")
    theirs = keep(other)
    one.housekeeping.initialise()
    with pytest.raises(NotFound):
        one.corrections.retract(theirs)
    assert other.finding.search("gateway").total == 1
