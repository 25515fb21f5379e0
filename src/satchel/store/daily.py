"""Daily backups by themselves: after a command has answered, or by a thread of a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from satchel.base.errors import SatchelError
from satchel.store import backups
from satchel.store.backups import Backup
from satchel.store.sqlite import SqliteEngine

_FIRST_SECONDS = 60.0
_SECONDS = 3_600.0


def back_up_when_due(engine: SqliteEngine) -> Backup | None:
    """Make the daily backup in the user's state folder, if a day has gone by and something has changed.

    Returns:
        The backup; None where none is due, or the store has no place in the state folder.
    """
    if engine.trust is None or engine.read_only:
        return None
    return backups.back_up_daily(engine.access, engine.clock(), engine.backups_keep, engine.trust)


@contextmanager
def daily_backups(engine: SqliteEngine) -> Iterator[None]:
    """Make the daily backups by a thread of its own while the block runs."""
    import threading

    done = threading.Event()

    def watch() -> None:
        pause = _FIRST_SECONDS
        while not done.wait(pause):
            pause = _SECONDS
            # a disk that is full today need not be so tomorrow; doctor says how old the newest backup is
            with suppress(SatchelError):
                back_up_when_due(engine)

    threading.Thread(target=watch, name="daily-backups", daemon=True).start()
    try:
        yield
    finally:
        done.set()
