"""Backups of a store: made online, verified after they were made, and put back without stopping anyone."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import apsw

from satchel.base.clock import iso
from satchel.base.errors import InvalidInput, NotFound, SatchelError, StoreDamaged
from satchel.base.paths import FOLDER_NAME
from satchel.store import opening, unfinished
from satchel.store.failures import explained
from satchel.store.opening import Access

Progress = Callable[[int, int], None]
"""Called with the pages done and the pages in all."""

_PAGES_PER_STEP = 512
_AUTOMATIC = "before-"


@dataclass(frozen=True, slots=True)
class Backup:
    """A verified copy of a store."""

    file: Path
    size_bytes: int
    created_at: int


def backup_folder(file: Path) -> Path:
    """Return the folder that backups of a store are kept in."""
    return file.parent / ("backups" if file.parent.name == FOLDER_NAME else f"{file.stem}-backups")


def list_backups(file: Path) -> list[Backup]:
    """Return the backups of a store, the oldest first."""
    folder = backup_folder(file)
    found = [
        Backup(path, status.st_size, status.st_mtime_ns // 1_000_000)
        for path in (folder.glob("*.db") if folder.is_dir() else ())
        for status in (path.stat(),)
    ]
    return sorted(found, key=lambda backup: (backup.created_at, backup.file.name))


def copies_that_hold(file: Path, table: str, uid: bytes) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Look for a row in every copy of a store: backups, files set aside, and what a killed process left unfinished.

    Args:
        table: one of our own; a copy from before there was such a table does not hold the row.
        uid: of the row.

    Returns:
        The files that hold it, and those that could not be read.
    """
    holding: list[Path] = []
    unreadable: list[Path] = []
    copies = [backup.file for backup in list_backups(file)]
    copies += set_aside(file)
    copies += unfinished.leftovers(file, backup_folder(file))
    for path in copies:
        try:
            with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as copy:
                is_there = copy.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", (table,)).get
                if is_there and copy.execute(f"SELECT 1 FROM {table} WHERE uid = ?", (uid,)).get:
                    holding.append(path)
                    continue
            is_whole = not path.name.endswith((unfinished.PARTIAL, unfinished.DRAFT))
        except apsw.Error:
            is_whole = False
        # what SQLite cannot read, or not yet, may hold the row all the same: then its uid stands in the bytes
        if not is_whole:
            (holding if _holds_bytes(path, uid) else unreadable).append(path)
    return tuple(holding), tuple(unreadable)


def set_aside(file: Path) -> list[Path]:
    """Return the files that a restore has set aside, without those that SQLite keeps beside them."""
    return sorted(
        path for path in file.parent.glob(f"{file.name}.damaged-*") if not path.name.endswith(unfinished.SIDE_FILES)
    )


def newest_usable(file: Path) -> Path | None:
    """Return the newest backup of a store that passes its check, or None."""
    for backup in reversed(list_backups(file)):
        try:
            verify(backup.file)
        except SatchelError:
            continue
        return backup.file
    return None


def _holds_bytes(path: Path, wanted: bytes) -> bool:
    """Whether a file, or what SQLite keeps beside it, is known to hold some bytes."""
    for part in (path, *(Path(f"{path}{suffix}") for suffix in unfinished.SIDE_FILES)):
        # an empty file cannot be mapped
        with (
            suppress(OSError, ValueError),
            part.open("rb") as stream,
            mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            if content.find(wanted) >= 0:
                return True
    return False


def back_up(access: Access, target: Path | None, now: int, progress: Progress | None = None) -> Backup:
    """Copy a store while it is in use, check the copy, and only then give it its name.

    Args:
        access: the store.
        target: the file to make, which must not exist; None names one in the backup folder.
        now: the current time in milliseconds.
        progress: told about the pages copied.

    Raises:
        NotFound: there is no store yet.
        InvalidInput: the target exists, or its folder does not.
        StoreDamaged: the copy does not pass its check, so the store itself is damaged.
        ReadOnly, StoreFull: the copy cannot be written there.
    """
    with explained(access.file):
        return _back_up(access, target, now, progress)


def _back_up(access: Access, target: Path | None, now: int, progress: Progress | None) -> Backup:
    if not access.file.exists():
        raise NotFound(f"there is no store at {access.file}", "Write something first")
    if target is None:
        target = _free_name(backup_folder(access.file), "backup", now)
    elif target.exists():
        raise InvalidInput(f"{target} exists already", "Name a new file; backups never overwrite")
    elif not target.parent.is_dir():
        raise InvalidInput(f"the folder {target.parent} does not exist", "Make it first")
    unfinished.sweep(access.file, backup_folder(access.file))
    partial = target.with_name(f"{target.name}{unfinished.PARTIAL}")
    with unfinished.making(partial):
        with closing(opening.open_reader(access, writable=opening.is_writable(access.file))) as source:
            # one read transaction for the whole copy: without it every commit of another process starts it over
            source.execute("BEGIN")
            source.execute("SELECT count(*) FROM sqlite_schema").get  # noqa: B018 -- the read takes the snapshot
            with closing(apsw.Connection(str(partial))) as copy:
                copy_pages(source, copy, progress)
                copy.pragma("journal_mode", "delete")
        verify(partial)
        _sync_file(partial)
        partial.rename(target)
        opening.sync_folder(target.parent)
    return Backup(target, target.stat().st_size, now)


def back_up_before(access: Access, reason: str, now: int, keep: int) -> Backup:
    """Make an automatic backup, then remove the oldest automatic ones beyond ``keep``."""
    folder = backup_folder(access.file)
    made = back_up(access, _free_name(folder, f"{_AUTOMATIC}{reason}", now), now)
    automatic = [old for old in list_backups(access.file) if old.file.name.startswith(_AUTOMATIC)]
    for old in automatic[: max(0, len(automatic) - max(1, keep))]:
        if old.file != made.file:
            old.file.unlink(missing_ok=True)
    return made


def copy_pages(source: apsw.Connection, target: apsw.Connection, progress: Progress | None = None) -> None:
    """Copy a whole database with SQLite's online backup."""
    with target.backup("main", source, "main") as copying:
        copy_the_rest(copying, progress)


def copy_the_rest(copying: apsw.Backup, progress: Progress | None = None) -> None:
    """Finish an online backup that was begun."""
    while not copying.done:
        copying.step(_PAGES_PER_STEP)
        if progress is not None:
            progress(copying.page_count - copying.remaining, copying.page_count)


def verify(file: Path) -> None:
    """Check that a file is a whole Satchel store, reading all of it.

    Raises:
        NotFound: there is no such file.
        StoreForeign: it is something else.
        StoreDamaged: it does not pass SQLite's integrity check.
    """
    if not file.is_file():
        raise NotFound(f"there is no file {file}", "`satchel backup --list` shows the backups")
    opening.check_header(file)
    with closing(apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        try:
            ours = opening.check_ours(connection, file)
            problems = integrity_problems(connection)
        except apsw.Error as error:
            problems = [str(error)]
            ours = True
    if not ours:
        problems = ["it holds no store"]
    if problems:
        raise StoreDamaged(f"{file} fails its integrity check: {problems[0]}", "Try an older backup")


def integrity_problems(connection: apsw.Connection) -> list[str]:
    """Return what SQLite's full integrity check and its foreign key check find wrong, nothing when all is well."""
    found = [str(text) for (text,) in connection.execute("PRAGMA integrity_check(20)") if text != "ok"]
    found += [
        f"row {row} of {table} points to a missing {parent}"
        for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check")
    ]
    return found


def _free_name(folder: Path, stem: str, now: int) -> Path:
    folder.mkdir(mode=0o700, exist_ok=True)
    stamp = iso(now).replace(":", "").replace("-", "").replace(".", "")
    candidate, number = folder / f"{stem}-{stamp}.db", 1
    while candidate.exists():
        number += 1
        candidate = folder / f"{stem}-{stamp}-{number}.db"
    return candidate


def _sync_file(file: Path) -> None:
    descriptor = os.open(file, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
