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
    from satchel.store.transaction import Transaction
    from satchel.store.upkeep import Upkeep

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
