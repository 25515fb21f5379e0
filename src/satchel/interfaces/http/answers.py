"""Remembered answers to calls that wrote something: a call that is sent again after a lost answer runs only once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from satchel.base.errors import Interrupted

_MOST, _MOST_CHARS = 1_000, 8 * 1024 * 1024
_MAX_CHARS = 64 * 1024

Said = dict[str, Any]
Place = tuple[str, str]
"""The token and the key of a call."""


class Answers:
    """Cache of the answers to the last 1,000 calls that wrote something, and the calls in progress. Thread-safe.

    Answers longer than 64 Ki characters are not cached, and all together take at most 8 Mi characters.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[Place, Future[Said]] = {}
        self._kept: OrderedDict[Place, tuple[Said, int]] = OrderedDict()
        self._chars = 0

    def once(self, place: Place, run: Callable[[], Said]) -> Said:
        """Return the answer to a call: the cached one, that of a thread already running it, or a new one.

        If the other thread is interrupted because its caller left, this thread runs the call.
        """
        while True:
            with self._lock:
                if place in self._kept:
                    return self._kept[place][0]
                other = self._running.get(place)
                if other is None:
                    own = self._running[place] = Future[Said]()
                    break
            try:
                return other.result()
            except Interrupted:
                continue
        try:
            said = run()
        except BaseException as error:
            self._end(place, None)
            own.set_exception(error)
            raise
        self._end(place, said)
        own.set_result(said)
        return said

    def _end(self, place: Place, said: Said | None) -> None:
        size = len(str(said)) if said is not None and said.get("kept") else _MAX_CHARS
        with self._lock:
            del self._running[place]
            if said is None or size >= _MAX_CHARS:
                return
            self._kept[place] = said, size
            self._chars += size
            while len(self._kept) > _MOST or self._chars > _MOST_CHARS:
                self._chars -= self._kept.popitem(last=False)[1][1]
