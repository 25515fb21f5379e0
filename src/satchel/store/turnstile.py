"""Fair turns for the writers of one store, across processes."""

# SQLite's busy handler lets the process that polls luckiest write again and again. Two lock files make a queue of
# depth one: a writer holds `-turn` while it waits for `-lock`, so the process that just wrote cannot overtake the one
# that waits. Correctness never depends on this: a process that gets no turn in time continues without one, and SQLite
# decides.

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# first pause, factor, bound: a process that waits for the turn polls faster the longer it has waited, so that turns are
# granted nearly in order; the one that has the turn is next in any case and polls fast
_TURN_PAUSES = (0.002, 0.7, 0.0002)
_LOCK_PAUSES = (0.00005, 1.5, 0.0003)

# a stopped holder costs every writer one whole wait, then a short one per write
_SHORT_WAIT_SECONDS = 0.005
_STUCK_TIMES = 15


class Turnstile:
    """Two lock files of a store. Not safe between threads: its owner holds another lock.

    ``flock`` belongs to the open file, so it also excludes two connections of one process, and a forked child must
    close its copies, or a killed parent would leave the lock held.
    """

    def __init__(self, store: Path) -> None:
        self._paths = (f"{store}-turn", f"{store}-lock")
        self._turn = -1
        self._lock = -1
        self._held = False
        self._stuck_until = 0.0

    def enter(self, seconds: float) -> bool:
        """Wait for a turn; return whether it was granted. Without one the caller continues anyway.

        After a wait without success, as when the holder is stopped, the next waits are short for fifteen times as long,
        or until a turn is granted.
        """
        now = time.monotonic()
        is_short = now < self._stuck_until
        deadline = now + (min(seconds, _SHORT_WAIT_SECONDS) if is_short else seconds)
        try:
            if self._turn < 0:
                self._turn = _open_lock(self._paths[0])
            if self._lock < 0:
                self._lock = _open_lock(self._paths[1])
        except OSError:
            # no room for a file, or another user's: turns are unfair then, and the write reports the error
            return False
        # a signal handler may raise at any point: release the locks then, held or not
        try:
            if _take(self._turn, deadline, *_TURN_PAUSES):
                self._held = True
                self._held = _take(self._lock, deadline, *_LOCK_PAUSES)
        except BaseException:
            self.leave()
            raise
        finally:
            self._turn = _release(self._turn)
        if self._held:
            self._stuck_until = 0.0
        elif not is_short:
            self._stuck_until = time.monotonic() + _STUCK_TIMES * seconds
        return self._held

    def leave(self) -> None:
        """Give the turn to the next writer, if it was held. Never fails."""
        if self._held:
            self._lock = _release(self._lock)
            self._held = False

    def close(self) -> None:
        """Close the lock files; in a forked child this leaves the parent's locks as they are."""
        self._held = False
        for descriptor in (self._turn, self._lock):
            _close(descriptor)
        self._turn = self._lock = -1


def _open_lock(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


@contextmanager
def only_one(file: Path) -> Iterator[bool]:
    """Yield True in one process at a time, and False in the others, without waiting."""
    descriptor = _open_lock(str(file))
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def _release(descriptor: int) -> int:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    except OSError:
        _close(descriptor)
        return -1
    return descriptor


def _close(descriptor: int) -> None:
    if descriptor >= 0:
        with suppress(OSError):
            os.close(descriptor)


def _take(descriptor: int, deadline: float, pause: float, factor: float, bound: float) -> bool:
    # each pause in seconds is `factor` times the one before, up to or down to `bound`. Returns False when the
    # deadline has passed, and at once if the file system has no such locks or fails
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(pause)
            pause = min(pause * factor, bound) if factor > 1 else max(pause * factor, bound)
        except OSError:
            return False
        else:
            return True
