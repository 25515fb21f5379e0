"""Upkeep of a store file: reclaiming space, and going back to a backup while others use the store."""

from __future__ import annotations

import os
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import apsw

from satchel.base.clock import iso
from satchel.base.errors import Busy, SatchelError, StoreDamaged, StoreForeign
from satchel.store import backups, migrations, opening
from satchel.store.backups import Progress
from satchel.store.sqlite import SqliteEngine

_CHECKPOINT_PAUSE = 0.01


@dataclass(frozen=True, slots=True)
class Shrunk:
    """What reclaiming space did.

    Attributes:
        before, after: bytes of the database file and its WAL.
        wal_emptied: False when a reader of another process held the WAL for the whole wait, so that deleted text may
            still lie in it.
    """

    before: int
    after: int
    wal_emptied: bool


@dataclass(frozen=True, slots=True)
class Restored:
    """What going back to a backup did.

    Attributes:
        source: the backup.
        previous: where the state before it was saved, or None when there was none.
        previous_was_damaged: whether that is the damaged file itself, set aside.
    """

    source: Path
    previous: Path | None
    previous_was_damaged: bool


def shrink(engine: SqliteEngine) -> Shrunk:
    """Rewrite the database without its free pages and empty the WAL, so that deleted content is gone from both.

    Raises:
        Busy: another process kept the store locked for longer than the wait.
        StoreFull: there is no room for the copy that this needs.
    """
    before = stored_bytes(engine.file)
    with engine.exclusive() as connection:
        connection.set_busy_timeout(engine.access.wait_ms)
        connection.execute("VACUUM")
        emptied = _empty_wal(connection, engine.access.wait_ms)
    return Shrunk(before, stored_bytes(engine.file), emptied)


def stored_bytes(file: Path) -> int:
    """Return the bytes of a database file and its WAL; 0 where there is none."""
    total = 0
    for part in (file, Path(f"{file}-wal")):
        with suppress(FileNotFoundError):
            total += part.stat().st_size
    return total


def restore(engine: SqliteEngine, source: Path, progress: Progress | None = None) -> Restored:
    """Put a backup in the place of the store, after saving what is there.

    A healthy store is overwritten in one transaction, so that other processes see the old state or the new one. A
    damaged one is set aside and replaced. The change counters never go back, so cursors stay true.

    Args:
        source: a backup; it is verified first and never changed.
        progress: told about the pages copied.

    Raises:
        NotFound, StoreForeign, StoreDamaged, StoreNewer: the backup cannot be used; nothing was changed.
        Busy: another process kept the store locked for longer than the wait.
    """
    backups.verify(source)
    access = engine.access
    now = engine.clock()
    if not access.file.exists():
        opening.prepare_file(access)
    draft = access.file.with_name(f"{access.file.name}.restoring")
    try:
        _copy(source, draft)
        with closing(apsw.Connection(str(draft))) as copy:
            migrations.check_readable(copy, source)
        try:
            previous = _save_current(engine, draft, now)
        except (StoreDamaged, StoreForeign):
            engine.close()
            aside = _set_aside(access.file, now)
            draft.rename(access.file)
            opening.sync_folder(access.file.parent)
            return Restored(source, aside, previous_was_damaged=True)
        with engine.exclusive() as live, closing(apsw.Connection(str(draft))) as copy:
            live.set_busy_timeout(access.wait_ms)
            try:
                backups.copy_pages(copy, live, progress)
            except apsw.BusyError as error:
                raise Busy(f"{access.file} is in use and stayed locked", "Nothing was changed; try again") from error
            _empty_wal(live, access.wait_ms)
        engine.check_again()
        return Restored(source, previous, previous_was_damaged=False)
    finally:
        for leftover in (draft, Path(f"{draft}-journal"), Path(f"{draft}-wal"), Path(f"{draft}-shm")):
            leftover.unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    flags = apsw.SQLITE_OPEN_READONLY
    with (
        closing(apsw.Connection(str(source), flags=flags)) as old,
        closing(apsw.Connection(str(target))) as new,
    ):
        backups.copy_pages(old, new)
        new.pragma("journal_mode", "delete")


def _save_current(engine: SqliteEngine, draft: Path, now: int) -> Path | None:
    """Back up the store as it is, and lift the draft's change counters to where the store's are."""
    with engine.read() as transaction:
        counters = transaction.all("SELECT seq, uid FROM projects")
    previous = backups.back_up_before(engine.access, "restore", now, engine.backups_keep).file if counters else None
    with closing(apsw.Connection(str(draft))) as copy:
        copy.executemany("UPDATE projects SET seq = max(seq, ?) + 1 WHERE uid = ?", counters)
    return previous


def _set_aside(file: Path, now: int) -> Path:
    stamp = iso(now).replace(":", "").replace("-", "").replace(".", "")
    aside = file.with_name(f"{file.name}.damaged-{stamp}")
    for suffix in ("-wal", "-shm", ""):
        part = Path(f"{file}{suffix}")
        if part.exists():
            part.rename(f"{aside}{suffix}")
    return aside


def _empty_wal(connection: apsw.Connection, wait_ms: int) -> bool:
    """Checkpoint until the WAL file is empty, or a reader elsewhere has outlasted the wait."""
    deadline = time.monotonic() + wait_ms / 1_000
    connection.set_busy_timeout(0)
    try:
        while True:
            try:
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except apsw.BusyError:
                if time.monotonic() >= deadline:
                    return False
                time.sleep(_CHECKPOINT_PAUSE)
            else:
                return True
    finally:
        connection.set_busy_timeout(wait_ms)


def file_problems(engine: SqliteEngine) -> list[str]:
    """Return what a full integrity check of the file finds wrong, nothing when all is well.

    Raises:
        SatchelError: the file cannot be opened as a store.
    """
    try:
        with engine.read() as transaction:
            return backups.integrity_problems(transaction.connection)
    except StoreDamaged as error:
        return [error.problem]
    except apsw.Error as error:
        raise SatchelError(f"the check of {engine.file} failed: {error}") from error
