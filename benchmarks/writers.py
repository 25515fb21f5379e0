"""Many clients that write to one project in PostgreSQL: through one ``satchel serve``, and each on its own."""

from __future__ import annotations

import json
import os
import re
import selectors
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psycopg

from benchmarks.content import Note, batches, notes
from benchmarks.harness import ROOT, Bench, Figure, Section
from benchmarks.postgresql import cluster
from benchmarks.serving import PROJECT, ServedStore
from benchmarks.start_up import clean_environment
from satchel import open_satchel
from satchel.interfaces.http.databases import store_of

_CLIENTS = 32
_FASTER, _LONGEST_WAIT_MS = 4, 2_000
_TICKS = os.sysconf("SC_CLK_TCK")
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)

Write = Callable[[int, str], "Race"]
"""Lets each of some clients write so many notes, made up from a seed."""


@dataclass(frozen=True, slots=True)
class Race:
    """What some clients did together.

    Attributes:
        seconds: how long all took.
        waits: how long each note took, in milliseconds.
    """

    seconds: float
    waits: tuple[float, ...]


@dataclass(slots=True)
class _Done:
    """What one kind of clients has done in all rounds, with the processor time that others took for it."""

    races: list[Race] = field(default_factory=list)
    processor: dict[str, float] = field(default_factory=dict)

    @property
    def written(self) -> int:
        return sum(len(race.waits) for race in self.races)

    @property
    def a_second(self) -> float:
        return statistics.median(len(race.waits) / race.seconds for race in self.races)


def run(bench: Bench) -> Section:
    """Let each kind of clients write in turn, round after round."""
    rounds, each, alone = bench.choose(5, 1), bench.choose(15, 3), bench.choose(150, 30)
    with ExitStack() as stack:
        url, _ = stack.enter_context(cluster(bench.folder / "pg"))
        postmaster = int((bench.folder / "pg" / "postmaster.pid").read_text(encoding="ascii").split()[0])
        of_server, of_programs = f"{url}&schema=served", f"{url}&schema=alone"
        held = bench.choose(2_000, 200)
        for schema in (of_server, of_programs):
            with open_satchel(schema, PROJECT, "bencher", PROJECT, cwd=bench.folder, environ={}) as satchel:
                satchel.runs.start(PROJECT)
                for batch in batches(notes(held, "held")):
                    satchel.entries.write_many([note.entry() for note in batch])
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ANALYZE")
        server = stack.enter_context(ServedDatabase(of_server, bench.folder))
        tokens = [server.token() for _ in range(_CLIENTS)]
        programs = stack.enter_context(closing(Programs(of_programs, _CLIENTS)))
        kinds: dict[str, tuple[Write, int]] = {
            "served": (CheapClients(server.port, tokens).write, each),
            "apart": (programs.write, each),
            "one served": (CheapClients(server.port, tokens[:1]).write, alone),
            "one apart": (programs.write_alone, alone),
        }
        watched: dict[str, Callable[[], float]] = {
            "server": lambda: processor_seconds(server.process.pid),
            "PostgreSQL": lambda: processor_seconds(postmaster),
            "clients": time.process_time,
            "programs": programs.seconds,
        }
        done = {name: _Done() for name in kinds}
        for number in range(-1, rounds):
            for name, (write, count) in kinds.items():
                bench.progress.say(f"round {number + 1} of {rounds}: {name}")
                before = {what: used() for what, used in watched.items()}
                race = write(count if number >= 0 else 2, f"{name} {number}")
                if number >= 0:
                    done[name].races.append(race)
                    for what, used in watched.items():
                        done[name].processor[what] = done[name].processor.get(what, 0) + used() - before[what]
    return Section(
        "Many writers in PostgreSQL",
        tuple(_figures(done)),
        (
            f"{_CLIENTS} clients write notes to one project, each the next as soon as its last is kept: through one "
            "`satchel serve` with a token each, all of them one process that sends prepared requests to the JSON API "
            f"over connections that stay open; and on their own, {_CLIENTS} processes of the library with a "
            "connection each, which queue at the project's row. Beside them one client of each kind writes alone. The "
            f"kinds take turns, server and programs each in a schema of their own that held {held:,} notes and was "
            "analyzed, as PostgreSQL does by itself within a minute. All commits are durable. Clients, server and "
            "PostgreSQL share the machine's cores.",
            "Processor time of PostgreSQL is that of all its processes.",
        ),
    )


def _figures(done: dict[str, _Done]) -> list[Figure]:
    served, apart = done["served"], done["apart"]
    times = statistics.median(
        (len(ours.waits) / ours.seconds) / (len(theirs.waits) / theirs.seconds)
        for ours, theirs in zip(served.races, apart.races, strict=True)
    )
    names = {
        "served": f"{_CLIENTS} clients of a server",
        "apart": f"{_CLIENTS} programs on their own",
        "one served": "one client of a server",
        "one apart": "one program on its own",
    }
    figures = [Figure(f"notes a second, {name}", done[kind].a_second) for kind, name in names.items()]
    figures += [
        Figure("through the server, times as many as on their own", times, at_least=_FASTER),
        Figure("through the server, times as many as one program", served.a_second / done["one apart"].a_second),
        Figure(
            f"longest wait, {names['served']}",
            _longest(served),
            "ms",
            baseline=_longest(apart),
            beside="on their own",
            at_most=_LONGEST_WAIT_MS,
        ),
    ]
    for kind, name in names.items():
        for what in ("server", "PostgreSQL", "clients") if "served" in kind else ("PostgreSQL", "programs"):
            used = done[kind].processor[what] / done[kind].written * 1_000
            figures.append(Figure(f"processor time of {what} for a note, {name}", used, "ms"))
    return figures


def _longest(done: _Done) -> float:
    return max(max(race.waits) for race in done.races)


class ServedDatabase(ServedStore):
    """A server of one database, in a process of its own.

    Args:
        url: of the database.
        folder: where its configuration, its tokens and its log lie.
    """

    def __init__(self, url: str, folder: Path) -> None:
        configuration = folder / "serve.toml"
        configuration.write_text(f"[databases.bench]\nurl = {json.dumps(url)}\n", encoding="utf-8")
        configuration.chmod(0o600)
        super().__init__(store_of("bench"), folder, ("--config", str(configuration)))


class CheapClients:
    """Clients of the JSON API in one process, as cheap as they can be: what they send is made before they begin.

    Args:
        port: the server's, on this machine.
        tokens: of each client.
    """

    def __init__(self, port: int, tokens: Sequence[str]) -> None:
        self._port = port
        self._tokens = tokens

    def write(self, each: int, seed: str) -> Race:
        """Write so many notes with each client, all at once.

        Raises:
            RuntimeError: the server refused one.
        """
        with ExitStack() as stack, selectors.DefaultSelector() as selector:
            clients = []
            for number, token in enumerate(self._tokens):
                reached = stack.enter_context(closing(socket.create_connection(("127.0.0.1", self._port))))
                reached.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                clients.append(
                    _Client(reached, [self._request(token, note) for note in notes(each, f"{seed} {number}")])
                )
                selector.register(reached, selectors.EVENT_READ, clients[-1])
            began = time.perf_counter()
            for client in clients:
                client.send()
            waits: list[float] = []
            while len(waits) < each * len(clients):
                for key, _ in selector.select():
                    waits += key.data.take()
            return Race(time.perf_counter() - began, tuple(waits))

    def _request(self, token: str, note: Note) -> bytes:
        body = json.dumps({**asdict(note), "run_id": PROJECT}).encode()
        head = (
            f"POST /api/write_context HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


class _Client:
    """One client: it sends the next request as soon as the last was answered.

    Args:
        reached: its connection.
        requests: what it sends.
    """

    def __init__(self, reached: socket.socket, requests: Sequence[bytes]) -> None:
        self._socket = reached
        self._left = iter(requests)
        self._answer = b""
        self._sent_at = 0.0

    def send(self) -> None:
        """Send the next request, if there is one."""
        request = next(self._left, None)
        if request is not None:
            self._sent_at = time.perf_counter()
            self._socket.sendall(request)

    def take(self) -> list[float]:
        """Take what has arrived; where that ends an answer, return how long it took, and go on."""
        arrived = self._socket.recv(65_536)
        self._answer += arrived
        head, ends, body = self._answer.partition(b"\r\n\r\n")
        size = _LENGTH.search(head)
        if arrived and not (ends and size is not None and len(body) == int(size[1])):
            return []
        if b" 200 " not in head.partition(b"\r\n")[0]:
            raise RuntimeError(f"the server answered {self._answer[:500]!r}")
        self._answer = b""
        took = (time.perf_counter() - self._sent_at) * 1_000
        self.send()
        return [took]


class Programs:
    """Processes of the library, each with an engine of its own.

    Args:
        url: of the database.
        count: how many.
    """

    def __init__(self, url: str, count: int) -> None:
        command = [sys.executable, "-m", "benchmarks.own_writer", url, PROJECT]
        self._all = [
            subprocess.Popen(
                [*command, f"bencher-{number}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=clean_environment(),
                cwd=ROOT,
                text=True,
            )
            for number in range(count)
        ]
        for one in self._all:
            _line(one)

    def seconds(self) -> float:
        """Return the processor time that they have taken."""
        return sum(processor_seconds(one.pid) for one in self._all)

    def write(self, each: int, seed: str) -> Race:
        """Write so many notes with each, all at once."""
        return self._race(self._all, each, seed)

    def write_alone(self, each: int, seed: str) -> Race:
        """Write so many notes with one of them."""
        return self._race(self._all[:1], each, seed)

    def close(self) -> None:
        """End them."""
        for one in self._all:
            one.communicate()

    def _race(self, writing: Sequence[subprocess.Popen[str]], each: int, seed: str) -> Race:
        for number, one in enumerate(writing):
            _tell(one, f"{each} {seed} {number}")
        for one in writing:
            _line(one)
        began = time.perf_counter()
        for one in writing:
            _tell(one, "go")
        waits = [wait for one in writing for wait in json.loads(_line(one))]
        return Race(time.perf_counter() - began, tuple(waits))


def _tell(program: subprocess.Popen[str], line: str) -> None:
    assert program.stdin is not None
    program.stdin.write(f"{line}\n")
    program.stdin.flush()


def _line(program: subprocess.Popen[str]) -> str:
    assert program.stdout is not None
    line = program.stdout.readline()
    if not line:
        raise RuntimeError(f"a program that writes has ended with status {program.wait()}")
    return line


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process and its children have taken, those that have ended among them."""
    whole = 0.0
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text(encoding="ascii").split():
            whole += processor_seconds(int(child))
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return whole + sum(map(int, fields[11:15])) / _TICKS
