"""How SQLite runs statements: a page in order comes from an index, unsorted, and a write walks over no notes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from satchel import NewEntry, Satchel
from satchel.keep import lists
from satchel.keep.entries import kind
from satchel.store.sqlite_transaction import SqliteTransaction
from satchel.store.transaction import Parameters, Row

pytestmark = pytest.mark.slow


@pytest.fixture
def plans(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[list[str]]]:
    """Read a page, or act, and return the plan of each statement on the table of entries, the page's own last."""
    satchel.runs.start("r1")
    satchel.entries.write_many(
        [
            NewEntry(kind, "x", task_id=task, loop_id=loop, file=file)
            for kind in ("discovery", "error")
            for task in ("T1", "T2", None)
            for loop in ("L1", "L2", None)
            for file in ("a.py", "b.py", None)
        ],
        run_id="r1",
        agent="dev",
    )
    statements: list[tuple[str, Parameters | None]] = []

    def listen(name: str) -> None:
        original: Callable[..., Any] = getattr(SqliteTransaction, name)

        def run(transaction: SqliteTransaction, sql: str, parameters: Parameters | None = None) -> Any:
            if "FROM context " in " ".join(sql.split()):
                statements.append((sql, parameters))
            return original(transaction, sql, parameters)

        monkeypatch.setattr(SqliteTransaction, name, run)

    def read(act: Callable[..., object] = satchel.entries.read, **options: Any) -> list[list[str]]:
        statements.clear()
        act(**options)
        return [explain(sql, parameters) for sql, parameters in list(statements)]

    def explain(sql: str, parameters: Parameters | None) -> list[str]:
        with satchel.workplace.engine.read() as transaction:
            assert isinstance(transaction, SqliteTransaction)
            rows: list[Row] = list(transaction.connection.execute(f"EXPLAIN QUERY PLAN {sql}", parameters))
        # a page is chosen in a list of its own, and what is joined to it is sorted after that
        chosen = [row[0] for row in rows if row[3].startswith("LIST SUBQUERY")]
        return [row[3] for row in rows if not chosen or row[1] in chosen]

    # what filters hide is counted by a list of its own
    monkeypatch.setattr(lists, "_hidden", lambda *_: [])
    for name in ("one", "all"):
        listen(name)
    return read


NARROW = (
    ({"types": ["error"]}, "context_type (project_id=? AND type=?)"),
    ({"task_id": "T1"}, "context_task (project_id=? AND task_id=?)"),
    ({"loop_id": "L1"}, "context_loop (project_id=? AND loop_id=?)"),
    ({"file": "a.py"}, "context_file (project_id=? AND file=?)"),
)
"""Filters that have an index of their own, in all runs and in one."""

RUN = {"run_id": "r1"}


@pytest.fixture(params=[{}, RUN], ids=["project", "run"])
def of_run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """All runs, or one that counts as large."""
    monkeypatch.setattr(kind, "_SMALL_RUN", 5)
    run: dict[str, str] = request.param
    return run


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("status", ["live", "superseded", "all"])
@pytest.mark.parametrize(("options", "index"), NARROW)
def test_a_page_comes_from_the_index_of_its_filter_in_order(
    plans: Callable[..., list[list[str]]],
    of_run: dict[str, str],
    options: dict[str, Any],
    index: str,
    status: str,
    order: str,
) -> None:
    page = plans(**options, **of_run, status=status, order=order)[-1]
    assert any(f"INDEX {index}" in step for step in page), page
    assert not any("TEMP B-TREE" in step for step in page), page


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("status", ["live", "superseded", "all"])
@pytest.mark.parametrize("options", [{}, {"author": "dev"}, {"since": 5}, {"types": ["error"]}], ids=str)
def test_other_pages_come_from_the_index_of_the_run_or_of_times_in_order(
    plans: Callable[..., list[list[str]]], options: dict[str, Any], status: str, order: str
) -> None:
    (of_run, of_project) = (plans(**options, **run, status=status, order=order)[-1] for run in (RUN, {}))
    expected = "context_type (project_id=?" if "types" in options else "context_time (project_id=?"
    assert any("INDEX context_run (run_id=?" in step for step in of_run), of_run
    assert any(f"INDEX {expected}" in step for step in of_project), of_project
    assert not any("TEMP B-TREE" in step for step in (*of_run, *of_project))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"types": ["error"]},
        {"types": ["error", "discovery"]},
        {"task_id": "T1"},
        {"loop_id": "L1"},
        {"file": "a.py"},
        {"author": "dev"},
        {"types": ["error"], "task_id": "T1", "loop_id": "L1", "file": "a.py", "author": "dev", "since": 1},
        {"after_seq": 3},
        {"after_seq": 3, "types": ["error"]},
        {"query": "x"},
        {"query": "x", "order": "asc", "task_id": "T1"},
    ],
    ids=lambda options: "+".join(options) or "run",
)
@pytest.mark.parametrize("status", ["live", "superseded", "all"])
def test_no_statement_of_a_page_walks_all_entries(
    plans: Callable[..., list[list[str]]], of_run: dict[str, str], options: dict[str, Any], status: str
) -> None:
    for plan in plans(**options, **of_run, status=status):
        assert not any(step in {"SCAN c", "SCAN context", "SCAN d", "SCAN documents"} for step in plan), plan


def test_changes_come_from_the_index_of_their_numbers_in_order(
    plans: Callable[..., list[list[str]]], of_run: dict[str, str]
) -> None:
    page = plans(after_seq=3, **of_run)[-1]
    assert any("USING INDEX context_seq (project_id=? AND seq>?)" in step for step in page), page
    assert not any("TEMP B-TREE" in step for step in page), page


@pytest.mark.parametrize(("options", "index"), NARROW)
def test_all_of_a_filter_is_counted_in_its_index_alone(
    plans: Callable[..., list[list[str]]], of_run: dict[str, str], options: dict[str, Any], index: str
) -> None:
    *_, counted, _ = plans(**options, **of_run)
    assert any(f"USING COVERING INDEX {index}" in step for step in counted), counted


@pytest.mark.parametrize(("run", "index"), [({}, "context_time (project_id=?)"), (RUN, "context_run (run_id=?)")])
def test_all_entries_are_counted_in_an_index_alone(
    plans: Callable[..., list[list[str]]], run: dict[str, str], index: str
) -> None:
    *_, counted, _ = plans(**run)
    assert any(f"USING COVERING INDEX {index}" in step for step in counted), counted


def test_a_write_reads_other_notes_by_what_they_say_and_by_their_numbers(
    plans: Callable[..., list[list[str]]], satchel: Satchel
) -> None:
    looked = plans(satchel.entries.write, type="discovery", content="The gateway drops idle connections")
    steps = [step for plan in looked for step in plan if re.match(r"(SEARCH|SCAN) c(ontext)?\b", step)]
    assert sorted(steps) == [
        "SEARCH c USING INTEGER PRIMARY KEY (rowid=?)",
        "SEARCH context USING INDEX context_said (project_id=? AND said=?)",
        "SEARCH context USING INTEGER PRIMARY KEY (rowid>?)",
    ]
