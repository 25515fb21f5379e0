"""Connections of one call: immediate cancellation, retries, and limits enforced below a vendor's SDK.

A vendor's SDK blocks while it connects, sends and reads. A watcher thread shuts the sockets down, which wakes the read
with an error; the caller that catches it asks :meth:`Wire.check` for the cause. The sockets come from httpcore's trace
extension: https://www.encode.io/httpcore/extensions/#trace

Without a socket there is nothing to shut down: a name lookup or a connection attempt runs until its own timeout.
"""

from __future__ import annotations

import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, Self, TypeVar

from satchel.base.errors import AssistantFailed
from satchel.base.records import dataclass
from satchel.consult.models import Timing
from satchel.consult.records import IsCancelled, raise_if_cancelled
from satchel.redaction import redact

T = TypeVar("T")

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)(?:[^/?#]*@)?([^?#]*)")
_ADDRESS_CHARS = 200


def public_address(url: str) -> str:
    """Return the public part of an address: scheme, host, port and path, at most 200 characters.

    Format: https://www.rfc-editor.org/rfc/rfc3986#section-3.2
    """
    printable = "".join(char for char in url if char.isprintable()).strip()
    parts = _URL.match(printable)
    if parts is not None:
        address = redact(parts[1] + parts[2].rstrip("/")).text
    else:
        # not an address, but text before an @ may still be a password
        address = "(not a URL)" if "@" in printable else redact(re.split(r"[?#]", printable)[0]).text
    return address if len(address) <= _ADDRESS_CHARS else f"{address[: _ADDRESS_CHARS - 1]}…"


_MIB = 1024 * 1024

# Bytes of an answer per token. Prose and code take 3 to 5 in UTF-8, Chinese 4 to 6; long runs of spaces take more, for
# which the minimum has room.
_TEXT_BYTES = 8

# Bytes of one event per token: OpenAI's last one repeats the whole answer, and a Chinese token written as ``\uXXXX``
# takes 12.
_EVENT_BYTES = 16

# Bytes of a stream per token. Events of single tokens take 250 to 350, and 450 at Azure.
_STREAM_BYTES = 512

# Lines of a stream per token: an event has two or three. An SDK takes hundreds of bytes for each, so a stream of empty
# ones would take far more memory than was sent.
_STREAM_LINES = 4

_LEAST_BYTES = _MIB
_LEAST_STREAM_BYTES = 16 * _MIB
# Additional lines, enough for a keep-alive of two lines a second for more than two hours.
_LEAST_LINES = 20_000

# Maximum characters of tool arguments, which are a few words. An SDK parses them again with each piece: 1 MiB took
# minutes.
_ARGUMENT_CHARS = 65_536

_BLANKS = (b"\n\n", b"\r\r", b"\r\n\r\n")
_LONGEST_BLANK = 4


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one response."""

    text: int
    event: int
    stream: int
    lines: int
    parts: int
    arguments: int = _ARGUMENT_CHARS

    @classmethod
    def of(cls, output: int = 0) -> Self:
        """Return the limits for answers of at most so many tokens."""
        return cls(
            text=max(_LEAST_BYTES, _TEXT_BYTES * output),
            event=max(_LEAST_BYTES, _EVENT_BYTES * output),
            stream=max(_LEAST_STREAM_BYTES, _STREAM_BYTES * output),
            lines=_LEAST_LINES + _STREAM_LINES * output,
            parts=1_000 + output,
        )


def too_much(name: str, what: str) -> AssistantFailed:
    """Return the error for an answer beyond a limit."""
    return AssistantFailed(
        f"{name} sent {what}, and was cut off",
        "Check the address and the server there; for a model whose answers are that long, configure a higher "
        "consult.output_tokens",
        reason="too_much",
    )


def guard(response: Any, wire: Wire) -> None:
    """Check the head of a response, of either distribution of httpx, and wrap its body in a counter."""
    wire.is_torn = False
    if response.has_redirect_location:
        _check_redirect(response, wire.name)
    body: Iterable[bytes] = response.stream
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in {"", "identity"}:
        if response.status_code < 400:
            raise AssistantFailed(
                f"{wire.name} compressed its answer ({encoding[:40]!r}), though it was asked not to",
                "Check the address, and that no proxy on the way compresses: a small answer could unpack to any size",
                reason="compressed",
            )
        # the status suffices, and a few compressed bytes could expand to any number
        del response.headers["content-encoding"]
        body = ()
    is_stream = wire.is_streaming and response.status_code < 300
    is_events = response.headers.get("content-type", "").startswith("text/event-stream")
    parts = _counted(body, wire, is_stream=is_stream)
    package = type(response).__module__.partition(".")[0]
    guarded = _class_for(sys.modules[package].SyncByteStream)
    response.stream = guarded(parts, response.stream.close, wire, is_events=is_stream and is_events)


def _check_redirect(response: Any, name: str) -> None:
    address, target = response.request.url, response.headers.get("location", "")
    try:
        target = address.join(target)
        # httpx gives the default port of a scheme as None
        is_same = (target.scheme, target.host, target.port) == (address.scheme, address.host, address.port)
    except Exception:  # noqa: BLE001 -- httpx raises several kinds over an address that is none
        is_same = False
    if not is_same:
        raise AssistantFailed(
            f"{name} sent the request on to {public_address(str(target))}, which is another server",
            "Nothing was sent there; configure that address if it is known to be right",
            reason="redirected",
        )


def _counted(chunks: Iterable[bytes], wire: Wire, *, is_stream: bool) -> Iterator[bytes]:
    limits = wire.limits
    most, what = (limits.stream, "an answer") if is_stream else (limits.event, "a response")
    total = lines = event = 0
    before = b""
    for chunk in chunks:
        total += len(chunk)
        if total > most:
            raise too_much(wire.name, f"{what} of more than {most:,} bytes")
        lines += max(chunk.count(b"\n"), chunk.count(b"\r"))
        if lines > limits.lines:
            raise too_much(wire.name, f"an answer of more than {limits.lines:,} lines")
        # an SDK buffers lines up to a blank one, whose line ends may be split over two chunks
        data = before + chunk
        end = max(data.rfind(blank) for blank in _BLANKS)
        event = event + len(chunk) if end < 0 else len(data) - end
        if event > limits.event:
            raise too_much(wire.name, f"a line or an event of more than {limits.event:,} bytes")
        before = data[1 - _LONGEST_BLANK :]
        yield chunk


@cache
def _class_for(base: type[Any]) -> Callable[..., Any]:
    class Guarded(base):  # type: ignore[misc] # which class it is is known at run time alone
        """A body that is counted as it is read."""

        def __init__(self, parts: Iterator[bytes], close: Callable[[], None], wire: Wire, *, is_events: bool) -> None:
            self._parts = parts
            self._close = close
            self._wire = wire
            self._is_events = is_events

        def __iter__(self) -> Iterator[bytes]:
            last = b""
            for part in self._parts:
                last = part or last
                yield part
            self._wire.is_torn = self._is_events and not last.endswith((b"\n", b"\r"))

        def close(self) -> None:
            self._close()

    return Guarded


_LOOK_SECONDS = 0.05
_PORTS = {"http": 80, "https": 443}


class Wire:
    """Connections of one call, for one thread and those it starts; a context manager.

    Attributes:
        is_streaming: whether the response is an answer, which may be longer than any other.
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

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._watcher.join()

    def event_hooks(self) -> Mapping[str, list[Callable[..., Any]]]:
        """Return the ``event_hooks`` that put an httpx client's connections under this wire."""
        return {"request": [self._follow], "response": [lambda response: guard(response, self)]}

    def check(self) -> None:
        """Raise an error if the call is over."""
        raise_if_cancelled(self._is_cancelled)
        if self.seconds_left() <= 0:
            raise AssistantFailed(
                f"{self.name} was not done within {self._total:g} seconds",
                "Ask for less at once, or configure a higher consult.total_seconds",
                reason="timed_out",
            )

    def check_content(self, *, parts: int = 0, thoughts: int = 0, arguments: int = 0) -> None:
        """Raise an error if an answer has too many parts, thoughts or arguments, which SDKs buffer next to its text."""
        limits = self.limits
        for count, most, what in (
            (parts, limits.parts, "parts"),
            (thoughts, limits.text, "characters of thoughts"),
            (arguments, limits.arguments, "characters of arguments for tools"),
        ):
            if count > most:
                raise too_much(self.name, f"more than {most:,} {what}")

    def seconds_left(self) -> float:
        """Return how many seconds are left."""
        return self._until - self.timing.clock()

    def pause(self, seconds: float) -> None:
        """Wait, and raise an error if the call is over."""
        self.check()
        if self.timing.sleep is not None:
            self.timing.sleep(seconds)
        else:
            until = self.timing.clock() + min(seconds, self.seconds_left())
            while (rest := until - self.timing.clock()) > 0 and not self._is_cancelled():
                self._over.wait(min(rest, _LOOK_SECONDS))
        self.check()

    def _is_cancelled(self) -> bool:
        self._was_cancelled = self._was_cancelled or self._ask_whether_cancelled()
        return self._was_cancelled

    def _follow(self, request: Any) -> None:
        request.extensions["trace"] = Connecting(self.take, request.url)
        # set here for every SDK, since one of them would also send it to the provider as its time limit
        connect, silence = self.timing.connect, self.timing.silence
        request.extensions["timeout"] = {"connect": connect, "pool": connect, "read": silence, "write": silence}
        # no compression, so that the size is known as bytes arrive
        request.headers["accept-encoding"] = "identity"

    def take(self, opened: socket.socket) -> None:
        """Register a socket, to shut down on cancellation."""
        with self._lock:
            self._sockets.append(opened)
            is_cut = self._is_cut
        if is_cut:
            _shut(opened)

    def _watch(self) -> None:
        while not self._over.wait(_LOOK_SECONDS):
            if self._is_cancelled() or self.seconds_left() <= 0:
                with self._lock:
                    self._is_cut = True
                    opened = tuple(self._sockets)
                for one in opened:
                    _shut(one)
                return


class Connecting:
    """Trace of one request's connection, perhaps to a proxy, from httpcore."""

    __slots__ = ("_opened", "_spare", "_take", "_target", "proxy")

    def __init__(self, take: Callable[[socket.socket], None], url: Any) -> None:
        self._take = take
        self._target = (url.raw_host.decode("ascii"), url.port or _PORTS.get(url.scheme))
        self._opened: socket.socket | None = None
        self._spare: socket.socket | None = None
        self.proxy: str | None = None

    def __call__(self, event: str, info: Mapping[str, Any]) -> None:
        step = event.partition(".")[2]
        if step == "connect_tcp.started" and (info["host"], info["port"]) != self._target:
            self.proxy = f"{info['host']}:{info['port']}"
        elif step == "connect_tcp.complete":
            self._opened = info["return_value"].get_extra_info("socket")
            self._take(self._opened)
        elif step == "start_tls.started" and self._opened is not None:
            # the TLS socket takes over the number of this one, and is known only after the handshake
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
        # a TLS socket's own shutdown would break its state for the reading thread
        socket.socket.shutdown(opened, socket.SHUT_RDWR)


# Limits of the pause in seconds: after the first failure, after any, and on a provider's request.
_FIRST_PAUSE, _LONGEST_PAUSE, _LONGEST_ASKED = 0.5, 8.0, 60.0


def pause_after(attempt: int, failure: AssistantFailed, timing: Timing) -> float | None:
    """Return the seconds to wait after a failed attempt; None to give up."""
    if attempt >= timing.attempts or not failure.is_passing:
        return None
    half = min(_LONGEST_PAUSE, _FIRST_PAUSE * float(2 ** (attempt - 1))) / 2
    least = half if failure.retry_after is None else failure.retry_after
    return least + timing.chance() * half if least <= _LONGEST_ASKED else None


def persist(wire: Wire, work: Callable[[], T], may_repeat: Callable[[], bool] = lambda: True) -> T:
    """Call a provider, with retries after passing failures."""
    attempt = 0
    while True:
        attempt += 1
        wire.check()
        try:
            return work()
        except AssistantFailed as failure:
            # a connection that was shut down here looks like one that the provider closed
            wire.check()
            pause = pause_after(attempt, failure, wire.timing) if may_repeat() else None
            if pause is None or pause >= wire.seconds_left():
                raise
        wire.pause(pause)


def retry_after(headers: Mapping[str, str], now: Callable[[], float] = time.time) -> float | None:
    """Return the wait in seconds that a provider requests, or None.

    Formats: ``retry-after-ms`` in milliseconds, else https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
    """
    for name, parts in (("retry-after-ms", 1_000), ("retry-after", 1)):
        try:
            seconds = float(headers[name]) / parts
        except (KeyError, ValueError):
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(headers["retry-after"]).timestamp() - now())
    except (KeyError, ValueError):
        return None
