"""What holds a store: what services ask of it, whatever database that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from satchel.base.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import ParamSpec, TypeVar

    from satchel.base.clock import Clock
    from satchel.store.accepting import Accepted
    from satchel.store.backups import Backup, Progress
    from satchel.store.moving.copying import Indexing
    from satchel.store.moving.taking import Taker
    from satchel.store.transaction import Transaction
    from satchel.store.upkeep import Restored, Shrunk

    Given = ParamSpec("Given")
    Answer = TypeVar("Answer")


class State(NamedTuple):
    """What is where a store is to be, as far as that is known without reading it.

    Attributes:
        which: tells one store in a place from another; None where there is none.
        written: changes whenever anything was written, be it no commit; always the same where nobody can see that.
    """

    which: Hashable
    written: int


class Finding(NamedTuple):
    """What was found about a store.

    Attributes:
        name: what was examined.
        status: ok, warning or failed.
        detail: what was found; for anything but ok with what to do.
    """

    name: str
    status: str
    detail: str


class Writable(Protocol):
    """What is written in transactions of its own: an engine, or a store that is being filled."""

    def write(self, wait_ms: int | None = None) -> AbstractContextManager[Transaction]:
        """Open a write transaction; see :meth:`Engine.write`."""

    def without_deadline(self) -> AbstractContextManager[None]:
        """Let the statements of the calling thread take as long as they need: for upkeep that reads or writes all."""


class Engine(Protocol):
    """A store. Safe to share between threads.

    Nothing is opened or made before the first transaction, and reading never makes a store.
    """

    @property
    def location(self) -> str:
        """How the store is named to people: its file, or the address of its database without any password."""

    @property
    def folder(self) -> Path | None:
        """The folder that the store lies in; None where that is a database."""

    @property
    def read_only(self) -> bool:
        """Whether every write is refused."""

    @property
    def clock(self) -> Clock:
        """What migrations are stamped with."""

    @property
    def commits(self) -> int:
        """How many transactions of this engine were kept."""

    @property
    def upkeep(self) -> Upkeep:
        """What keeps the store in order."""

    @property
    def faults(self) -> type[Exception]:
        """What the database raises where it has no words of ours: a fault in a statement, or in a row."""

    @property
    def has_daily_backups(self) -> bool:
        """Whether the store is backed up daily by itself."""

    def exists(self) -> bool:
        """Whether there is a store to read."""

    def state(self) -> State:
        """Look at what is where the store is to be, without reading it."""

    def probe(self, wait_ms: int) -> None:
        """Write and read in the store really, so that a disk that fails, or a lock that stays, shows.

        Args:
            wait_ms: how long to wait for others, in milliseconds.

        Raises:
            SatchelError: it does not work.
        """

    def of_project(self, name: str) -> Engine:
        """Return an engine on the same store that works for one project: its writes wait for those of no other.

        Args:
            name: the project's name; nothing need be written for it yet.
        """

    def read(self) -> AbstractContextManager[Transaction]:
        """Open a read transaction: everything read inside it belongs to one snapshot.

        Raises:
            StoreForeign, StoreDamaged, StoreNewer: it cannot be read as a store.
        """

    def look(self) -> AbstractContextManager[Transaction]:
        """Open a read transaction for who is about to write, as fast as the engine has one.

        Raises:
            As :meth:`read`.
        """

    def write(self, wait_ms: int | None = None) -> AbstractContextManager[Transaction]:
        """Open a write transaction; it is durable once the block is left without an error, else rolled back.

        Once the commit was made, nothing here raises: what is kept is never reported as an error.

        Args:
            wait_ms: how long to wait for others, in milliseconds; None is the store's own measure.

        Raises:
            Busy: the store stayed locked for longer than the wait.
            ReadOnly: the store cannot be written.
            StoreNewer: the store needs a newer program; it was left untouched.
            StoreFull, IoError: the disk is full or failed; nothing was written, unless the text says otherwise.
            TimedOut: a statement ran for too long; nothing was written.
        """

    def watch(self) -> AbstractContextManager[Callable[[], bool]]:
        """Hand out a function that says whether anyone has committed since it was last called; at first it says so."""

    def interrupter(self) -> Callable[[], None]:
        """Return a function that interrupts whatever transaction the calling thread has open when it is called."""

    def without_deadline(self) -> AbstractContextManager[None]:
        """Let the statements of the calling thread take as long as they need: for upkeep that reads or writes all."""

    def retrying(self, work: Callable[Given, Answer]) -> Callable[Given, Answer]:
        """Return what does a piece of work, and once more alone where a commit that it shared with others has failed.

        It is done once more only where nothing of it was kept.
        """

    def take_note(self) -> str | None:
        """Say how many rows were left out in this thread since it was last asked, or None."""

    def check_files(self) -> None:
        """Refuse the store unless what it lies in is as this user made it, without opening any of it."""

    def check_again(self) -> None:
        """Look at the store again before the next transaction, as after it was replaced by another state."""

    def close(self) -> None:
        """Close every connection. The engine may be used again: it opens what it needs."""


class Upkeep(Protocol):
    """What keeps a store in order."""

    @property
    def version(self) -> str:
        """The database and its version, for people."""

    @property
    def soundness(self) -> tuple[str, str]:
        """What :meth:`problems` looks at, and what can be said where it finds none."""

    def way_back(self) -> str:
        """Say how to go on from a store that cannot be used as it is; what is said can be done."""

    def size(self) -> int:
        """Return the bytes that the store takes."""

    def reclaim(self) -> Shrunk:
        """Give free space back, so that deleted content is gone.

        Raises:
            Busy: another process kept the store locked for longer than the wait.
            StoreFull: there is no room for the copy that this needs.
        """

    def make_room(self, is_usable: Callable[[], bool]) -> Path | None:
        """Let the next write make a new store, after setting aside what cannot be used as one.

        Args:
            is_usable: decides about what opens as a store.

        Returns:
            Where that is now, or None where there was nothing.

        Raises:
            Conflict: there is a store that can be used.
        """

    def back_up(self, target: Path | None, now: int, index: Indexing, progress: Progress | None = None) -> Backup:
        """Copy the store while it is in use; the copy is checked before it gets its name.

        Args:
            target: the file to make, which must not exist; None names one beside the store.
            now: the time in milliseconds UTC.
            index: fills the search index of a copy that was made row by row.
            progress: told about the pages copied.
        """

    def back_up_daily(self) -> Backup | None:
        """Make the daily backup, if a day has gone by and something has changed; None where none is due."""

    def backups(self) -> list[Backup]:
        """Return the backups of the store, the oldest first."""

    def newest_backup(self) -> Backup | None:
        """Return the newest backup that passes its check, or None."""

    def verify(self, backup: Path) -> None:
        """Refuse a backup that cannot be used.

        Raises:
            NotFound, StoreForeign, StoreDamaged: it cannot.
        """

    def restore(self, source: Path, index: Indexing, progress: Progress | None = None) -> Restored:
        """Put a backup in the place of the store, after saving what is there; change counters never go back.

        Args:
            source: a backup; it is verified first and never changed.
            index: fills the search index of a store whose rows were restored one by one.
            progress: told about the pages copied.

        Raises:
            NotFound, StoreForeign, StoreDamaged, StoreNewer: the backup cannot be used; nothing was changed.
            Busy: another process kept the store locked for longer than the wait.
        """

    def copied(self, clock: Clock) -> AbstractContextManager[Engine]:
        """Hand out a copy of the store that goes again when the block is left; an empty store where there is none.

        Args:
            clock: that of the copy.
        """

    def taking(self) -> AbstractContextManager[Taker]:
        """Open the store to be filled with the rows of another; one that is not there is made.

        Raises:
            StoreForeign, StoreNewer, Refused, ReadOnly: it cannot be filled.
        """

    def numbers(self, transaction: Transaction) -> dict[str, int]:
        """Return for each table that counts the highest number that it has given.

        Args:
            transaction: on the store.
        """

    def accept(self, *, owner: str | None = None, tree: bool = False) -> Accepted:
        """Put the store on the user's list of trusted stores.

        Args:
            owner: the name or number of the user whose store it is; None is this process's own.
            tree: let projects below the store's project folder use it too, unless they have a store of their own.

        Raises:
            NotFound: there is no store.
            InvalidInput: there is no such user, or the store needs no list.
            Refused: what is never trusted.
        """

    def is_acceptable(self) -> bool:
        """Whether the user could put the store on the list."""

    def knows_place(self) -> bool:
        """Whether what lies beside the store is known to be this user's."""

    def trusted(self) -> str:
        """Say why the store is trusted."""

    def unwritable_list(self) -> Path | None:
        """Return the folder of the list of trusted stores if the store needs it and it cannot be written."""

    def sweep(self) -> None:
        """Remove what killed processes left unfinished."""

    def erased(self, table: str, uid: bytes) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
        """Return which copies of the store hold a row that was deleted still, and which could not be read.

        Args:
            table: one of our own.
            uid: of the row.
        """

    def place(self) -> Finding:
        """Examine where the store lies, and who else could read or change it there.

        Raises:
            SatchelError: nothing that lies there is used.
        """

    def unopened(self) -> list[Finding]:
        """Examine what opening the store would change, or should not be opened for."""

    def surroundings(self) -> list[Finding]:
        """Examine what belongs to the store and is no part of it."""

    def problems(self) -> list[str]:
        """Return what a full integrity check finds wrong, nothing when all is well.

        Raises:
            SatchelError: it cannot be opened as a store.
        """

    def is_about_index(self, problem: str) -> bool:
        """Whether what :meth:`problems` found is about the search index alone, which can be rebuilt."""

    def schema_problems(self) -> list[str]:
        """Name the objects of the schema that no migration made, and the tables that are missing."""

    def text_problems(self, named: Callable[[str, str], str]) -> list[str]:
        """Read every text, and name the rows whose text is not UTF-8, or is no text at all.

        Args:
            named: returns what a row is called, given its table and key.
        """
