"""The upkeep of a store in one SQLite file, as an engine hands it out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from satchel.base.clock import Clock
from satchel.store import accepting, backups, opening, soundness, unfinished, upkeep
from satchel.store.accepting import Accepted
from satchel.store.backups import Backup, Progress
from satchel.store.opening import Access
from satchel.store.upkeep import Restored, Shrunk

if TYPE_CHECKING:
    from satchel.store.sqlite import SqliteEngine


class SqliteUpkeep:
    """The upkeep of one SQLite file.

    Args:
        engine: the store's.
    """

    version = opening.ENGINE

    def __init__(self, engine: SqliteEngine) -> None:
        self._engine = engine
        self._file = engine.file
        self._trust = engine.trust

    def size(self) -> int:
        """Return the bytes of the file and its WAL."""
        return upkeep.stored_bytes(self._file)

    def wal_bytes(self) -> int:
        """Return the bytes of the WAL."""
        return opening.wal_bytes(self._file)

    def reclaim(self) -> Shrunk:
        """Rewrite the file without what was deleted; see :func:`satchel.store.upkeep.shrink`."""
        return upkeep.shrink(self._engine)

    def make_room(self, is_usable: Callable[[], bool]) -> Path | None:
        """Let the next write make a new store; see :func:`satchel.store.upkeep.make_room`."""
        return upkeep.make_room(self._engine, is_usable)

    def back_up(self, target: Path | None, now: int, progress: Progress | None = None) -> Backup:
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

    def restore(self, source: Path, progress: Progress | None = None) -> Restored:
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

    def tracked(self) -> tuple[str, ...]:
        """Return the files of the store that git tracks."""
        return () if self._trust is None else self._trust.tracked()

    def sweep(self) -> None:
        """Remove what killed processes left unfinished."""
        unfinished.sweep(self._file, backups.backup_folders(self._file, self._trust))

    def leftovers(self) -> tuple[list[Path], list[Path]]:
        """Return what killed processes left unfinished, and what restores have set aside."""
        found = unfinished.leftovers(self._file, backups.backup_folders(self._file, self._trust))
        return [path for path in found if unfinished.is_dead(path)], backups.set_aside(self._file)

    def erased(self, table: str, uid: bytes) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
        """Return which copies hold a row still, and which cannot be read; see :func:`backups.copies_that_hold`."""
        return backups.copies_that_hold(self._file, table, uid, self._trust)

    def problems(self) -> list[str]:
        """Return what a full integrity check finds wrong; see :func:`satchel.store.upkeep.file_problems`."""
        return upkeep.file_problems(self._engine)

    def schema_problems(self) -> list[str]:
        """Name the objects of the schema that no migration made, and the tables that are missing."""
        return soundness.schema_problems(self._engine)

    def text_problems(self, named: Callable[[str, str], str]) -> list[str]:
        """Name the rows whose text is not UTF-8, or is no text at all; see :func:`soundness.text_problems`."""
        return soundness.text_problems(self._engine, named)

    def lost_commits(self) -> int:
        """Return how many commits lie in the WAL behind the place where it stops being readable."""
        return soundness.lost_commits(self._file)

    def foreign_journal(self) -> Path | None:
        """Return the journal of another program beside the store, or None."""
        journal = Path(f"{self._file}-journal")
        return journal if journal.exists() else None
