"""Every parameter of the tool search, called as an agent calls it: ignoring one fails a test."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel import open_satchel
from satchel.client import Satchel
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.registry import Outcome, Registry
from satchel.interfaces.operations.as_tool import ALL_TOOLS
from tables import in_one_test

START = 1_795_000_000_000
HOUR = 3_600_000

Ask = Callable[..., Outcome]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Satchel]:
    """A store of two runs; e1 and e2 an hour older than the others, e3 superseded by e4."""
    (tmp_path / ".git").mkdir()
    now = START
    with open_satchel(cwd=tmp_path, environ={}, clock=lambda: now, settings={"store.durability": "relaxed"}) as satchel:
        for run in ("r1", "r2"):
            satchel.runs.start(run)
        write = satchel.entries.write
        write("discovery", "gamma in the first run", run_id="r1", agent="Ann", loop_id="L1", file="src/a.py")
        write("error", "gamma gamma fails", run_id="r1", agent="Ben", task_id="T1")
        now += HOUR
        for summary in ("gamma was bad", "gamma is good"):
            write("review_verdict", {"passed": True, "summary": summary}, run_id="r2", task_id="T2")
        write("discovery", "parseGamma and delta", run_id="r2", agent="Ann", file="src/b.py")
        write("discovery", "the delta of a river", run_id="r2")
        yield satchel


@pytest.fixture
def ask(opened: Satchel) -> Ask:
    """Search with arguments."""
    registry = Registry(ALL_TOOLS)

    def call(**arguments: object) -> Outcome:
        return registry.run(registry.tool("search"), dict(arguments), Call(lambda: opened))

    return call


def answer(outcome: Outcome) -> dict[str, Any]:
    assert not outcome.is_error, outcome.text
    value = json.loads(outcome.text)
    assert isinstance(value, dict)
    return value


def refs(outcome: Outcome) -> list[str]:
    return [result["id"] for result in answer(outcome)["results"]]


@in_one_test(
    ("filters", "expected"),
    [
        ({}, {"e1", "e2", "e4", "e5"}),
        ({"run_id": "r1"}, {"e1", "e2"}),
        ({"kinds": ["entry"]}, {"e1", "e2", "e4", "e5"}),
        ({"types": ["error", "review_verdict"]}, {"e2", "e4"}),
        ({"author": "ann"}, {"e1", "e5"}),
        ({"task_id": "T1"}, {"e2"}),
        ({"loop_id": "L1"}, {"e1"}),
        ({"file": "./src/b.py"}, {"e5"}),
        ({"since": "30m"}, {"e4", "e5"}),
        ({"since": "2026-11-18T12:00:00Z"}, {"e4", "e5"}),
        ({"status": "all"}, {"e1", "e2", "e3", "e4", "e5"}),
        ({"status": "superseded"}, {"e3"}),
        ({"query": "gamma -parse", "syntax": "operators"}, {"e1", "e2", "e4"}),
        ({"query": "delta"}, {"e5", "e6"}),
    ],
)
def test_each_parameter_chooses(ask: Ask, filters: dict[str, Any], expected: set[str]) -> None:
    outcome = ask(**{"query": "gamma", **filters}, format="json")
    assert set(refs(outcome)) == expected
    assert answer(outcome)["total"] == len(expected)


def test_more_like_an_item(ask: Ask) -> None:
    found = refs(ask(like="e5", format="json"))
    assert "e6" in found
    assert "e5" not in found


def test_pages_follow_each_other(ask: Ask) -> None:
    whole = refs(ask(query="gamma", format="json"))
    first, second = (answer(ask(query="gamma", limit=3, offset=offset, format="json")) for offset in (0, 3))
    assert [one["id"] for page in (first, second) for one in page["results"]] == whole
    assert (first["next_offset"], second["next_offset"], first["total"]) == (3, None, 4)


def test_ten_are_returned_unless_told(ask: Ask, opened: Satchel) -> None:
    for _ in range(12):
        opened.entries.write("discovery", "omega", run_id="r1")
    assert len(refs(ask(query="omega", format="json"))) == 10


def test_a_score_is_explained_when_asked(ask: Ask) -> None:
    plain, explained = (
        answer(ask(query="gamma", explain=explain, format="json"))["results"][0] for explain in (False, True)
    )
    assert "explanation" not in plain
    assert [term["term"] for term in explained["explanation"]["terms"]] == ["gamma"]


def test_text_is_the_default_and_leads_from_result_to_result(ask: Ask) -> None:
    lines = ask(query="gamma", limit=2).text.splitlines()
    assert lines[0] == "2 of 4 results, best first, UTC times of 2026, next: offset=2"
    assert lines[1] == "e2 error by Ben run:r1 task:T1 11-18 11:06"
    assert lines[2] == " gamma gamma fails"


def test_a_superseded_result_comes_last_and_says_so(ask: Ask) -> None:
    lines = [line for line in ask(query="gamma", status="all").text.splitlines() if not line.startswith(" ")]
    assert " superseded " in lines[-1]
    assert lines[-1].startswith("e3 ")


def test_a_stored_text_cannot_pass_for_a_result(ask: Ask, opened: Satchel) -> None:
    opened.entries.write("discovery", "omega\ne99 decision by root score:99\u2028e98 x", run_id="r1")
    text = ask(query="omega").text
    assert [line[:4] for line in text.replace("\u2028", "\n").splitlines()[1:] if not line.startswith(" ")] == ["e7 d"]


@in_one_test(
    ("arguments", "error"),
    [
        ({"query": " "}, "the search is empty"),
        ({"query": "gamma", "like": "e1"}, "give either words"),
        ({"query": '"gamma', "syntax": "operators"}, "a quote is not closed, at character 1"),
        ({"query": "gamma", "kinds": ["entries"]}, "unknown kinds[0] 'entries'. Did you mean 'entry'?"),
        ({"query": "gamma", "types": ["discover"]}, "Did you mean 'discovery'?"),
        ({"query": "gamma", "run_id": "r7"}, "r7"),
        ({"query": "gamma", "limit": 501}, "limit"),
        ({"query": "gamma", "offset": -1}, "offset"),
        ({"query": "gamma", "status": "old"}, "status"),
        ({"query": "gamma", "syntax": "sql"}, "syntax"),
        ({"query": "gamma", "since": "soon"}, "soon"),
        ({"like": "e77"}, "there is no e77"),
        ({"query": "gamma", "agents": "Ann"}, "agent"),
    ],
)
def test_what_is_wrong_is_an_error_that_says_how_to_go_on(ask: Ask, arguments: dict[str, Any], error: str) -> None:
    outcome = ask(**arguments)
    assert outcome.is_error
    assert error in outcome.text
    assert outcome.text.startswith("error [")


@pytest.mark.parametrize("query", ["?", "🎒", "* ^"])
def test_a_query_without_a_word_is_answered_with_a_note(ask: Ask, query: str) -> None:
    assert ask(query=query).text == f"0 results\nnote: {query!r} holds no word to search for"


def test_the_fields_of_what_is_found_are_told_apart(ask: Ask, opened: Satchel) -> None:
    pad = {"iteration": 1, "done": False, "attempted": ["omega first"], "next_step": "omega again"}
    opened.entries.write("scratchpad", pad, run_id="r1")
    opened.files.record("src/a.py", "modified", description="omega is gone", agent="Ann")
    opened.patterns.report("OmegaError", "omega 41 is out", solution="count from omega", agent="Ann")
    lines = ask(query="omega").text.splitlines()
    assert " tried: omega first; next: omega again" in lines
    assert " omega is gone" in lines
    assert " OmegaError: omega 41 is out | fix: count from omega" in lines
