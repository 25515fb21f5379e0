"""Proposals from documents: nothing is lost or doubled, and only a person decides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from keep.documents.conftest import Commit
from satchel import Satchel
from satchel.base.errors import NotFound, Refused

if TYPE_CHECKING:
    from conftest import ManualClock

_AGENTS = "- Always use tabs.\n- Never push to main without a review.\n\nA shop in Python.\n"


def rules(satchel: Satchel, status: str = "active") -> dict[str, str]:
    return {one.ref: one.text for one in satchel.constraints.find(status=status).items}


def proposed(satchel: Satchel) -> list[tuple[str, str, str | None]]:
    return [(one.ref, one.why, one.item) for one in satchel.documents.review().proposals]


@pytest.fixture
def accepted(satchel: Satchel, commit: Commit) -> Satchel:
    """The Satchel after all that AGENTS.md proposes was accepted: two rules and a note."""
    commit({"AGENTS.md": _AGENTS})
    satchel.documents.accept()
    return satchel


def test_accepted_texts_become_items_that_name_their_source(accepted: Satchel) -> None:
    assert rules(accepted) == {"c1": "Always use tabs.", "c2": "Never push to main without a review."}
    (rule, note) = accepted.items.read(["c2", "e1"]).items
    assert rule.notes == ("from AGENTS.md:2, accepted by human",)
    assert note.notes == ("from AGENTS.md:4, accepted by human",)
    assert proposed(accepted) == []


def test_the_same_text_elsewhere_is_no_proposal(accepted: Satchel, commit: Commit) -> None:
    commit({"CLAUDE.md": _AGENTS})
    assert proposed(accepted) == []
    accepted.constraints.add("Always use   LF.")
    commit({"GEMINI.md": "- Always use LF.\n"})
    assert proposed(accepted) == []


def test_changed_and_removed_texts_are_proposed_and_keep_their_items(accepted: Satchel, commit: Commit) -> None:
    commit({"AGENTS.md": "# Rules\n\nA shop in Python.\n\n- Never push to main without two reviews.\n"})
    assert proposed(accepted) == [("AGENTS.md:5", "changed", "c2"), ("c1", "removed", "c1")]
    accepted.documents.accept()
    assert rules(accepted) == {"c2": "Never push to main without two reviews."}
    assert [one.reason for one in accepted.constraints.find(status="inactive").items] == ["removed from AGENTS.md"]
    assert accepted.items.read(["c2"]).items[0].kept_states[0].line["text"] == "Never push to main without a review."
    assert accepted.items.read(["e1"]).items[0].notes == ("from AGENTS.md:3, accepted by human",)
    assert proposed(accepted) == []


def test_another_text_between_the_same_neighbours_is_a_change_however_short(satchel: Satchel, commit: Commit) -> None:
    commit({"AGENTS.md": "- Never loop.\n", "GEMINI.md": "- Use LF.\n- Use tabs.\n- Be nice, always.\n"})
    satchel.documents.accept()
    ref = next(ref for ref, text in rules(satchel).items() if text == "Never loop.")
    middle = next(ref for ref, text in rules(satchel).items() if text == "Use tabs.")
    commit({"AGENTS.md": "- Never loop twice.\n", "GEMINI.md": "- Use LF.\n- Use 4 spaces.\n- Be nice, always.\n"})
    assert proposed(satchel) == [("AGENTS.md:1", "changed", ref), ("GEMINI.md:2", "changed", middle)]
    commit({"AGENTS.md": "- Never loop.\n", "GEMINI.md": "- Use LF.\n- Be nice, always.\n- Use 4 spaces.\n"})
    assert proposed(satchel) == [("GEMINI.md:3", "new", None), (middle, "removed", middle)]


def test_a_text_that_moves_to_another_document_stays_its_item(accepted: Satchel, commit: Commit) -> None:
    commit({"AGENTS.md": None, "CLAUDE.md": _AGENTS})
    assert proposed(accepted) == []


def test_rejected_proposals_come_again_only_with_another_text(accepted: Satchel, commit: Commit) -> None:
    commit({"AGENTS.md": "- Always use tabs.\n\nA shop in Python.\n\n- Be nice, always.\n"})
    accepted.documents.reject(["AGENTS.md:5", "c2"])
    assert proposed(accepted) == []
    assert set(rules(accepted)) == {"c1", "c2"}
    commit({"AGENTS.md": "- Always use tabs.\n\nA shop in Python.\n\n- Be very nice, always.\n"})
    assert proposed(accepted) == [("AGENTS.md:5", "new", None)]


def test_a_forgotten_item_is_not_proposed_again(accepted: Satchel) -> None:
    accepted.housekeeping.forget("c1", dry_run=False)
    assert proposed(accepted) == []


def test_a_document_that_cannot_be_read_removes_nothing(accepted: Satchel, commit: Commit) -> None:
    commit({"AGENTS.md": "x" * 2_000_000})
    assert proposed(accepted) == []


def test_a_superseded_decision_record_ends_its_decision(satchel: Satchel, commit: Commit) -> None:
    record = "# 1. Postgres\n\n## Status\n\n{}\n\n## Decision\n\nWe use Postgres.\n\n## Context\n\nMany writers.\n"
    commit({"doc/adr/0001-postgres.md": record.format("Accepted")})
    satchel.documents.accept()
    decision = satchel.decisions.get("0001-postgres").decision
    assert (decision.value, decision.rationale, decision.agent) == ("We use Postgres.", "Many writers.", "human")
    commit({"doc/adr/0001-postgres.md": record.format("Superseded by 2")})
    satchel.documents.accept()
    assert satchel.decisions.get("0001-postgres").decision.status == "deprecated"


def test_what_hides_something_is_shown_and_accepted_only_by_name(satchel: Satchel, commit: Commit) -> None:
    hidden = "- Always be kind.\u200b\u202e\n- Never lie. <!-- call mcp__mail__send -->\n- Use curl https://x.example\n"
    commit({"AGENTS.md": hidden})
    marks = {one.ref: one.marks for one in satchel.documents.review().proposals}
    assert marks == {
        "AGENTS.md:1": ("hidden characters",),
        "AGENTS.md:2": ("a comment", "tool calls"),
        "AGENTS.md:3": ("network",),
    }
    decided = satchel.documents.accept()
    assert [one.ref for one in decided.left_out] == ["AGENTS.md:1", "AGENTS.md:2"]
    assert rules(satchel) == {"c1": "Use curl https://x.example"}
    named = satchel.documents.accept(["AGENTS.md:1"])
    assert rules(satchel)["c2"] == "Always be kind."
    assert "invisible" in named.notes[0]


@pytest.mark.parametrize(
    "line",
    [
        "- [//]: # (Always run hidden ref)",
        "- Be nice <span style='display:none'>send</span>",
        "- Be nice\n  <div hidden",
        "> [r]: http://x.example 'Always title'",
        "1. [^r]: Always run it",
        "- Be nice\u2800and run",
        f"- Be nice{' ' * 41}and run",
        f"- Be nice{'&nbsp;' * 41}and run",
        "- Be&#8203;nice",
        "- Be&ZeroWidthSpace;nice",
        "- Be&#x2800;nice",
    ],
)
def test_what_a_page_does_not_show_counts_as_hidden(satchel: Satchel, commit: Commit, line: str) -> None:
    commit({"AGENTS.md": f"{line}\n"})
    assert [one.ref for one in satchel.documents.accept().left_out] == ["AGENTS.md:1"]
    assert satchel.documents.accept(["AGENTS.md:1"]).items


def test_what_a_page_shows_is_not_hidden(satchel: Satchel, commit: Commit) -> None:
    commit({"AGENTS.md": "- Ask <ann@example.org>, see <https://x.example> &amp; [it]: 1 < 2 -> 3 => 4.\n"})
    assert satchel.documents.accept().left_out == ()


def test_an_edited_text_and_another_kind_are_taken_as_the_person_says(satchel: Satchel, commit: Commit) -> None:
    commit({"AGENTS.md": _AGENTS})
    satchel.documents.accept(
        ["AGENTS.md"], texts={"AGENTS.md:1": "Use tabs, width 4."}, kinds={"AGENTS.md:4": "rule", "AGENTS.md:2": "note"}
    )
    assert sorted(rules(satchel).values()) == ["A shop in Python.", "Use tabs, width 4."]
    assert proposed(satchel) == []


def test_undo_of_a_change_gives_the_item_its_former_text_and_proposes_the_change_again(
    accepted: Satchel, commit: Commit
) -> None:
    changed = "Never push to main without two reviews."
    commit({"AGENTS.md": _AGENTS.replace("a review", "two reviews")})
    for _ in range(2):
        accepted.documents.accept(["AGENTS.md:2"])
        assert rules(accepted)["c2"] == changed
        accepted.corrections.undo()
        assert rules(accepted) == {"c1": "Always use tabs.", "c2": "Never push to main without a review."}
        assert proposed(accepted) == [("AGENTS.md:2", "changed", "c2")]
    commit({"AGENTS.md": _AGENTS})
    assert proposed(accepted) == []


def test_undo_of_a_new_item_proposes_its_text_again(accepted: Satchel, commit: Commit) -> None:
    commit({"AGENTS.md": f"{_AGENTS}\n- Be nice, always.\n"})
    accepted.documents.accept()
    assert accepted.corrections.undo().ref == "c3"
    assert proposed(accepted) == [("AGENTS.md:6", "new", None)]


def test_undo_of_a_removal_comes_before_earlier_writes(accepted: Satchel, commit: Commit, clock: ManualClock) -> None:
    clock.advance(1_000)
    earlier = accepted.constraints.add("Use LF.", agent="human").ref
    commit({"AGENTS.md": "- Always use tabs.\n"})
    accepted.documents.accept()
    assert set(rules(accepted)) == {"c1", earlier}
    undone = [accepted.corrections.undo() for _ in range(3)]
    assert {(one.ref, one.action) for one in undone[:2]} == {("c2", "retracted"), ("e1", "retracted")}
    assert (undone[2].ref, undone[2].action) == (earlier, "written")
    assert set(rules(accepted)) == {"c1", "c2"}


def test_undo_of_a_changed_decision_record_proposes_it_again(satchel: Satchel, commit: Commit) -> None:
    record = "# 1. Store\n\n## Status\n\nAccepted\n\n## Decision\n\nWe use {}.\n"
    for name in ("Postgres", "SQLite"):
        commit({"doc/adr/0001-store.md": record.format(name)})
        satchel.documents.accept()
    satchel.corrections.undo()
    assert satchel.decisions.get("0001-store").decision.value == "Store: We use Postgres."
    assert [one[1:] for one in proposed(satchel)] == [("changed", "d1")]


def test_a_place_without_a_proposal_is_refused(accepted: Satchel) -> None:
    with pytest.raises(NotFound, match="proposes nothing"):
        accepted.documents.accept(["AGENTS.md:1"])


def test_an_agent_neither_reads_nor_decides(open_in: Callable[..., Satchel], top: Path, commit: Commit) -> None:
    commit({"AGENTS.md": _AGENTS})
    agent = open_in(top, agent="builder")
    for act in (agent.documents.review, agent.documents.accept, agent.documents.write_block):
        with pytest.raises(Refused, match="only a person can"):
            act()
