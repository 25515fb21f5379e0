"""What every engine does, whatever it stores in: a second engine joins by a parameter of the fixture."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

import on_postgresql
from faults.rows import INSERT, add, names, names_in, row
from satchel.base.errors import Interrupted
from satchel.store.engine import Engine
from satchel.store.opening import Access
from satchel.store.postgres.engine import PostgresEngine
from satchel.store.transaction import Transaction

OpenEngine = Callable[..., Engine]

_ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture(params=["sqlite", "postgresql"])
def open_engine(request: pytest.FixtureRequest, open_engine: OpenEngine, store_file: Path) -> Iterator[OpenEngine]:
    """Open engines on one store, in a file or in a schema; all are closed afterwards."""
    if request.param == "sqlite":
        yield open_engine
        return
    opened: list[PostgresEngine] = []

    def open_one(*, read_only: bool = False, wait_ms: int = 10_000) -> PostgresEngine:
        opened.append(lent.engine(Access(store_file, wait_ms=wait_ms), read_only=read_only))
        return opened[-1]

    with on_postgresql.schemas().of_one_test() as lent:
        yield open_one
        for engine in opened:
            engine.close()


@pytest.fixture
def engine(open_engine: OpenEngine, from_template: None) -> Engine:
    return open_engine()


def test_what_was_written_is_read_back_as_rows(engine: Engine) -> None:
    with engine.write() as transaction:
        transaction.run(
            "INSERT INTO projects (uid, name, root, seq, created_at) VALUES (:uid, :name, :root, :seq, :now)",
            {"uid": b"\x00\xff", "name": "a 'quoted' \U0001f600 name", "root": None, "seq": 2**60, "now": 7},
        )
    with engine.read() as transaction:
        assert transaction.one("SELECT uid, name, root, seq, created_at FROM projects") == (
            b"\x00\xff",
            "a 'quoted' \U0001f600 name",
            None,
            2**60,
            7,
        )


def test_a_parameter_is_a_value_never_sql(engine: Engine) -> None:
    add(engine, "kept")
    with engine.read() as transaction:
        name = "x' OR '1' = '1"
        assert transaction.all("SELECT id FROM projects WHERE name = :name", {"name": name}) == []


def test_one_returns_none_where_there_is_no_row(engine: Engine) -> None:
    with engine.read() as transaction:
        assert transaction.one("SELECT id FROM projects") is None


def test_execute_says_how_many_rows_changed(engine: Engine) -> None:
    with engine.write() as transaction:
        transaction.many(INSERT, [row("a"), row("b"), row("c")])
        assert transaction.execute("UPDATE projects SET root = 'r' WHERE name <> :name", {"name": "b"}) == 2


def test_an_insert_returns_the_row_it_made(engine: Engine) -> None:
    with engine.write() as transaction:
        made = transaction.one(f"{INSERT} RETURNING id, name", row("a"))
        assert made is not None
        assert transaction.one("SELECT name FROM projects WHERE id = :id", {"id": made[0]}) == ("a",)


def test_what_is_asked_is_read_in_any_order_and_beside_other_statements(engine: Engine) -> None:
    with engine.write() as transaction:
        transaction.many(INSERT, [row("a"), row("b")])
        both = transaction.ask("SELECT name FROM projects ORDER BY name")
        one = transaction.ask("SELECT name FROM projects WHERE name = :name", {"name": "b"})
        none = transaction.ask("SELECT name FROM projects WHERE name = :name", {"name": "c"})
        transaction.run(INSERT, row("c"))
        assert transaction.one("SELECT count(*) FROM projects") == (3,)
        assert (none.one(), one.one(), both.one(), both.all()) == (None, ("b",), ("a",), [("a",), ("b",)])


def test_rows_that_are_expected_get_the_next_numbers_like_those_that_are_not(engine: Engine) -> None:
    run = {"seq": 1, "created_at": 7}
    with engine.write() as transaction:
        project = transaction.add("projects", row("a"))
        transaction.expect(runs=3)
        expected = [
            transaction.add("runs", {"uid": b"%d" % number, "project_id": project, "run_id": f"r{number}", **run})
            for number in range(4)
        ]
        assert [name for (name,) in transaction.all("SELECT run_id FROM runs ORDER BY id")] == ["r0", "r1", "r2", "r3"]
        assert [number for (number,) in transaction.all("SELECT id FROM runs ORDER BY id")] == expected


def test_the_counter_of_a_project_gives_no_number_twice(engine: Engine) -> None:
    with engine.write() as transaction:
        project = transaction.add("projects", row("a"))
        other = transaction.add("projects", row("b"))
    of_project = engine.of_project("a")
    taken: list[int] = []

    def take(transaction: Transaction, changes: int = 1) -> int:
        first = transaction.next_seq(project, changes, documents=changes)
        return first + changes - 1

    def take_in_vain(transaction: Transaction) -> None:
        with transaction.savepoint():
            take(transaction, 2)
            raise ZeroDivisionError

    for _ in range(2):
        with of_project.write() as transaction:
            before = transaction.one("SELECT seq FROM projects WHERE id = :id", {"id": project})
            assert before is not None
            taken += [take(transaction), take(transaction, 3)]
            with pytest.raises(ZeroDivisionError):
                take_in_vain(transaction)
            taken.append(take(transaction))
            assert taken[-3] == before[0] + 1
            assert transaction.next_seq(other) == transaction.next_seq(other) - 1
    assert taken == sorted({*taken})
    with engine.read() as transaction:
        kept = transaction.one("SELECT seq, documents FROM projects WHERE id = :id", {"id": project})
    assert kept == (taken[-1], 10)


def test_a_write_reads_what_it_wrote_itself(engine: Engine) -> None:
    with engine.write() as transaction:
        transaction.run(INSERT, row("mine"))
        assert names_in(transaction) == ["mine"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit, SystemExit])
def test_any_exception_rolls_the_write_back(engine: Engine, error: type[BaseException]) -> None:
    add(engine, "before")

    def write_and_fail() -> None:
        with engine.write() as transaction:
            transaction.run(INSERT, row("lost"))
            raise error

    with pytest.raises(error):
        write_and_fail()
    assert names(engine) == ["before"]


def test_a_failing_statement_rolls_all_of_the_write_back(engine: Engine) -> None:
    add(engine, "taken")

    def write_twice() -> None:
        with engine.write() as transaction:
            transaction.run(INSERT, row("lost"))
            transaction.run(INSERT, row("taken"))

    with pytest.raises(Exception, match=r"(?i)unique"):
        write_twice()
    assert names(engine) == ["taken"]


def test_after_an_error_inside_the_engine_writes_and_reads_again(engine: Engine) -> None:
    with pytest.raises(Exception, match="no_such_table"), engine.write() as transaction:
        transaction.run("INSERT INTO no_such_table VALUES (1)")
    with pytest.raises(Exception, match="no_such_table"), engine.read() as transaction:
        transaction.all("SELECT * FROM no_such_table")
    add(engine, "after")
    assert names(engine) == ["after"]


def test_a_read_inside_a_failing_write_leaves_no_transaction_open(engine: Engine, open_engine: OpenEngine) -> None:
    add(engine, "before")

    def write_read_and_fail() -> None:
        with engine.write() as transaction, engine.read() as reading:
            transaction.run(INSERT, row("lost"))
            assert names_in(reading) == ["before"]
            raise ValueError("inner")

    with pytest.raises(ValueError, match="inner"):
        write_read_and_fail()
    other = open_engine(wait_ms=0)
    add(other, "free again")
    assert names(engine) == ["before", "free again"]


def test_all_of_a_read_belongs_to_one_snapshot(engine: Engine, open_engine: OpenEngine) -> None:
    add(engine, "before")
    other = open_engine()
    with engine.read() as transaction:
        assert names_in(transaction) == ["before"]
        add(other, "in between")
        assert names_in(transaction) == ["before"]
    assert names(engine) == ["before", "in between"]


def test_an_open_write_is_not_seen_by_others_until_it_ends(engine: Engine, open_engine: OpenEngine) -> None:
    add(engine, "before")
    other = open_engine()
    with engine.write() as transaction:
        transaction.run(INSERT, row("open"))
        assert names(other) == ["before"]
    assert names(other) == ["before", "open"]


def test_a_reader_cannot_write(engine: Engine) -> None:
    add(engine, "kept")
    with pytest.raises(Exception, match="cannot be written"), engine.read() as transaction:
        transaction.run("DELETE FROM projects")
    assert names(engine) == ["kept"]


def test_threads_read_beside_a_writer(engine: Engine) -> None:
    add(engine, "before")
    with engine.write() as transaction, ThreadPoolExecutor(4) as pool:
        transaction.run(INSERT, row("open"))
        seen = [pool.submit(names, engine) for _ in range(20)]
        assert [found.result() for found in seen] == [["before"]] * 20


def test_writes_of_many_threads_are_all_there(engine: Engine) -> None:
    barrier = threading.Barrier(8)

    def work(thread: int) -> None:
        barrier.wait()
        for number in range(12):
            add(engine, f"{thread}-{number}")
            assert f"{thread}-{number}" in names(engine)

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, thread) for thread in range(8)]:
            done.result()
    written = names(engine)
    assert sorted(written) == sorted(f"{thread}-{number}" for thread in range(8) for number in range(12))
    for thread in range(8):
        mine = [name for name in written if name.startswith(f"{thread}-")]
        assert mine == [f"{thread}-{number}" for number in range(12)]


@pytest.mark.parametrize("kind", ["read", "write"])
def test_an_interrupt_stops_an_endless_statement_and_the_engine_serves_on(engine: Engine, kind: str) -> None:
    add(engine, "before")
    interrupters: list[Callable[[], None]] = []
    ready, ended = threading.Event(), threading.Event()

    def work() -> None:
        interrupters.append(engine.interrupter())
        try:
            with engine.read() if kind == "read" else engine.write() as transaction:
                if kind == "write":
                    transaction.run(INSERT, row("lost"))
                ready.set()
                transaction.one(_ENDLESS)
        finally:
            ended.set()

    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        ready.wait()
        while not ended.wait(0.001):
            interrupters[0]()
        with pytest.raises(Interrupted):
            working.result()
    add(engine, "after")
    assert names(engine) == ["before", "after"]


def test_a_statement_ends_when_the_time_is_over_and_its_transaction_goes_on(engine: Engine) -> None:
    add(engine, "before")
    asked = count()
    with engine.read() as transaction:
        transaction.is_out_of_time = lambda: next(asked) > 1
        with pytest.raises(Interrupted, match="the time is over"), transaction.savepoint():
            transaction.one(_ENDLESS)
        transaction.is_out_of_time = None
        assert names_in(transaction) == ["before"]


def test_a_part_that_fails_loses_what_was_written_before_a_part_within_it(engine: Engine) -> None:
    def fail(transaction: Transaction) -> None:
        with transaction.savepoint():
            transaction.many(INSERT, [row("lost")])
            with transaction.savepoint():
                assert transaction.one("SELECT 1") == (1,)
            raise ZeroDivisionError

    with engine.write() as transaction:
        transaction.many(INSERT, [row("kept")])
        with pytest.raises(ZeroDivisionError):
            fail(transaction)
    assert names(engine) == ["kept"]


def test_a_statement_that_runs_when_the_time_of_its_transaction_is_over_is_ended(engine: Engine) -> None:
    add(engine, "before")
    asked = count()
    with pytest.raises(Interrupted), engine.read() as transaction:  # noqa: PT012
        transaction.is_out_of_time = lambda: next(asked) > 3
        transaction.one(_ENDLESS)
    assert names(engine) == ["before"]


def test_an_interrupt_before_a_statement_stops_the_rest_of_the_transaction(engine: Engine) -> None:
    interrupt = engine.interrupter()

    def write_interrupted() -> None:
        with engine.write() as transaction:
            transaction.run(INSERT, row("lost"))
            interrupt()
            transaction.run(INSERT, row("never"))

    with pytest.raises(Interrupted):
        write_interrupted()
    assert names(engine) == []


def test_an_interrupt_outside_a_transaction_does_nothing(engine: Engine) -> None:
    interrupt = engine.interrupter()
    interrupt()
    add(engine, "kept")
    interrupt()
    assert names(engine) == ["kept"]


def test_an_interrupt_reaches_only_the_thread_that_asked(engine: Engine) -> None:
    with ThreadPoolExecutor(1) as pool:
        interrupt_other = pool.submit(engine.interrupter).result()
        with engine.write() as transaction:
            interrupt_other()
            transaction.run(INSERT, row("kept"))
    assert names(engine) == ["kept"]


def test_who_watches_learns_of_each_commit_once_and_of_nothing_else(engine: Engine, open_engine: OpenEngine) -> None:
    add(engine, "before")
    with closing(open_engine()) as other, engine.watch() as is_changed:
        assert (is_changed(), is_changed()) == (True, False)
        assert names(engine) == ["before"]
        assert not is_changed()
        for name, writer in (("own", engine), ("another's", other)):
            add(writer, name)
            assert (is_changed(), is_changed()) == (True, False)
        with other.write() as transaction:
            transaction.run(INSERT, row("begun"))
            assert not is_changed()
        assert is_changed()


def test_an_interrupt_reaches_who_watches(engine: Engine) -> None:
    add(engine, "before")
    interrupt = engine.interrupter()
    with engine.watch() as is_changed:
        interrupt()
        with pytest.raises(Interrupted):
            is_changed()
    with engine.watch() as is_changed:
        with engine.read() as transaction:
            assert transaction.one("SELECT 1") == (1,)
            interrupt()  # too late for this one
        with pytest.raises(Interrupted):
            is_changed()
    add(engine, "after")


def test_a_closed_engine_opens_again_when_it_is_used(engine: Engine) -> None:
    add(engine, "before")
    engine.close()
    engine.close()
    assert names(engine) == ["before"]
    engine.close()
    add(engine, "after")
    assert names(engine) == ["before", "after"]


def test_closing_while_a_thread_reads_leaves_its_snapshot_whole(engine: Engine) -> None:
    add(engine, "before")
    with engine.read() as transaction:
        assert names_in(transaction) == ["before"]
        engine.close()
        add(engine, "after")
        assert names_in(transaction) == ["before"]
    assert names(engine) == ["before", "after"]


def test_reading_where_nothing_was_written_finds_nothing_and_makes_nothing(engine: Engine, tmp_path: Path) -> None:
    assert names(engine) == []
    assert list(tmp_path.iterdir()) == []


def test_an_engine_for_reading_only_reads_and_never_writes(engine: Engine, open_engine: OpenEngine) -> None:
    add(engine, "kept")
    reading = open_engine(read_only=True)
    with pytest.raises(Exception, match="opened for reading only"), reading.write():
        pytest.fail("the block was entered")
    assert names(reading) == ["kept"]
