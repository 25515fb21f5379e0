"""How much an answer may take, counted below a vendor's SDK, which would gather an endless line in memory.

Every response of a client passes :func:`guard` before its body is read: what is sent on to another host is refused,
so is what is compressed, and the body is counted as it arrives.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Protocol, Self

from satchel.base.errors import AssistantFailed
from satchel.base.records import dataclass
from satchel.redaction import redact

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)(?:[^/?#]*@)?([^?#]*)")
_ADDRESS_CHARS = 200


def public_address(url: str) -> str:
    """Return what may be shown of an address: scheme, host, port and path, at most 200 characters.

    Format: https://www.rfc-editor.org/rfc/rfc3986#section-3.2
    """
    printable = "".join(char for char in url if char.isprintable()).strip()
    parts = _URL.match(printable)
    if parts is not None:
        address = redact(parts[1] + parts[2].rstrip("/")).text
    else:
        # no address at all: what stands before an @ may still be meant as a password
        address = "(not a URL)" if "@" in printable else redact(re.split(r"[?#]", printable)[0]).text
    return address if len(address) <= _ADDRESS_CHARS else f"{address[: _ADDRESS_CHARS - 1]}…"


_MIB = 1024 * 1024

_TEXT_BYTES = 8
"""Of an answer for each token. Prose and code take 3 to 5 in UTF-8, Chinese 4 to 6; long runs of spaces more, for
which the least limit has room."""

_EVENT_BYTES = 16
"""Of one event for each token: OpenAI's last one repeats the whole answer, where a token of Chinese that is written
as ``\\uXXXX`` takes 12."""

_STREAM_BYTES = 512
"""Of a stream for each token. The events of single tokens take 250 to 350, and 450 at Azure."""

_STREAM_LINES = 4
"""Of a stream for each token: an event has two or three. What an SDK gathers for a line, or makes of an event, takes
hundreds of bytes, so that a stream of empty ones would take far more memory than was sent."""

_LEAST_BYTES = _MIB
_LEAST_STREAM_BYTES = 16 * _MIB
_LEAST_LINES = 20_000
"""Beside the lines for tokens; enough for a keep-alive of two lines each second for more than two hours."""

_ARGUMENT_CHARS = 65_536
"""The one tool takes a few words. An SDK parses all arguments again with each piece of them: 1 MiB took minutes."""

_BLANKS = (b"\n\n", b"\r\r", b"\r\n\r\n")
_LONGEST_BLANK = 4


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one response may take.

    Attributes:
        text: bytes of the answer's text in UTF-8.
        event: bytes of a stream's event or line, and of a whole response that is no stream.
        stream: bytes of a whole stream.
        lines: of a stream.
        parts: what an answer may consist of: texts, thoughts and calls.
        arguments: characters of what an answer calls tools with.
    """

    text: int
    event: int
    stream: int
    lines: int
    parts: int
    arguments: int = _ARGUMENT_CHARS

    @classmethod
    def of(cls, output: int = 0) -> Self:
        """Return the limits of a model that answers with at most so many tokens."""
        return cls(
            text=max(_LEAST_BYTES, _TEXT_BYTES * output),
            event=max(_LEAST_BYTES, _EVENT_BYTES * output),
            stream=max(_LEAST_STREAM_BYTES, _STREAM_BYTES * output),
            lines=_LEAST_LINES + _STREAM_LINES * output,
            parts=1_000 + output,
        )


def too_much(name: str, what: str) -> AssistantFailed:
    """Return the error for a provider that sends more than an answer takes.

    Args:
        what: which limit was passed, as in ``a line of more than 1,048,576 bytes``.
    """
    return AssistantFailed(
        f"{name} sent {what}, and was cut off",
        "Check the address and the server there; for a model whose answers are that long, configure a higher "
        "consult.output_tokens",
        reason="too_much",
    )


class Receiving(Protocol):
    """What a response arrives on.

    Attributes:
        name: the assistant with its address, for errors.
        is_streaming: whether a stream is expected.
        is_torn: set when a stream ended within a line, or without any, as one does that was cut.
    """

    name: str
    limits: Limits
    is_streaming: bool
    is_torn: bool


def guard(response: Any, wire: Receiving) -> None:
    """Check the head of a response of httpx, in either of its distributions, and let its body be counted.

    Raises:
        AssistantFailed: it leads to another host, or is compressed.
    """
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
        # the status says enough, and a few packed bytes could become any number
        del response.headers["content-encoding"]
        body = ()
    is_stream = wire.is_streaming and response.status_code < 300
    is_events = response.headers.get("content-type", "").startswith("text/event-stream")
    parts = _counted_stream(body, wire) if is_stream else _counted_body(body, wire)
    response.stream = _stream_class(response)(parts, response.stream.close, wire, is_events=is_stream and is_events)


def _check_redirect(response: Any, name: str) -> None:
    address = response.request.url
    location = response.headers.get("location", "")
    try:
        target = address.join(location)
    except Exception as error:  # httpx raises several kinds over an address that is none
        raise _redirected(name, location) from error
    if _origin(target) != _origin(address):
        raise _redirected(name, str(target))


def _redirected(name: str, target: str) -> AssistantFailed:
    return AssistantFailed(
        f"{name} sent the request on to {public_address(target)}, which is another server",
        "Nothing was sent there; configure that address if it is known to be right",
        reason="redirected",
    )


def _origin(url: Any) -> tuple[str, str, int | None]:
    # httpx knows a port that is the scheme's own as none
    return url.scheme, url.host, url.port


def _counted_body(chunks: Iterable[bytes], wire: Receiving) -> Iterator[bytes]:
    most = wire.limits.event
    total = 0
    for chunk in chunks:
        total += len(chunk)
        if total > most:
            raise too_much(wire.name, f"a response of more than {most:,} bytes")
        yield chunk


def _counted_stream(chunks: Iterable[bytes], wire: Receiving) -> Iterator[bytes]:
    limits = wire.limits
    total = lines = event = 0
    before = b""
    for chunk in chunks:
        total += len(chunk)
        if total > limits.stream:
            raise too_much(wire.name, f"an answer of more than {limits.stream:,} bytes")
        lines += max(chunk.count(b"\n"), chunk.count(b"\r"))
        if lines > limits.lines:
            raise too_much(wire.name, f"an answer of more than {limits.lines:,} lines")
        # an SDK gathers lines up to a blank one, which may be split over two chunks
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

        def __init__(
            self, parts: Iterator[bytes], close: Callable[[], None], wire: Receiving, *, is_events: bool
        ) -> None:
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


def _stream_class(response: Any) -> Callable[..., Any]:
    """Return the class of guarded bodies that a distribution of httpx takes for its own."""
    package = type(response).__module__.partition(".")[0]
    return _class_for(sys.modules[package].SyncByteStream)
