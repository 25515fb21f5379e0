"""Group commit per project: threads that wait to write share a transaction, and its commit keeps all their writes.

A project has one writer at a time, which an fsync delays; the writers that wait share the next transaction, a
savepoint each.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from satchel.base.errors import SatchelError

MOST_TOGETHER = 32
"""Most writes in one commit."""

LONGEST_SECONDS = 0.020
"""Age after which a shared transaction takes no more writes."""

Work = TypeVar("Work")


class Batch(Generic[Work]):
    """A transaction that several threads write in, one after the other.

    `work` is the transaction with its data.
    """

    def __init__(self, work: Work) -> None:
        self.work = work
        self.members = 0
        self.began = time.monotonic()
        self.failed: SatchelError | None = None
        self._ended = threading.Event()

    def end(self, failed: SatchelError | None = None) -> None:
        """Publish the outcome of the commit to all members."""
        self.failed = failed
        self._ended.set()

    def outcome(self) -> SatchelError | None:
        """Wait for the commit; return its error, or None if it was kept."""
        self._ended.wait()
        return self.failed


class _Waiting(Generic[Work]):
    __slots__ = ("batch", "granted", "is_granted")

    def __init__(self) -> None:
        self.granted = threading.Event()
        self.is_granted = False
        self.batch: Batch[Work] | None = None


class Turns(Generic[Work]):
    """Queue of writers, in the order of arrival.

    Attributes:
        memo: lookups of write transactions; belongs to the thread whose turn it is.
        memo_version: its version; None if unknown.
    """

    def __init__(self) -> None:
        self.memo: dict[Hashable, Any] = {}
        self.memo_version: int | None = None
        self._lock = threading.Lock()
        self._is_taken = False
        self._waiting: deque[_Waiting[Work]] = deque()

    def take(self, seconds: float, leave: Callable[[Batch[Work] | None], None]) -> Batch[Work] | None:
        """Wait for a turn; return the transaction of the writers before, to write in and to commit or pass on, if any.

        `leave` ends a turn that is granted to a thread whose wait is interrupted.

        Raises:
            TimeoutError: no turn was granted in time.
        """
        with self._lock:
            if not self._is_taken:
                self._is_taken = True
                return None
            one: _Waiting[Work] = _Waiting()
            self._waiting.append(one)
        try:
            one.granted.wait(seconds)
        except BaseException:
            if not self._is_given_up(one):
                leave(one.batch)
            raise
        if self._is_given_up(one):
            raise TimeoutError
        return one.batch

    @property
    def awaited(self) -> int:
        """Number of threads that wait for a turn."""
        return len(self._waiting)

    def _is_given_up(self, one: _Waiting[Work]) -> bool:
        """Stop waiting, unless the turn was granted."""
        with self._lock:
            if not one.is_granted:
                self._waiting.remove(one)
            return not one.is_granted

    def pass_on(self, batch: Batch[Work] | None) -> bool:
        """End a turn, and pass an uncommitted transaction to the next writer.

        Returns False if the transaction must be committed first: nobody waits, or it is full.
        """
        with self._lock:
            may_share = batch is None or (
                batch.members < MOST_TOGETHER and time.monotonic() - batch.began < LONGEST_SECONDS
            )
            if batch is not None and not (self._waiting and may_share):
                return False
            if self._waiting:
                following = self._waiting.popleft()
                following.batch, following.is_granted = batch, True
                following.granted.set()
            else:
                self._is_taken = False
            return True
