"""What the servers share: requests are recorded by step, and a step can be made to fail in any of several ways."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from consult.providers.listening import PATIENCE_SECONDS, Listener, Quiet

_BLOCK_BYTES = 65_536


@dataclass(frozen=True)
class Request:
    """A request as it arrived."""

    step: str
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    """An answer; one with several parts is streamed in chunks."""

    status: int
    parts: tuple[bytes, ...]
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_stream(self) -> bool:
        """Whether it is sent in chunks."""
        return self.content_type == "text/event-stream"


@dataclass
class Fault:
    """What goes wrong at a step, how many times.

    Attributes:
        kind: ``status`` answers with a status and a body; ``drop`` closes the connection before doing anything and
            ``lose`` after it; ``hang`` never answers, and ``cancel`` neither, but the caller cancels meanwhile; ``cut``
            ends half-way through the answer; ``html`` is a page of some proxy; ``garbage`` is broken in the middle;
            ``crumbs`` is the right answer byte by byte, and ``ends`` its first half, ended as if it were all; ``raw``
            sends bytes of a stream, and goes on with others until the client hangs up.
        skip: how many requests go well before.
        raw, endless: what ``raw`` sends, and what again and again after it.
    """

    step: str
    kind: str
    times: int = 1
    skip: int = 0
    status: int = 500
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes = b""
    endless: bytes = b""


def as_json(value: Any, status: int = 200, **headers: str) -> Answer:
    """Answer with a JSON object."""
    return Answer(status, (json.dumps(value).encode(),), headers=headers)


def as_events(events: Iterable[Any], *, named: bool, last: str | None = None) -> Answer:
    """Answer with server-sent events, named by their own type or not."""
    parts = [
        (f"event: {event['type']}\n" if named else "").encode() + b"data: " + _as_utf8(event) + b"\n\n"
        for event in events
    ]
    if last is not None:
        parts.append(f"data: {last}\n\n".encode())
    return Answer(200, tuple(parts), "text/event-stream")


def _as_utf8(event: Any) -> bytes:
    """Write JSON as most providers do, with characters as they are; half a character can only be named."""
    text = json.dumps(event, ensure_ascii=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(event).encode()


class FakeProvider:
    """A provider on this machine; a context manager.

    Attributes:
        requests: what arrived, in order.
        cancelled: set when a request arrives at a step with the fault ``cancel``.
        sent: bytes of an endless answer that were sent before the client hung up.
    """

    prefix = "/v1"

    def __init__(self) -> None:
        self._scheme = "http"
        self.requests: list[Request] = []
        self.faults: list[Fault] = []
        self.cancelled = threading.Event()
        self.lock = threading.RLock()
        self.released = threading.Event()
        self.problems: list[str] = []
        self.sent = 0
        self._open: set[socket.socket] = set()
        provider = self

        class Handler(Quiet, BaseHTTPRequestHandler):
            def setup(self) -> None:
                super().setup()
                with provider.lock:
                    provider._open.add(self.connection)

            def finish(self) -> None:
                with provider.lock:
                    provider._open.discard(self.connection)
                with suppress(OSError):
                    super().finish()

            def handle(self) -> None:
                with suppress(OSError, ValueError):
                    super().handle()

            def do_POST(self) -> None:
                self.serve()

            def do_GET(self) -> None:
                self.serve()

            def do_DELETE(self) -> None:
                self.serve()

            def serve(self) -> None:
                provider._serve(self)

        self._server = Listener(Handler)

    def __enter__(self) -> Self:
        self._server.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.released.set()
        with self.lock:
            still_open = tuple(self._open)
        for connection in still_open:
            with suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
        self._server.end()
        if error is None:
            assert self.problems == []

    @property
    def url(self) -> str:
        """The address that a client is given."""
        return f"{self._scheme}://127.0.0.1:{self._server.server_port}{self.prefix}"

    def speak_tls(self, context: ssl.SSLContext) -> None:
        """Encrypt; hands are shaken in the thread of each connection."""
        self._scheme = "https"
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)

    def fail(self, step: str, kind: str, **details: Any) -> None:
        """Make a step fail, once unless told otherwise."""
        self.faults.append(Fault(step, kind, **details))

    def seen(self, step: str) -> list[Request]:
        """Return the requests of one step."""
        with self.lock:
            return [request for request in self.requests if request.step == step]

    def step_of(self, method: str, path: str) -> str:
        """Name the step that a request is."""
        raise NotImplementedError

    def answer(self, request: Request) -> Answer:
        """Do what a request asks for."""
        raise NotImplementedError

    def error_body(self, status: int) -> Any:
        """Return what the provider says with a status that says no."""
        raise NotImplementedError

    def _take(self, step: str) -> Fault | None:
        with self.lock:
            for fault in self.faults:
                if fault.step == step and fault.times:
                    if fault.skip:
                        fault.skip -= 1
                        return None
                    fault.times -= 1
                    return fault
        return None

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        url = urlsplit(handler.path)
        path = url.path.removeprefix(self.prefix)
        body = handler.rfile.read(int(handler.headers.get("content-length", 0)))
        step = self.step_of(handler.command, path)
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        headers = {name.lower(): value for name, value in handler.headers.items()}
        request = Request(step, handler.command, path, query, headers, body)
        with self.lock:
            self.requests.append(request)
        fault = self._take(step)
        kind = fault.kind if fault else None
        if kind in {"hang", "cancel"}:
            if kind == "cancel":
                self.cancelled.set()
            if not self.released.wait(PATIENCE_SECONDS) and kind == "cancel":
                self.problems.append(f"{step}: whoever cancelled did not hang up")
        if kind in {"hang", "cancel", "drop"}:
            handler.close_connection = True
            return
        if fault and kind == "raw":
            self.sent = _send_raw(handler, fault, self.released.is_set)
            return
        if fault and kind == "status":
            said = self.error_body(fault.status) if fault.body is None else fault.body
            answer = Answer(fault.status, (json.dumps(said).encode(),), headers=fault.headers)
        elif kind == "html":
            answer = Answer(200, (b"<html><body>Sign in to the network</body></html>",), "text/html")
        else:
            try:
                with self.lock:
                    answer = self.answer(request)
            except (AssertionError, LookupError, ValueError, TypeError) as error:
                # shown by the test that the server belongs to, since this thread has nobody to tell
                self.problems.append(f"{step}: {type(error).__name__}: {error}")
                answer = as_json({"error": {"message": str(error)}}, 400)
        if kind == "lose":
            handler.close_connection = True
            return
        _send(handler, answer, kind)


def _send(handler: BaseHTTPRequestHandler, answer: Answer, kind: str | None) -> None:
    parts = list(answer.parts)
    handler.send_response(answer.status)
    handler.send_header("content-type", answer.content_type)
    for name, value in answer.headers.items():
        handler.send_header(name, value)
    if answer.is_stream:
        handler.send_header("transfer-encoding", "chunked")
        if kind == "garbage":
            middle = len(parts) // 2
            parts[middle] = parts[middle].partition(b"data: ")[0] + b"data: {not json\n\n"
        if kind in {"cut", "ends"}:
            parts = parts[: len(parts) // 2]
    else:
        if kind == "garbage":
            parts = [b"{not json"]
        handler.send_header("content-length", str(sum(map(len, parts))))
        if kind == "cut":
            parts = [b"".join(parts)[: sum(map(len, parts)) // 2]]
    handler.end_headers()
    if kind == "crumbs":
        parts = [bytes((byte,)) for part in parts for byte in part]
    for part in parts:
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part) if answer.is_stream else part)
    if kind == "cut":
        handler.close_connection = True
    elif answer.is_stream:
        handler.wfile.write(b"0\r\n\r\n")


def _send_raw(handler: BaseHTTPRequestHandler, fault: Fault, is_over: Callable[[], bool]) -> int:
    """Send what a fault says, ended by the end of the connection; return how much was taken of it."""
    handler.close_connection = True
    sent = 0
    with suppress(OSError):
        handler.send_response(200)
        for name, value in {"content-type": "text/event-stream", **fault.headers}.items():
            handler.send_header(name, value)
        handler.send_header("connection", "close")
        handler.end_headers()
        handler.wfile.write(fault.raw)
        block = fault.endless * (_BLOCK_BYTES // max(1, len(fault.endless)) + 1)
        while block and not is_over():
            handler.wfile.write(block)
            sent += len(block)
    return sent
