"""Open transactions of an engine: interrupting them, and the time limit of statements."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from satchel.base.errors import Interrupted, TimedOut

# How long a statement may run, but for migrations, rebuilding, checks, backups, compacting and imports.
DEADLINE_SECONDS = 30.0


class Interruptible(Protocol):
    """A transaction of an engine.

    Attributes:
        interrupted: whether its next statement ends with Interrupted.
    """

    interrupted: bool

    def cancel(self) -> None:
        """End the running statement, if there is one and ending it affects nobody else."""


Some = TypeVar("Some", bound=Interruptible)


class Running(Generic[Some]):
    """The open transaction of each thread of one engine."""

    def __init__(self, location: str) -> None:
        self.location = location
        self.transactions: dict[int, Some]
        self._without_deadline: dict[int, int]
        self.reset()

    def reset(self) -> None:
        """Reset everything, as in a forked child: another thread of the parent may have held the lock."""
        self.transactions = {}
        self._without_deadline = {}
        self._lock = threading.Lock()

    def interrupter(self) -> Callable[[], None]:
        """Return a function that interrupts the transaction that the calling thread has open when it is called."""
        thread = threading.get_ident()

        def interrupt() -> None:
            with self._lock:
                transaction = self.transactions.get(thread)
                if transaction is not None:
                    transaction.interrupted = True
                    transaction.cancel()

        return interrupt

    @contextmanager
    def without_deadline(self) -> Iterator[None]:
        """Lift the time limit for statements of the calling thread: for upkeep that reads or writes everything."""
        thread = threading.get_ident()
        self._without_deadline[thread] = self._without_deadline.get(thread, 0) + 1
        try:
            yield
        finally:
            self._without_deadline[thread] -= 1

    def has_no_deadline(self, thread: int) -> bool:
        """Return whether the statements of a thread have no time limit."""
        return bool(self._without_deadline.get(thread))

    def leave(self, thread: int, transaction: Some, outer: Some | None) -> None:
        with self._lock:
            if outer is None:
                self.transactions.pop(thread, None)  # removed already in a forked child
            else:
                # an interrupt that came too late for this one is meant for the whole call
                outer.interrupted = outer.interrupted or transaction.interrupted
                self.transactions[thread] = outer


class Tracked(Generic[Some]):
    """Context manager that registers a thread's transaction. A class, since every call enters one."""

    __slots__ = ("outer", "running", "thread", "transaction")

    def __init__(self, running: Running[Some], transaction: Some) -> None:
        self.running = running
        self.transaction = transaction

    def __enter__(self) -> Some:
        transactions = self.running.transactions
        self.thread = threading.get_ident()
        self.outer = transactions.get(self.thread)
        transactions[self.thread] = self.transaction
        return self.transaction

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.running.leave(self.thread, self.transaction, self.outer)


def interruption() -> Interrupted:
    """Return the error for a transaction that another thread ended."""
    return Interrupted("the call was interrupted", "Nothing of it was written")


def timed_out(location: str) -> TimedOut:
    """Return the error for a statement that ran for too long."""
    return TimedOut(
        f"a statement on {location} ran for longer than {DEADLINE_SECONDS:g} seconds",
        "Nothing was written; ask for less at once, or look at the store with `satchel doctor`",
    )
