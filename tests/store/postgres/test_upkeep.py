"""The upkeep of a store in PostgreSQL: its backups, going back to them, what doctor finds, and what goes for good."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import psycopg
import pytest

import postgres_cluster
from satchel import Satchel, open_satchel
from satchel.base.errors import Conflict, Interrupted, InvalidInput, NotFound, Refused, StoreNewer
from satchel.store import backups, migrations, schema
from satchel.store.moving import rows
from satchel.store.opening import Access
from satchel.store.postgres import schema as postgres_schema
from satchel.store.postgres.address import parse
from satchel.store.postgres.engine import PostgresEngine
from satchel.store.sqlite import SqliteEngine
from store.filled import contents, failed, fill
from store.postgres.places import Place, new_place

Open = Callable[..., Satchel]


@pytest.fixture
def open_at(tmp_path: Path) -> Iterator[Open]:
    """Open Satchels on stores in schemas or files; all are closed afterwards."""
    opened: list[Satchel] = []

    def open_one(at: Place | Path, **settings: object) -> Satchel:
        db = at.address if isinstance(at, Place) else at
        opened.append(open_satchel(db, "p", cwd=tmp_path, environ={}, settings=settings))
        return opened[-1]

    yield open_one
    for satchel in opened:
        satchel.close()


@pytest.fixture
def satchel(open_at: Open, own_place: Place) -> Satchel:
    """A store in a schema of its own, with three notes."""
    one = open_at(own_place)
    fill(one, 3)
    return one


@pytest.fixture
def own_database(open_at: Open) -> Iterator[Place]:
    """A place in a database of its own: what others read in the same one keeps deleted rows there too."""
    name = f"upkeep_{os.getpid()}"
    postgres_cluster.run(f"CREATE DATABASE {name}")
    yield Place(postgres_cluster.url().replace("/postgres?", f"/{name}?"))
    postgres_cluster.run(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def other_place() -> Iterator[Place]:
    """Another empty schema."""
    with new_place() as place:
        yield place


def test_a_backup_is_a_store_file_in_the_state_folder_with_all_that_was_kept_and_its_index(
    satchel: Satchel, own_place: Place, open_at: Open
) -> None:
    made = satchel.housekeeping.backup()
    assert made.file.parent.name.startswith(own_place.schema)
    assert made.file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in made.file.parent.iterdir()] == [made.file.name]
    assert [backup.file for backup in satchel.housekeeping.backups()] == [made.file]
    copy = open_at(made.file)
    assert contents(copy) == contents(satchel)
    assert copy.finding.search("note 1").results[0].ref == "e2"
    assert failed(copy) == []


def test_a_backup_holds_one_snapshot_whatever_is_written_meanwhile(
    satchel: Satchel, open_at: Open, tmp_path: Path
) -> None:
    def write(_done: int, _total: int) -> None:
        satchel.entries.write("discovery", "meanwhile")

    before = contents(satchel)
    made = satchel.housekeeping.backup(tmp_path / "b.db", write)
    assert contents(open_at(made.file)) == before
    assert len(contents(satchel)) > len(before)


def test_a_backup_never_overwrites_and_needs_a_store(
    satchel: Satchel, open_at: Open, other_place: Place, tmp_path: Path
) -> None:
    (tmp_path / "b.db").touch()
    with pytest.raises(InvalidInput, match="exists already"):
        satchel.housekeeping.backup(tmp_path / "b.db")
    with pytest.raises(NotFound, match="there is no store"):
        open_at(other_place).housekeeping.backup()


def test_a_backup_goes_into_an_empty_schema_where_change_counters_are_ahead_of_those_that_anyone_has_seen(
    satchel: Satchel, open_at: Open, other_place: Place
) -> None:
    made = satchel.housekeeping.backup()
    last = fill(satchel, 2, "later")
    cursor = satchel.entries.read(limit=0).seq
    restored = open_at(other_place)
    restored.housekeeping.restore(made.file)
    assert contents(restored) == [text for text in contents(satchel) if text not in last]
    assert restored.finding.search("note 1").results[0].ref == "e2"
    assert failed(restored) == []
    new = restored.entries.write("discovery", "the first since then")
    assert [entry.ref for entry in restored.entries.read(after_seq=cursor).entries] == [new.ref]


def test_a_backup_does_not_take_the_place_of_anything(satchel: Satchel) -> None:
    made = satchel.housekeeping.backup()
    with pytest.raises(Conflict, match="is not empty") as refused:
        satchel.housekeeping.restore(made.file)
    assert "name another one" in str(refused.value.remedy)
    assert len(contents(satchel)) == 3


def test_a_restore_that_was_stopped_goes_on(satchel: Satchel, open_at: Open, other_place: Place) -> None:
    made = satchel.housekeeping.backup()

    def stop(done: int, _total: int) -> None:
        if done > 5:
            raise Interrupted("stopped")

    restored = open_at(other_place)
    with pytest.raises(Interrupted):
        restored.housekeeping.restore(made.file, stop)
    with pytest.raises(StoreNewer, match="`satchel restore` again"):
        contents(restored)
    restored.housekeeping.restore(made.file)
    assert contents(restored) == contents(satchel)


def test_a_backup_of_an_older_version_is_brought_up_to_date_and_itself_left_as_it_was(
    tmp_path: Path, own_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "old.db"
    attic = schema.Migration("an index", ("CREATE INDEX attic ON runs (title)",))
    with closing(SqliteEngine(Access(old))) as engine, engine.write() as transaction:
        transaction.run("INSERT INTO projects (uid, name, created_at) VALUES (x'01', 'p', 0)")
    with closing(apsw.Connection(str(old))) as connection:
        connection.pragma("journal_mode", "delete")
    before = old.read_bytes()
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, attic))
    for one in (migrations, postgres_schema, rows):
        monkeypatch.setattr(one, "SCHEMA_VERSION", schema.SCHEMA_VERSION + 1)
    own_place.engine().upkeep.restore(old, lambda *_: 0)
    assert own_place.ask("SELECT name FROM projects") == [("p",)]
    assert own_place.engine().upkeep.schema_problems() == []
    assert old.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("CREATE TABLE attic (a int)", "schema: table attic is not Satchel's"),
        ("DROP TABLE seen", "schema: table seen is missing"),
        ("DROP INDEX context_seq", "schema: index context_seq is missing"),
        ("ALTER TABLE runs DROP CONSTRAINT runs_project_id_fkey", "schema: a foreign key of runs is missing"),
        ("CREATE RULE r AS ON DELETE TO runs DO INSTEAD NOTHING", "schema: rule r on runs is not Satchel's"),
        ("ALTER SEQUENCE context_id_seq RESTART WITH 2", "database: the sequence of context is at 0, and a row has 3"),
        ("DELETE FROM documents_words", "index: "),
    ],
)
def test_doctor_names_what_is_not_as_migrations_and_upkeep_leave_it(
    change: str, named: str, satchel: Satchel, own_place: Place
) -> None:
    assert failed(satchel) == []
    own_place.do(change)
    assert failed(satchel)[0].startswith(named)


def test_doctor_says_what_the_server_may_lose_and_keeps_of_what_is_deleted(satchel: Satchel, own_place: Place) -> None:
    found = {check.name: check for check in satchel.housekeeping.doctor()}
    assert found["settings"].detail.startswith("fsync = on, synchronous_commit = on")
    assert "standbys, archives and dumps" in found["deleted"].detail
    assert own_place.schema in found["place"].detail


def test_what_is_forgotten_is_in_no_table_and_where_it_may_be_still_is_said(open_at: Open, own_database: Place) -> None:
    satchel = open_at(own_database)
    token = "zqxjkvbwtoken"
    leaked = satchel.entries.write("discovery", f"the key is {token}")
    made = satchel.housekeeping.backup()

    def holding() -> list[str]:
        """Return the files of the database's tables and indexes that hold the token."""
        own_database.do("CHECKPOINT")
        [(folder, first)] = own_database.ask(
            "SELECT current_setting('data_directory'), pg_relation_filepath('pg_class')"
        )
        database = Path(folder, first).parent
        return [path.name for path in database.iterdir() if token.encode() in path.read_bytes()]

    assert holding()
    forgotten = satchel.housekeeping.forget(leaked.ref)
    assert (forgotten.still_in, forgotten.wal_emptied) == ((made.file,), True)
    assert "write-ahead log" in str(forgotten.out_of_reach)
    assert holding() == []
    assert failed(satchel) == []


def test_a_reader_elsewhere_that_keeps_what_was_deleted_is_reported(open_at: Open, own_database: Place) -> None:
    satchel = open_at(own_database)
    fill(satchel, 3)
    with psycopg.connect(own_database.url) as reader:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT 1 FROM pg_class")
        hurried = open_at(own_database, **{"store.lock_wait_ms": 50})
        assert not hurried.housekeeping.compact().wal_emptied
    assert satchel.housekeeping.compact().wal_emptied


def test_a_role_that_does_not_own_the_tables_is_told_that_it_does_not_rewrite_them(own_place: Place) -> None:
    with own_place.engine().write():
        pass
    role = f"{own_place.schema}_server"
    own_place.do(f"CREATE ROLE {role}; GRANT USAGE ON SCHEMA {own_place.schema} TO {role}")
    own_place.do(f"GRANT SELECT, UPDATE ON ALL TABLES IN SCHEMA {own_place.schema} TO {role}")
    with (
        closing(PostgresEngine(parse(own_place.url, own_place.schema, role))) as engine,
        pytest.raises(Refused) as said,
    ):
        engine.upkeep.reclaim()
    assert "only the role that owns the tables" in said.value.problem
    own_place.do(f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_a_copy_for_a_preview_holds_everything_and_goes_again(satchel: Satchel) -> None:
    engine = satchel.workplace.engine
    with engine.upkeep.temporary_copy(engine.clock) as copy:
        assert copy.folder is not None
        with copy.write() as transaction:
            assert transaction.all("SELECT count(*) FROM context") == [(3,)]
            transaction.run("DELETE FROM context")
    assert not copy.folder.exists()
    assert len(contents(satchel)) == 3


def test_a_store_that_can_be_used_makes_no_room_for_a_new_one_and_needs_no_trust(satchel: Satchel) -> None:
    with pytest.raises(Conflict, match="can be used as it is"):
        satchel.housekeeping.initialise(new=True)
    with pytest.raises(InvalidInput, match="on no list"):
        satchel.housekeeping.trust()


def test_what_a_killed_backup_left_goes_with_the_next_one(satchel: Satchel) -> None:
    made = satchel.housekeeping.backup()
    left = made.file.with_name("backup-1.db.partial")
    left.write_bytes(b"half")
    os.utime(left, (0, 0))
    satchel.housekeeping.backup()
    assert not left.exists()
    backups.verify(made.file)
