"""Waiting for a message, without holding the store."""

from __future__ import annotations

import threading
import time

from satchel.base.errors import Conflict
from satchel.keep import projects
from satchel.keep.messages import visibility
from satchel.keep.projects import Workplace
from satchel.keep.waits import POLL_SECONDS


def wait(work: Workplace, seats: threading.Semaphore, name: str, seconds: int) -> bool:
    """Return whether an agent has an unread message, as soon as it has one or after a time.

    ``seats`` limits the waiting calls of the connection.
    """
    if not seats.acquire(blocking=False):
        raise Conflict("too many calls of this connection wait for messages already", "Leave wait_seconds out")
    try:
        deadline = time.monotonic() + seconds
        with work.engine.watch() as is_changed:
            while not _has_unread(work, name):
                while not is_changed():
                    remaining = deadline - time.monotonic()
                    if remaining <= 0:
                        return False
                    time.sleep(min(POLL_SECONDS, remaining))
        return True
    finally:
        seats.release()


def _has_unread(work: Workplace, name: str) -> bool:
    with projects.reading(work) as (transaction, project):
        reader, _ = visibility.find_reader(transaction, project.id, name, work.clock())
        return visibility.count(transaction, reader).unread > 0
