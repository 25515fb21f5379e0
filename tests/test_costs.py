"""Costs that can be counted: statements of a write and a briefing, and modules of a start."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from conftest import ManualClock
from satchel import Satchel
from satchel.keep.sessions.caller import SERVER, Caller
from satchel.store.sqlite import SqliteEngine

_OF_INDEX = "'main'."
"""Stands in the statements that the full-text index runs by itself."""


def _sqlite(satchel: Satchel) -> SqliteEngine:
    engine = satchel.workplace.engine
    assert isinstance(engine, SqliteEngine)
    return engine


@contextmanager
def _counted(connection: apsw.Connection) -> Iterator[list[str]]:
    statements: list[str] = []

    def note(event: dict[str, str]) -> None:
        if _OF_INDEX not in event["sql"]:
            statements.append(event["sql"])

    connection.trace_v2(apsw.SQLITE_TRACE_STMT, note)
    try:
        yield statements
    finally:
        connection.trace_v2(0)


def _plan(connection: apsw.Connection, statement: str) -> list[str]:
    if not statement.startswith("SELECT"):
        return []
    nothing = dict.fromkeys(re.findall(r":(\w+)", statement))
    return [step for *_, step in connection.execute(f"EXPLAIN QUERY PLAN {statement}", nothing)]


def _writer(satchel: Satchel) -> apsw.Connection:
    with _sqlite(satchel).exclusive() as connection:
        return connection


def _write(satchel: Satchel, number: int) -> None:
    satchel.entries.write("discovery", f"thing number {number} of the cache", task_id="T1", file="src/cache.py")


def test_a_note_takes_eight_statements(open_in: Callable[..., Satchel], project: Path) -> None:
    store = open_in(project)
    _write(store, 0)
    writer = _writer(store)
    _write(store, 1)
    with _counted(writer) as statements:
        _write(store, 2)
    assert len(statements) == 8, statements


def test_a_note_of_another_task_takes_one_more(open_in: Callable[..., Satchel], project: Path) -> None:
    server, counts = open_in(project, environ={}, caller=Caller(SERVER, {}), agent="ann"), []
    _write(server, 0)
    writer = _writer(server)
    for number, task in enumerate(("T1", "T1", "T2", "T3"), 1):
        with _counted(writer) as statements:
            server.entries.write("discovery", f"thing number {number} of the cache", task_id=task)
        counts.append(len(statements))
    assert counts[2:] == [counts[1] + 1] * 2, counts


def test_a_note_after_another_program_wrote_takes_four_more(open_in: Callable[..., Satchel], project: Path) -> None:
    store, other = open_in(project), open_in(project)
    _write(store, 0)
    writer = _writer(store)
    _write(store, 1)
    _write(other, 2)
    with _counted(writer) as statements:
        _write(store, 3)
    assert len(statements) <= 12, statements


def test_a_briefing_with_a_query_takes_as_many_statements_in_a_larger_store(
    open_in: Callable[..., Satchel], project: Path
) -> None:
    store, counts = open_in(project), []
    for size in (5, 60):
        for number in range(size):
            _write(store, 100 * size + number)
        with _sqlite(store).read() as transaction:
            connection = transaction.connection
        with _counted(connection) as statements:
            store.brief(query="number of the cache", dry_run=True)
        counts.append(len(statements))
        plans = [step for one in statements for step in _plan(connection, one.strip())]
        assert not [step for step in plans if step.endswith("(kind=?)")], "all items of a kind are read"
    assert counts[0] == counts[1]
    assert counts[0] <= 34


def test_news_reads_as_much_in_a_larger_store(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    store, steps = open_in(project), []
    for size in (5, 60):
        for number in range(size):
            _write(store, 100 * size + number)
            store.decisions.set(f"key {size} {number}", number, agent="ben")
            store.constraints.add(f"rule {number} of {size}", agent="ben")
            store.files.record(f"src/{size}/{number}.py", "modified", agent="ben")
        clock.advance(60_000)
        at_work = open_in(project, environ={}, caller=Caller(SERVER, {}), agent="ann")
        at_work.files.claim([f"src/parser{size}.py"])
        assert at_work.notices.line(shown_by=None) is None
        with _sqlite(at_work).read() as transaction:
            connection = transaction.connection
        taken: list[int] = []
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, lambda event: taken.append(_steps(event)))  # noqa: B023
        assert at_work.notices.line(shown_by=None) is None
        connection.trace_v2(0)
        steps.append(sum(taken))
    assert steps[0] > 100, steps
    assert steps[1] < 1.2 * steps[0], steps


def test_an_answer_without_news_takes_eight_statements(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    server, other = open_in(project, environ={}, caller=Caller(SERVER, {}), agent="ann"), open_in(project)
    _write(server, 0)
    assert server.notices.line(shown_by=None) is None
    with _sqlite(server).read() as transaction:
        connection = transaction.connection
    _write(server, 1)
    _write(other, 2)
    with _counted(connection) as statements:
        assert server.notices.line(shown_by=None) is None
    assert len(statements) == 8, statements
    clock.advance(1)
    other.constraints.add("keys rotate", agent="ben")
    assert "keys rotate" in (server.notices.line(shown_by=None) or "")


def _steps(event: dict[str, Any]) -> int:
    return int(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])


_EVENT: dict[str, object] = {"session_id": "s1", "source": "startup", "prompt": "the cache", "tool_name": "Edit"}
_ASKS_TOOLS = (
    {
        "method": "initialize",
        "id": 1,
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}},
    },
    {"method": "tools/list", "id": 2},
)

_STARTS: dict[str, tuple[list[str], list[dict[str, object]], int]] = {
    "start hook": (["hook", "claude", "SessionStart"], [_EVENT | {"hook_event_name": "SessionStart"}], 113),
    "edit hook": (["hook", "claude", "PreToolUse"], [_EVENT | {"hook_event_name": "PreToolUse"}], 20),
    "server": (["mcp"], [{"jsonrpc": "2.0", **one} for one in _ASKS_TOOLS], 99),
    "write": (["write", "the cache is cold"], [], 104),
    "search": (["search", "cache"], [], 112),
    "who": (["who"], [], 112),
}


@pytest.mark.parametrize("name", _STARTS)
def test_a_start_loads_few_modules(open_in: Callable[..., Satchel], project: Path, name: str) -> None:
    arguments, messages, most = _STARTS[name]
    store = open_in(project)
    _write(store, 0)
    program = f"import sys\nsys.argv = ['satchel', *{arguments!r}]\nfrom satchel.interfaces.entry import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", program],
        cwd=project,
        env={**os.environ, "SATCHEL_DB": str(_sqlite(store).file), "SATCHEL_HOOKS_DEADLINE_MS": "60000"},
        input="\n".join(map(json.dumps, messages)),
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")]
    of_satchel = [one for one in loaded if one.partition(".")[0] == "satchel"]
    assert 0 < len(of_satchel) <= most
