"""The thread that reads the room whenever it has changed, so that keys never wait for a store or server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from satchel.base.errors import Busy, Unreachable
from satchel.interfaces.cli.top.room import Looked, Room, Watch

_ANEW_SECONDS = 30.0
"""What changes without a write, such as a client that is gone, is seen after so long."""

_PART = 8
"""Of its time the thread reads at most this part, however much is written."""

_MOST_SECONDS = 10.0


class Reading(threading.Thread):
    """Reads a room until it is told to stop.

    Args:
        room: what to read.
        wake: called when there is something new to show.

    Attributes:
        looked: what was read last; None before the first time.
        trouble: why it could not be read just now.
        failed: why it is read no more.
    """

    def __init__(self, room: Room, wake: Callable[[], None]) -> None:
        super().__init__(name="satchel-top", daemon=True)
        self._room = room
        self._wake = wake
        self._now = threading.Event()
        self._stops = False
        self._read_at = float("-inf")
        self.looked: Looked | None = None
        self.trouble: str | None = None
        self.failed: BaseException | None = None

    def read_now(self) -> None:
        """Read again at once."""
        self._read_at = float("-inf")
        self._now.set()

    def stop(self) -> None:
        """Read no more, and wait a moment for what is being read."""
        self._stops = True
        self._now.set()
        self.join(1.0)

    def run(self) -> None:
        """Read until it is told to stop, or cannot."""
        try:
            with self._room.watch() as watch:
                self._follow(watch)
        except BaseException as error:  # noqa: BLE001 -- the thread that shows it raises it
            self.failed = error
            self._wake()

    def _follow(self, watch: Watch) -> None:
        trouble_seconds = watch.seconds
        while not self._stops:
            pause = watch.seconds
            try:
                # asked in any case: what was written before it is asked is in what is read after it
                if watch.has_changed() or time.monotonic() >= self._read_at + _ANEW_SECONDS or self.trouble:
                    pause = max(pause, self._read())
                trouble_seconds = watch.seconds
            except (Busy, Unreachable) as error:
                self.trouble = error.problem
                self._wake()
                pause = trouble_seconds = min(_MOST_SECONDS, trouble_seconds * 2)
            self._now.wait(pause)
            self._now.clear()

    def _read(self) -> float:
        """Read the room; return how long to let others be then."""
        began = time.monotonic()
        self.looked = self._room.look()
        self.trouble, self._read_at = None, began
        self._wake()
        return (time.monotonic() - began) * (_PART - 1)
