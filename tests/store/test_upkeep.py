"""Compacting and forgetting, with other processes at work on the same store, and the room that its disk has."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from faults.damage import overwrite_leaves
from store.filled import contents, failed, fill
from store.opened import OpenStore


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
    assert failed(satchel) == []


def test_a_reader_elsewhere_is_not_disturbed_by_compacting_and_its_wal_is_reported(
    open_store: OpenStore, store_file: Path
) -> None:
    satchel = open_store(settings={"store.lock_wait_ms": 50})
    fill(satchel, 5)
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
    fill(satchel, 30)
    leaked = satchel.entries.write("discovery", f"the key is {_TOKEN}, never tell", file=f"src/{_TOKEN}.py")
    fill(satchel, 30, "later")
    assert _holding(tmp_path)
    forgotten = satchel.housekeeping.forget(leaked.ref)
    assert forgotten.done
    assert forgotten.wal_emptied
    assert forgotten.still_in == ()
    assert _holding(tmp_path) == set()
    satchel.close()
    assert _holding(tmp_path) == set()
    assert satchel.entries.read(query=_TOKEN).total == 0
    assert satchel.entries.read(limit=0).total == 60
    assert failed(satchel) == []


def test_forgetting_lists_the_backups_that_still_hold_the_entry(
    open_store: OpenStore, store_file: Path, tmp_path: Path
) -> None:
    satchel = open_store()
    fill(satchel, 1)
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
    fill(satchel, 40)
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
    forgotten = satchel.housekeeping.forget(leaked.ref, dry_run=True)
    assert not forgotten.done
    assert forgotten.text == leaked.content
    assert contents(satchel) == [leaked.content]


@pytest.mark.parametrize(
    "name",
    [
        "{} (Ann's conflicted copy 2026-11-27).db",
        "{}.sync-conflict-20261127-091500-ABCDEFG.db",
        "{} (1).db",
        "{} 2.db",
        "{}_conf(2026-11-27).db",
    ],
)
def test_doctor_names_the_conflict_copies_of_sync_tools(open_store: OpenStore, store_file: Path, name: str) -> None:
    satchel = open_store()
    satchel.entries.write("discovery", "x")
    copy = store_file.with_name(name.format(store_file.stem))
    copy.touch()
    checks = {check.name: check for check in satchel.housekeeping.doctor()}
    assert checks["sync"].status == "warning"
    assert copy.name in checks["sync"].detail


@pytest.mark.parametrize("free", [0, 2_500_000, 20_000_000])
def test_a_disk_that_is_nearly_full_is_reported(
    open_store: OpenStore, store_file: Path, monkeypatch: pytest.MonkeyPatch, free: int
) -> None:
    satchel = open_store()
    fill(satchel, 1)
    usage = shutil.disk_usage(store_file)._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", {store_file.parent: usage}.__getitem__)
    (place,) = (check for check in satchel.housekeeping.doctor() if check.name == "place")
    assert (place.status, f"{free / 1e6:.1f} MB left" in place.detail) == (
        ("ok", False) if free == 20_000_000 else ("warning", True)
    )
