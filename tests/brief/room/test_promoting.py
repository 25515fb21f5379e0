"""A note becomes a decision, and a note again."""

from __future__ import annotations

import pytest

from satchel import Satchel
from satchel.base.errors import Conflict, NotFound
from satchel.keep.corrections.log import RETRACTED


def test_a_note_becomes_a_decision_and_holds_no_more(satchel: Satchel) -> None:
    note = satchel.entries.write("discovery", "We use tabs", agent="builder")
    made = satchel.room.promote(note.ref, "indent", rationale="all agreed", agent="human:ann")
    assert (made.decision.value, made.decision.rationale, made.decision.agent) == (
        "We use tabs",
        "all agreed",
        "human:ann",
    )
    ended = satchel.corrections.ended(note.ref)
    assert ended is not None
    assert (ended.action, ended.reason, ended.agent) == (RETRACTED, f"decided as {made.decision.ref}", "human:ann")
    with pytest.raises(Conflict):
        satchel.room.promote(note.ref, "indent", agent="human:ann")


def test_nothing_is_written_where_the_decision_is_another_by_now(satchel: Satchel) -> None:
    note = satchel.entries.write("discovery", "We use tabs", agent="builder")
    satchel.decisions.set("indent", "spaces", agent="builder")
    with pytest.raises(Conflict):
        satchel.room.promote(note.ref, "indent", expected_revision=0, agent="human:ann")
    assert satchel.corrections.ended(note.ref) is None
    with pytest.raises(NotFound):
        satchel.room.promote("e999", "indent", agent="human:ann")


def test_who_had_decided_is_told(satchel: Satchel) -> None:
    satchel.decisions.set("indent", "spaces", agent="builder")
    note = satchel.entries.write("discovery", "We use tabs", agent="other")
    satchel.room.promote(note.ref, "indent", agent="human:ann")
    assert satchel.messages.inbox(agent="builder", unread=True).total == 1


def test_a_promotion_is_taken_back(satchel: Satchel) -> None:
    satchel.decisions.set("indent", "spaces", rationale="as ever", tags=["style"], agent="builder")
    note = satchel.entries.write("discovery", "We use tabs", agent="builder")
    made = satchel.room.promote(note.ref, "indent", rationale="no", agent="human:ann")
    undone = satchel.room.take_back_promotion(
        made.decision.ref, revision=made.decision.revision, correction=made.correction, agent="human:ann"
    )
    stands = undone.decision
    assert (stands.value, stands.rationale, stands.tags, undone.note) == ("spaces", "as ever", ("style",), note.ref)
    assert satchel.finding.search("tabs").total == 1
