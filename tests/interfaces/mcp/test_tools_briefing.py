"""The tool of the toolset ``briefing``, called as an agent calls it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from satchel.base.errors import Interrupted
from satchel.base.tokens import token_counter
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.registry import Registry
from satchel.interfaces.operations.as_tool import ALL_TOOLS
from tables import in_one_test
from tool_asking import Asker, Case, by_tool, check_cases, field, fields, untested

HERE = {"run_id": "r1", "agent": "ben"}
CLAIMED = "notice: src/a.py is claimed by ann until "


def shown(answer: dict[str, Any]) -> list[str]:
    return [item["id"] for item in answer["items"]]


def has(ref: str) -> Callable[[dict[str, Any]], object]:
    return lambda answer: ref in shown(answer)


def is_before(first: str, second: str) -> Callable[[dict[str, Any]], object]:
    return lambda answer: shown(answer).index(first) < shown(answer).index(second)


def repeated(parameter: str, value: object, look: Callable[[dict[str, Any]], object], expected: object) -> Case:
    return Case("get_briefing", parameter, {**HERE, "again": True, parameter: value}, look, expected)


CASES = [
    repeated("role", "qa_expert", has("p1"), False),
    repeated("task_id", "T1", is_before("e2", "e1"), True),
    repeated("loop_id", "L1", has("e3"), True),
    repeated("query", "where do zebras cross", is_before("e2", "e1"), True),
    repeated("budget", 0, fields("text", "items"), ("", [])),
    repeated("window_used", 0.9, field("zone"), "wrap-up"),
    repeated("dry_run", True, field("is_recorded"), False),
    # all but the scratchpad of the loop was delivered already
    Case("get_briefing", "iteration", {**HERE, "iteration": 1}, shown, ["p1", "e1", "e2"]),
    Case("get_briefing", "again", {**HERE, "again": True}, shown, ["p1", "e1", "e2"]),
    Case("get_briefing", "agent", {"run_id": "r1", "agent": "ben"}, shown, []),
    # two runs are active
    Case("get_briefing", "run_id", {"run_id": "r2"}, field("run_id"), "r2"),
]


@pytest.fixture
def world(new_asker: Callable[[], Asker]) -> Callable[[], Asker]:
    """Stores of two active runs, in the first two notes and a package, delivered to ben, and a scratchpad of his."""

    def make() -> Asker:
        ask = new_asker()
        for run in ("r1", "r2"):
            ask.satchel.runs.start(run)
        for task, content in (("T2", "lions sleep"), ("T1", "zebras cross here")):
            ask.text("write_context", type="discovery", content=content, task_id=task, run_id="r1", agent="ann")
        pad = {"iteration": 0, "done": False}
        ask.text("write_context", type="scratchpad", content=pad, loop_id="L1", run_id="r1", agent="ben")
        ask.text("save_package", summary="a map", content="x", consumers=["developer"], run_id="r1", agent="ann")
        assert shown(ask.fields("get_briefing", **HERE)) == ["p1", "e1", "e2"]
        return ask

    return make


@pytest.fixture
def full(new_asker: Callable[[], Asker]) -> Callable[[], Asker]:
    """Stores in which a critical message and forty-one notes on a file that ann has claimed wait for ben."""

    def make() -> Asker:
        ask = new_asker()
        notes = [
            {"type": "discovery", "content": f"note {n} " + "on and on " * 4, "file": "src/a.py"} for n in range(41)
        ]
        ask.text("write_context", entries=notes, agent="ann")
        ask.text("send_message", message="stop", to="ben", priority="critical", agent="ann")
        ask.text("claim_files", paths=["src/a.py"], agent="ann")
        return ask

    return make


@pytest.mark.parametrize("cases", by_tool(CASES))
def test_every_parameter_counts(world: Callable[[], Asker], cases: Iterable[Case]) -> None:
    check_cases(world, cases)


def test_no_parameter_is_left_out_of_the_table() -> None:
    assert untested("briefing", CASES) == set()


def test_the_format_is_chosen(world: Callable[[], Asker]) -> None:
    ask = world()
    text = ask.text("get_briefing", **HERE, again=True)
    assert text.split("\n")[-1] == "e2 task T1: zebras cross here"
    assert ask.fields("get_briefing", **HERE, again=True)["text"] == text
    assert "Valid: text, json" in ask.refused("get_briefing", **HERE, format="yaml")


def test_a_briefing_of_nothing_new_says_how_to_repeat_it(world: Callable[[], Asker]) -> None:
    assert "nothing new since your last briefing; again=true repeats 3 items" in world().text("get_briefing", **HERE)


@pytest.mark.parametrize("budget", [20, 60, 100, 150, 300, 600, 1_000, 3_000, 20_000])
def test_the_whole_answer_stays_inside_the_budget(full: Callable[[], Asker], budget: int) -> None:
    text = full().text("get_briefing", agent="ben", budget=budget)
    assert token_counter("o200k_base").count(text) <= budget


@pytest.mark.parametrize("budget", [100, 300, 1_000])
def test_a_full_briefing_keeps_room_for_the_notice(full: Callable[[], Asker], budget: int) -> None:
    ask = full()
    assert ask.fields("get_briefing", agent="ben", budget=budget, dry_run=True)["left_out"]
    text = ask.text("get_briefing", agent="ben", budget=budget)
    last = text.split("\n")[-1]
    assert last.startswith(CLAIMED)


def test_a_briefing_with_room_names_the_claims_on_its_files(full: Callable[[], Asker]) -> None:
    assert full().text("get_briefing", agent="ben", budget=20_000).split("\n")[-1].startswith(CLAIMED)


def test_json_has_the_whole_budget_for_its_text_and_every_claim_beside_it(full: Callable[[], Asker]) -> None:
    ask = full()
    answer = ask.fields("get_briefing", agent="ben", budget=20_000)
    assert answer["budget"] == 20_000
    assert answer["notice"].startswith(CLAIMED)
    assert "notice" not in answer["text"]


@pytest.mark.parametrize(
    ("budget", "told"),
    [
        (0, "left out: 1 critical message (get_messages), 41 entries (search)"),
        (1, "left out: 1 critical message (get_messages), 41 entries (search)"),
    ],
)
def test_a_budget_without_room_says_what_waits(full: Callable[[], Asker], budget: int, told: str) -> None:
    text = full().text("get_briefing", agent="ben", budget=budget)
    assert text == f"a budget of {budget} tokens has no room for a briefing; {told}"


def test_a_budget_without_room_in_an_empty_project_says_that_nothing_waits(empty: Asker) -> None:
    text = empty.text("get_briefing", budget=0)
    assert text.startswith("a budget of 0 tokens has no room for a briefing; no rules, decisions")


def test_a_preview_records_nothing(world: Callable[[], Asker]) -> None:
    ask = world()
    new = {**HERE, "iteration": 1}
    before = ask.text("get_briefing", **new, dry_run=True)
    assert ask.text("get_briefing", **new) == before
    assert "nothing new" in ask.text("get_briefing", **new, dry_run=True)


def test_a_cancelled_call_packs_nothing(world: Callable[[], Asker]) -> None:
    ask = world()
    registry = Registry(ALL_TOOLS)
    call = Call(lambda: ask.satchel)
    call.cancel()
    with pytest.raises(Interrupted):
        registry.tool("get_briefing").handler(call, **HERE, iteration=1)
    assert shown(ask.fields("get_briefing", **HERE, iteration=1)) == ["p1", "e1", "e2"]


@in_one_test(
    ("arguments", "told"),
    [
        ({"budget": -1}, "budget -1 is out of range"),
        ({"budget": 1.5}, "budget must be a whole number"),
        ({"budget": "much"}, "budget must be a whole number"),
        ({"window_used": 1.2}, "window_used 1.2 is out of range"),
        ({"window_used": "half"}, "window_used must be a number"),
        ({"iteration": -1}, "iteration -1 is out of range"),
        ({"query": "  "}, "query is empty"),
        ({"role": "{{role}}"}, "unresolved placeholder"),
        ({"run_id": "r9"}, "there is no run 'r9'"),
        ({"tokens": 5}, "unknown get_briefing argument 'tokens'"),
    ],
)
def test_a_faulty_request_is_refused(made: Asker, arguments: dict[str, Any], told: str) -> None:
    given = {name: value for name, value in {**HERE, **arguments}.items() if value is not None}
    assert told in made.refused("get_briefing", **given)


def test_the_answer_is_the_briefing_that_the_library_packs(world: Callable[[], Asker]) -> None:
    ask = world()
    briefing = ask.satchel.brief("developer", query="zebras", run_id="r1", agent="cat", dry_run=True)
    asked = {"role": "developer", "query": "zebras", "run_id": "r1", "agent": "cat"}
    assert ask.text("get_briefing", **asked, dry_run=True) == briefing.text
    answer = json.loads(ask.text("get_briefing", **asked, format="json"))
    assert (answer["text"], answer["tokens"]) == (briefing.text, briefing.tokens)
