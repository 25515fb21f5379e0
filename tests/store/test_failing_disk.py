"""Disks that run full or fail: nothing half-written, nothing acknowledged lost, and the engine goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import apsw
import pytest

from faults.disks import Fault, FaultyDisk, full, io_error
from faults.processes import Child
from faults.rows import add, names
from satchel.base.clock import system_clock
from satchel.base.errors import IoError, StoreDamaged, StoreFull
from satchel.keep.entries.records import NewEntry
from satchel.keep.entries.service import Entries
from satchel.keep.housekeeping.service import Housekeeping
from satchel.keep.projects import Workplace
from satchel.store.sqlite import SqliteEngine

pytestmark = pytest.mark.slow

OpenEngine = Callable[..., SqliteEngine]


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    vfs = FaultyDisk("satchel-faulty", Fault("write", full))
    yield vfs
    vfs.unregister()


@pytest.fixture
def workplace(disk: FaultyDisk, open_engine: OpenEngine) -> Workplace:
    engine = open_engine(vfs="satchel-faulty")
    return Workplace(engine, system_clock, "p", "p", None, None, None, None, 1 << 20, None)


def _contents(entries: Entries) -> list[str]:
    return [entry.content for entry in entries.read(limit=500, order="asc")]


def _batch(stem: str) -> list[NewEntry]:
    return [NewEntry("discovery", f"{stem}-{place} " + "y" * 3_000) for place in range(3)]


@pytest.mark.parametrize(
    "fault",
    [
        Fault("write", full),
        Fault("write", io_error(apsw.SQLITE_IOERR_WRITE)),
        Fault("sync", io_error(apsw.SQLITE_IOERR_FSYNC)),
    ],
    ids=["full", "write", "sync"],
)
def test_wherever_a_write_fails_all_of_it_is_undone_and_the_next_one_succeeds(
    disk: FaultyDisk, workplace: Workplace, fault: Fault
) -> None:
    entries = Entries(workplace)
    expected = [entry.content for entry in entries.write_many(_batch("before"))]
    disk.fault = fault
    expected_error = StoreFull if fault.error is full else IoError
    for calls in count():
        fault.after, fault.struck = calls, 0
        try:
            written = entries.write_many(_batch(f"try {calls}"))
        except expected_error:
            fault.after = None
            assert _contents(entries) == expected
            expected += [entry.content for entry in entries.write_many(_batch(f"after {calls}"))]
        else:
            expected += [entry.content for entry in written]
            break
    assert calls > 0, "the fault never struck"
    fault.after = None
    assert _contents(entries) == expected
    assert [check.name for check in Housekeeping(workplace).doctor() if check.status == "failed"] == []
    workplace.engine.close()
    assert _contents(entries) == expected


def test_a_full_disk_while_the_store_is_made_leaves_none_of_it(disk: FaultyDisk, open_engine: OpenEngine) -> None:
    fault = disk.fault
    for calls in range(0, 30, 4):
        engine = open_engine(vfs="satchel-faulty", file=open_engine().file.with_name(f"{calls}.db"))
        fault.after, fault.struck = calls, 0
        with pytest.raises(StoreFull):
            add(engine, "lost")
        assert fault.struck
        fault.after = None
        assert names(engine) == []
        add(engine, "there is room")
        assert names(engine) == ["there is room"]


@pytest.mark.parametrize("extended", [apsw.SQLITE_IOERR_READ, apsw.SQLITE_IOERR_CORRUPTFS])
def test_a_read_that_fails_is_explained_and_the_next_one_succeeds(
    disk: FaultyDisk, workplace: Workplace, extended: int
) -> None:
    entries = Entries(workplace)
    expected = [entry.content for entry in entries.write_many(_batch("kept"))]
    workplace.engine.close()
    disk.fault = Fault("read", io_error(extended), after=0)
    with pytest.raises(IoError, match="reading or writing"):
        _contents(entries)
    disk.fault.after = None
    assert _contents(entries) == expected


def test_a_page_that_reads_as_noise_is_damage(disk: FaultyDisk, workplace: Workplace) -> None:
    entries = Entries(workplace)
    entries.write_many(_batch("kept"))
    workplace.engine.close()
    disk.fault = Fault("read", lambda: apsw.CorruptError("the page is noise"), after=2)
    with pytest.raises(StoreDamaged, match="satchel restore"):
        _contents(entries)


def test_a_file_system_really_filled_keeps_what_was_acknowledged_and_goes_on_with_room(mount_point: Path) -> None:
    with Child("fill-disk", mount_point, private_mounts=True) as child:
        assert child.finish() == ["full", "kept all True", "went on True", "['ok', 'ok']"]


def test_a_store_begun_on_a_full_file_system_is_refused_as_full(mount_point: Path) -> None:
    with Child("fill-before-the-start", mount_point, private_mounts=True) as child:
        assert child.finish() == ["filled", "store_full"]


@pytest.mark.parametrize("extended", [apsw.SQLITE_IOERR_READ, apsw.SQLITE_IOERR_CORRUPTFS])
@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_wherever_a_read_fails_every_answer_to_a_write_is_true(
    disk: FaultyDisk, workplace: Workplace, extended: int, suffix: str
) -> None:
    entries = Entries(workplace)
    expected = [entry.content for entry in entries.write_many(_batch("before"))]
    fault = Fault("read", io_error(extended), suffix=suffix)
    disk.fault = fault
    for calls in range(60):
        workplace.engine.close()
        fault.after, fault.struck = calls, 0
        try:
            expected += [entry.content for entry in entries.write_many(_batch(f"try {calls}"))]
        except IoError:
            assert fault.struck
        fault.after = None
        assert _contents(entries) == expected
        if not fault.struck:
            break


def test_damage_names_the_disk_before_a_restore(workplace: Workplace) -> None:
    # SQLite reports a read that failed with EIO as damage
    Entries(workplace).write_many(_batch("kept"))
    with pytest.raises(StoreDamaged, match=r"Check the system log .*satchel restore"), workplace.engine.read():
        raise apsw.CorruptError("database disk image is malformed")


def test_a_commit_whose_sync_failed_does_not_come_back_after_a_crash(
    disk: FaultyDisk, workplace: Workplace, tmp_path: Path
) -> None:
    entries = Entries(workplace)
    entries.write("discovery", "before")
    disk.fault = Fault("sync", io_error(apsw.SQLITE_IOERR_FSYNC), after=0, suffix="-wal", most=1)
    with pytest.raises(IoError, match="Nothing was written"):
        entries.write("discovery", "refused")
    assert disk.fault.struck == 1
    assert _after_a_crash(Path(workplace.engine.location), tmp_path / "after") == ["before"]


def test_a_commit_that_can_neither_be_made_nor_undone_is_said_to_be_unknown(
    disk: FaultyDisk, workplace: Workplace
) -> None:
    entries = Entries(workplace)
    entries.write("discovery", "before")
    disk.fault = Fault("sync", io_error(apsw.SQLITE_IOERR_FSYNC), after=0, suffix="-wal")
    with pytest.raises(IoError, match="It is unknown whether the write was saved"):
        entries.write("discovery", "perhaps")
    disk.fault.after = None
    assert _contents(entries) == ["before"]


def _after_a_crash(file: Path, folder: Path) -> list[str]:
    """Return what is found where only the database and its WAL are left, as when every process was killed."""
    folder.mkdir()
    for suffix in ("", "-wal"):
        (folder / f"s.db{suffix}").write_bytes(Path(f"{file}{suffix}").read_bytes())
    with closing(apsw.Connection(str(folder / "s.db"))) as connection:
        return [str(text) for (text,) in connection.execute("SELECT content FROM context ORDER BY id")]
