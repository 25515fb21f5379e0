"""Events over HTTP: from another process's commit to a listener, and what idle listeners cost the server."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

from benchmarks.content import notes, open_filled
from benchmarks.event_server import TOKEN
from benchmarks.harness import ROOT, Bench, Figure, NotMeasuredError, Samples, Section, timed
from benchmarks.start_up import clean_environment

_HELD = 1_000
_LISTENERS = 20
_PATIENCE_SECONDS = 30.0
_MOST_MS = 300
_MOST_SHARE = 10
_WRITES_PER_SECOND = 5
_WRITER = """
import sys, time
from satchel import open_satchel
with open_satchel(sys.argv[1], "bench", agent="writer") as satchel:
    for line in sys.stdin:
        written = satchel.entries.write("discovery", line)
        print(written.ref, time.monotonic_ns(), flush=True)
"""
"""The other process says what it wrote, and when that had returned, by the clock that all processes share."""


def run(bench: Bench) -> Section:
    """Measure delays with one listener and with 20, then the server's processor time."""
    file = bench.folder / "store.db"
    open_filled(file, notes(_HELD)).close()
    rounds = bench.choose(300, 20)
    seconds = bench.choose(30, 5)
    with _server(file) as server, another_process(file) as writer:
        with ExitStack() as stack:
            bench.progress.say("delays")
            alone = [stack.enter_context(_Listener(server.port))]
            one = _delays(writer, alone, rounds)
        bench.progress.say("processor time")
        idle_alone = _share(server, seconds)
        with ExitStack() as stack:
            listeners = [stack.enter_context(_Listener(server.port)) for _ in range(_LISTENERS)]
            idle = _share(server, seconds)
            many = _delays(writer, listeners, rounds)
            stop = threading.Event()
            writing = threading.Thread(target=_write_steadily, args=(writer, stop))
            writing.start()
            busy = _share(server, seconds)
            stop.set()
            writing.join()
    return Section(
        "Events over HTTP",
        (
            timed("commit to listener, 1 listener", one, at_most=_MOST_MS),
            Figure("the slowest of them", max(one.values), "ms", at_most=_MOST_MS),
            timed(f"commit to the last of {_LISTENERS} listeners", many, at_most=_MOST_MS),
            Figure("the slowest of them", max(many.values), "ms", at_most=_MOST_MS),
            Figure(
                f"processor share, {_LISTENERS} idle listeners",
                idle,
                "%",
                baseline=idle_alone,
                beside="no listener",
                at_most=_MOST_SHARE,
            ),
            Figure(
                f"processor share, {_LISTENERS} listeners, {_WRITES_PER_SECOND} writes a second",
                busy,
                "%",
                baseline=idle_alone,
                beside="no listener",
                at_most=_MOST_SHARE,
            ),
        ),
        (
            "Another process writes a durable note after a random pause, and says when the write had returned; the "
            "delay goes from there to when a listener had read the message of that very note. The server asks the "
            "store ten times a second whether anything was written. The processor share is the server's, in percent of "
            f"one core, over {seconds} s.",
        ),
    )


class _Listener:
    """Listens, and says when each message came."""

    def __init__(self, port: int) -> None:
        connection = HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_SECONDS)
        connection.request("GET", "/api/events", headers={"Authorization": f"Bearer {TOKEN}", "Connection": "close"})
        self._answer: HTTPResponse = connection.getresponse()
        if self._answer.status != 200:
            raise NotMeasuredError(f"the server answers {self._answer.status}")
        self._next()

    def wait(self, item: str) -> int:
        """Wait for the message of an item, and return when it had come, in nanoseconds."""
        while self._next().get("item") != item:
            pass
        return time.monotonic_ns()

    def _next(self) -> dict[str, object]:
        while not (line := self._answer.readline()).startswith(b"data: "):
            if not line:
                raise NotMeasuredError("the server ended a stream")
        data: dict[str, object] = json.loads(line.removeprefix(b"data: "))
        return data

    def __enter__(self) -> _Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self._answer.close()


class Writer:
    """The other process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout
        self._count = 0

    def write(self) -> tuple[str, int]:
        """Write a note there, and return its short id, and when the write had returned, in nanoseconds."""
        self._count += 1
        self._in.write(f"note {self._count} of the other process\n")
        self._in.flush()
        item, written = self._out.readline().split()
        return item, int(written)


class _Server:
    """The server's process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout
        said = self._out.readline().strip()
        if not said:
            raise NotMeasuredError("the server does not start here")
        self.port = int(said)

    def processor_ns(self) -> int:
        """Return how much processor time it has taken so far, in nanoseconds."""
        self._in.write("\n")
        self._in.flush()
        return int(self._out.readline())


@contextmanager
def _server(file: Path) -> Iterator[_Server]:
    command = [sys.executable, "-m", "benchmarks.event_server", str(file), "bench"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
        env=clean_environment(),
    ) as process:
        yield _Server(process)
        assert process.stdin is not None
        process.stdin.close()


@contextmanager
def another_process(file: Path) -> Iterator[Writer]:
    command = [sys.executable, "-c", _WRITER, str(file)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_environment()
    ) as process:
        yield Writer(process)
        assert process.stdin is not None
        process.stdin.close()


def _delays(writer: Writer, listeners: list[_Listener], rounds: int) -> Samples:
    """Return how long each of several writes took to the last listener, in milliseconds."""
    chance = random.Random("events")
    taken = []
    for _ in range(rounds):
        time.sleep(chance.random() / 5)
        item, written = writer.write()
        came = max(listener.wait(item) for listener in listeners)
        taken.append(max(0, came - written) / 1_000_000)
    return Samples(tuple(taken))


def _share(server: _Server, seconds: int) -> float:
    """Return the processor time of the server over a while, in percent of one core."""
    before, began = server.processor_ns(), time.monotonic_ns()
    time.sleep(seconds)
    return 100 * (server.processor_ns() - before) / (time.monotonic_ns() - began)


def _write_steadily(writer: Writer, stop: threading.Event) -> None:
    while not stop.wait(1 / _WRITES_PER_SECOND):
        writer.write()
