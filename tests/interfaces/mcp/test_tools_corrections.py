"""Retract and confirm, called as an agent calls them, and undo as a person does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tool_asking import Asker, Case, check_case, check_format, field, named

CASES = [
    Case("retract", "id", {"id": "e1"}, field("id"), "e1"),
    Case("confirm", "id", {"id": "e1", "agent": "ben"}, field("by"), ["ben"]),
    Case("confirm", "agent", {"id": "c1", "agent": "ben"}, field("by"), ["ben"]),
]


@pytest.fixture
def world(new_asker: Callable[[], Asker]) -> Callable[[], Asker]:
    """Stores of a note and a rule by ann, and a critical one."""

    def make() -> Asker:
        ask = new_asker()
        ask.text("write_context", type="discovery", content="the gateway signs", agent="ann")
        ask.text("add_constraint", text="sign all", agent="ann")
        ask.text("add_constraint", text="never log a token", priority="critical", agent="ann")
        return ask

    return make


def test_retracting_says_what_and_how_it_is_still_found(world: Callable[[], Asker]) -> None:
    ask = world()
    assert ask.text("retract", id="e1", reason="it does not", agent="ben").splitlines() == [
        "retracted e1; lists and searches hide it unless status asks for it",
        ' "the gateway signs"',
    ]
    assert "retracted by ben: it does not" in ask.text("get_items", ids=["e1"])
    assert ask.fields("get_items", ids=["e1"])["items"][0]["corrections"] == ["retracted by ben: it does not"]
    assert "e1 discovery by ann retracted" in ask.text("read_context", status="superseded")
    assert ask.text("search", query="gateway").startswith("0 results")


def test_a_critical_rule_stays_and_the_answer_says_who_was_asked(world: Callable[[], Asker]) -> None:
    ask = world()
    text = ask.text("retract", id="c2", agent="ben")
    assert text.splitlines()[0] == "c2 stays: only a person retracts it; human was asked to, in m1"
    assert ask.fields("get_constraints")["total"] == 2
    assert ask.fields("retract", id="c2", agent="ben")["done"] is False


def test_confirming_says_who_has(world: Callable[[], Asker]) -> None:
    ask = world()
    ask.text("confirm", id="e1", agent="ben")
    assert ask.text("confirm", id="e1", agent="cat").startswith("e1: 2 agents confirmed it: ben, cat")
    assert "note: confirmed by ben, cat" in ask.text("get_items", ids=["e1"])


def test_what_replaces_a_note_names_it(world: Callable[[], Asker]) -> None:
    ask = world()
    ask.text("write_context", type="discovery", content="the mailer signs", supersedes="e1", agent="ben")
    assert "superseded-by:e2" in ask.text("read_context", status="superseded")
    refused = ask.refused("write_context", type="discovery", content="nobody signs", supersedes="e1")
    assert refused.startswith("error [conflict]: e1 was replaced by e2 already")


@pytest.mark.parametrize("case", named(CASES))
def test_the_command_does_the_same(world: Callable[[], Asker], case: Case) -> None:
    check_case(world, case)


@pytest.mark.parametrize(("tool", "arguments"), [("retract", {"id": "c1"}), ("confirm", {"id": "c1", "agent": "ben"})])
def test_the_format_is_chosen(world: Callable[[], Asker], tool: str, arguments: dict[str, Any]) -> None:
    check_format(world(), tool, arguments)


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("retract", {"id": "e99"}, "error [not_found]: there is no entry e99"),
        ("confirm", {"id": "d1"}, "d1 is a decision, which cannot be confirmed. Change it with set_decision"),
        ("retract", {"id": "y1"}, "y1 is a solution, which cannot be retracted"),
        ("retract", {}, "retract argument 'id' is missing"),
        ("retract", {"id": "e1", "reason": " "}, "reason is empty"),
        ("confirm", {"id": "s1", "agent": "ben"}, "report_outcome id=s1"),
        ("confirm", {"id": "e1"}, "confirming needs an agent"),
    ],
)
def test_a_faulty_call_is_refused(world: Callable[[], Asker], tool: str, arguments: dict[str, Any], told: str) -> None:
    assert told in world().refused(tool, **arguments)
