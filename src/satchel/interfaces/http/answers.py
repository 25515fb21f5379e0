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

Reply = dict[str, Any]
Place = tuple[str, str]
"""The token and the key of a call."""


class Answers:
    """Cache of the answers to the last 1,000 calls that wrote something, and the calls in progress. Thread-safe.

    Answers longer than 64 Ki characters are not cached, and all together take at most 8 Mi characters.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[Place, Future[Reply]] = {}
        self._replies: OrderedDict[Place, tuple[Reply, int]] = OrderedDict()
        self._chars = 0

    def once(self, place: Place, run: Callable[[], Reply]) -> Reply:
        """Return the answer to a call: the cached one, that of a thread already running it, or a new one.

        If the other thread is interrupted because its caller left, this thread runs the call.
        """
        while True:
            with self._lock:
                if place in self._replies:
                    return self._replies[place][0]
                other = self._running.get(place)
                if other is None:
                    own = self._running[place] = Future[Reply]()
                    break
            try:
                return other.result()
            except Interrupted:
                continue
        try:
            reply = run()
        except BaseException as error:
            self._end(place, None)
            own.set_exception(error)
            raise
        self._end(place, reply)
        own.set_result(reply)
        return reply

    def _end(self, place: Place, reply: Reply | None) -> None:
        size = len(str(reply)) if reply is not None and reply.get("kept") else _MAX_CHARS
        with self._lock:
            del self._running[place]
            if reply is None or size >= _MAX_CHARS:
                return
            self._replies[place] = reply, size
            self._chars += size
            while len(self._replies) > _MOST or self._chars > _MOST_CHARS:
                self._chars -= self._replies.popitem(last=False)[1][1]
