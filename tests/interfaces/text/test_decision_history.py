"""What was decided before, as text: the history of a decision, and what setting one replaced."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from interfaces.text.hostile import MINUTE, NEW_YEAR
from interfaces.text.hostile_decisions import decision, histories, kept
from interfaces.text.reading_decisions import read_history
from satchel.base.paging import Page
from satchel.interfaces.text.decisions import history_text, set_text
from satchel.keep.decisions.records import DecisionHistory, DecisionState, Similar

pytestmark = pytest.mark.slow
PATIENT = settings(suppress_health_check=[HealthCheck.filter_too_much])
"""Many drawn histories hold two states that read alike, and are left out."""


@PATIENT
@given(histories())
def test_a_history_can_be_read_back(history: DecisionHistory) -> None:
    back = read_history(history_text(history))
    assert back.decision == kept(history.decision)
    assert back.history == history.history


@PATIENT
@given(histories())
def test_no_text_of_a_history_can_pass_for_a_state(history: DecisionHistory) -> None:
    ours = [line for line in history_text(history).splitlines() if not line.startswith(" ")]
    assert len(ours) == 2 + len(history.history)


def test_a_history_says_only_what_changed() -> None:
    now = decision(
        value=300, revision=3, agent="planner", tags=("api",), updated_at=NEW_YEAR + 2 * MINUTE, rationale="why"
    )
    second = DecisionState(
        2, 200, "active", "1.0.0", None, ("api",), (), "builder", "why", NEW_YEAR + MINUTE, NEW_YEAR + 2 * MINUTE
    )
    first = replace(second, revision=1, tags=(), rationale=None, set_at=NEW_YEAR, replaced_at=NEW_YEAR + MINUTE)
    assert history_text(DecisionHistory(now, Page((second, first), 2, 0, 20))).split("\n") == [
        "decision with 2 earlier states, newest first, each says what differs from the one above, UTC times of 2026",
        "d1 ttl revision 3: 300 by planner #api 01-01 00:02 made 01-01 00:00",
        " because: why",
        "revision 2: 200 by builder 01-01 00:01",
        "revision 1 without a reason #- 00:00",
    ]


def test_the_answer_to_setting_names_what_it_replaced_by_whom_and_since_when() -> None:
    before = DecisionState(1, 200, "draft", "1.0.0", None, (), (), "planner", None, NEW_YEAR, NEW_YEAR + 5)
    one = decision(7, agent="planner", revision=2, replaced=before, notes=("a secret was redacted (jwt)",))
    assert set_text([one]) == (
        "set d7 ttl, revision 2; binds everywhere; was revision 1: 200 by planner draft 01-01 00:00 UTC\n"
        "note: a secret was redacted (jwt)"
    )


def test_the_answer_to_setting_says_when_nobody_had_been_named() -> None:
    before = DecisionState(1, 300, "active", "1.0.0", None, (), (), None, "old\nreason", NEW_YEAR, NEW_YEAR + 5)
    assert set_text([decision(revision=2, replaced=before)]).split("\n") == [
        "set d1 ttl, revision 2; binds everywhere; was revision 1 by - 01-01 00:00 UTC",
        " its reason was: old",
        " reason",
    ]


def test_who_ends_a_decision_of_its_own_is_not_told_its_reason() -> None:
    before = DecisionState(1, 300, "active", "1.0.0", None, (), (), "ann", "long", NEW_YEAR, NEW_YEAR + 5)
    own, other = (decision(agent=one, status="deprecated", revision=2, replaced=before) for one in ("ann", "ben"))
    assert "reason" not in set_text([own])
    assert " its reason was: long" in set_text([other]).split("\n")


def test_the_answer_to_setting_advises_about_similar_ones_once() -> None:
    alike = Similar("d3", "ttl s", "5 minutes", "key", 91)
    lines = set_text([decision(1, similar=(alike,)), decision(2, "other", similar=(alike,))]).split("\n")
    assert lines == [
        "set d1 ttl (new); binds everywhere",
        'similar: d3 "ttl s"="5 minutes" (its key is 91 % like this one)',
        "set d2 other (new); binds everywhere",
        'similar: d3 "ttl s"="5 minutes" (its key is 91 % like this one)',
        "Update the similar one instead, or give the reason why both are needed.",
    ]


def test_the_answer_to_a_draft_of_a_decision_in_force_says_once_when_it_binds() -> None:
    note = "ttl stays as it is until another agent sets it active: this draft proposes a change"
    draft = decision(2, "ttl_draft", status="draft", notes=(note, "a message tells ann"))
    assert set_text([draft]).split("\n") == [
        f"set d2 ttl_draft (new), a draft: others get it at their next briefing; {note}",
        "note: a message tells ann",
    ]


def test_the_answer_to_a_new_draft_says_that_nobody_is_told_of_it_at_once() -> None:
    way = "it binds everywhere once another, who agrees, sets status=active"
    told = "others get it at their next briefing (send_message tells them now)"
    assert set_text([decision(2, status="draft")]) == f"set d2 ttl (new), a draft: {told}; {way}"


def test_of_a_long_text_the_words_that_changed_are_shown() -> None:
    words = [f"word{number}" for number in range(40)]
    old, new = " ".join(words), " ".join([*words[:20], "other", "one", *words[21:], "last"])
    before = DecisionState(1, old, "active", "1.0.0", None, (), (), None, None, NEW_YEAR, NEW_YEAR + 5)
    now = decision(value=new, revision=2, replaced=before)
    changed = (
        'changed in "… word17 word18 word19 [-word20-] {+other one+} word21 word22 word23 '
        '… word37 word38 word39 {+last+}"'
    )
    assert f"; was revision 1: {changed} by -" in set_text([now])
    history = history_text(DecisionHistory(now, Page((before,), 1, 0, 20))).split("\n")
    assert history[2].startswith(f"revision 1: {changed}")
    rewritten = replace(now, value=f"{'quite ' * 60} {words[0]}")
    assert f'revision 1: "{old[:200]}"...' in set_text([rewritten])


def test_the_answer_to_setting_does_not_repeat_a_long_value() -> None:
    before = DecisionState(1, "long " * 100, "active", "1.0.0", None, (), (), None, None, NEW_YEAR, NEW_YEAR + 5)
    text = set_text([decision(revision=2, replaced=before)])
    assert "... (500 characters) by -" in text
    assert len(text) < 320
