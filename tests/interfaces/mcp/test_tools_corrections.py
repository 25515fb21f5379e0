"""Retract and confirm, called as an agent calls them, and undo as a person does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tables import in_one_test
from tool_asking import Asker, Case, by_tool, check_cases, check_format, field

CASES = [
    Case("review_item", "id", {"id": "e1", "verdict": "retract"}, field("id"), "e1"),
    Case("review_item", "verdict", {"id": "e1", "verdict": "confirm", "agent": "ben"}, field("by"), ["ben"]),
    Case("review_item", "agent", {"id": "c1", "verdict": "confirm", "agent": "ben"}, field("by"), ["ben"]),
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
    assert ask.text("review_item", id="e1", verdict="retract", evidence="it does not", agent="ben").splitlines() == [
        "retracted e1; lists and searches hide it unless status asks for it",
        ' "the gateway signs"',
    ]
    assert "retracted by ben: it does not" in ask.text("get_items", ids=["e1"])
    assert ask.fields("get_items", ids=["e1"])["items"][0]["corrections"] == ["retracted by ben: it does not"]
    assert "e1 discovery by ann retracted" in ask.text("read_context", status="superseded")
    assert ask.text("search", query="gateway").startswith("0 results")


def test_a_critical_rule_stays_and_the_answer_says_who_was_asked(world: Callable[[], Asker]) -> None:
    ask = world()
    text = ask.text("review_item", id="c2", verdict="retract", agent="ben")
    assert text.splitlines()[0] == "c2 stays: only a person retracts it; human was asked to, in m1"
    assert ask.fields("get_constraints")["total"] == 2
    assert ask.fields("review_item", id="c2", verdict="retract", agent="ben")["done"] is False


def test_confirming_says_who_has(world: Callable[[], Asker]) -> None:
    ask = world()
    ask.text("review_item", id="e1", verdict="confirm", agent="ben")
    assert ask.text("review_item", id="e1", verdict="confirm", agent="cat").startswith("e1: confirmed by ben, cat")
    assert "note: confirmed by ben, cat" in ask.text("get_items", ids=["e1"])
    ask.text("review_item", id="e1", verdict="confirm", evidence="tests/test_sign.py passes", agent="dan")
    assert "ben, cat, dan (tests/test_sign.py passes)" in ask.text("get_items", ids=["e1"])


def test_only_a_bug_or_a_review_issue_is_closed(world: Callable[[], Asker]) -> None:
    ask = world()
    ask.text("write_context", type="bug", content="it leaks", file="src/a.py", agent="ann")
    assert ask.text("review_item", id="e2", verdict="close", evidence="f3 mends it", agent="ben").startswith(
        "closed e2"
    )
    for ref in ("e1", "c1"):
        refused = ask.refused("review_item", id=ref, verdict="close", agent="ben")
        assert f"{ref} is neither a bug nor a review issue" in refused
        assert "verdict=retract" in refused
    assert "retracted" not in ask.text("get_items", ids=["e1", "c1"])


def test_a_message_is_withdrawn_until_somebody_has_read_it(world: Callable[[], Asker]) -> None:
    ask = world()
    for text in ("which port?", "which host?"):
        ask.text("send_message", message=text, to="ben", agent="ann")
    assert ask.text("review_item", id="m1", verdict="retract", agent="ann").startswith("withdrew m1")
    assert "which port?" not in ask.text("get_messages", agent="ben")
    assert "m2 was read by ben" in ask.refused("review_item", id="m2", verdict="retract", agent="ann")
    assert "m2 was sent by another" in ask.refused("review_item", id="m2", verdict="retract", agent="cat")


def test_what_replaces_a_note_names_it(world: Callable[[], Asker]) -> None:
    ask = world()
    ask.text("write_context", type="discovery", content="the mailer signs", supersedes="e1", agent="ben")
    assert "superseded-by:e2" in ask.text("read_context", status="superseded")
    refused = ask.refused("write_context", type="discovery", content="nobody signs", supersedes="e1")
    assert refused.startswith("error [conflict]: e1 was replaced by e2 already")


@pytest.mark.parametrize("cases", by_tool(CASES))
def test_the_command_does_the_same(world: Callable[[], Asker], cases: Iterable[Case]) -> None:
    check_cases(world, cases)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("review_item", {"id": "c1", "verdict": "retract"}),
        ("review_item", {"id": "c1", "verdict": "confirm", "agent": "ben"}),
    ],
)
def test_the_format_is_chosen(world: Callable[[], Asker], tool: str, arguments: dict[str, Any]) -> None:
    check_format(world(), tool, arguments)


@in_one_test(
    ("tool", "arguments", "told"),
    [
        ("review_item", {"id": "e99", "verdict": "retract"}, "error [not_found]: there is no note e99"),
        (
            "review_item",
            {"id": "d1", "verdict": "confirm"},
            "d1 is a decision, which cannot be confirmed. Change it with set_decision",
        ),
        ("review_item", {"id": "y1", "verdict": "retract"}, "y1 is a solution, which cannot be retracted"),
        ("review_item", {"verdict": "retract"}, "review_item argument 'id' is missing"),
        ("review_item", {"id": "e1", "verdict": "confirm", "evidence": " ", "agent": "ben"}, "evidence is empty"),
        ("review_item", {"id": "s1", "verdict": "confirm", "agent": "ben"}, "report_outcome id=s1"),
    ],
)
def test_a_faulty_call_is_refused(made: Asker, tool: str, arguments: dict[str, Any], told: str) -> None:
    assert told in made.refused(tool, **arguments)


def test_a_call_of_nobody_is_refused(made: Asker) -> None:
    assert "confirming needs an agent" in made.refused("review_item", id="e1", verdict="confirm")
