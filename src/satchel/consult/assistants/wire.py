"""One call's connections: cut at once when the call is cancelled or its time is up, from outside a blocking read.

A vendor's SDK blocks in connecting, sending and reading. A watcher beside it shuts the sockets down, which wakes the
read with an error; whoever catches that error asks :meth:`Wire.check` what really happened. The sockets become known
through httpcore's trace extension: https://www.encode.io/httpcore/extensions/#trace
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from satchel.base.errors import AssistantFailed, Interrupted
from satchel.consult.assistants.protocol import Timing

_LOOK_SECONDS = 0.05
_OPENED = frozenset({"connection.connect_tcp.complete", "connection.start_tls.complete"})


class Wire:
    """The connections of one call; a context manager, used by one thread and those it starts."""

    def __init__(self, timing: Timing, is_cancelled: Callable[[], bool], total: float | None = None) -> None:
        """Begin to count the time.

        Args:
            is_cancelled: asked several times a second, from a thread of its own.
            total: seconds for everything; None is ``timing.total``.
        """
        self.timing = timing
        self._ask_whether_cancelled = is_cancelled
        self._was_cancelled = False
        self._total = timing.total if total is None else total
        self._until = timing.clock() + self._total
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._is_cut = False
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="satchel-wire", daemon=True)

    def __enter__(self) -> Self:
        self.check()
        self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._watcher.join()

    def event_hooks(self) -> Mapping[str, list[Callable[..., Any]]]:
        """Return the ``event_hooks`` that an httpx client needs for its connections to be of this wire."""
        return {"request": [self._follow]}

    def check(self) -> None:
        """Go on, unless the call is over.

        Raises:
            Interrupted: it was cancelled.
            AssistantFailed: its time is up.
        """
        if self._is_cancelled():
            raise Interrupted("the consultation was cancelled", "Nothing of it was recorded")
        if self.left() <= 0:
            raise AssistantFailed(
                f"the assistant was not done within {self._total:g} seconds",
                "Ask for less at once, or allow more time",
                reason="timed_out",
            )

    def left(self) -> float:
        """Return how many seconds are left."""
        return self._until - self.timing.clock()

    def pause(self, seconds: float) -> None:
        """Wait, unless the call is over or ends meanwhile.

        Raises:
            Interrupted, AssistantFailed: as for :meth:`check`.
        """
        self.check()
        if self.timing.sleep is not None:
            self.timing.sleep(seconds)
        else:
            until = self.timing.clock() + min(seconds, self.left())
            while (rest := until - self.timing.clock()) > 0 and not self._is_cancelled():
                self._over.wait(min(rest, _LOOK_SECONDS))
        self.check()

    def _is_cancelled(self) -> bool:
        self._was_cancelled = self._was_cancelled or self._ask_whether_cancelled()
        return self._was_cancelled

    def _follow(self, request: Any) -> None:
        request.extensions["trace"] = self._trace
        # here for every SDK alike: one of them would tell the provider to give up after as much
        connect, silence = self.timing.connect, self.timing.silence
        request.extensions["timeout"] = {"connect": connect, "pool": connect, "read": silence, "write": silence}

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event not in _OPENED:
            return
        opened = info["return_value"].get_extra_info("socket")
        with self._lock:
            self._sockets.append(opened)
            is_cut = self._is_cut
        if is_cut:
            _shut(opened)

    def _watch(self) -> None:
        while not self._over.wait(_LOOK_SECONDS):
            if self._is_cancelled() or self.left() <= 0:
                with self._lock:
                    self._is_cut = True
                    opened = tuple(self._sockets)
                for one in opened:
                    _shut(one)
                return


def _shut(opened: socket.socket) -> None:
    with suppress(OSError):
        # a TLS socket's own shutdown would take its state from under the thread that reads
        socket.socket.shutdown(opened, socket.SHUT_RDWR)
