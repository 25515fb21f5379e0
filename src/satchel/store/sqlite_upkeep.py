"""The upkeep of a store in one SQLite file, as an engine hands it out."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from satchel.base.clock import Clock
from satchel.base.paths import filesystem_kind
from satchel.store import accepting, backups, opening, soundness, unfinished, upkeep
from satchel.store.accepting import Accepted
from satchel.store.backups import Backup, Progress
from satchel.store.engine import Finding
from satchel.store.opening import Access
from satchel.store.upkeep import Restored, Shrunk

if TYPE_CHECKING:
    from satchel.store.moving.copying import Indexing
    from satchel.store.moving.sqlite_taker import SqliteTaker
    from satchel.store.sqlite import SqliteEngine
    from satchel.store.transaction import Transaction

_WAL_WARNING_BYTES = 128 * 1024 * 1024


class SqliteUpkeep:
    """The upkeep of one SQLite file.

    Args:
        engine: the store's.
    """

    version = opening.ENGINE
    soundness = ("file", "the full integrity check passed")

    def __init__(self, engine: SqliteEngine) -> None:
        self._engine = engine
        self._file = engine.file
        self._trust = engine.trust

    def way_back(self) -> str:
        """Say how to go on from a file that cannot be used as it is."""
        if not self.knows_place():
            return (
                "neither it nor a backup beside it is known to be yours: `satchel init --new` sets the file aside and "
                "begins with an empty store"
            )
        newest = self.newest_backup()
        if newest is not None:
            return f"`satchel restore` goes back to the newest backup, {newest.file.name}"
        return (
            "there is no usable backup: save what can be read with `.recover` of the sqlite3 shell, then "
            "`satchel init --new` sets the file aside and begins with an empty store"
        )

    def size(self) -> int:
        """Return the bytes of the file and its WAL."""
        return upkeep.stored_bytes(self._file)

    def reclaim(self) -> Shrunk:
        """Rewrite the file without what was deleted; see :func:`satchel.store.upkeep.shrink`."""
        return upkeep.shrink(self._engine)

    def make_room(self, is_usable: Callable[[], bool]) -> Path | None:
        """Let the next write make a new store; see :func:`satchel.store.upkeep.make_room`."""
        return upkeep.make_room(self._engine, is_usable)

    def back_up(
        self,
        target: Path | None,
        now: int,
        index: Indexing,  # noqa: ARG002 -- a copy of pages has its index
        progress: Progress | None = None,
    ) -> Backup:
        """Copy the store while it is in use; see :func:`satchel.store.backups.back_up`."""
        return backups.back_up(self._engine.access, target, now, progress, trust=self._trust)

    def back_up_daily(self) -> Backup | None:
        """Make the daily backup if it is due; see :func:`satchel.store.backups.back_up_daily`."""
        engine = self._engine
        if engine.trust is None:
            return None
        return backups.back_up_daily(engine.access, engine.clock(), engine.backups_keep, engine.trust)

    def backups(self) -> list[Backup]:
        """Return the backups of the store, the oldest first."""
        return backups.list_backups(self._file, self._trust)

    def newest_backup(self) -> Backup | None:
        """Return the newest backup that passes its check, or None."""
        return backups.newest_usable(self._file, self._trust)

    def verify(self, backup: Path) -> None:
        """Refuse a backup that cannot be used."""
        backups.verify(backup)

    def restore(
        self,
        source: Path,
        index: Indexing,  # noqa: ARG002 -- as above
        progress: Progress | None = None,
    ) -> Restored:
        """Go back to a backup, after saving what is there; see :func:`satchel.store.upkeep.restore`."""
        return upkeep.restore(self._engine, source, progress)

    @contextmanager
    def copied(self, clock: Clock) -> Iterator[SqliteEngine]:
        """Hand out a copy of the store that goes again when the block is left; an empty store where there is none."""
        from tempfile import TemporaryDirectory

        from satchel.store.sqlite import SqliteEngine

        with TemporaryDirectory(prefix="satchel-") as folder:
            file = Path(folder) / "preview.db"
            if self._file.exists():
                with self._engine.read() as transaction:
                    copy = apsw.Connection(str(file))
                    backups.copy_pages(transaction.connection, copy)
                    copy.close()
            engine = SqliteEngine(Access(file, "relaxed"), clock=clock)
            try:
                yield engine
            finally:
                engine.close()

    def taking(self) -> AbstractContextManager[SqliteTaker]:
        """Open the file to be filled with the rows of another store."""
        from satchel.store.moving import sqlite_taker  # 7 ms of every server, for what one command in a life does

        return sqlite_taker.taking(self._engine)

    def numbers(self, transaction: Transaction) -> dict[str, int]:
        """Return for each table that counts the highest number that it has given."""
        from satchel.store.moving import sqlite_taker  # as above

        return sqlite_taker.numbers(transaction)

    def accept(self, *, owner: str | None = None, tree: bool = False) -> Accepted:
        """Put the store on the user's list of trusted stores; see :func:`satchel.store.accepting.accept`."""
        return accepting.accept(self._engine, owner=owner, tree=tree)

    def is_acceptable(self) -> bool:
        """Whether the user could put the store on the list."""
        return accepting.is_acceptable(self._engine)

    def knows_place(self) -> bool:
        """Whether what lies beside the store is known to be this user's."""
        return self._trust is None or self._trust.knows_place

    def trusted(self) -> str:
        """Say why the store is trusted."""
        return "trusted" if self._trust is None else self._trust.reason()

    def unwritable_list(self) -> Path | None:
        """Return the folder of the list of trusted stores if the store needs it and it cannot be written."""
        trust = self._trust
        return None if trust is None or not trust.is_listed or trust.known.is_writable() else trust.known.folder

    def sweep(self) -> None:
        """Remove what killed processes left unfinished."""
        unfinished.sweep(self._file, backups.backup_folders(self._file, self._trust))

    def erased(self, table: str, uid: bytes) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
        """Return which copies hold a row still, and which cannot be read; see :func:`backups.that_hold`."""
        return backups.that_hold(backups.copies_of(self._file, self._trust), table, uid)

    def place(self) -> Finding:
        """Examine the file's mode, and on which kind of file system it lies."""
        self._engine.check_files()
        file = self._file
        if not file.exists():
            with self._engine.read():  # which says so if there was a store
                return Finding("store", "warning", f"{file} does not exist yet; the first write makes it")
        kind = filesystem_kind(file.parent)
        mode = stat.S_IMODE(file.stat().st_mode)
        if mode & 0o077:
            return Finding("place", "warning", f"{file} has mode {mode:04o}: others can read it; run chmod 600 on it")
        writable = "" if os.access(file, os.W_OK) else ", cannot be written here"
        return Finding("place", "ok", f"{file}{f' on {kind}' if kind else ''}, mode {mode:04o}{writable}")

    def unopened(self) -> list[Finding]:
        """Examine the WAL, which opening the store may empty."""
        return [self._wal()]

    def surroundings(self) -> list[Finding]:
        """Examine what git has of the store, and what killed processes and restores have left beside it."""
        return [self._tracked(), self._leftovers()]

    def _wal(self) -> Finding:
        journal = Path(f"{self._file}-journal")
        if journal.exists():
            problem = f"{journal} lies beside the store, which Satchel does not make: another program wrote to it"
            return Finding("wal", "warning", problem)
        lost, size = soundness.lost_commits(self._file), opening.wal_bytes(self._file)
        if lost:
            return Finding(
                "wal",
                "warning",
                f"{lost} commits lie behind the readable end of the WAL and are lost, unless a failing disk had "
                "refused them; `satchel clear --compact` empties it",
            )
        if size > _WAL_WARNING_BYTES:
            problem = f"it is {size / 1e6:,.0f} MB: a reader may hold it; `satchel clear --compact` empties it"
            return Finding("wal", "warning", problem)
        return Finding("wal", "ok", "it is readable to its end")

    def _tracked(self) -> Finding:
        tracked = () if self._trust is None else self._trust.tracked()
        if tracked:
            return Finding(
                "git",
                "failed",
                f"git tracks {', '.join(tracked[:3])} of {self._file.parent}, so that anyone who can push could change "
                f"what agents are told: `git rm -r --cached -- {' '.join(tracked)}` in that folder",
            )
        return Finding("git", "ok", "git tracks nothing of the store")

    def _leftovers(self) -> Finding:
        found = unfinished.leftovers(self._file, backups.backup_folders(self._file, self._trust))
        dead, aside = [path for path in found if unfinished.is_dead(path)], backups.set_aside(self._file)
        if dead:
            names = ", ".join(path.name for path in dead)
            return Finding("leftovers", "warning", f"a killed process left {names}; `satchel backup` removes them")
        kept = f"{', '.join(path.name for path in aside)} set aside by a restore" if aside else "nothing is left behind"
        return Finding("leftovers", "ok", kept)

    def problems(self) -> list[str]:
        """Return what a full integrity check finds wrong; see :func:`satchel.store.upkeep.file_problems`."""
        return upkeep.file_problems(self._engine)

    def is_about_index(self, problem: str) -> bool:
        """Whether what :meth:`problems` found is about the search index alone, which can be rebuilt."""
        return "fts5" in problem and "documents_fts" in problem

    def schema_problems(self) -> list[str]:
        """Name the objects of the schema that no migration made, and the tables that are missing."""
        return soundness.schema_problems(self._engine)

    def text_problems(self, named: Callable[[str, str], str]) -> list[str]:
        """Name the rows whose text is not UTF-8, or is no text at all; see :func:`soundness.text_problems`."""
        return soundness.text_problems(self._engine, named)
