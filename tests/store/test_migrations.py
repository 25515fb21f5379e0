"""Bringing stores up to date: whole or not at all, backed up first, safe when many start at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import apsw
import pytest

from faults.damage import overwrite_leaves
from faults.processes import Child
from faults.rows import INSERT, add, names, row
from satchel.base.errors import ReadOnly, StoreDamaged, StoreNewer
from satchel.store import backups, migrations, schema
from satchel.store.schema import BASE_VERSION, MIGRATIONS, SCHEMA_VERSION, Migration
from satchel.store.sqlite import SqliteEngine

OpenEngine = Callable[..., SqliteEngine]

_LATEST = SCHEMA_VERSION
_MORE_ROOM = Migration("more room", ("CREATE TABLE attic (a)", "INSERT INTO attic VALUES (1)"), min_writer=_LATEST + 1)
_HISTORY = "SELECT version, name FROM migrations ORDER BY version"
_BROKEN = Migration("broken", ("CREATE TABLE attic (a)", "INSERT INTO no_such_table VALUES (1)"))


def _know(monkeypatch: pytest.MonkeyPatch, *more: Migration) -> None:
    """Make the program one that knows more migrations."""
    known = (*MIGRATIONS, *more)
    monkeypatch.setattr(schema, "MIGRATIONS", known)
    monkeypatch.setattr(migrations, "SCHEMA_VERSION", BASE_VERSION + len(known) - 1)
    uncached = getattr(migrations._empty_store, "__wrapped__", migrations._empty_store)
    monkeypatch.setattr(migrations, "_empty_store", uncached)


def _records(file: Path) -> list[tuple[int, str]]:
    with closing(apsw.Connection(str(file))) as connection:
        return [(int(version), str(name)) for version, name in connection.execute(_HISTORY)]


def _recorded(*more: str) -> list[tuple[int, str]]:
    """Return the records of a store of today, and after them those of more steps."""
    return list(enumerate([*(migration.name for migration in MIGRATIONS), *more], BASE_VERSION))


def _tables(file: Path) -> set[str]:
    with closing(apsw.Connection(str(file))) as connection:
        return {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def _backups(file: Path) -> list[str]:
    names = (path.name for path in file.parent.glob("*-backups/*"))
    return sorted(names, key=lambda name: (len(name), name))  # version 10 after 9


def test_eight_processes_that_start_at_once_make_one_store(store_file: Path, open_engine: OpenEngine) -> None:
    with ExitStack() as stack:
        children = [stack.enter_context(Child("start", store_file)) for _ in range(8)]
        assert [child.hear() for child in children] == ["ready"] * 8
        for child in children:
            child.tell()
        assert [child.finish() for child in children] == [["started"]] * 8
        assert set(names(open_engine())) == {f"p{child.process.pid}" for child in children}
    assert _records(store_file) == _recorded()
    with closing(apsw.Connection(str(store_file))) as connection:
        assert connection.execute("SELECT count(*) FROM store").get == 1
    assert _backups(store_file) == []


def test_threads_that_start_at_once_make_one_store(store_file: Path, open_engine: OpenEngine) -> None:
    from concurrent.futures import ThreadPoolExecutor
    from threading import Barrier

    barrier = Barrier(6)

    def start(number: int) -> None:
        engine = open_engine()
        barrier.wait()
        add(engine, f"p{number}")

    with ThreadPoolExecutor(6) as pool:
        for started in [pool.submit(start, number) for number in range(6)]:
            started.result()
    assert len(names(open_engine())) == 6
    assert _records(store_file) == _recorded()


def test_a_new_store_records_its_version_without_a_backup(open_engine: OpenEngine, store_file: Path) -> None:
    add(open_engine(), "a")
    assert _records(store_file) == _recorded()
    assert _backups(store_file) == []


@pytest.mark.parametrize("kind", ["read", "write"])
def test_an_older_store_is_brought_up_to_date_after_a_backup(
    open_engine: OpenEngine, store_file: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    old = open_engine()
    add(old, "kept")
    old.close()
    _know(monkeypatch, _MORE_ROOM)
    engine = open_engine()
    if kind == "write":
        add(engine, "new")
    assert names(engine)[0] == "kept"
    assert _records(store_file) == _recorded("more room")
    (backup,) = _backups(store_file)
    assert backup.startswith(f"before-v{_LATEST}-to-v{_LATEST + 1}-")
    kept = store_file.with_name("s-backups") / backup
    assert _records(kept) == _recorded()
    assert "attic" not in _tables(kept)


def test_every_step_has_a_record_and_an_upgrade_has_one_backup(
    open_engine: OpenEngine, store_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = open_engine()
    add(old, "kept")
    old.close()
    _know(monkeypatch, _MORE_ROOM, Migration("a cellar", ("CREATE TABLE cellar (a)",)))
    add(open_engine(), "new")
    assert _records(store_file) == _recorded("more room", "a cellar")
    assert [name.rsplit("-", 1)[0] for name in _backups(store_file)] == [f"before-v{_LATEST}-to-v{_LATEST + 2}"]


def test_a_migration_that_fails_leaves_the_store_as_it_was(
    open_engine: OpenEngine, store_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = open_engine()
    add(old, "kept")
    old.close()
    before = _tables(store_file)
    with monkeypatch.context() as newer:
        _know(newer, _BROKEN)
        with pytest.raises(apsw.SQLError, match="no_such_table"):
            add(open_engine(), "lost")
    assert _records(store_file) == _recorded()
    assert _tables(store_file) == before
    engine = open_engine()
    add(engine, "after")
    assert names(engine) == ["kept", "after"]


def test_a_damaged_store_is_not_migrated_since_it_cannot_be_backed_up(
    open_engine: OpenEngine, store_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = open_engine()
    with old.write() as transaction:
        transaction.many(INSERT, [row(f"p{number}" + "x" * 500) for number in range(100)])
    old.close()
    overwrite_leaves(store_file, "projects")
    _know(monkeypatch, _MORE_ROOM)
    with pytest.raises(StoreDamaged):
        add(open_engine(), "lost")
    assert _records(store_file) == _recorded()
    assert _backups(store_file) == []


@pytest.mark.parametrize("keep", [1, 3])
def test_old_automatic_backups_are_removed_and_the_users_own_are_kept(
    open_engine: OpenEngine, store_file: Path, monkeypatch: pytest.MonkeyPatch, keep: int
) -> None:
    old = open_engine()
    add(old, "kept")
    old.close()
    folder = store_file.with_name("s-backups")
    folder.mkdir()
    (folder / "backup-mine.db").write_bytes(store_file.read_bytes())
    (folder / "daily-mine.db").write_bytes(store_file.read_bytes())
    steps = tuple(Migration(f"step {number}", (f"CREATE TABLE t{number} (a)",)) for number in range(5))
    for known in range(1, 6):
        _know(monkeypatch, *steps[:known])
        engine = open_engine(backups_keep=keep)
        add(engine, f"new {known}")
        engine.close()
    automatic = [name for name in _backups(store_file) if name.startswith("before-")]
    assert {name.rsplit("-", 1)[0] for name in automatic} == {
        f"before-v{_LATEST + n}-to-v{_LATEST + n + 1}" for n in range(5 - keep, 5)
    }
    assert {"backup-mine.db", "daily-mine.db"} <= set(_backups(store_file))


def test_a_writer_refuses_a_store_that_another_program_has_migrated_meanwhile(
    open_engine: OpenEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = open_engine()
    add(old, "before")
    with monkeypatch.context() as newer:
        _know(newer, _MORE_ROOM)
        add(open_engine(), "by the newer program")
    with pytest.raises(StoreNewer, match=f"schema version {_LATEST + 1}"), old.write():
        pytest.fail("the block was entered")
    assert names(old) == ["before", "by the newer program"]


def test_a_writer_goes_on_in_a_store_that_only_got_more(
    open_engine: OpenEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = open_engine()
    add(old, "before")
    with monkeypatch.context() as newer:
        _know(newer, Migration("only more", ("CREATE TABLE attic (a)",)))
        add(open_engine(), "by the newer program")
    add(old, "by the older program")
    again = open_engine()
    assert names(again) == ["before", "by the newer program", "by the older program"]


def test_where_there_is_no_store_reading_finds_every_table_empty(
    open_engine: OpenEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    _know(monkeypatch, Migration("an attic", ("CREATE TABLE attic (a)",)))
    with open_engine().read() as transaction:
        assert transaction.all("SELECT a FROM attic") == []


def test_an_older_backup_is_brought_up_to_date_before_it_takes_the_stores_place(
    open_engine: OpenEngine, store_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_engine()
    add(engine, "old")
    made = backups.back_up(engine.access, None, 0)
    engine.close()
    _know(monkeypatch, Migration("an attic", ("CREATE TABLE attic (a)",)))
    other = open_engine()
    add(other, "new")
    engine.upkeep.restore(made.file)
    with other.write() as transaction:
        transaction.run("INSERT INTO attic VALUES (1)")
    assert names(other) == ["old"]
    assert _records(made.file) == _recorded(), "the backup itself is never changed"


def test_who_only_reads_may_bring_an_older_store_up_to_date(
    open_engine: OpenEngine, store_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = open_engine()
    add(old, "kept")
    old.close()
    _know(monkeypatch, _MORE_ROOM)
    reader = open_engine(read_only=True, migrates=True)
    assert names(reader) == ["kept"]
    assert _records(store_file) == _recorded("more room")
    with pytest.raises(ReadOnly):
        add(reader, "more")


def test_an_older_store_that_cannot_be_written_says_what_it_needs(
    open_engine: OpenEngine, store_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = open_engine()
    add(old, "kept")
    old.close()
    before = store_file.read_bytes()
    _know(monkeypatch, _MORE_ROOM)
    with pytest.raises(ReadOnly, match=f"must be brought to {_LATEST + 1}"):
        names(open_engine(read_only=True))
    assert store_file.read_bytes() == before
