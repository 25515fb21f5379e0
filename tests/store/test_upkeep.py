"""Backups, restoring, compacting and forgetting, with other processes at work on the same store."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from faults.damage import overwrite_leaves
from faults.processes import Child
from satchel.base.errors import (
    InvalidInput,
    NotFound,
    ReadOnly,
    SatchelError,
    StoreDamaged,
    StoreForeign,
    StoreNewer,
)
from satchel.client import Satchel
from satchel.store import backups
from satchel.store.schema import APPLICATION_ID

OpenStore = Callable[..., Satchel]


def _fill(satchel: Satchel, count: int, stem: str = "note") -> list[str]:
    return [satchel.entries.write("discovery", f"{stem} {number} " + "x" * 1_000).content for number in range(count)]


def _contents(satchel: Satchel) -> list[str]:
    return [entry.content for entry in satchel.entries.read(limit=500, order="asc")]


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def _failed(satchel: Satchel) -> list[str]:
    return [f"{check.name}: {check.detail}" for check in satchel.housekeeping.doctor() if check.status == "failed"]


def test_a_backup_made_while_another_process_writes_is_whole(
    open_store: OpenStore, store_file: Path, tmp_path: Path
) -> None:
    satchel = open_store()
    _fill(satchel, 100)
    with Child("write-until-told", store_file) as child:
        begun = int(child.hear())
        made = satchel.housekeeping.backup()
        (tmp_path / "stop").touch()
        acknowledged = [begun, *map(int, child.finish())]
    backups.verify(made.file)
    with closing(apsw.Connection(str(made.file), flags=apsw.SQLITE_OPEN_READONLY)) as copy:
        seqs = [seq for (seq,) in copy.execute("SELECT seq FROM context ORDER BY seq")]
        counter = copy.execute("SELECT seq FROM projects").get
        indexed = copy.execute("SELECT count(*) FROM documents_fts_docsize").get
    assert seqs == list(range(seqs[0], counter + 1)), "one snapshot: every seq up to the counter's"
    assert begun in seqs
    assert len(seqs) == indexed
    assert set(seqs) <= {*range(begun), *acknowledged}
    assert made.file.stat().st_mode & 0o777 == 0o600


def test_a_backup_opens_as_a_store_and_lies_alone(open_store: OpenStore, tmp_path: Path) -> None:
    satchel = open_store()
    written = _fill(satchel, 5)
    target = tmp_path / "elsewhere" / "b.db"
    target.parent.mkdir()
    assert satchel.housekeeping.backup(target).file == target
    assert _files(target.parent) == {"b.db"}
    with closing(apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READONLY)) as copy:
        assert [content for (content,) in copy.execute("SELECT content FROM context ORDER BY id")] == written
        assert copy.pragma("application_id") == APPLICATION_ID


def test_a_backup_tells_its_progress_up_to_the_end(open_store: OpenStore) -> None:
    satchel = open_store()
    _fill(satchel, 5)
    told: list[tuple[int, int]] = []
    satchel.housekeeping.backup(progress=lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1] > 0


def test_a_backup_never_overwrites(open_store: OpenStore, tmp_path: Path) -> None:
    satchel = open_store()
    _fill(satchel, 1)
    (tmp_path / "b.db").write_text("precious")
    with pytest.raises(InvalidInput, match="exists already"):
        satchel.housekeeping.backup(tmp_path / "b.db")
    assert (tmp_path / "b.db").read_text() == "precious"


def test_without_a_store_there_is_nothing_to_back_up(open_store: OpenStore, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        open_store().housekeeping.backup()
    assert _files(tmp_path) == set()


@pytest.mark.parametrize("table", ["context", "sqlite_schema"])
def test_a_backup_of_a_corrupt_store_is_refused_and_leaves_no_file(
    open_store: OpenStore, store_file: Path, tmp_path: Path, table: str
) -> None:
    satchel = open_store()
    _fill(satchel, 40)
    satchel.close()
    if table == "context":
        overwrite_leaves(store_file, "context")
    else:
        with store_file.open("r+b") as stream:
            stream.seek(100)
            stream.write(b"\xa5" * 3_000)
    before = _files(tmp_path)
    with pytest.raises(StoreDamaged):
        satchel.housekeeping.backup()
    left = {name for name in _files(tmp_path) if not name.endswith(("-wal", "-shm"))}
    assert left == before


def test_a_backup_into_a_folder_that_cannot_be_written_says_so(
    open_store: OpenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    satchel = open_store()
    _fill(satchel, 1)
    real_open = os.open

    def refuse(path: str | Path, flags: int, mode: int = 0o777) -> int:
        if str(path).endswith(".partial"):
            raise PermissionError(13, "Permission denied", str(path))
        return real_open(path, flags, mode)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ReadOnly, match="Permission denied"):
        satchel.housekeeping.backup()


def test_a_restored_store_has_the_old_state_and_a_backup_of_what_was_there(open_store: OpenStore) -> None:
    satchel = open_store()
    old = _fill(satchel, 5, "old")
    made = satchel.housekeeping.backup()
    both = old + _fill(satchel, 5, "new")
    restored = satchel.housekeeping.restore(made.file)
    assert _contents(satchel) == old
    assert restored.source == made.file
    assert not restored.previous_was_damaged
    assert restored.previous is not None
    satchel.housekeeping.restore(restored.previous)
    assert _contents(satchel) == both
    assert _failed(satchel) == []


def test_another_process_with_the_store_open_sees_the_restored_state_and_writes(
    open_store: OpenStore, store_file: Path
) -> None:
    satchel = open_store()
    with Child("serve", store_file) as child:
        assert child.hear() == "ready"
        assert child.ask("write old") == "2"
        made = satchel.housekeeping.backup()
        assert child.ask("write new") == "3"
        assert child.ask("read") == "2 new"
        satchel.housekeeping.restore(made.file)
        assert child.ask("read") == "1 old"
        assert int(child.ask("write after")) > 3
        assert child.ask("read") == "2 after"
    assert _contents(satchel) == ["old", "after"]
    assert _failed(satchel) == []


def test_what_another_process_writes_while_a_restore_runs_is_saved_or_kept_and_seq_never_goes_back(
    open_store: OpenStore, store_file: Path, tmp_path: Path
) -> None:
    satchel = open_store()
    _fill(satchel, 200)
    made = satchel.housekeeping.backup()
    with Child("write-until-told", store_file) as child:
        acknowledged = [int(child.hear()) for _ in range(3)]
        saved = [satchel.housekeeping.restore(made.file).previous for _ in range(3)]
        acknowledged += [int(child.hear()) for _ in range(3)]
        (tmp_path / "stop").touch()
        acknowledged += map(int, child.finish())
    assert acknowledged == sorted(set(acknowledged)), "seq went back"
    found: set[int] = set()
    for file in (*saved, store_file):
        with closing(apsw.Connection(str(file))) as copy:
            found.update(seq for (seq,) in copy.execute("SELECT seq FROM context"))
    assert set(acknowledged) <= found, "an acknowledged write is neither in a backup nor in the store"
    assert _failed(satchel) == []


def test_seq_never_goes_back_in_a_restore(open_store: OpenStore) -> None:
    satchel = open_store()
    _fill(satchel, 2)
    made = satchel.housekeeping.backup()
    _fill(satchel, 7)
    cursor = satchel.entries.read().cursor
    satchel.housekeeping.restore(made.file)
    after = satchel.entries.write("discovery", "after the restore")
    assert after.seq > cursor
    assert [entry.content for entry in satchel.entries.read(after_seq=cursor)] == ["after the restore"]


def test_restoring_where_there_is_no_store_makes_one(open_store: OpenStore, store_file: Path, tmp_path: Path) -> None:
    satchel = open_store()
    old = _fill(satchel, 3)
    made = satchel.housekeeping.backup(tmp_path / "b.db")
    satchel.close()
    store_file.unlink()
    restored = satchel.housekeeping.restore(made.file)
    assert _contents(satchel) == old
    assert restored.previous is None
    assert store_file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", ["noise", "truncated", "a page"])
def test_a_damaged_store_is_set_aside_and_replaced_also_for_a_process_that_has_it_open(
    open_store: OpenStore, store_file: Path, damage: str
) -> None:
    satchel = open_store()
    old = _fill(satchel, 40)
    made = satchel.housekeeping.backup()
    satchel.close()
    if damage == "a page":
        overwrite_leaves(store_file, "context")
    else:
        content = store_file.read_bytes()
        store_file.write_bytes(b"\xa5" * len(content) if damage == "noise" else content[: len(content) // 2])
    wreck = store_file.read_bytes()
    with Child("serve", store_file) as child:
        assert child.hear() == "ready"
        code = "store_foreign" if damage == "noise" else "store_damaged"
        assert child.ask("read") == code
        restored = satchel.housekeeping.restore(made.file)
        assert child.ask("read") == f"40 {old[-1]}"
        assert int(child.ask("write after")) > 41
    assert restored.previous_was_damaged
    assert restored.previous is not None
    assert restored.previous.read_bytes() == wreck
    assert _contents(satchel) == [*old, "after"]
    assert _failed(satchel) == []


def test_seq_does_not_go_back_where_damage_left_it_readable(open_store: OpenStore, store_file: Path) -> None:
    satchel = open_store()
    _fill(satchel, 3)
    made = satchel.housekeeping.backup()
    _fill(satchel, 40)
    cursor = satchel.entries.read().cursor
    satchel.close()
    overwrite_leaves(store_file, "context")
    assert satchel.housekeeping.restore(made.file).previous_was_damaged
    assert satchel.entries.write("discovery", "after").seq > cursor


def test_the_database_of_another_application_is_never_set_aside(
    open_store: OpenStore, store_file: Path, tmp_path: Path
) -> None:
    satchel = open_store()
    _fill(satchel, 3)
    made = satchel.housekeeping.backup(tmp_path / "b.db")
    satchel.close()
    store_file.unlink()
    with closing(apsw.Connection(str(store_file))) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    before, content = _files(tmp_path), store_file.read_bytes()
    with pytest.raises(StoreForeign):
        satchel.housekeeping.restore(made.file)
    assert store_file.read_bytes() == content
    assert _files(tmp_path) == before


def _missing(_file: Path) -> None:
    return


def _noise(file: Path) -> None:
    file.write_bytes(b"\xa5" * 10_000)


def _foreign(file: Path) -> None:
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute("CREATE TABLE theirs (a)")


def _empty(file: Path) -> None:
    file.touch()


def _damaged(file: Path) -> None:
    file.write_bytes((file.parent / "good.db").read_bytes())
    overwrite_leaves(file, "context")


def _newer(file: Path) -> None:
    file.write_bytes((file.parent / "good.db").read_bytes())
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute("UPDATE store SET min_reader = 99")


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (_missing, NotFound),
        (_noise, StoreForeign),
        (_foreign, StoreForeign),
        (_empty, StoreDamaged),
        (_damaged, StoreDamaged),
        (_newer, StoreNewer),
    ],
)
@pytest.mark.parametrize("there", [True, False], ids=["over a store", "where there is none"])
def test_restoring_a_bad_backup_changes_nothing(
    open_store: OpenStore,
    store_file: Path,
    tmp_path: Path,
    make: Callable[[Path], None],
    error: type[SatchelError],
    there: bool,
) -> None:
    satchel = open_store()
    kept = _fill(satchel, 40)
    satchel.housekeeping.backup(tmp_path / "good.db")
    satchel.close()
    if not there:
        store_file.unlink()
        kept = []
    make(tmp_path / "bad.db")
    before = _files(tmp_path)
    with pytest.raises(error):
        satchel.housekeeping.restore(tmp_path / "bad.db")
    assert _files(tmp_path) == before
    assert _contents(satchel) == kept


def test_compacting_gives_the_space_of_what_was_deleted_back(open_store: OpenStore, store_file: Path) -> None:
    satchel = open_store()
    for number in range(100):
        satchel.entries.write("scratchpad", {"iteration": number, "summary": "x" * 3_000})
    satchel.entries.prune(keep=1)
    shrunk = satchel.housekeeping.compact()
    assert shrunk.after < shrunk.before / 3
    assert shrunk.wal_emptied
    assert Path(f"{store_file}-wal").stat().st_size == 0
    assert satchel.entries.read().total == 1
    assert _failed(satchel) == []


def test_a_reader_elsewhere_is_not_disturbed_by_compacting_and_its_wal_is_reported(
    open_store: OpenStore, store_file: Path
) -> None:
    satchel = open_store(settings={"store.lock_wait_ms": 50})
    _fill(satchel, 5)
    with closing(apsw.Connection(str(store_file))) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM context").get == 5
        assert not satchel.housekeeping.compact().wal_emptied
        assert reader.execute("SELECT count(*) FROM context").get == 5
    assert satchel.housekeeping.compact().wal_emptied


_TOKEN = "zqxjkvbwtoken"


def _holding(folder: Path) -> set[str]:
    """Return the files that hold the token in their raw bytes, in any case."""
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and _TOKEN.encode() in path.read_bytes().lower()
    }


def test_forgetting_leaves_no_trace_in_any_byte_of_the_store(open_store: OpenStore, tmp_path: Path) -> None:
    satchel = open_store()
    _fill(satchel, 30)
    leaked = satchel.entries.write("discovery", f"the key is {_TOKEN}, never tell", file=f"src/{_TOKEN}.py")
    _fill(satchel, 30, "later")
    assert _holding(tmp_path)
    forgotten = satchel.housekeeping.forget(leaked.ref)
    assert forgotten.done
    assert forgotten.wal_emptied
    assert forgotten.still_in == ()
    assert _holding(tmp_path) == set()
    satchel.close()
    assert _holding(tmp_path) == set()
    assert satchel.entries.read(search=_TOKEN).total == 0
    assert satchel.entries.read(limit=0).total == 60
    assert _failed(satchel) == []


def test_forgetting_lists_the_backups_that_still_hold_the_entry(
    open_store: OpenStore, store_file: Path, tmp_path: Path
) -> None:
    satchel = open_store()
    _fill(satchel, 1)
    before = satchel.housekeeping.backup()
    leaked = satchel.entries.write("discovery", f"the key is {_TOKEN}")
    after = satchel.housekeeping.backup()
    damaged = after.file.with_name("backup-noise.db")
    damaged.write_bytes(b"\xa5" * 5_000)
    forgotten = satchel.housekeeping.forget(leaked.ref)
    assert forgotten.still_in == (after.file,)
    assert forgotten.unreadable == (damaged,)
    assert _holding(tmp_path) == {str(after.file.relative_to(tmp_path))}
    assert before.file not in forgotten.still_in


def test_forgetting_lists_a_damaged_store_that_was_set_aside(open_store: OpenStore, store_file: Path) -> None:
    satchel = open_store()
    _fill(satchel, 40)
    leaked = satchel.entries.write("discovery", f"the key is {_TOKEN}")
    made = satchel.housekeeping.backup()
    satchel.close()
    overwrite_leaves(store_file, "projects")
    aside = satchel.housekeeping.restore(made.file).previous
    assert aside is not None
    forgotten = satchel.housekeeping.forget(leaked.ref)
    assert aside in (*forgotten.still_in, *forgotten.unreadable)


def test_a_preview_of_forgetting_changes_nothing(open_store: OpenStore, tmp_path: Path) -> None:
    satchel = open_store()
    leaked = satchel.entries.write("discovery", f"the key is {_TOKEN}")
    forgotten = satchel.housekeeping.forget(leaked.ref, preview=True)
    assert not forgotten.done
    assert forgotten.text == leaked.content
    assert _contents(satchel) == [leaked.content]
