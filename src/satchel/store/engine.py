"""The interface of a store to services, whatever its database, and its automatic backups."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol

from satchel.base.errors import SatchelError
from satchel.base.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from satchel.base.clock import Clock
    from satchel.store.backups import Backup
    from satchel.store.transaction import Transaction
    from satchel.store.upkeep import Upkeep


class State(NamedTuple):
    """The state of a store's location, without reading the store.

    Attributes:
        which: identifies the store at a location; None without a store.
        written: changes with every write, even without a commit; constant for databases that cannot tell.
    """

    which: Hashable
    written: int


class Engine(Protocol):
    """A store. Safe to share between threads.

    Nothing is opened or created before the first transaction, and reading never creates a store.
    """

    @property
    def location(self) -> str:
        """The store's name for people: its file, or the address of its database without the password."""

    @property
    def folder(self) -> Path | None:
        """The folder of the store's file; None for a database."""

    @property
    def read_only(self) -> bool:
        """Return whether every write is refused."""

    @property
    def clock(self) -> Clock:
        """The clock that stamps migrations."""

    @property
    def commits(self) -> int:
        """Number of transactions that this engine committed."""

    @property
    def upkeep(self) -> Upkeep:
        """The store's maintenance."""

    @property
    def faults(self) -> type[Exception]:
        """The database's own errors: a fault in a statement, or in a row."""

    @property
    def has_automatic_backups(self) -> bool:
        """Return whether backups are made automatically."""

    def exists(self) -> bool:
        """Return whether there is a store to read."""

    def state(self) -> State:
        """Return the state of the store's location, without reading the store."""

    def probe(self, wait_ms: int) -> None:
        """Write to the store and read from it, so that a failing disk or a lasting lock is noticed.

        Raises:
            SatchelError: it does not work.
        """

    def of_project(self, name: str) -> Engine:
        """Return an engine on the same store for one project: its writes wait for no other project's."""

    def read(self) -> AbstractContextManager[Transaction]:
        """Open a read transaction on one snapshot.

        Raises:
            StoreForeign, StoreDamaged, StoreNewer: it cannot be read as a store.
        """

    def look(self) -> AbstractContextManager[Transaction]:
        """Open a read for a caller that is about to write, as fast as the engine has one.

        Each statement may see a later state than the one before; the memo may be older than either.
        """

    def write(self, wait_ms: int | None = None) -> AbstractContextManager[Transaction]:
        """Open a write transaction; it is durable when the block ends without an error, else rolled back.

        Nothing is raised after the commit: a saved write is never reported as an error.

        Args:
            wait_ms: how long to wait for others, in milliseconds; None is the engine's default.

        Raises:
            Busy: the store stayed locked for longer than the wait.
            ReadOnly: the store cannot be written.
            StoreNewer: the store needs a newer program; it was left untouched.
            StoreFull, IoError: the disk is full or failed; nothing was written, unless the text says otherwise.
            TimedOut: a statement ran for too long; nothing was written.
        """

    def watch(self) -> AbstractContextManager[Callable[[], bool]]:
        """Yield a function that returns True if there was a commit since its last call (True on the first call)."""

    def interrupter(self) -> Callable[[], None]:
        """Return a function that interrupts the transaction that the calling thread has open when it is called."""

    def without_deadline(self) -> AbstractContextManager[None]:
        """Lift the time limit for statements of the calling thread: for upkeep that reads or writes everything."""

    def check_files(self) -> None:
        """Refuse the store unless its files are as this user made them, without opening any of them."""

    def check_again(self) -> None:
        """Check the store again before the next transaction, as after it was replaced by another state."""

    def close(self) -> None:
        """Close every connection. The engine may be used again: it opens new ones."""


def changes(look: Callable[[], object]) -> Callable[[], bool]:
    """Return a function that returns True if a look shows what it did not show before (True on the first call)."""
    last: list[object] = []

    def is_changed() -> bool:
        before, last[:] = last[:], [look()]
        return before != last

    return is_changed


_FIRST_PAUSE_SECONDS = 60.0
_PAUSE_SECONDS = 600.0


def back_up_when_due(engine: Engine) -> Backup | None:
    """Make an automatic backup in the user's state folder, if one is due and something has changed.

    Raises:
        SatchelError: it cannot be made.
    """
    if not engine.has_automatic_backups:
        return None
    try:
        upkeep = engine.upkeep
    except (ImportError, OSError) as error:
        raise SatchelError(f"its module cannot be loaded: {error}") from error
    return upkeep.back_up_when_due()


@contextmanager
def automatic_backups(engine: Engine) -> Iterator[None]:
    """Make the backups that are due in a separate thread while the block runs, and when one that ran a while ends."""
    import threading

    done, has_looked = threading.Event(), threading.Event()

    def back_up() -> None:
        # a disk that is full today need not be so tomorrow; doctor says how old the newest backup is
        with suppress(SatchelError):
            back_up_when_due(engine)

    def watch() -> None:
        pause = _FIRST_PAUSE_SECONDS
        while not done.wait(pause):
            pause = _PAUSE_SECONDS
            has_looked.set()
            back_up()

    threading.Thread(target=watch, name="backups", daemon=True).start()
    try:
        yield
    finally:
        done.set()
        if has_looked.is_set():
            back_up()
