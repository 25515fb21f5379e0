"""Moving a store into another: what arrives, what is refused, and what a stopped move goes on with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

import postgres_cluster
from satchel.base.errors import (
    Conflict,
    Interrupted,
    InvalidInput,
    Refused,
    SatchelError,
    StoreDamaged,
    StoreForeign,
    StoreNewer,
    TooLarge,
)
from satchel.store.engine import Engine
from satchel.store.moving import rows
from satchel.store.moving.copying import Moved, move
from satchel.store.opening import Access
from satchel.store.schema import SCHEMA_VERSION
from satchel.store.sqlite import SqliteEngine
from store import every_row
from store.opened import OpenEngine, OpenSchema, use


@pytest.fixture
def source(open_engine: OpenEngine) -> SqliteEngine:
    """A store file with rows in every table."""
    engine = open_engine(durability="relaxed")
    with engine.write() as transaction:
        every_row.write(transaction)
    return engine


@pytest.fixture
def file(tmp_path: Path) -> Iterator[SqliteEngine]:
    """A place for another store file."""
    with closing(SqliteEngine(Access(tmp_path / "t.db", "relaxed"))) as engine:
        yield engine


def moved(source: Engine, target: Engine) -> Moved:
    """Move a store without its search index."""
    return move(source, target, lambda *_: 0, lambda *_: None)


def everything(engine: Engine) -> dict[str, list[tuple[object, ...]]]:
    """Return all rows of a store, by table."""
    with engine.read() as transaction:
        return {
            table.name: [row for page in rows.pages(transaction, table) for row in page.rows] for table in rows.tables()
        }


def numbers(engine: Engine) -> dict[str, int]:
    """Return the highest number that each table has given."""
    with engine.read() as transaction:
        return engine.upkeep.highest_ids(transaction)


def test_a_store_is_the_same_row_by_row_after_it_was_in_postgresql_and_came_back(
    source: SqliteEngine, open_schema: OpenSchema, file: SqliteEngine
) -> None:
    schema = open_schema()
    there = moved(source, schema)
    back = moved(schema, file)
    before = everything(source)
    assert all(len(kept) == 3 for kept in before.values())
    assert there.rows == back.rows == 3 * len(before)
    assert everything(schema) == before
    assert everything(file) == before
    assert numbers(file) == numbers(source)
    assert not file.upkeep.problems()
    assert not schema.upkeep.problems()
    assert not schema.upkeep.schema_problems()


def test_no_number_is_given_twice(source: SqliteEngine, open_schema: OpenSchema) -> None:
    schema = open_schema()
    moved(source, schema)
    with schema.write() as transaction:
        new = transaction.add(
            "tags", {"uid": b"1", "seq": 1, "project_id": 1, "name": "n", "folded": "n", "created_at": 0}
        )
    assert new == 5, "4 was that of a row that is gone"


@pytest.mark.slow
def test_a_store_moves_between_schemas_and_between_files(
    source: SqliteEngine, open_schema: OpenSchema, file: SqliteEngine
) -> None:
    moved(source, file)
    first, second = open_schema(), open_schema()
    moved(file, first)
    moved(first, second)
    assert everything(second) == everything(source)


@pytest.mark.parametrize("kind", ["file", "schema"])
def test_what_is_not_empty_is_refused(
    kind: str, source: SqliteEngine, open_schema: OpenSchema, file: SqliteEngine
) -> None:
    target = file if kind == "file" else open_schema()
    with target.write() as transaction:
        transaction.run("INSERT INTO projects (uid, name, created_at) VALUES (:uid, 'p', 0)", {"uid": b"1"})
    with pytest.raises(Conflict, match="is not empty"):
        moved(source, target)
    with target.read() as transaction:
        assert transaction.all("SELECT name FROM projects") == [("p",)]


def test_a_schema_with_the_tables_of_another_program_is_left_alone(
    source: SqliteEngine, open_schema: OpenSchema
) -> None:
    schema = open_schema()
    name = schema.database.address.schema
    postgres_cluster.run(f"CREATE SCHEMA {name}", f"CREATE TABLE {name}.migrations (id int)")
    with pytest.raises(StoreForeign, match="another program"):
        moved(source, schema)


def test_a_newer_store_is_neither_taken_nor_filled(
    source: SqliteEngine, open_schema: OpenSchema, file: SqliteEngine
) -> None:
    schema = open_schema()
    with schema.write() as transaction:
        transaction.run("UPDATE store SET min_reader = :version", {"version": SCHEMA_VERSION + 1})
    schema.check_again()
    with pytest.raises(StoreNewer, match="Upgrade"):
        moved(source, schema)
    with source.write() as transaction:
        newer = "INSERT INTO migrations (version, name, program, applied_at) VALUES (:version, 'more', '9', 0)"
        transaction.run(newer, {"version": SCHEMA_VERSION + 1})
    with pytest.raises(StoreNewer, match="Upgrade"):
        moved(source, file)


def test_a_store_is_not_moved_into_itself(open_schema: OpenSchema) -> None:
    schema = open_schema()
    with schema.write():
        pass
    with pytest.raises(InvalidInput, match="is the source store"):
        moved(schema, open_schema(schema.database.address.schema))


def test_a_role_that_may_make_no_schema_is_told_what_its_owner_must_run(
    source: SqliteEngine, open_schema: OpenSchema
) -> None:
    role = "nobody_much"
    postgres_cluster.run(f"DROP ROLE IF EXISTS {role}", f"CREATE ROLE {role}")
    schema = open_schema(role=role)
    with pytest.raises(Refused, match=f"CREATE SCHEMA {schema.database.address.schema} AUTHORIZATION {role}"):
        moved(source, schema)
    postgres_cluster.run(f"DROP ROLE {role}")


class _Stopping:
    """Stops a move after some of its steps, as its progress tells them."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def __call__(self, _done: int, _total: int) -> None:
        self._left -= 1
        if self._left < 0:
            raise Interrupted("stopped")


def stop_after(steps: int, source: Engine, target: Engine) -> None:
    """Begin a move, and stop it after some of its steps."""
    with pytest.raises(Interrupted):
        move(source, target, lambda *_: 0, _Stopping(steps))


@pytest.mark.parametrize("kind", ["file", "schema"])
@pytest.mark.parametrize("steps", [0, 60])
def test_a_stopped_move_goes_on_and_nobody_uses_the_target_before_its_end(
    kind: str, steps: int, source: SqliteEngine, open_schema: OpenSchema, file: SqliteEngine
) -> None:
    target = file if kind == "file" else open_schema()
    stop_after(steps, source, target)
    for how in ("read", "write"):
        with pytest.raises(StoreNewer, match="is not complete yet"):
            use(target, how)
    done = moved(source, target)
    assert (done.went_on, done.began_anew) == (True, False)
    assert everything(target) == everything(source)


@pytest.mark.parametrize("kind", ["file", "schema"])
def test_a_stopped_move_of_a_store_that_has_changed_since_begins_anew(
    kind: str, source: SqliteEngine, open_schema: OpenSchema, file: SqliteEngine
) -> None:
    target = file if kind == "file" else open_schema()
    stop_after(60, source, target)
    with source.write() as transaction:
        transaction.run("UPDATE projects SET seq = seq + 1, root = 'elsewhere' WHERE id = 2")
    done = moved(source, target)
    assert (done.went_on, done.began_anew) == (False, True)
    assert everything(target) == everything(source)


@pytest.mark.slow
def test_a_change_that_no_counter_tells_is_found_when_the_rows_are_compared(
    source: SqliteEngine, open_schema: OpenSchema
) -> None:
    schema = open_schema()
    stop_after(60, source, schema)
    with source.write() as transaction:
        transaction.run("UPDATE agents SET role = 'changed' WHERE id = 2")
    assert moved(source, schema).began_anew
    assert everything(schema) == everything(source)


def test_an_unfinished_move_of_another_store_is_not_gone_on_with(
    source: SqliteEngine, open_schema: OpenSchema, file: SqliteEngine
) -> None:
    schema = open_schema()
    stop_after(10, source, schema)
    with file.write():
        pass
    with pytest.raises(Conflict, match=r"an unfinished move of .*s\.db"):
        moved(file, schema)


def test_what_is_written_meanwhile_is_not_moved_and_that_is_said(source: SqliteEngine, file: SqliteEngine) -> None:
    def write(done: int, _total: int) -> None:
        if done > 100:
            with source.write() as transaction:
                transaction.run("UPDATE projects SET seq = seq + 1")

    before = everything(source)
    assert move(source, file, lambda *_: 0, write).source_changed
    assert everything(file) == before


@pytest.mark.slow
def test_of_two_moves_into_one_place_the_later_goes_on(source: SqliteEngine, open_schema: OpenSchema) -> None:
    schema = open_schema()
    started: list[Moved] = []

    def start_another(done: int, _total: int) -> None:
        if done > 30 and not started:
            started.append(moved(source, open_schema(schema.database.address.schema)))

    with pytest.raises(Conflict, match="another program is filling"):
        move(source, schema, lambda *_: 0, start_another)
    assert started[0].went_on
    schema.check_again()
    assert everything(schema) == everything(source)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("UPDATE tags SET name = 'a' || char(0) || 'b' WHERE id = 2", "row 2 of tags"),
        ("UPDATE runs SET title = x'ff' WHERE id = 3", "row 3 of runs contains text that is not valid UTF-8"),
        (
            "UPDATE runs SET title = CAST(x'ff' AS TEXT) WHERE id = 3",
            "row 3 of runs contains text that is not valid UTF-8",
        ),
        ("UPDATE files SET path = hex(randomblob(2000)) WHERE id = 2", "row 2 of files"),
        ("UPDATE citations SET standing = 40000 WHERE entry_id = 1", "row 1 of citations"),
    ],
)
def test_a_row_that_postgresql_does_not_take_is_named_and_once_it_is_mended_the_move_goes_on(
    change: str, named: str, source: SqliteEngine, open_schema: OpenSchema
) -> None:
    before = everything(source)
    with closing(apsw.Connection(str(source.file))) as connection:
        connection.pragma("ignore_check_constraints", True)
        connection.execute(change)
    schema = open_schema()
    with pytest.raises((InvalidInput, StoreDamaged, TooLarge), match=named):
        moved(source, schema)
    with source.write() as transaction:
        for table, column in (
            ("tags", "name"),
            ("runs", "title"),
            ("runs", "created_at"),
            ("files", "path"),
            ("citations", "standing"),
        ):
            at = next(one.columns.index(column) for one in rows.tables() if one.name == table)
            key = next(one.key for one in rows.tables() if one.name == table)
            for number in (1, 2, 3):
                value = {"value": before[table][number - 1][at], "number": number}
                transaction.run(f"UPDATE {table} SET {column} = :value WHERE {key} = :number", value)
    assert moved(source, schema).went_on
    assert everything(schema) == before


@pytest.mark.parametrize("kind", ["file", "schema"])
def test_a_row_that_points_to_nothing_is_named_and_the_target_is_no_store(
    kind: str, source: SqliteEngine, open_schema: OpenSchema, file: SqliteEngine
) -> None:
    with closing(apsw.Connection(str(source.file))) as connection:
        connection.execute("UPDATE runs SET project_id = 77 WHERE id = 3")
    target = file if kind == "file" else open_schema()
    with pytest.raises(StoreDamaged, match="runs refers to a missing row"):
        moved(source, target)
    with pytest.raises(StoreNewer, match="is not complete yet"):
        use(target, "read")


@pytest.mark.slow
def test_a_connection_that_is_lost_in_the_middle_leaves_a_move_to_go_on_with(
    source: SqliteEngine, open_schema: OpenSchema
) -> None:
    schema = open_schema(more="&application_name=to_be_cut")

    def cut(done: int, _total: int) -> None:
        if done > 60:
            postgres_cluster.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'to_be_cut'"
            )

    with pytest.raises(SatchelError, match="cannot be reached"):
        move(source, schema, lambda *_: 0, cut)
    assert moved(source, schema).went_on
    assert everything(schema) == everything(source)
