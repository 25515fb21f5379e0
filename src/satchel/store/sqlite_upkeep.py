"""Maintenance of a store in one SQLite file."""

from __future__ import annotations

import glob
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from satchel.base.clock import Clock, iso
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
from satchel.base.file_checks import sync
from satchel.base.paths import filesystem_kind
from satchel.store import accepting, backups, contents, migrations, opening, side_files
from satchel.store.accepting import Accepted
from satchel.store.backups import Backup, Progress
from satchel.store.failures import explained
from satchel.store.opening import Access
from satchel.store.upkeep import Check, Restored, Shrunk, Upkeep

if TYPE_CHECKING:
    from satchel.store.sqlite import SqliteEngine

_WAL_WARNING_BYTES = 128 * 1024 * 1024
_LEAST_FREE_BYTES = 10_000_000
_CHECKPOINT_PAUSE = 0.01
# The rest of the name of a copy that a sync tool made: Dropbox, Syncthing, Nextcloud, OneDrive, iCloud.
_CONFLICT = re.compile(r"(?i)conflict|^ \(\d+\)| \d+\.|_conf\(")
_NOT_ABOUT_THE_FILE = (Busy, Interrupted, StoreFull, Refused, TimedOut)


class SqliteUpkeep(Upkeep):
    """Maintenance of one SQLite file."""

    version = opening.ENGINE
    soundness = ("file", "the full integrity check passed")

    def __init__(self, engine: SqliteEngine) -> None:
        super().__init__(engine.location)
        self._engine = engine
        self._file = engine.file
        self._trust = engine.trust

    def recovery_hint(self) -> str:
        if not self.knows_place():
            return (
                "neither it nor a backup in its folder is known to be yours: `satchel init --new` sets the file aside "
                "and starts an empty store"
            )
        newest = self.newest_backup()
        if newest is not None:
            return f"`satchel restore` goes back to the newest backup, {newest.file.name}"
        return (
            "there is no usable backup: save what can be read with `.recover` of the sqlite3 shell, then "
            "`satchel init --new` sets the file aside and starts an empty store"
        )

    def size(self) -> int:
        """Return the size of the file and its WAL in bytes; 0 if it is missing."""
        total = 0
        for part in (self._file, Path(f"{self._file}-wal")):
            with suppress(FileNotFoundError):
                total += part.stat().st_size
        return total

    def reclaim(self) -> Shrunk:
        """Rewrite the file without its free pages and empty the WAL, so that deleted content is gone from both."""
        before, wait_ms = self.size(), self._engine.access.wait_ms
        with self._engine.exclusive() as connection:
            connection.set_busy_timeout(wait_ms)
            connection.execute("VACUUM")
            emptied = _empty_wal(connection, wait_ms)
        return Shrunk(before, self.size(), emptied)

    def make_room(self, is_usable: Callable[[], bool]) -> Path | None:
        engine = self._engine
        engine.check_files()
        aside = None
        if self.size():
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
                    f"{self._file} can be used as it is",
                    "`satchel doctor` checks it; to start with an empty store, move it away first",
                )
            engine.close()
            aside = _set_aside(self._file, None, engine.clock())
        engine.want_new()
        return aside

    def back_up(self, target: Path | None, now: int, progress: Progress | None = None) -> Backup:
        return backups.back_up(self._engine.access, target, now, progress, trust=self._trust)

    def back_up_when_due(self) -> Backup | None:
        engine = self._engine
        if engine.trust is None:
            return None
        return backups.back_up_when_due(engine.access, engine.clock(), engine.backups_keep, engine.trust)

    def restore(self, source: Path, progress: Progress | None = None) -> Restored:
        """Replace the store with a backup, after saving its present state.

        A healthy store is overwritten in one transaction, so that other processes see the old state or the new one; its
        lock is taken before the old state is saved, so that no write falls in between. A file that cannot be used as a
        store is set aside and replaced.

        The change counters never go back, so cursors stay true, unless damage makes them unreadable.
        """
        with explained(source):
            backups.verify(source)
            with closing(apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READONLY)) as backup:
                migrations.check_readable(backup, source)
        engine, file = self._engine, self._file
        if engine.read_only:
            raise ReadOnly(f"{file} was opened for reading only", "Open it without --read-only to restore")
        now = engine.clock()
        engine.check_files()
        engine.want_new()
        if not os.path.lexists(file):
            opening.prepare_file(engine.access)
        self.sweep()
        draft = file.with_name(f"{file.name}{side_files.DRAFT}")
        with explained(file), side_files.making(draft):
            _copy(source, draft)
            with closing(apsw.Connection(str(draft))) as copy:
                # now, since a process that has the store open would not look at its version again
                uid = migrations.finish_copy(copy, source, now, engine.trust)
            try:
                previous, was_damaged = self._overwrite(draft, now, progress), False
                engine.check_again()
            except (SatchelError, apsw.Error) as error:
                if isinstance(error, _NOT_ABOUT_THE_FILE) and not isinstance(error, Untrusted):
                    raise
                # whatever is wrong with it, it is kept under another name, and a person has agreed
                engine.close()
                previous, was_damaged = _set_aside(file, draft, now), True
            if engine.trust is not None:
                engine.trust.list_copy(uid, opening.identity_of(file))
            return Restored(source, previous, was_damaged)

    def _overwrite(self, draft: Path, now: int, progress: Progress | None) -> Path | None:
        engine, access = self._engine, self._engine.access
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

    @contextmanager
    def temporary_copy(self, clock: Clock) -> Iterator[SqliteEngine]:
        from tempfile import TemporaryDirectory  # every command would load it

        with TemporaryDirectory(prefix="satchel-") as folder:
            file = Path(folder) / "preview.db"
            if self._file.exists():
                with self._engine.read() as transaction, closing(apsw.Connection(str(file))) as copy:
                    backups.copy_pages(transaction.connection, copy)
            with closing(type(self._engine)(Access(file, "relaxed"), clock=clock)) as engine:
                yield engine

    def accept(self, *, owner: str | None = None, tree: bool = False) -> Accepted:
        return accepting.accept(self._engine, owner=owner, tree=tree)

    def is_acceptable(self) -> bool:
        return accepting.is_acceptable(self._engine)

    def knows_place(self) -> bool:
        return self._trust is None or self._trust.knows_place

    def trust_reason(self) -> str:
        return "trusted" if self._trust is None else self._trust.reason()

    def unwritable_list(self) -> Path | None:
        trust = self._trust
        return None if trust is None or not trust.is_listed or trust.stores.is_writable() else trust.stores.folder

    def sweep(self) -> None:
        side_files.sweep(self._file, self._backup_folders())

    def check_place(self) -> Check:
        """Check the file's mode, file system and room."""
        self._engine.check_files()
        file = self._file
        if not file.exists():
            with self._engine.read():  # raises if there was a store
                return Check("store", "warning", f"{file} does not exist yet; the first write creates it")
        kind = filesystem_kind(file.parent)
        mode = stat.S_IMODE(file.stat().st_mode)
        if mode & 0o077:
            return Check("place", "warning", f"{file} has mode {mode:04o}: others can read it; run chmod 600 on it")
        free = shutil.disk_usage(file.parent).free
        if free < _LEAST_FREE_BYTES:
            problem = f"its disk has {free / 1e6:.1f} MB left, and writes are refused once it is full: free some space"
            return Check("place", "warning", f"{file}: {problem}")
        writable = "" if os.access(file, os.W_OK) else ", cannot be written here"
        return Check("place", "ok", f"{file}{f' on {kind}' if kind else ''}, mode {mode:04o}{writable}")

    def check_unopened(self) -> list[Check]:
        """Check the WAL, which opening the store may empty."""
        return [self._check_wal()]

    def check_surroundings(self) -> list[Check]:
        """Check for files that git tracks, copies of a sync tool, and leftovers of killed processes and restores."""
        return [self._check_tracked(), self._check_copies(), self._check_leftovers()]

    def _check_wal(self) -> Check:
        journal = Path(f"{self._file}-journal")
        if journal.exists():
            problem = f"{journal} was left by another program that wrote to the store: Satchel creates no such file"
            return Check("wal", "warning", problem)
        lost, size = contents.lost_commits(self._file), opening.wal_bytes(self._file)
        if lost:
            return Check(
                "wal",
                "warning",
                f"{lost} commits behind the readable end of the WAL are lost, unless a failing disk had refused them; "
                "`satchel clear --compact` empties it",
            )
        if size > _WAL_WARNING_BYTES:
            problem = f"it is {size / 1e6:,.0f} MB: a reader may hold it; `satchel clear --compact` empties it"
            return Check("wal", "warning", problem)
        return Check("wal", "ok", "it is readable to its end")

    def _check_tracked(self) -> Check:
        tracked = () if self._trust is None else self._trust.tracked()
        if tracked:
            return Check(
                "git",
                "failed",
                f"git tracks {', '.join(tracked[:3])} of {self._file.parent}, so anyone who can push could change "
                f"what agents read: `git rm -r --cached -- {' '.join(tracked)}` in that folder",
            )
        return Check("git", "ok", "git tracks nothing of the store")

    def _check_copies(self) -> Check:
        file = self._file
        others = file.parent.glob(f"{glob.escape(file.stem)}*{glob.escape(file.suffix)}*")
        copies = sorted(other.name for other in others if _CONFLICT.search(other.name.removeprefix(file.stem)))
        if copies:
            return Check(
                "sync",
                "warning",
                f"a sync tool has left {', '.join(copies)} next to the store, whose contents are not in it: exclude "
                f"{file.parent} from syncing, which damages a store in use, and look into the copies before you delete "
                "them",
            )
        return Check("sync", "ok", "no conflict copy of a sync tool")

    def _check_leftovers(self) -> Check:
        leftovers = side_files.leftovers(self._file, self._backup_folders())
        dead, aside = [path for path in leftovers if side_files.is_dead(path)], backups.set_aside(self._file)
        if dead:
            names = ", ".join(path.name for path in dead)
            return Check("leftovers", "warning", f"a killed process left {names}; `satchel backup` removes them")
        return Check(
            "leftovers", "ok", f"{', '.join(path.name for path in aside)} set aside by a restore" if aside else "none"
        )

    def problems(self) -> list[str]:
        try:
            # A separate connection: on one that ran this check before others wrote, FTS5 compares the file with the
            # structure it remembers, and reports damage that is not there (seen with SQLite 3.54.1).
            with self._engine.read():
                fresh = opening.open_reader(self._engine.access, writable=opening.is_writable(self._file))
                with closing(fresh):
                    return backups.integrity_problems(fresh)
        except StoreDamaged as error:
            return [error.problem]
        except apsw.Error as error:
            raise SatchelError(f"the check of {self._file} failed: {error}") from error

    def is_about_index(self, problem: str) -> bool:
        return "fts5" in problem and "documents_fts" in problem

    def schema_problems(self) -> list[str]:
        with self._engine.read() as transaction:
            return contents.schema_problems(transaction.connection)

    def text_problems(self, label: Callable[[str, str], str]) -> list[str]:
        with self._engine.read() as transaction:
            return contents.text_problems(transaction.connection, label)

    def _backup_folders(self) -> tuple[Path, ...]:
        return backups.backup_folders(self._file, self._trust)

    def _copies(self) -> list[Path]:
        return [
            *super()._copies(),
            *backups.set_aside(self._file),
            *side_files.leftovers(self._file, self._backup_folders()),
        ]


def _copy(source: Path, target: Path) -> None:
    flags = apsw.SQLITE_OPEN_READONLY
    with (
        closing(apsw.Connection(str(source), flags=flags)) as old,
        closing(apsw.Connection(str(target))) as new,
    ):
        backups.copy_pages(old, new)
        new.pragma("journal_mode", "delete")


def _set_aside(file: Path, draft: Path | None, now: int) -> Path:
    # the new file replaces the old in one step: were the name free for a moment, another process would create a
    # store
    stamp = iso(now).replace(":", "").replace("-", "").replace(".", "")
    aside = file.with_name(f"{file.name}.damaged-{stamp}")
    try:
        aside.hardlink_to(file)
    except OSError:  # a folder, a file of another user, or a file system without links
        file.rename(aside)
    for suffix in side_files.SIDE_FILES:
        part = Path(f"{file}{suffix}")
        if os.path.lexists(part):
            part.rename(f"{aside}{suffix}")
    if draft is not None:
        draft.replace(file)
    else:
        file.unlink(missing_ok=True)
    sync(file.parent)
    return aside


def _empty_wal(connection: apsw.Connection, wait_ms: int) -> bool:
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
