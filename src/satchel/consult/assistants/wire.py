"""One call's connections: cut at once when the call is cancelled or its time is up, from outside a blocking read.

A vendor's SDK blocks in connecting, sending and reading. A watcher beside it shuts the sockets down, which wakes the
read with an error; the caller that catches it asks :meth:`Wire.check` what really happened. The sockets become known
through httpcore's trace extension: https://www.encode.io/httpcore/extensions/#trace

What no socket is known of cannot be cut: looking up a name, and one attempt to connect, which ends by itself in time.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Self

from satchel.base.errors import AssistantFailed
from satchel.consult.assistants.limits import Limits, guard, too_much
from satchel.consult.assistants.protocol import Timing
from satchel.consult.records import IsCancelled, raise_if_cancelled

_LOOK_SECONDS = 0.05
_PORTS = {"http": 80, "https": 443}


class Wire:
    """The connections of one call; a context manager, used by one thread and those it starts.

    Attributes:
        is_torn: whether the last stream ended within a line, or without any, as one does that was cut.
    """

    def __init__(
        self,
        timing: Timing,
        is_cancelled: IsCancelled,
        total: float | None = None,
        *,
        name: str = "the assistant",
        limits: Limits | None = None,
    ) -> None:
        """Begin to count the time.

        Args:
            is_cancelled: asked several times a second, from a thread of its own.
            total: seconds for everything; None is ``timing.total``.
            name: the assistant with its address, for errors.
            limits: of each response; None are the least, for a call that gets no answer of a model.
        """
        self.timing = timing
        self.name = name
        self.limits = limits or Limits.of()
        self.is_streaming = False
        self.is_torn = False
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
        return {"request": [self._follow], "response": [lambda response: guard(response, self)]}

    def check(self) -> None:
        """Go on, unless the call is over.

        Raises:
            Interrupted: it was cancelled.
            AssistantFailed: its time is up.
        """
        raise_if_cancelled(self._is_cancelled)
        if self.left() <= 0:
            raise AssistantFailed(
                f"{self.name} was not done within {self._total:g} seconds",
                "Ask for less at once, or configure a higher consult.total_seconds",
                reason="timed_out",
            )

    def check_content(self, *, parts: int = 0, thoughts: int = 0, arguments: int = 0) -> None:
        """Go on, unless an answer holds more than it may of what an SDK or an adapter gathers besides its text.

        Args:
            parts: what it consists of: texts, thoughts and calls.
            thoughts, arguments: characters of thoughts, and of what tools are called with.

        Raises:
            AssistantFailed: it holds more.
        """
        limits = self.limits
        for count, most, what in (
            (parts, limits.parts, "parts"),
            (thoughts, limits.text, "characters of thoughts"),
            (arguments, limits.arguments, "characters of arguments for tools"),
        ):
            if count > most:
                raise too_much(self.name, f"more than {most:,} {what}")

    @contextmanager
    def streaming(self) -> Iterator[None]:
        """Expect an answer that arrives as a stream, which may be longer than any other response."""
        self.is_streaming = True
        try:
            yield
        finally:
            self.is_streaming = False

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
        request.extensions["trace"] = Connecting(self.take, request.url)
        # here for every SDK alike: one of them would tell the provider to give up after as much
        connect, silence = self.timing.connect, self.timing.silence
        request.extensions["timeout"] = {"connect": connect, "pool": connect, "read": silence, "write": silence}
        # nothing is unpacked: how much comes is known as it comes
        request.headers["accept-encoding"] = "identity"

    def take(self, opened: socket.socket) -> None:
        """Take a socket that is to be shut when the call ends before its time."""
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


class Connecting:
    """How one request comes to its connection, as httpcore tells it; the connection may be to a proxy on the way.

    Attributes:
        proxy: host and port of the proxy that was tried; None where there is none, or no connection was needed.
    """

    __slots__ = ("_opened", "_spare", "_take", "_target", "proxy")

    def __init__(self, take: Callable[[socket.socket], None], url: Any) -> None:
        """Follow a request.

        Args:
            take: gets every socket.
            url: of the request, as httpx has it.
        """
        self._take = take
        self._target = (url.raw_host.decode("ascii"), url.port or _PORTS.get(url.scheme))
        self._opened: socket.socket | None = None
        self._spare: socket.socket | None = None
        self.proxy: str | None = None

    def __call__(self, event: str, info: Mapping[str, Any]) -> None:
        """Take what is told; an event's name begins with who tells it: a connection of its own, or one to a proxy."""
        step = event.partition(".")[2]
        if step == "connect_tcp.started" and (info["host"], info["port"]) != self._target:
            self.proxy = f"{info['host']}:{info['port']}"
        elif step == "connect_tcp.complete":
            self._opened = info["return_value"].get_extra_info("socket")
            self._take(self._opened)
        elif step == "start_tls.started" and self._opened is not None:
            # the socket gives up its number to the one that wraps it, which is not known before hands are shaken
            self._spare = socket.fromfd(self._opened.fileno(), self._opened.family, self._opened.type)
            self._take(self._spare)
        elif step in {"start_tls.complete", "start_tls.failed"}:
            if step == "start_tls.complete":
                self._opened = info["return_value"].get_extra_info("socket")
                self._take(self._opened)
            if self._spare is not None:
                self._spare.close()
                self._spare = None


def _shut(opened: socket.socket) -> None:
    with suppress(OSError):
        # a TLS socket's own shutdown would take its state from under the thread that reads
        socket.socket.shutdown(opened, socket.SHUT_RDWR)
