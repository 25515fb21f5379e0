"""Restoring, with other processes at work on the same store."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from faults.damage import overwrite_leaves
from faults.processes import Child
from satchel.base.errors import NotFound, SatchelError, StoreDamaged, StoreForeign, StoreMissing, StoreNewer
from store.filled import contents, failed, files, fill
from store.opened import OpenStore

pytestmark = pytest.mark.slow


def test_a_restored_store_has_the_old_state_and_a_backup_of_what_was_there(open_store: OpenStore) -> None:
    satchel = open_store()
    old = fill(satchel, 5, "old")
    made = satchel.housekeeping.backup()
    both = old + fill(satchel, 5, "new")
    restored = satchel.housekeeping.restore(made.file)
    assert contents(satchel) == old
    assert restored.source == made.file
    assert not restored.previous_was_damaged
    assert restored.previous is not None
    satchel.housekeeping.restore(restored.previous)
    assert contents(satchel) == both
    assert failed(satchel) == []


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
    assert contents(satchel) == ["old", "after"]
    assert failed(satchel) == []


def test_what_another_process_writes_while_a_restore_runs_is_saved_or_kept_and_seq_never_goes_back(
    open_store: OpenStore, store_file: Path, tmp_path: Path
) -> None:
    satchel = open_store()
    fill(satchel, 200)
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
    assert failed(satchel) == []


def test_seq_never_goes_back_in_a_restore(open_store: OpenStore) -> None:
    satchel = open_store()
    fill(satchel, 2)
    made = satchel.housekeeping.backup()
    fill(satchel, 7)
    cursor = satchel.entries.read().cursor
    satchel.housekeeping.restore(made.file)
    after = satchel.entries.write("discovery", "after the restore")
    assert after.seq > cursor
    assert [entry.content for entry in satchel.entries.read(after_seq=cursor)] == ["after the restore"]


def test_restoring_where_there_is_no_store_makes_one(open_store: OpenStore, store_file: Path, tmp_path: Path) -> None:
    satchel = open_store()
    old = fill(satchel, 3)
    made = satchel.housekeeping.backup(tmp_path / "b.db")
    satchel.close()
    store_file.unlink()
    restored = satchel.housekeeping.restore(made.file)
    assert contents(satchel) == old
    assert restored.previous is None
    assert store_file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", ["noise", "truncated", "a page"])
def test_a_damaged_store_is_set_aside_and_replaced_also_for_a_process_that_has_it_open(
    open_store: OpenStore, store_file: Path, damage: str
) -> None:
    satchel = open_store()
    old = fill(satchel, 40)
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
    assert contents(satchel) == [*old, "after"]
    assert failed(satchel) == []


def test_seq_does_not_go_back_where_damage_left_it_readable(open_store: OpenStore, store_file: Path) -> None:
    satchel = open_store()
    fill(satchel, 3)
    made = satchel.housekeeping.backup()
    fill(satchel, 40)
    cursor = satchel.entries.read().cursor
    satchel.close()
    overwrite_leaves(store_file, "context")
    assert satchel.housekeeping.restore(made.file).previous_was_damaged
    assert satchel.entries.write("discovery", "after").seq > cursor


def test_the_database_of_another_application_is_set_aside_whole(
    open_store: OpenStore, store_file: Path, tmp_path: Path
) -> None:
    satchel = open_store()
    fill(satchel, 3)
    made = satchel.housekeeping.backup(tmp_path / "b.db")
    satchel.close()
    store_file.unlink()
    with closing(apsw.Connection(str(store_file))) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    content = store_file.read_bytes()
    restored = satchel.housekeeping.restore(made.file)
    assert restored.previous is not None
    assert restored.previous.read_bytes() == content
    assert satchel.entries.read().total == 3


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
    kept = fill(satchel, 40)
    satchel.housekeeping.backup(tmp_path / "good.db")
    satchel.close()
    if not there:
        store_file.unlink()
    make(tmp_path / "bad.db")
    before = files(tmp_path)
    with pytest.raises(error):
        satchel.housekeeping.restore(tmp_path / "bad.db")
    assert files(tmp_path) == before
    if there:
        assert contents(satchel) == kept
    else:
        with pytest.raises(StoreMissing):
            contents(satchel)
