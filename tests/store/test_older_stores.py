"""Stores of earlier releases: one of 0.2.0 is migrated in place, one of before is refused with the way.

``data/0.2.0.db.gz`` was written by Satchel 0.2.0 (commit be8982ad) through its services: 12 decisions of which one was
changed, 8 notes, a rule and a strategy.
"""

from __future__ import annotations

import gzip
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from satchel.base.errors import StoreNewer, StoreOlder
from satchel.client import open_satchel
from satchel.consult.conversations import Conversations
from satchel.consult.records import ConversationKey, Overflow
from satchel.keep.decisions.records import NewDecision
from satchel.store import contents, migrations
from satchel.store.schema import BASE_VERSION
from store.opened import OpenEngine, use

_WRITTEN = gzip.decompress(Path(__file__).with_name("data").joinpath("0.2.0.db.gz").read_bytes())
_DECISIONS = "SELECT count(*) FROM decisions"
_SCHEMA = "SELECT type, name, tbl_name FROM sqlite_schema ORDER BY 1, 2"


@pytest.fixture
def store_of_0_2_0(store_file: Path) -> Path:
    store_file.write_bytes(_WRITTEN)
    return store_file


def _change(file: Path, *statements: str) -> bytes:
    with closing(apsw.Connection(str(file))) as connection:
        for statement in statements:
            connection.execute(statement)
    return file.read_bytes()


def _make_older(file: Path) -> bytes:
    return _change(file, "DELETE FROM migrations WHERE version = 27", "UPDATE store SET min_reader = 12")


def test_a_store_of_0_2_0_holds_nothing_unknown(store_of_0_2_0: Path) -> None:
    with closing(apsw.Connection(str(store_of_0_2_0))) as connection:
        assert contents.unknown_objects(connection) == []


def test_a_store_of_0_2_0_is_migrated_with_all_that_it_holds(store_of_0_2_0: Path, tmp_path: Path) -> None:
    with open_satchel(store_of_0_2_0, "shop", cwd=tmp_path, environ={}) as satchel:
        changed = satchel.decisions.get("cache_1_ttl")
        assert (changed.decision.value, changed.history.items[0].value) == (300, 1)
        assert satchel.decisions.find(query="entries expire").total == 6
        assert satchel.decisions.find(layer="data").total == 8
        assert satchel.decisions.find(tags=["caching"]).total == 3
        assert satchel.entries.read(query="parse_config_3").total == 1
        assert [rule.text for rule in satchel.constraints.find()] == [
            "Every fix comes with a test that failed before it"
        ]
        assert satchel.strategies.find().total == 1
        assert satchel.entries.write("discovery", "written after the migration").seq > 0
        assert [check.name for check in satchel.housekeeping.doctor() if check.status == "failed"] == []


def test_a_migrated_store_has_the_objects_of_a_new_one(store_of_0_2_0: Path, open_engine: OpenEngine) -> None:
    with open_engine().read() as transaction:
        migrated = transaction.all(_SCHEMA)
    with closing(migrations.empty_store()) as new:
        assert migrated == new.execute(_SCHEMA).fetchall()


def test_folders_among_scopes_become_paths(store_of_0_2_0: Path, tmp_path: Path) -> None:
    names = {-1: "src/api", -2: "src/db/", -3: "gateway"}
    _change(
        store_of_0_2_0,
        *(
            "INSERT INTO scopes (id, uid, seq, project_id, name, folded, created_at) "
            f"SELECT {number}, randomblob(16), 1, id, '{name}', '{name}', 1 FROM projects"
            for number, name in names.items()
        ),
        *(
            f"INSERT INTO decision_scopes SELECT {number}, status, created_at, id FROM decisions "
            "WHERE key = 'cache_1_ttl'"
            for number in names
        ),
        *(f"INSERT INTO decision_counts SELECT id, 3, {number}, 1, 1 FROM projects" for number in names),
    )
    with open_satchel(store_of_0_2_0, "shop", cwd=tmp_path, environ={}) as satchel:
        changed = satchel.decisions.get("cache_1_ttl").decision
        assert (changed.paths, changed.scopes) == (("src/api", "src/db/"), ("gateway",))
        assert satchel.decisions.find(scopes=["gateway"]).total == 1
        assert satchel.decisions.get("cache_2_ttl").decision.paths == ()
        failed = [check.name for check in satchel.housekeeping.doctor() if check.status == "failed"]
        assert "counts" not in failed


def test_files_of_conversations_keep_their_state(store_of_0_2_0: Path, tmp_path: Path) -> None:
    paths = ["a.py", 'src/deep/é "b".py', "src/b.py", "src-old/b.py"]
    _change(
        store_of_0_2_0,
        "INSERT INTO conversations (id, uid, seq, project_id, owner, assistant, session_id, turns, created_at, "
        "updated_at, expires_at) SELECT 7, x'07', 1, id, 'local', 'gpt', 'review', 3, 1, 1, 1 << 60 FROM projects",
        *(
            "INSERT INTO conversation_folders (id, conversation_id, path) "
            f"VALUES ({n}, 7, '{path[: path.rfind('/') + 1]}')"
            for n, path in enumerate(paths)
        ),
        *(
            "INSERT INTO conversation_files VALUES "
            f"({n}, '{path.rpartition('/')[2]}', {n}, {n or 'NULL'}, randomblob(16), 7, {n}, {n or 'NULL'})"
            for n, path in enumerate(paths)
        ),
    )
    with open_satchel(store_of_0_2_0, "shop", cwd=tmp_path, environ={}) as satchel:
        files = Conversations(satchel.workplace).state(ConversationKey("gpt", "review")).files
    assert {path: (one.path, one.size, one.mtime_ns, one.first_turn) for path, one in files.items()} == {
        path: (path, n, n or None, n) for n, path in enumerate(paths)
    }
    assert [files[path].why for path in paths] == [None, Overflow.NO_ROOM, Overflow.TOO_LARGE, Overflow.LATE]


def test_near_duplicates_of_what_0_2_0_wrote_are_named(store_of_0_2_0: Path, tmp_path: Path) -> None:
    # two at once are compared by their bands alone
    new = [NewDecision("expiry", "the entries of cache 4 expire after 4 seconds"), NewDecision("other", 1)]
    with open_satchel(store_of_0_2_0, "shop", cwd=tmp_path, environ={}) as satchel:
        set_now = satchel.decisions.set_many(new)
    assert "cache_4_ttl" in [similar.key for similar in set_now[0].similar]


def test_a_program_of_0_2_0_is_refused_at_its_next_write_and_keeps_what_it_wrote(
    store_of_0_2_0: Path, open_engine: OpenEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = "SELECT count(*) FROM runs"
    insert = "INSERT INTO runs (uid, seq, project_id, run_id, created_at) VALUES (x'01', 1, 1, :name, 0)"
    with monkeypatch.context() as program:
        program.setattr(migrations, "SCHEMA_VERSION", BASE_VERSION)
        old = open_engine()
        with old.read() as transaction:
            ((before,),) = transaction.all(count)
        with old.write() as transaction:
            transaction.run(insert, {"name": "acknowledged"})
    with open_engine().write() as transaction:
        transaction.run(insert, {"name": "of the new program"})
    with monkeypatch.context() as program:
        program.setattr(migrations, "SCHEMA_VERSION", BASE_VERSION)
        with pytest.raises(StoreNewer, match="restart this client or server"):
            use(old, "write")
        with old.read() as transaction:
            assert transaction.all(count) == [(before + 2,)]


@pytest.mark.parametrize("kind", ["read", "write"])
def test_an_older_store_is_refused_with_the_way_and_left_as_it_was(
    store_of_0_2_0: Path, open_engine: OpenEngine, kind: str
) -> None:
    before = _make_older(store_of_0_2_0)
    with pytest.raises(StoreOlder, match=r"schema version 26.* Install Satchel 0\.2\.0, open it once with that"):
        use(open_engine(), kind)
    assert store_of_0_2_0.read_bytes() == before


def test_an_older_backup_is_refused_and_the_store_stays(
    store_file: Path, open_engine: OpenEngine, tmp_path: Path
) -> None:
    backup = tmp_path / "older.db"
    backup.write_bytes(_WRITTEN)
    before = _make_older(backup)
    store_file.write_bytes(_WRITTEN)
    engine = open_engine()
    with pytest.raises(StoreOlder, match=r"satchel restore FILE"):
        engine.upkeep.restore(backup)
    with engine.read() as transaction:
        assert transaction.all(_DECISIONS) == [(12,)]
    assert backup.read_bytes() == before
