"""Damaged texts: shown with a mark, named by the doctor, never exported or written back, and no obstacle to others."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import cache, partial
from random import Random

import apsw
import pytest

from satchel import Satchel
from satchel.base.errors import SatchelError, StoreDamaged
from satchel.store.damage import MARK
from satchel.store.migrations import empty_store

_TEXTS = [
    ("context", "content", "e1"),
    ("decisions", "value_text", "d1"),
    ("constraints", "text", "c1"),
    ("agent_messages", "message", "m1"),
    ("context_packages", "summary", "p1"),
    ("error_patterns", "example", "x1"),
    ("strategies", "insight", "s1"),
    ("file_changes", "description", "f1"),
]
_DAMAGED = ("CAST(x'616c706861ff' AS TEXT)", "x'616c706861'")


def _fill(satchel: Satchel) -> None:
    for word in ("one", "two"):
        satchel.entries.write("discovery", f"alpha {word}", agent="a", file="src/a.py", task_id="T1", loop_id="L1")
        satchel.decisions.set(f"key/{word}", f"alpha {word}", layer="data", tags=["api"], rationale="beta")
        satchel.decisions.set(f"key/{word}", f"gamma alpha {word}", layer="data", tags=["api"], rationale="beta")
        satchel.constraints.add(f"alpha {word}", category="security")
        satchel.messages.send(f"alpha {word}", to="b", type="info", agent="a", payload={"alpha": word})
        satchel.packages.save(f"alpha {word}", type="research", content=f"alpha {word}")
        satchel.patterns.report(f"Error{word}", f"alpha {word}", solution=f"beta {word}")
        satchel.strategies.save(f"topic {word}", f"alpha {word}")
        satchel.files.record(f"{word}.py", "modified", description=f"alpha {word}", agent="a")


def _spoil(satchel: Satchel, table: str, column: str, value: str, where: str = "id = 1") -> bool:
    """Damage a column of a table; return whether there was a text."""
    with closing(apsw.Connection(str(satchel.place.file))) as connection:
        connection.pragma("ignore_check_constraints", True)
        connection.execute(
            f"UPDATE OR IGNORE {table} SET {column} = {value} WHERE typeof({column}) = 'text' AND {where}"
        )
        return bool(connection.changes())


@pytest.mark.parametrize(("table", "column", "ref"), _TEXTS, ids=[table for table, *_ in _TEXTS])
def test_a_damaged_item_is_shown_and_named_and_can_be_forgotten(
    satchel: Satchel, table: str, column: str, ref: str
) -> None:
    _fill(satchel)
    refs = ref, f"{ref[0]}2"
    for number, value in enumerate(_DAMAGED, 1):
        assert _spoil(satchel, table, column, value, f"id = {number}")
    texts = {one.ref: one.snippet.text for one in satchel.finding.search("alpha", limit=50).results}
    assert (len(texts), [MARK in texts[one] for one in refs]) == (16, [True, True])
    checks = {check.name: check for check in satchel.housekeeping.doctor()}
    assert checks["texts"].status == "failed"
    assert [f"{column} of {one} " in checks["texts"].detail for one in refs] == [True, True]
    assert satchel.finding.rebuild(lambda *_: None) == 16
    assert satchel.brief("developer", agent="b").items
    for one in refs:
        satchel.housekeeping.forget(one)
    assert {check.status for check in satchel.housekeeping.doctor()} <= {"ok", "warning"}


def _text_columns() -> list[tuple[str, str]]:
    with closing(empty_store()) as connection:
        return list(
            connection.execute(
                "SELECT t.name, c.name FROM pragma_table_list t JOIN pragma_table_info(t.name) c "
                "WHERE t.schema = 'main' AND t.type = 'table' AND c.type = 'TEXT' AND t.name NOT GLOB '*_fts*' "
                "AND t.name NOT IN ('store', 'migrations') AND t.name NOT GLOB 'sqlite*' ORDER BY 1, 2"
            )
        )


def _calls(satchel: Satchel) -> Iterator[Callable[[], object]]:
    """Yield one call of each kind that reads, changes or deletes the first item."""
    yield lambda: satchel.finding.search("alpha", limit=50)
    yield lambda: satchel.brief("developer", agent="b", budget=9_000, task_id="T1", loop_id="L1")
    yield lambda: satchel.brief("developer", agent="b", query="alpha")
    yield lambda: list(satchel.housekeeping.doctor())
    yield satchel.housekeeping.statistics
    yield lambda: satchel.finding.rebuild(lambda *_: None)
    yield satchel.entries.read
    yield satchel.entries.load_state
    yield lambda: satchel.entries.write("discovery", "delta", supersedes="e1")
    yield satchel.decisions.find
    yield lambda: satchel.decisions.get("key/one")
    yield lambda: satchel.decisions.set("key/one", "delta")
    yield satchel.constraints.find
    yield lambda: satchel.constraints.add("alpha one delta", category="security", supersedes="c1")
    yield lambda: satchel.messages.read(satchel.messages.inbox(agent="b"))
    yield satchel.packages.find
    yield lambda: satchel.packages.read("p1")
    yield lambda: satchel.packages.set_priority("p1", "high")
    yield lambda: satchel.patterns.report("Errorone", "alpha one", solution="beta one")
    yield lambda: satchel.patterns.outcome("x1.1", helped=True)
    yield satchel.patterns.find
    yield lambda: satchel.strategies.save("topic one", "delta alpha")
    yield lambda: satchel.strategies.outcome("s1", helped=True)
    yield satchel.strategies.find
    yield satchel.files.changes
    yield lambda: satchel.moving.export(io.BytesIO())
    yield from (partial(satchel.housekeeping.forget, ref) for _, _, ref in _TEXTS)


@pytest.mark.slow
@pytest.mark.parametrize(("table", "column"), _text_columns(), ids=[".".join(one) for one in _text_columns()])
def test_no_call_fails_on_a_damaged_text_or_writes_it_back(satchel: Satchel, table: str, column: str) -> None:
    _fill(satchel)
    random = Random(f"{table}.{column}")
    damaged = bytes(random.choice(b'\xff\xc3\x80["a') for _ in range(8)) + b"\xff"
    if not _spoil(satchel, table, column, f"CAST(x'{damaged.hex()}' AS TEXT)", "random() % 2"):
        pytest.skip("no row")
    with closing(apsw.Connection(str(satchel.place.file))) as connection:
        for call in _calls(satchel):
            with suppress(SatchelError):
                call()
            _check_nothing_was_written_back(connection)


@cache
def _marked_texts() -> str:
    """Return the statement that lists the columns in which a mark is stored; one statement, since it runs often."""
    return " UNION ALL ".join(
        f"SELECT '{table}.{column}' WHERE EXISTS (SELECT 1 FROM {table} WHERE instr(CAST({column} AS BLOB), x'efbfbd'))"
        for table, column in _text_columns()
    )


def _check_nothing_was_written_back(connection: apsw.Connection) -> None:
    assert list(connection.execute(_marked_texts())) == []


def test_an_export_leaves_damaged_items_out_and_names_them(satchel: Satchel) -> None:
    _fill(satchel)
    assert _spoil(satchel, "context", "content", _DAMAGED[0])
    assert _spoil(satchel, "tags", "name", _DAMAGED[0], "name = 'api'")
    target = io.BytesIO()
    exported = satchel.moving.export(target)
    lines = [json.loads(line) for line in target.getvalue().splitlines()]
    assert {line["id"] for line in lines if "id" in line} & {"e1", "e2", "d1", "d2", "c1"} == {"e2", "c1"}
    assert exported.damaged == ("d1", "d2", "e1")
    assert MARK.encode() not in target.getvalue()


@pytest.mark.parametrize("column", ["value_text", "rationale"])
def test_a_decision_with_a_damaged_text_cannot_be_changed(satchel: Satchel, column: str) -> None:
    _fill(satchel)
    assert _spoil(satchel, "decisions", column, _DAMAGED[0])
    with pytest.raises(StoreDamaged, match="cannot be changed"):
        satchel.decisions.set("key/one", "delta")
    assert satchel.decisions.set("key/two", "delta").value == "delta"


def test_a_text_that_quotes_a_replacement_character_is_no_damage(satchel: Satchel) -> None:
    _fill(satchel)
    assert _spoil(satchel, "context", "content", _DAMAGED[0])
    assert MARK in satchel.entries.read().entries[-1].content
    satchel.entries.write("discovery", "the log holds \ufffd and (damaged text)")
    exported = satchel.moving.export(io.BytesIO())
    assert exported.damaged == ("e1",)
