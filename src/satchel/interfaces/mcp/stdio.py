"""MCP over standard input and output, on the standard library only: one JSON message per line.

Three kinds of thread. The reader parses lines, answers simple requests itself, and hands the rest to workers; these
start when needed and are daemons, so none can keep the process alive. The thread that called :func:`serve_stdio`
only waits for a reason to stop: end of input, a signal, a disconnected client, or one that has ended: another process
may keep its end of the pipe open.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, BinaryIO, Generic, TypeVar

from satchel.base.processes import parent_watch
from satchel.base.records import dataclass
from satchel.interfaces.mcp import jsonrpc
from satchel.interfaces.mcp.call import Call, log_fault
from satchel.interfaces.mcp.protocol import APPLICATION_METHODS, BATCH_REVISION, Connection, Server, meta_of

ServiceT = TypeVar("ServiceT")
Send = Callable[[bytes | None], None]

GRACE_SECONDS = 5.0
MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_WORKERS = 16

# How long interrupted calls may take to roll back before the server leaves without them.
_UNWIND_SECONDS = 0.5

_LOOK_SECONDS = 3.0

_SKIP_BYTES = 65_536
_END, _IDLE, _BROKEN_PIPE = "end of input, a signal or the client's end", "no call is left", "the client reads no more"


def serve_stdio(
    server: Server[Any],
    *,
    stdin: BinaryIO | None = None,
    stdout: BinaryIO | None = None,
    grace_seconds: float = GRACE_SECONDS,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> int:
    """Serve one client until its input ends, SIGTERM or SIGINT arrives, or it stops reading or ends.

    Without streams, it takes over those of the process for good: file descriptors 0 and 1 then lead to nowhere and to
    stderr, so that no stray print of a handler, a child process or the interpreter's exit reaches the client. That form
    must run in the main thread, because of the signals, and looks for the client's end.
    """
    takes_over = stdin is None or stdout is None
    if takes_over:
        _ensure_stderr()
        gc.freeze()  # modules loaded at the start live as long as the process
        gc.enable()
    session = _Session(
        server,
        _take_over_input() if stdin is None else stdin,
        _take_over_output() if stdout is None else stdout,
        max_line_bytes,
    )
    restore_signals = _catch_signals(session.end) if takes_over else None
    try:
        session.serve(grace_seconds, parent_watch if takes_over else lambda: lambda: False)
    finally:
        if restore_signals is not None:
            restore_signals()
    return 0


def _ensure_stderr() -> None:
    # a process started without stderr would give its number to the next file
    try:
        os.fstat(2)
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        if nowhere == 2:
            os.set_inheritable(2, True)
        else:
            os.dup2(nowhere, 2)
            os.close(nowhere)


def _take_over_input() -> BinaryIO:
    private = os.dup(0)  # not inherited by child processes
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    os.set_blocking(private, True)
    return os.fdopen(private, "rb", buffering=_SKIP_BYTES)


def _take_over_output() -> BinaryIO:
    private = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    os.set_blocking(private, True)
    return os.fdopen(private, "wb", buffering=0)


def _catch_signals(end: Callable[[], None]) -> Callable[[], None]:
    import signal

    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda _number, _frame: end()) for number in numbers]

    def restore() -> None:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)

    return restore


@dataclass(slots=True, eq=False)
class _Job(Generic[ServiceT]):
    request: jsonrpc.Request
    revision: str
    call: Call[ServiceT]
    send: Send
    withdrawn: bool = False


class _Batch:
    def __init__(self, size: int, write: Callable[[bytes], None]) -> None:
        self._missing = size
        self._answers: list[bytes] = []
        self._write = write
        self._lock = threading.Lock()

    def send(self, answer: bytes | None) -> None:
        with self._lock:
            self._missing -= 1
            if answer is not None:
                self._answers.append(answer)
            if self._missing or not self._answers:
                return
        self._write(b"[%b]" % b",".join(self._answers))


class _Session(Generic[ServiceT]):
    def __init__(self, server: Server[ServiceT], stdin: BinaryIO, stdout: BinaryIO, max_line_bytes: int) -> None:
        self._server = server
        self._connection = Connection(server)
        self._stdin = stdin
        self._stdout = stdout
        self._max_line_bytes = max_line_bytes
        self._write_lock = threading.Lock()
        self._events: SimpleQueue[str] = SimpleQueue()  # its put is safe in a signal handler
        self._queue: SimpleQueue[_Job[ServiceT] | None] = SimpleQueue()
        self._workers = 0
        self._lock = threading.Lock()  # guards the attributes below
        self._open: set[_Job[ServiceT]] = set()
        self._by_id: dict[jsonrpc.Id, _Job[ServiceT]] = {}
        self._ending = False

    def serve(self, grace_seconds: float, watch: Callable[[], Callable[[], bool]]) -> None:
        has_ended = watch()  # before the first answer, after which the client may end
        threading.Thread(target=self._read, name="satchel-reader", daemon=True).start()
        if self._first_event(has_ended) != _BROKEN_PIPE:
            self._wait_for_calls(grace_seconds, hasty=True)
        with self._lock:
            self._ending = True
            jobs = list(self._open)
        for job in jobs:
            job.call.cancel()
        self._wait_for_calls(_UNWIND_SECONDS, hasty=False)
        for _ in range(self._workers):
            self._queue.put(None)

    def end(self) -> None:
        self._ending = True
        self._events.put(_END)

    def _first_event(self, has_ended: Callable[[], bool]) -> str:
        while True:
            with suppress(Empty):
                return self._events.get(timeout=_LOOK_SECONDS)
            if has_ended():
                return _END

    def _wait_for_calls(self, seconds: float, *, hasty: bool) -> None:
        with self._lock:
            self._ending = True
            if not self._open:
                return
        deadline = time.monotonic() + seconds
        while (remaining := deadline - time.monotonic()) > 0:
            try:
                event = self._events.get(timeout=remaining)
            except Empty:
                return
            if (hasty and event != _IDLE) or not self._open:
                return

    # The reader.

    def _read(self) -> None:
        try:
            while not self._ending:
                line = self._stdin.readline(self._max_line_bytes + 1)
                if not line or self._ending:
                    break
                if len(line) > self._max_line_bytes and not line.endswith(b"\n"):
                    self._refuse_long_line()
                elif not line.isspace():
                    self._receive(line)
        except Exception:  # noqa: BLE001 - whatever ends the reading ends the server, in order
            log_fault("reading standard input")
        if not self._ending:
            self._events.put(_END)

    def _refuse_long_line(self) -> None:
        while (rest := self._stdin.readline(_SKIP_BYTES)) and not rest.endswith(b"\n"):
            pass
        problem = f"the line is longer than {self._max_line_bytes} bytes"
        self._send(jsonrpc.encode_error(None, jsonrpc.RpcError(jsonrpc.INVALID_REQUEST, problem)))

    def _receive(self, line: bytes) -> None:
        try:
            value = jsonrpc.parse(line)
        except jsonrpc.RpcError as error:
            self._send(jsonrpc.encode_error(None, error))
            return
        may_nest = line.count(b"{") + line.count(b"[") > jsonrpc.MAX_DEPTH
        if not isinstance(value, list):
            self._take(jsonrpc.read_message(value, may_nest=may_nest), self._send)
            return
        if self._connection.revision != BATCH_REVISION or not value:
            problem = "the batch is empty" if not value else f"batches exist only in revision {BATCH_REVISION}"
            self._send(jsonrpc.encode_error(None, jsonrpc.RpcError(jsonrpc.INVALID_REQUEST, problem)))
            return
        batch = _Batch(len(value), self._send)
        for element in value:
            message = jsonrpc.read_message(element, may_nest=may_nest)
            if isinstance(message, jsonrpc.Request) and message.method == "initialize":
                message = jsonrpc.Rejected(
                    message.id, jsonrpc.RpcError(jsonrpc.INVALID_REQUEST, "initialize cannot be part of a batch")
                )
            self._take(message, batch.send)

    def _take(self, message: jsonrpc.Request | jsonrpc.Notification | jsonrpc.Rejected | None, send: Send) -> None:
        match message:
            case jsonrpc.Request():
                self._take_request(message, send)
            case jsonrpc.Rejected():
                send(jsonrpc.encode_error(message.id, message.error))
            case jsonrpc.Notification():
                if message.method == "notifications/cancelled":
                    self._withdraw(message.params.get("requestId"))
                send(None)
            case None:
                send(None)

    def _take_request(self, request: jsonrpc.Request, send: Send) -> None:
        try:
            revision = self._connection.admit(request)
        except jsonrpc.RpcError as error:
            send(jsonrpc.encode_error(request.id, error))
            return
        call = Call(self._server.opened, meta_of(request), self._notify)
        if request.method not in APPLICATION_METHODS:
            send(self._server.reply(request, revision, call)[0])
            return
        job = _Job(request, revision, call, send)
        with self._lock:
            duplicate = request.id in self._by_id
            if not duplicate:
                self._open.add(job)
                self._by_id[request.id] = job
                start_worker = self._workers < min(len(self._open), MAX_WORKERS)
                self._workers += start_worker
        if duplicate:
            problem = "a request with this id is still running"
            send(jsonrpc.encode_error(request.id, jsonrpc.RpcError(jsonrpc.INVALID_REQUEST, problem)))
            return
        self._queue.put(job)
        if start_worker:
            threading.Thread(target=self._work, name="satchel-worker", daemon=True).start()

    def _withdraw(self, request_id: object) -> None:
        if not isinstance(request_id, (str, int)) or isinstance(request_id, bool):
            return
        with self._lock:
            job = self._by_id.pop(request_id, None)
            if job is None:
                return
            job.withdrawn = True
        job.call.cancel()

    # The workers.

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            self._close(job, self._server.reply(job.request, job.revision, job.call)[0])

    def _close(self, job: _Job[ServiceT], answer: bytes) -> None:
        with self._lock:
            withdrawn = job.withdrawn
            if not withdrawn:
                del self._by_id[job.request.id]
        job.send(None if withdrawn else answer)
        with self._lock:
            self._open.discard(job)
            idle = self._ending and not self._open
        if idle:
            self._events.put(_IDLE)

    # Both.

    def _notify(self, method: str, params: dict[str, Any]) -> None:
        self._send(jsonrpc.encode_notification(method, params))

    def _send(self, message: bytes | None) -> None:
        if message is None:
            return
        rest = memoryview(message + b"\n")
        with self._write_lock:
            try:
                while rest:
                    rest = rest[self._stdout.write(rest) :]
                self._stdout.flush()
            except (OSError, ValueError):  # a broken pipe, or a stream that was closed
                self._events.put(_BROKEN_PIPE)
