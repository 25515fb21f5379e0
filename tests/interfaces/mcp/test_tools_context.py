"""Every parameter of write_context and read_context, called as an agent calls them: ignoring one fails a test."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from satchel import open_satchel
from satchel.client import Satchel
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.registry import Outcome, Registry
from satchel.interfaces.operations.as_tool import ALL_TOOLS
from satchel.keep.entries.records import ENTRY_TYPES
from tables import in_one_test
from tool_asking import Asker

START = int(datetime(2026, 11, 21, 9, 0, tzinfo=UTC).timestamp()) * 1_000

Ask = Callable[..., Outcome]


class HandClock:
    """A clock that stands until the test moves it."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def opened(tmp_path: Path, clock: HandClock) -> Iterator[Satchel]:
    (tmp_path / ".git").mkdir()
    with open_satchel(cwd=tmp_path, environ={}, clock=clock) as satchel:
        yield satchel


@pytest.fixture
def ask(opened: Satchel) -> Ask:
    """Call a tool by name with arguments."""
    registry = Registry(ALL_TOOLS)

    def call(tool: str, **arguments: object) -> Outcome:
        return registry.run(registry.tool(tool), dict(arguments), Call(lambda: opened))

    return call


def answer(outcome: Outcome) -> dict[str, Any]:
    assert not outcome.is_error, outcome.text
    value = json.loads(outcome.text)
    assert isinstance(value, dict)
    return value


def refs(outcome: Outcome) -> list[str]:
    return [entry["id"] for entry in answer(outcome)["entries"]]


def test_a_note_keeps_every_field(ask: Ask, opened: Satchel) -> None:
    opened.runs.start("r1")
    opened.runs.start("r2")
    note = {"type": "error", "content": "boom", "task_id": "T1", "loop_id": "L1", "file": "./src/a.py", "line": 7}
    (kept,) = answer(ask("write_context", **note, run_id="r2", agent="planner", format="json"))["entries"]
    (read,) = answer(ask("read_context", run_id="r2", format="json"))["entries"]
    expected = {
        **note,
        "file": "src/a.py",
        "run_id": "r2",
        "agent": "planner",
        "created_at": "2026-11-21T09:00:00.000Z",
    }
    assert expected.items() <= read.items()
    assert kept.pop("notes") == ["src/a.py is not there: check its name"]
    assert read == kept


def test_every_note_of_a_batch_keeps_every_field(ask: Ask) -> None:
    note = {"type": "error", "content": "boom", "task_id": "T1", "loop_id": "L1", "file": "src/a.py", "line": 7}
    kept = answer(ask("write_context", entries=[note, {"type": "decision", "content": "x"}], format="json"))["entries"]
    assert note.items() <= kept[0].items()
    assert not {"task_id", "loop_id", "file", "line"} & kept[1].keys()


def test_a_batch_is_kept_whole_or_not_at_all(ask: Ask) -> None:
    outcome = ask("write_context", entries=[{"type": "error", "content": "x"}, {"type": "error", "content": " "}])
    assert outcome.is_error
    assert "entries[1]" in outcome.text
    assert answer(ask("read_context", format="json"))["total"] == 0


def test_a_note_beside_entries_is_refused(ask: Ask) -> None:
    outcome = ask("write_context", entries=[{"type": "error", "content": "x"}], content="y")
    assert outcome == Outcome(
        "error [invalid_input]: entries was given beside content. Put each into entries; only what all share "
        "may stand beside it",
        True,
    )


def test_what_stands_beside_entries_is_that_of_each_that_does_not_say_otherwise(ask: Ask) -> None:
    notes = [{"content": "x"}, {"content": "y", "task_id": "T2", "type": "error"}, {"content": "z", "task_id": None}]
    kept = answer(ask("write_context", entries=notes, type="discovery", task_id="T1", agent="ann", format="json"))
    found = [(one["type"], one.get("task_id"), one["agent"]) for one in kept["entries"]]
    assert found == [("discovery", "T1", "ann"), ("error", "T2", "ann"), ("discovery", None, "ann")]


def test_a_misspelt_field_of_an_entry_names_the_nearest(ask: Ask) -> None:
    outcome = ask("write_context", entries=[{"type": "error", "content": "x", "taskid": "T1"}])
    assert "write_context argument 'entries[0].taskid'. Did you mean 'task_id'?" in outcome.text


@pytest.mark.parametrize("content", [{"iteration": 3, "attempted": ["a"]}, '{"iteration": 3, "attempted": ["a"]}'])
def test_structured_content_may_be_an_object_or_its_json(ask: Ask, content: object) -> None:
    ask("write_context", type="scratchpad", content=content)
    (read,) = answer(ask("read_context", format="json"))["entries"]
    assert read["content"] == {"iteration": 3, "attempted": ["a"]}


@pytest.mark.parametrize("kind", ENTRY_TYPES)
def test_every_type_can_be_written(ask: Ask, kind: str) -> None:
    fields = {"description": "d", "passed": True, "iteration": 1, "summary": "s"}
    assert not ask("write_context", type=kind, content=json.dumps(fields)).is_error


def test_the_answer_to_a_write_names_run_and_author(ask: Ask) -> None:
    outcome = ask("write_context", type="discovery", content="x", agent="planner")
    assert outcome.text.split("\n") == [
        "saved e1 discovery by planner; shown in briefings, searches",
    ]


@pytest.fixture
def three(ask: Ask, opened: Satchel, clock: HandClock) -> None:
    """Three notes a minute apart, each of another kind, and an ended run r0 with one."""
    opened.runs.start("r0")
    ask("write_context", type="discovery", content="of another run", run_id="r0")
    opened.runs.end("r0")
    opened.runs.start("r1")
    clock.now += 60_000
    ask("write_context", type="discovery", content="salt", task_id="T1", loop_id="L1", file="a.py", agent="planner")
    clock.now += 60_000
    ask("write_context", type="error", content="pepper", task_id="T2", loop_id="L2", file="b.py", agent="builder")
    clock.now += 60_000
    ask("write_context", type="decision", content="salt and pepper", agent="Planner")
    clock.now += 60_000


@pytest.mark.usefixtures("three")
@in_one_test(
    ("arguments", "expected"),
    [
        ({}, ["e4", "e3", "e2", "e1"]),
        ({"types": ["error"]}, ["e3"]),
        ({"types": ["error", "decision"]}, ["e4", "e3"]),
        ({"author": "builder"}, ["e3"]),
        ({"author": "PLANNER"}, ["e4", "e2"]),
        ({"author": "nobody"}, []),
        ({"task_id": "T1"}, ["e2"]),
        ({"loop_id": "L2"}, ["e3"]),
        ({"file": "./a.py"}, ["e2"]),
        ({"query": "peppers"}, ["e3", "e4"]),
        ({"query": "peppers", "order": "desc"}, ["e4", "e3"]),
        ({"query": "peppers", "order": "asc"}, ["e3", "e4"]),
        ({"query": "peppers", "types": ["decision"]}, ["e4"]),
        ({"since": "90s"}, ["e4"]),
        ({"since": "2026-11-21T09:02:00Z"}, ["e4", "e3"]),
        ({"order": "asc"}, ["e1", "e2", "e3", "e4"]),
        ({"order": "desc"}, ["e4", "e3", "e2", "e1"]),
        ({"limit": 1}, ["e4"]),
        ({"limit": 1, "offset": 1}, ["e3"]),
        ({"limit": 0}, []),
        ({"status": "superseded"}, []),
        ({"run_id": "r0"}, ["e1"]),
        ({"after_seq": 0}, ["e1", "e2", "e3", "e4"]),
    ],
)
def test_every_parameter_of_read_counts(ask: Ask, arguments: dict[str, Any], expected: list[str]) -> None:
    assert refs(ask("read_context", **arguments, format="json")) == expected


@pytest.mark.usefixtures("three")
def test_the_cursor_of_an_answer_leads_to_what_is_new(ask: Ask) -> None:
    seq = answer(ask("read_context", limit=1, format="json"))["seq"]
    assert refs(ask("read_context", after_seq=seq, format="json")) == []
    ask("write_context", type="error", content="news")
    assert refs(ask("read_context", after_seq=seq, format="json")) == ["e5"]


@pytest.mark.usefixtures("three")
def test_no_limit_gives_the_total_alone(ask: Ask) -> None:
    page = answer(ask("read_context", limit=0, format="json"))
    assert (page["total"], page["entries"], page["next_offset"]) == (4, [], None)


@pytest.mark.usefixtures("three")
def test_a_page_says_what_comes_next(ask: Ask) -> None:
    assert "1 of 4 entries, newest first, UTC times of 2026, next: offset=1\n" in ask("read_context", limit=1).text


@pytest.mark.parametrize(("status", "expected"), [("live", ["e2"]), ("superseded", ["e1"]), ("all", ["e2", "e1"])])
def test_status_chooses_what_was_superseded(ask: Ask, status: str, expected: list[str]) -> None:
    for summary in ("old", "new"):
        ask("write_context", type="codebase_analysis", content={"summary": summary})
    assert refs(ask("read_context", status=status, format="json")) == expected


def test_reading_before_anything_was_written_says_so(ask: Ask) -> None:
    outcome = ask("read_context")
    assert not outcome.is_error
    assert outcome.text.startswith("0 entries\nnote: nothing was written for this project yet")


@pytest.mark.parametrize("tool", ["write_context", "read_context"])
def test_an_unknown_format_names_the_valid_ones(ask: Ask, tool: str) -> None:
    given = {"type": "error", "content": "x"} if tool == "write_context" else {}
    assert "Valid: text, json" in ask(tool, **given, format="yaml").text


def test_a_read_writes_nothing(ask: Ask, opened: Satchel) -> None:
    ask("read_context", author="nobody")
    assert not opened.place.file.exists()


def test_of_several_notes_of_which_one_is_refused_none_is_kept_and_that_is_said(empty: Asker) -> None:
    notes = [{"type": "discovery", "content": "x"}, {"type": "scratchpad", "content": {}}]
    assert empty.refused("write_context", entries=notes).endswith(". None of these 2 was saved")
    assert empty.text("read_context").startswith("0 entries")


def test_notes_are_read_by_search_as_by_query(empty: Asker) -> None:
    for content in ("the lexer is fast", "the parser is slow"):
        empty.text("write_context", type="discovery", content=content)
    by_query, by_search = (empty.text("read_context", **{name: "lexer"}) for name in ("query", "search"))
    assert by_query == by_search
    assert ("lexer" in by_search, "parser" in by_search) == (True, False)
