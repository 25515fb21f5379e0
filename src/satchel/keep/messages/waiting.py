"""Waiting until a message comes, without holding anything of the store meanwhile."""

from __future__ import annotations

import threading
import time

from satchel.base.errors import Conflict
from satchel.keep import projects
from satchel.keep.messages import visibility
from satchel.keep.projects import Workplace
from satchel.keep.waits import POLL_SECONDS


def wait(work: Workplace, seats: threading.Semaphore, name: str, seconds: int) -> bool:
    """Return whether an agent has an unread message: as soon as it has, or when the time is over.

    Args:
        seats: of the calls of the connection that may wait.

    Raises:
        Conflict: too many calls wait already.
        Interrupted: the call was cancelled.
    """
    if not seats.acquire(blocking=False):
        raise Conflict(
            "as many calls of this connection as may wait for messages do so already", "Leave wait_seconds out"
        )
    try:
        deadline = time.monotonic() + seconds
        with work.engine.watch() as is_changed:
            while not _has_unread(work, name):
                while not is_changed():
                    left = deadline - time.monotonic()
                    if left <= 0:
                        return False
                    time.sleep(min(POLL_SECONDS, left))
        return True
    finally:
        seats.release()


def _has_unread(work: Workplace, name: str) -> bool:
    with projects.reading(work) as (transaction, project):
        if project is None:
            return False
        reader, _ = visibility.find_reader(transaction, project.id, name, work.clock())
        return visibility.count(transaction, reader).unread > 0
