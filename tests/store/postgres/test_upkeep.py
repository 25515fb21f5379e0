"""Upkeep of a store in PostgreSQL: the commands that back it up, what doctor finds, and what goes for good."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

import postgres_cluster
from satchel import Satchel, open_satchel
from satchel.base.errors import Conflict, InvalidInput, Refused
from satchel.store.postgres import Address, parse
from satchel.store.postgres.engine import PostgresEngine
from store.filled import contents, failed, fill
from store.postgres.places import Place

Open = Callable[..., Satchel]


@pytest.fixture
def open_at(tmp_path: Path) -> Iterator[Open]:
    """Open Satchels on stores in schemas or files; all are closed afterwards."""
    opened: list[Satchel] = []

    def open_one(at: Place | Address, **settings: object) -> Satchel:
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


def test_the_printed_commands_dump_the_store_and_restore_it_elsewhere(
    satchel: Satchel, own_place: Place, own_database: Place, open_at: Open, tmp_path: Path
) -> None:
    dump = satchel.housekeeping.dump_command()
    elsewhere = parse(own_database.url, own_place.schema)
    with closing(PostgresEngine(elsewhere)) as engine:
        load = engine.upkeep.load_command(None)
    for command in (dump, load):
        assert command is not None
        # the commands of PostgreSQL itself, and the folder for the dump
        environment = {"PATH": f"{postgres_cluster.programs()}:{os.environ['PATH']}"}
        ran = subprocess.run(command, shell=True, check=False, cwd=tmp_path, env=environment, capture_output=True)
        assert (ran.returncode, ran.stderr) == (0, b"")
    restored = open_at(elsewhere)
    assert contents(restored) == contents(satchel)
    assert restored.finding.search("note 1").results[0].ref == "e2"
    assert failed(restored) == []
    assert restored.entries.write("discovery", "the first since then").ref == "e4"


def test_satchel_copies_and_restores_no_database_itself(satchel: Satchel, own_place: Place, tmp_path: Path) -> None:
    with pytest.raises(Refused) as copying:
        satchel.housekeeping.backup(tmp_path / "b.dump")
    with pytest.raises(Refused) as restoring:
        satchel.housekeeping.restore(tmp_path / "b.dump")
    assert str(copying.value.remedy).startswith("Run pg_dump ")
    assert str(restoring.value.remedy).startswith("Run pg_restore ")
    backups = next(check for check in satchel.housekeeping.doctor() if check.name == "backups")
    assert (backups.status, "`satchel backup` prints" in backups.detail) == ("ok", True)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("CREATE TABLE attic (a int)", "schema: table attic is not Satchel's"),
        ("DROP TABLE seen", "schema: table seen is missing"),
        (
            "CREATE TRIGGER t BEFORE DELETE ON runs EXECUTE FUNCTION suppress_redundant_updates_trigger()",
            "schema: trigger t on runs is not Satchel's",
        ),
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
    assert (forgotten.still_in, forgotten.wal_emptied) == ((), True)
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


def test_a_preview_is_rolled_back(satchel: Satchel) -> None:
    engine = satchel.workplace.engine
    with engine.upkeep.temporary_copy(engine.clock) as copy:
        for _ in range(2):
            with copy.write() as transaction:
                transaction.run("DELETE FROM context WHERE id = (SELECT min(id) FROM context)")
        with copy.write() as transaction:
            assert transaction.all("SELECT count(*) FROM context") == [(1,)]
    assert len(contents(satchel)) == 3


def test_a_store_that_can_be_used_makes_no_room_for_a_new_one_and_needs_no_trust(satchel: Satchel) -> None:
    with pytest.raises(Conflict, match="can be used as it is"):
        satchel.housekeeping.initialise(new=True)
    with pytest.raises(InvalidInput, match="on no list"):
        satchel.housekeeping.trust()
