"""Maintenance of a store, whatever database holds it: checks, backups, restoring, reclaiming space."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.base.errors import InvalidInput, Refused, SatchelError
from satchel.base.records import dataclass
from satchel.store import backups
from satchel.store.backups import Backup, Progress

if TYPE_CHECKING:
    from satchel.base.clock import Clock
    from satchel.store.accepting import Accepted
    from satchel.store.engine import Engine


@dataclass(frozen=True, slots=True)
class Check:
    """Result of one check of a store: ok, warning or failed; unless ok, ``detail`` has a remedy."""

    name: str
    status: str
    detail: str


@dataclass(frozen=True, slots=True)
class Shrunk:
    """Result of reclaiming space.

    Attributes:
        before, after: size of the store in bytes.
        wal_emptied: False if a reader in another process outlasted the wait, so that deleted content may remain in the
            WAL of a file, or in the tables of a database.
        out_of_reach: other places that may hold deleted content and that Satchel cannot check, in words; None if there
            are none.
    """

    before: int
    after: int
    wal_emptied: bool
    out_of_reach: str | None = None


@dataclass(frozen=True, slots=True)
class Restored:
    """Result of restoring a backup.

    Attributes:
        previous: where the state before it was saved, or None if there was none.
        previous_was_damaged: whether that is the damaged file itself, set aside.
    """

    source: Path
    previous: Path | None
    previous_was_damaged: bool


class Upkeep(ABC):
    """Maintenance of one store; methods that are not abstract are defaults."""

    # The name of the check that :meth:`problems` makes, and its result if it finds none.
    soundness: tuple[str, str]

    def __init__(self, location: str) -> None:
        self._location = location

    @property
    @abstractmethod
    def version(self) -> str:
        """The database and its version, for people."""

    @abstractmethod
    def recovery_hint(self) -> str:
        """Return instructions for recovering an unusable store; each can be carried out."""

    @abstractmethod
    def size(self) -> int:
        """Return the size of the store in bytes."""

    @abstractmethod
    def reclaim(self) -> Shrunk:
        """Return free space to the system, so that deleted content is gone.

        Raises:
            Busy: another process kept the store locked for longer than the wait.
            StoreFull: there is no room for the copy that this needs.
        """

    @abstractmethod
    def make_room(self, is_usable: Callable[[], bool]) -> Path | None:
        """Allow the next write to create a store, after setting an unusable one aside.

        Args:
            is_usable: decides about a store that can be opened.

        Returns:
            The new path of the unusable store, or None if there was none.

        Raises:
            Conflict: the store can be used.
        """

    def back_up(
        self,
        target: Path | None,
        now: int,  # noqa: ARG002 -- for stores in files
        progress: Progress | None = None,  # noqa: ARG002 -- as above
    ) -> Backup:
        """Copy the store while it is in use; the copy is checked before it gets its name.

        Args:
            target: the file to create, which must not exist; None chooses a name in the folder of backups.
            now: the time in milliseconds UTC.
            progress: called with the pages copied.

        Raises:
            Refused: another program backs the store up; :meth:`dump_command` names it.
        """
        raise Refused(f"{self._location} is not copied by Satchel", f"Run {self.dump_command(target)}")

    def dump_command(self, target: Path | None) -> str | None:  # noqa: ARG002 -- for databases
        """Return the shell command that backs the store up to `target`; None if :meth:`back_up` does."""
        return None

    def load_command(self, source: Path | None) -> str | None:  # noqa: ARG002 -- for databases
        """Return the shell command that restores the store from `source`; None if :meth:`restore` does."""
        return None

    def back_up_when_due(self) -> Backup | None:
        """Make an automatic backup if one is due and something has changed; None otherwise."""
        return None

    def backups(self) -> list[Backup]:
        return backups.in_order(self._backup_folders())

    def newest_backup(self) -> Backup | None:
        for backup in reversed(self.backups()):
            try:
                backups.verify(backup.file)
            except SatchelError:
                continue
            return backup
        return None

    def restore(self, source: Path, progress: Progress | None = None) -> Restored:  # noqa: ARG002 -- for stores in files
        """Replace the store with a backup, after saving its present state; change counters never go back.

        Args:
            source: a backup; it is verified first and never changed.
            progress: called with the pages copied.

        Raises:
            NotFound, StoreForeign, StoreDamaged, StoreNewer: the backup cannot be used; nothing was changed.
            Busy: another process kept the store locked for longer than the wait.
            Refused: another program restores the store; :meth:`load_command` names it.
        """
        raise Refused(f"{self._location} is not restored by Satchel", f"Run {self.load_command(source)}")

    @abstractmethod
    def temporary_copy(self, clock: Clock) -> AbstractContextManager[Engine]:
        """Yield a copy of the store, empty if there is no store, which is gone when the block ends."""

    def accept(self, *, owner: str | None = None, tree: bool = False) -> Accepted:  # noqa: ARG002 -- files have owners
        """Put the store on the user's list of trusted stores; see :func:`satchel.store.accepting.accept`.

        Raises:
            InvalidInput: the store needs no list.
        """
        raise InvalidInput(f"{self._location} is on no list of trusted stores", "Whoever names a database trusts it")

    def is_acceptable(self) -> bool:
        """Return whether the user could put the store on the list."""
        return False

    def knows_place(self) -> bool:
        """Return whether the files in the store's folder are known to be this user's."""
        return True

    @abstractmethod
    def trust_reason(self) -> str:
        """Return why the store is trusted."""

    def unwritable_list(self) -> Path | None:
        """Return the folder of the list of trusted stores if the store needs it and it cannot be written."""
        return None

    def sweep(self) -> None:  # noqa: B027 -- only files leave such
        """Delete unfinished files of killed processes."""

    def copies_with(self, table: str, uid: bytes) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
        """Return the copies of the store that hold a row, and those that could not be read."""
        return backups.copies_with_row(self._copies(), table, uid)

    @abstractmethod
    def check_place(self) -> Check:
        """Check the store's location, and who else could read or change it there.

        Raises:
            SatchelError: the location is unsafe.
        """

    def check_unopened(self) -> list[Check]:
        """Check what opening the store would change."""
        return []

    @abstractmethod
    def check_surroundings(self) -> list[Check]:
        """Check what belongs to the store but is not part of it."""

    @abstractmethod
    def problems(self) -> list[str]:
        """Run a full integrity check and return the problems.

        Raises:
            SatchelError: the store cannot be opened.
        """

    def is_about_index(self, problem: str) -> bool:  # noqa: ARG002 -- for the stores whose check covers their index
        """Return whether a problem concerns only the search index, which can be rebuilt."""
        return False

    @abstractmethod
    def schema_problems(self) -> list[str]:
        """Return the objects of the schema that no migration made, and the missing tables."""

    def text_problems(self, label: Callable[[str, str], str]) -> list[str]:  # noqa: ARG002 -- see SqliteUpkeep
        """Read every text and return the rows whose text is not valid UTF-8; `label` names a row by table and key."""
        return []

    def _backup_folders(self) -> tuple[Path, ...]:
        return ()

    def _copies(self) -> Iterable[Path]:
        return [backup.file for backup in self.backups()]
