"""Upkeep of a store file: reclaiming space, and going back to a backup while others use the store."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import apsw

from satchel.base.clock import iso
from satchel.base.errors import (
    Busy,
    Conflict,
    Interrupted,
    ReadOnly,
    Refused,
    SatchelError,
    StoreDamaged,
    StoreFull,
    TimedOut,
    Untrusted,
)
from satchel.base.records import dataclass
from satchel.store import backups, migrations, opening, unfinished
from satchel.store.backups import Progress
from satchel.store.failures import explained
from satchel.store.sqlite import SqliteEngine

_CHECKPOINT_PAUSE = 0.01
_NOT_ABOUT_THE_FILE = (Busy, Interrupted, StoreFull, Refused, TimedOut)


@dataclass(frozen=True, slots=True)
class Shrunk:
    """What reclaiming space did.

    Attributes:
        before, after: bytes that the store takes.
        wal_emptied: False when a reader of another process kept what was deleted for the whole wait, so that it may
            still lie in the WAL of a file, or in the tables of a database.
        out_of_reach: where it may lie that Satchel cannot look into, in words; None where there is no such place.
    """

    before: int
    after: int
    wal_emptied: bool
    out_of_reach: str | None = None


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

    A healthy store is overwritten in one transaction, so that other processes see the old state or the new one; its
    lock is taken before the old state is saved, so that no write falls in between. What cannot be used as a store,
    whatever it is, is set aside and replaced.

    The change counters never go back, so cursors stay true, unless damage makes them unreadable.

    Args:
        source: a backup; it is verified first and never changed.
        progress: told about the pages copied.

    Raises:
        NotFound, StoreForeign, StoreDamaged, StoreNewer: the backup cannot be used; nothing was changed.
        Busy: another process kept the store locked for longer than the wait.
    """
    with explained(source):
        backups.verify(source)
        with closing(apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READONLY)) as backup:
            migrations.check_readable(backup, source)
    access = engine.access
    if engine.read_only:
        raise ReadOnly(f"{access.file} was opened for reading only", "Open it without --read-only to restore")
    now = engine.clock()
    engine.check_files()
    engine.want_new()
    if not os.path.lexists(access.file):
        opening.prepare_file(access)
    unfinished.sweep(access.file, backups.backup_folders(access.file, engine.trust))
    draft = access.file.with_name(f"{access.file.name}{unfinished.DRAFT}")
    with explained(access.file), unfinished.making(draft):
        _copy(source, draft)
        with closing(apsw.Connection(str(draft))) as copy:
            # now, since a process that has the store open would not look at its version again
            uid = migrations.finish_copy(copy, source, now, engine.trust)
        try:
            previous, was_damaged = _overwrite(engine, draft, now, progress), False
            engine.check_again()
        except (SatchelError, apsw.Error) as error:
            if isinstance(error, _NOT_ABOUT_THE_FILE) and not isinstance(error, Untrusted):
                raise
            # whatever is wrong with it, it is kept under another name, and a person has said yes
            engine.close()
            previous, was_damaged = _set_aside(access.file, draft, now), True
        if engine.trust is not None:
            engine.trust.list_copy(uid, opening.identity_of(access.file))
        return Restored(source, previous, was_damaged)


def make_room(engine: SqliteEngine, is_usable: Callable[[], bool]) -> Path | None:
    """Let the next write make a new store, after setting aside a file that cannot be used as one.

    Args:
        engine: the store's.
        is_usable: decides about a file that opens as a store.

    Returns:
        Where that file is now, or None where there was none, or an empty one.

    Raises:
        Conflict: there is a store that can be used.
    """
    engine.check_files()
    aside = None
    if stored_bytes(engine.file):
        try:
            with engine.read():
                pass
            usable = is_usable()
        except (SatchelError, apsw.Error) as error:
            if isinstance(error, _NOT_ABOUT_THE_FILE) and not isinstance(error, Untrusted):
                raise
            usable = False
        if usable:
            raise Conflict(
                f"{engine.file} can be used as it is",
                "`satchel doctor` examines it; move it away first to begin with an empty one",
            )
        engine.close()
        aside = _set_aside(engine.file, None, engine.clock())
    engine.want_new()
    return aside


def _overwrite(engine: SqliteEngine, draft: Path, now: int, progress: Progress | None) -> Path | None:
    """Save the store as it is, then copy the draft over it with the change counters lifted to the store's.

    Returns:
        The backup of what was there, or None when nothing was.
    """
    access = engine.access
    with engine.exclusive() as live, closing(apsw.Connection(str(draft))) as copy:
        live.set_busy_timeout(access.wait_ms)
        with live.backup("main", copy, "main") as copying:
            copying.step(1)  # takes the write lock, and holds it until all is copied
            with closing(opening.open_reader(access, writable=True)) as current:
                counters = current.execute("SELECT seq, uid FROM projects").fetchall()
            copy.executemany("UPDATE projects SET seq = max(seq, ?) + 1 WHERE uid = ?", counters)
            previous = (
                backups.back_up_before(access, "restore", now, engine.backups_keep, engine.trust).file
                if counters
                else None
            )
            backups.copy_the_rest(copying, progress)
        _empty_wal(live, access.wait_ms)
    return previous


def _copy(source: Path, target: Path) -> None:
    flags = apsw.SQLITE_OPEN_READONLY
    with (
        closing(apsw.Connection(str(source), flags=flags)) as old,
        closing(apsw.Connection(str(target))) as new,
    ):
        backups.copy_pages(old, new)
        new.pragma("journal_mode", "delete")


def _set_aside(file: Path, draft: Path | None, now: int) -> Path:
    """Give an unusable file another name, and put the draft in its place if there is one.

    The new file replaces the old in one step: were the name free for a moment, another process would make a store.
    """
    stamp = iso(now).replace(":", "").replace("-", "").replace(".", "")
    aside = file.with_name(f"{file.name}.damaged-{stamp}")
    try:
        aside.hardlink_to(file)
    except OSError:  # a folder, a file of another user, or a file system without links
        file.rename(aside)
    for suffix in unfinished.SIDE_FILES:
        part = Path(f"{file}{suffix}")
        if os.path.lexists(part):
            part.rename(f"{aside}{suffix}")
    if draft is not None:
        draft.replace(file)
    else:
        file.unlink(missing_ok=True)
    opening.sync_folder(file.parent)
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
        # A connection of its own: on one that ran this check before others wrote, FTS5 compares the file with the
        # structure it remembers, and reports damage that is not there (measured with SQLite 3.54.1).
        with engine.read():
            fresh = opening.open_reader(engine.access, writable=opening.is_writable(engine.file))
            with closing(fresh):
                return backups.integrity_problems(fresh)
    except StoreDamaged as error:
        return [error.problem]
    except apsw.Error as error:
        raise SatchelError(f"the check of {engine.file} failed: {error}") from error
