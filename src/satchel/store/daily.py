"""Automatic daily backups: after a command has finished, or by a thread of a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from satchel.base.errors import SatchelError
from satchel.store.engine import Engine

if TYPE_CHECKING:
    from satchel.store.backups import Backup

_FIRST_SECONDS = 60.0
_SECONDS = 3_600.0


def back_up_when_due(engine: Engine) -> Backup | None:
    """Make the daily backup in the user's state folder, if a day has passed and something has changed.

    Raises:
        SatchelError: it cannot be made.
    """
    if not engine.has_daily_backups:
        return None
    try:
        upkeep = engine.upkeep
    except (ImportError, OSError) as error:
        raise SatchelError(f"its module cannot be loaded: {error}") from error
    return upkeep.back_up_daily()


@contextmanager
def daily_backups(engine: Engine) -> Iterator[None]:
    """Make the daily backups in a separate thread while the block runs."""
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
