"""The tools of the toolset ``constraints``, called as an agent calls them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import pytest

from tool_asking import Asker, Case, by_tool, check_cases, check_format, field, ids, untested

if TYPE_CHECKING:
    from conftest import ManualClock

MINUTE = 60_000
FULL: dict[str, Any] = {
    "text": "no call leaves the network",
    "category": "networking",
    "priority": "high",
    "layer": "infrastructure",
    "tags": ["api", "security"],
    "agent": "ann",
}


def added(parameter: str, value: object) -> Case:
    return Case("add_constraint", parameter, {"text": "a rule", parameter: value}, field(parameter), value)


def found(parameter: str, value: object, *expected: str, **others: object) -> Case:
    return Case("get_constraints", parameter, {parameter: value, **others}, ids("constraints"), list(expected))


CASES = [
    *(added(name, value) for name, value in FULL.items()),
    added("paths", ["src/api/**", "*.py"]),
    added("metadata", {"owner": "core", "risk": 3}),
    added("until", "2027-01-31")._replace(look=lambda answer: answer.get("metadata", {}).get("until")),
    found("metadata", "owner"),
    found("file", "src/api/a.py")._replace(
        look=lambda answer: [one["id"] for one in answer["bindings" if "bindings" in answer else "constraints"]],
        expected=["c1"],
    ),
    added("stated_by", "user")._replace(
        arguments={"text": "a rule", "stated_by": "user", "agent": "ann"},
        look=lambda answer: "your own rule" in answer.get("notes", ("",))[0],
        expected=True,
    ),
    added("for", "me")._replace(look=lambda answer: answer.get("for_person", "").startswith("human"), expected=True),
    added("supersedes", "c9")._replace(look=field("error"), expected="not_found"),
    found("query", "what about passwords?", "c3"),
    found("category", "performance", "c2"),
    found("priority", "high", "c2"),
    found("layer", "data", "c1"),
    found("tags", ["api"], "c3", "c1"),
    found("match", "all", "c1", tags=["api", "security"]),
    found("status", "all", "c2", "c3", "c1", "c4"),
    found("author", "ben", "c3"),
    found("since", "150s", "c3"),
    found("after_seq", 0, "c1", "c2", "c3"),
    found("order", "asc", "c1", "c2", "c3"),
    found("limit", 1, "c2"),
    found("offset", 1, "c3", "c1"),
]


@pytest.fixture
def world(new_asker: Callable[[], Asker], clock: ManualClock) -> Callable[[], Asker]:
    """Stores of four rules, a minute apart; c2 is the most urgent, c4 holds no more."""

    def make() -> Asker:
        ask = new_asker()
        rules: list[dict[str, Any]] = [
            {
                "text": "tables have keys",
                "paths": ["src/api/"],
                "layer": "data",
                "tags": ["api", "security"],
                "agent": "ann",
            },
            {"text": "pages in a second", "category": "performance", "priority": "critical", "agent": "ann"},
            {"text": "passwords are hashed", "tags": ["api"], "agent": "ben"},
            {"text": "no framework", "priority": "low", "agent": "ann"},
        ]
        for rule in rules:
            ask.text("add_constraint", **rule)
            clock.advance(MINUTE)
        ask.text("review_item", id="c4", verdict="retract")
        return ask

    return make


@pytest.mark.parametrize("cases", by_tool(CASES))
def test_every_parameter_counts(world: Callable[[], Asker], cases: Iterable[Case]) -> None:
    check_cases(world, cases)


def test_no_parameter_is_left_out_of_the_table() -> None:
    assert untested("constraints", CASES) == set()


def test_the_format_is_chosen(world: Callable[[], Asker]) -> None:
    check_format(world(), "get_constraints", {})


def test_the_format_of_an_addition_is_chosen(empty: Asker) -> None:
    assert empty.text("add_constraint", text="a rule").startswith("added c1")
    assert empty.fields("add_constraint", text="a rule")["id"] == "c2"
    assert "Valid: text, json" in empty.refused("add_constraint", text="a rule", format="yaml")


def test_every_field_comes_back(empty: Asker) -> None:
    kept = empty.fields("add_constraint", **FULL)
    assert (FULL | {"id": "c1", "active": True}).items() <= kept.items()
    assert empty.fields("get_constraints")["constraints"] == [kept]


def test_what_ended_a_rule_comes_back(empty: Asker) -> None:
    empty.text("add_constraint", **FULL)
    empty.text("review_item", id="c1", verdict="retract", evidence="moved", agent="ben")
    expected = FULL | {"active": False, "reason": "moved", "deactivated_by": "ben"}
    (ended,) = empty.fields("get_constraints", status="inactive")["constraints"]
    assert expected.items() <= ended.items()


@pytest.mark.parametrize("tags", [["api", "security"], '["api", "security"]'])
def test_a_list_may_be_its_json_text(empty: Asker, tags: object) -> None:
    empty.text("add_constraint", text="a rule", tags=tags)
    (rule,) = empty.fields("get_constraints", tags=tags, match="all")["constraints"]
    assert rule["tags"] == ["api", "security"]


def test_a_single_word_is_a_list_of_one(empty: Asker) -> None:
    assert empty.fields("add_constraint", text="a rule", tags="api")["tags"] == ["api"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "add_constraint argument 'text' is missing"),
        ({"text": " "}, "text"),
        ({"text": "a", "priority": "hihg"}, "Did you mean 'high'? Valid: low, medium, high, critical"),
        ({"text": "a", "layer": "busines"}, "Did you mean 'business'?"),
        ({"text": "a", "category": " "}, "category"),
        ({"text": "a", "tags": "api, security"}, "tags must be a list"),
        ({"text": "a", "rule": "b"}, "unknown add_constraint argument 'rule'"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_is_written(empty: Asker, arguments: dict[str, Any], told: str) -> None:
    assert told in empty.refused("add_constraint", **arguments)
    assert empty.fields("get_constraints", status="all")["total"] == 0


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("get_constraints", {"status": "actve"}, "Did you mean 'active'? Valid: active, inactive, all"),
        ("get_constraints", {"priority": "urgent"}, "Valid: low, medium, high, critical"),
        ("get_constraints", {"limit": 501}, "limit 501 is out of range"),
        ("get_constraints", {"tags": []}, "tags"),
    ],
)
def test_a_faulty_call_is_refused(world: Callable[[], Asker], tool: str, arguments: dict[str, Any], told: str) -> None:
    assert told in world().refused(tool, **arguments)


def test_a_filter_that_nobody_named_gives_an_empty_page_and_says_so(world: Callable[[], Asker]) -> None:
    page = world().fields("get_constraints", author="nobody")
    assert page["constraints"] == []
    assert page["notes"]
