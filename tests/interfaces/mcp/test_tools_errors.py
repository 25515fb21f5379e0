"""The tools of the toolset ``errors``, called as an agent calls them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tables import in_one_test
from tool_asking import Asker, Case, by_tool, check_cases, field, untested

KNOWN = {"error_type": "ModuleNotFoundError", "message": "No module named 'requests'"}
NEW = {"error_type": "KeyError", "message": "'user_id'"}
SECRET = "password=hunter2hunter2"


def solutions(answer: dict[str, Any]) -> list[str]:
    return [solution["id"] for solution in answer["pattern"]["solutions"]]


def recorded(answer: dict[str, Any]) -> object:
    return answer["recorded"] and answer["recorded"]["text"]


def reported(parameter: str, value: object, look: Callable[[dict[str, Any]], object], expected: object) -> Case:
    return Case("report_error", parameter, {**NEW, parameter: value}, look, expected)


CASES = [
    Case("report_error", "error_type", NEW, field("pattern", "error_type"), "KeyError"),
    Case("report_error", "message", NEW, field("pattern", "message"), "'user_id'"),
    # the newest first, unless clues share words with another
    Case("report_error", "stack", KNOWN | {"stack": "pip install failed"}, solutions, ["y1", "y2"]),
    Case("report_error", "hints", KNOWN | {"hints": ["pip", "install"]}, solutions, ["y1", "y2"]),
    reported("lang", "Python", field("pattern", "lang"), "python"),
    reported("solution", "give it a default", recorded, "give it a default"),
    Case(
        "report_error",
        "agent",
        NEW | {"solution": "give it a default", "agent": "ben"},
        field("recorded", "agent"),
        "ben",
    ),
    reported("task_id", "{{task}}", field("error"), "invalid_input"),
    reported("loop_id", "{{loop}}", field("error"), "invalid_input"),
    reported("run_id", "r9", field("error"), "not_found"),
    Case("report_outcome", "id", {"id": "y1"}, field("confidence"), 6),
    Case("report_outcome", "helped", {"id": "y1", "helped": False}, field("confidence"), 3),
    Case("report_outcome", "solution", {"id": "x1", "solution": "delete the cache"}, field("text"), "delete the cache"),
    Case(
        "report_outcome",
        "agent",
        {"id": "x1", "solution": "delete the cache", "agent": "ben"},
        field("agent"),
        "ben",
    ),
]


@pytest.fixture
def world(new_asker: Callable[[], Asker]) -> Callable[[], Asker]:
    """Stores of two active runs, one error with two solutions, and a strategy."""

    def make() -> Asker:
        ask = new_asker()
        for run in ("r1", "r2"):
            ask.satchel.runs.start(run)
        ask.text("report_error", **KNOWN, solution="run pip install requests", agent="ann")
        ask.text("report_outcome", id="x1", solution="activate the environment", agent="ann")
        ask.text("save_strategy", topic="imports", insight="check the environment first", agent="ann")
        return ask

    return make


@pytest.mark.parametrize("cases", by_tool(CASES))
def test_every_parameter_counts(world: Callable[[], Asker], cases: Iterable[Case]) -> None:
    check_cases(world, cases)


def test_no_parameter_is_left_out_of_the_table() -> None:
    assert untested("errors", CASES) == set()


@pytest.mark.parametrize(("tool", "arguments"), [("report_outcome", {"id": "y9"})])
def test_the_format_of_a_refusal_is_text(world: Callable[[], Asker], tool: str, arguments: dict[str, Any]) -> None:
    assert world().refused(tool, **arguments, format="json").startswith("error [not_found]")


def test_the_format_is_chosen(world: Callable[[], Asker]) -> None:
    ask = world()
    assert ask.text("report_error", **NEW).startswith("x2 KeyError, new")
    assert ask.fields("report_error", **NEW)["is_new"] is False
    assert ask.text("report_outcome", id="y1").startswith(
        "recorded y1 for x1: tentative, confidence 6 of 10 (7 counts as known; each agent it helps adds 1), "
    )
    assert ask.fields("report_outcome", id="y1", agent="ben")["confidence"] == 7
    for tool, arguments in (("report_error", NEW), ("report_outcome", {"id": "y1"})):
        assert "Valid: text, json" in ask.refused(tool, **arguments, format="yaml")


def test_a_strategy_is_judged_by_its_id(world: Callable[[], Asker]) -> None:
    ask = world()
    assert ask.text("report_outcome", id="s1") == "s1 imports helped 1 time"
    judged = ask.fields("report_outcome", id=" s1 ", helped=False)
    assert (judged["id"], judged["helped"], judged["not_helped"]) == ("s1", 1, 1)


def test_an_error_is_named_by_its_hash_too(world: Callable[[], Asker]) -> None:
    ask = world()
    known = ask.fields("report_error", **KNOWN)["pattern"]
    assert ask.fields("report_outcome", id=known["hash"], solution="pin it")["pattern"] == known["id"]


def test_the_same_fix_from_another_agent_confirms_it(world: Callable[[], Asker]) -> None:
    told = world().text("report_outcome", id="x1", solution="RUN pip install requests", agent="ben")
    assert told.startswith(
        "recorded y1 for x1: tentative, confidence 6 of 10 (7 counts as known; "
        "each agent it helps adds 1), helped 1 time\n"
        "note: y1 already records this fix: it is now confirmed"
    )


def test_known_solutions_come_with_standing_confidence_and_author(world: Callable[[], Asker]) -> None:
    ask = world()
    for agent in ("ben", "cid"):
        ask.text("report_outcome", id="y1", agent=agent)
    lines = ask.text("report_error", **KNOWN).split("\n")
    assert lines[0].startswith("x1 ModuleNotFoundError, met 2 times since ")
    assert next(line for line in lines if line.startswith("y1 ")).startswith(
        "y1 known, confidence 7 of 10 helped 2 times "
    )
    assert " run pip install requests" in lines
    assert "each by ann unless noted" in lines[1]


def test_where_an_error_was_met_is_kept(world: Callable[[], Asker]) -> None:
    ask = world()
    ask.text("report_error", **NEW, task_id="T1", loop_id="L1", run_id="r2", agent="ben")
    with ask.satchel.workplace.engine.read() as transaction:
        rows = transaction.all(
            "SELECT r.run_id, e.task_id, e.loop_id, a.name FROM error_reports e "
            "JOIN runs r ON r.id = e.run_id JOIN agents a ON a.id = e.agent_id"
        )
    assert rows == [("main", None, None, "ann"), ("r2", "T1", "L1", "ben")]


def test_secrets_are_redacted_and_that_is_said(empty: Asker) -> None:
    told = empty.text(
        "report_error", error_type="E", message=f"a {SECRET}", stack=f"b {SECRET}", solution=f"c {SECRET}"
    )
    assert "note: a secret was redacted" in told
    assert "hunter2" not in told + str(empty.fields("report_error", error_type="E", message=f"a {SECRET}"))


@pytest.mark.parametrize("hints", [["a hint"], '["a hint"]'])
def test_hints_may_be_a_list_or_its_json_text(empty: Asker, hints: object) -> None:
    empty.text("report_error", **NEW, hints=hints)


@in_one_test(
    ("arguments", "told"),
    [
        ({"message": "x"}, "report_error argument 'error_type' is missing"),
        ({"error_type": "E"}, "report_error argument 'message' is missing"),
        ({"error_type": " ", "message": "x"}, "error_type is empty"),
        ({"error_type": "E", "message": " "}, "message is empty"),
        ({**NEW, "hints": "{not json"}, "hints must be a list"),
        ({**NEW, "hints": {"a": 1}}, "hints must be a list"),
        ({**NEW, "lang": ""}, "lang is empty"),
        ({**NEW, "solution": " "}, "solution is empty"),
        ({**NEW, "loop_id": "{{loopId}}"}, "unresolved placeholder"),
        ({**NEW, "message": "x" * 300_000}, "error [too_large]"),
        ({**NEW, "fix": "x"}, "unknown report_error argument 'fix'"),
    ],
)
def test_a_faulty_report_is_refused_and_nothing_is_written(empty: Asker, arguments: dict[str, Any], told: str) -> None:
    assert told in empty.refused("report_error", **arguments)
    assert empty.satchel.patterns.find().total == 0


@in_one_test(
    ("arguments", "told"),
    [
        ({}, "id"),
        ({"id": "x1"}, "x1 has 2 solutions. Name one: y2 (activate the environment), y1"),
        (
            {"id": "pip install it"},
            "'pip install it' is no id of a solution, an error or a strategy. Give one such as y7, x4 or s3; the text "
            "of a fix goes into solution, with the error's id as id",
        ),
        (
            {"id": "x1", "solution": "y1"},
            "solution is the text of a fix, and y1 an id. Give id=y1 without solution to say whether it helped",
        ),
        ({"id": "s1", "solution": "a fix"}, "s1 is no error that a solution fixes. Give the error's id as id"),
        ({"id": "y1", "solution": "a fix"}, "y1 is no error that a solution fixes"),
        ({"id": "x1", "solution": "a fix", "helped": False}, "what did not help is no solution"),
        ({"id": "y1", "helped": "maybe"}, "helped must be true or false"),
        ({"id": "x1", "solution": " "}, "solution is empty"),
        ({"id": "the error", "solution": "a fix"}, "no id of an error"),
        ({"id": "x9", "solution": "a fix"}, "there is no error pattern x9"),
        ({"id": "y9"}, "there is no solution y9"),
        ({"id": "s9"}, "there is no strategy s9"),
    ],
)
def test_a_faulty_outcome_is_refused_and_nothing_is_changed(made: Asker, arguments: dict[str, Any], told: str) -> None:
    before = made.satchel.patterns.find().items, made.satchel.strategies.find().items
    assert told in made.refused("report_outcome", **arguments)
    assert (made.satchel.patterns.find().items, made.satchel.strategies.find().items) == before
