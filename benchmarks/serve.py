"""``satchel serve`` beside what it replaces: writers at once, round trips, memory over many requests, and hooks."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from uuid import uuid4

import apsw

from benchmarks.content import Note, notes, open_filled
from benchmarks.harness import Bench, Figure, Samples, Section, interleave, timed
from benchmarks.raw_client import RawClient
from benchmarks.serving import PROJECT, JsonClient, ServedStore
from benchmarks.start_up import clean_environment, satchel_command
from satchel import open_satchel
from satchel.client import Satchel
from satchel.keep.sessions.caller import SERVER, Caller
from satchel.remote.service import open_server
from satchel.remote.where import Server

_HELD = 200
_CLIENTS, _PROCESSES = 32, 8
_LONGEST_WAIT_MS = 2_000
_READ_MORE_MS = 3
_IDLE_MB, _GROWTH_MB = 120, 2
_HOOK_MS = 400
_PATIENCE_SECONDS = 120
_BESIDE_PROCESSES = f"{_PROCESSES} x `satchel mcp`"

Call = Callable[[Mapping[str, object]], object]


def run(bench: Bench) -> Section:
    """Measure each beside the same without a server, in the same run."""
    figures: list[Figure] = []
    for part, measure in (("races", _races), ("reads", _reads), ("memory", _memory), ("hooks", _hooks)):
        bench.progress.say(part)
        folder = (bench.folder / part).resolve()
        folder.mkdir()
        figures += measure(bench, folder)
    return Section(
        "The server",
        tuple(figures),
        (
            f"Writers: {_CLIENTS} clients, each with a token of its own, write to one store through one `satchel "
            f"serve`, beside {_PROCESSES} `satchel mcp` processes that write as much to a store of their own; each "
            "kind in turn, each write durable. The local programs are Satchel's own client with its envelope, in "
            "threads. All run on this machine, so clients and server share its cores.",
            "Round trips: one raw client drives two `satchel mcp` in turn, over the same store. Hooks are whole "
            "processes; their processor time is without the server's.",
            "Memory: VmRSS of the server's process. Of the requests a third each is of local programs, MCP and plain "
            "JSON; half of them write.",
        ),
    )


@dataclass(frozen=True, slots=True)
class _Race:
    """What one kind of clients did together."""

    seconds: float
    waits: tuple[float, ...]


def _races(bench: Bench, folder: Path) -> list[Figure]:
    total, rounds = bench.choose(3_200, 320), bench.choose(3, 1)
    with ExitStack() as stack:
        kinds = _writers(folder, stack)
        written: dict[str, int] = dict.fromkeys(kinds, 0)
        races: dict[str, list[_Race]] = {name: [] for name in kinds}
        for number in range(rounds):
            for name, (_, clients) in kinds.items():
                bench.progress.say(f"writers, round {number + 1}: {name}")
                races[name].append(_race(clients, total // len(clients), f"{name}, round {number}"))
                written[name] += total // len(clients) * len(clients)
        lost = {name: _HELD + written[name] - _kept(kinds[name][0]) for name in kinds}
    figures = []
    for name, done in races.items():
        if name == _BESIDE_PROCESSES:
            continue
        for number, (ours, theirs) in enumerate(zip(done, races[_BESIDE_PROCESSES], strict=True)):
            figures.append(
                Figure(
                    f"{total:,} writes of {name}, {_HELD + number * total:,} notes before",
                    ours.seconds * 1_000,
                    "ms",
                    baseline=theirs.seconds * 1_000,
                    beside=_BESIDE_PROCESSES,
                    ratio_at_most=1,
                )
            )
        figures += [
            Figure(f"longest wait of {name}", max(map(_longest, done)), "ms", at_most=_LONGEST_WAIT_MS),
            Figure(f"writes lost of {name}", lost[name], "", None, lost[_BESIDE_PROCESSES], "beside", at_most=0),
        ]
    return figures


def _longest(race: _Race) -> float:
    return max(race.waits)


def _writers(folder: Path, stack: ExitStack) -> dict[str, tuple[Path, list[Call]]]:
    """Return the clients of each kind, with the file of the store that they write to."""
    files = {}
    for name in ("own", "plain", "programs"):
        (folder / name).mkdir()
        files[name] = folder / name / "store.db"
        open_filled(files[name], notes(_HELD)).close()
    own: list[Call] = [
        _writes_by(stack.enter_context(_local(files["own"], folder, f"bencher-{number}")))
        for number in range(_PROCESSES)
    ]
    plain_server = stack.enter_context(ServedStore(files["plain"], folder / "plain"))
    plain = [_plain(plain_server, stack) for _ in range(_CLIENTS)]
    programs_server = stack.enter_context(ServedStore(files["programs"], folder / "programs"))
    programs = [_program(programs_server, folder, stack) for _ in range(_CLIENTS)]
    return {
        _BESIDE_PROCESSES: (files["own"], own),
        f"{_CLIENTS} clients, plain JSON": (files["plain"], plain),
        f"{_CLIENTS} local programs": (files["programs"], programs),
    }


def _local(file: Path, folder: Path, agent: str = "bencher") -> RawClient:
    where = ["--db", str(file), "--project", PROJECT, "--agent", agent]
    return RawClient([satchel_command(), "mcp", "--toolsets", "all", *where], clean_environment(), folder)


def _writes_by(client: RawClient) -> Call:
    return lambda note: client.call("write_context", note)


def _plain(server: ServedStore, stack: ExitStack) -> Call:
    client = stack.enter_context(closing(JsonClient(server.port, server.token())))
    return lambda note: client.call("write_context", note)


def _program(server: ServedStore, folder: Path, stack: ExitStack) -> Call:
    opened = _open_program(server, folder)
    stack.callback(opened.close)
    assert opened.remote is not None
    call = opened.remote.call
    return lambda note: call("write_context", asks_notice={}, **note)


def _open_program(server: ServedStore, folder: Path) -> Satchel:
    """Open the served store as the local program of a client of its own does."""
    caller = Caller(SERVER, {})
    caller.set_client("claude-code", "1")
    caller.set_session_id(str(uuid4()))
    environ = server.of_clients()
    named = Server(server.url, environ["SATCHEL_TOKEN"], "the benchmark")
    return open_server(named, folder, environ, None, None, None, False, None, caller)


def _race(clients: Sequence[Call], each: int, seed: str) -> _Race:
    """Let all clients write so many notes each, and say how long every write took, in milliseconds."""
    barrier = threading.Barrier(len(clients) + 1)
    waits: list[list[float]] = [[] for _ in clients]
    failed: list[Exception] = []

    def write(number: int, call: Call) -> None:
        try:
            mine = [_arguments(note) for note in notes(each, f"{seed}, client {number}")]
            barrier.wait(_PATIENCE_SECONDS)
            for one in mine:
                began = time.perf_counter()
                call(one)
                waits[number].append((time.perf_counter() - began) * 1_000)
        except Exception as error:  # noqa: BLE001 -- it is raised below
            failed.append(error)
            barrier.abort()

    threads = [threading.Thread(target=write, args=pair) for pair in enumerate(clients)]
    for thread in threads:
        thread.start()
    barrier.wait(_PATIENCE_SECONDS)
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - began
    if failed:
        raise failed[0]
    return _Race(took, tuple(wait for mine in waits for wait in mine))


def _arguments(note: Note) -> dict[str, object]:
    return {
        "type": note.type,
        "content": note.content,
        "task_id": note.task_id,
        "file": note.file,
        "line": note.line,
        "run_id": "bench",
    }


def _kept(file: Path) -> int:
    with closing(apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        return int(connection.execute("SELECT count(*) FROM context").get)


def _reads(bench: Bench, folder: Path) -> list[Figure]:
    """Time reads through `satchel mcp`, over the store itself and over a server of it."""
    file = folder / "store.db"
    open_filled(file, notes(_HELD)).close()
    with open_satchel(file, PROJECT, "bencher", cwd=folder, environ={}) as opened:
        for number in range(10):
            opened.constraints.add(f"rule {number}: every answer of the API names its unit")
    with ExitStack() as stack:
        server = stack.enter_context(ServedStore(file, folder))
        here = stack.enter_context(_local(file, folder))
        there = stack.enter_context(
            RawClient([satchel_command(), "mcp", "--toolsets", "all"], server.of_clients(), folder)
        )
        asked: dict[str, tuple[str, Mapping[str, object]]] = {
            "20 notes": ("read_context", {"limit": 20}),
            "10 constraints": ("get_constraints", {}),
        }
        calls = {
            f"{what} {place}": (lambda _, one=one, tool=tool, given=given: one.call(tool, given))
            for what, (tool, given) in asked.items()
            for place, one in (("here", here), ("there", there))
        }
        taken = interleave(calls, bench.choose(500, 60), warm_up=20)
    figures = []
    for what in asked:
        near, far = taken[f"{what} here"], taken[f"{what} there"]
        figures += [
            timed(f"round trip of a read over a server, {what}", far, near, "over the store"),
            Figure("of it for the server", far.median - near.median, "ms", at_most=_READ_MORE_MS),
        ]
    return figures


def _memory(bench: Bench, folder: Path) -> list[Figure]:
    """Hold the server's memory against what it was, over many requests of all kinds."""
    file = folder / "store.db"
    open_filled(file, notes(_HELD)).close()
    early, late = bench.choose(2_000, 200), bench.choose(10_000, 1_000)
    with ExitStack() as stack:
        server = stack.enter_context(ServedStore(file, folder))
        plain = [stack.enter_context(closing(JsonClient(server.port, server.token()))) for _ in range(4)]
        plain[0].call("read_context", {"limit": 1})
        idle = server.memory_mb()
        programs = [_open_program(server, folder) for _ in range(4)]
        for one in programs:
            stack.callback(one.close)
        made = iter(notes(late, "memory"))
        held = {}
        for number in range(late):
            note = _arguments(next(made))
            client = plain[number % 4]
            writes = number % 2 == 0
            if number % 3 == 0:
                remote = programs[number % 4].remote
                assert remote is not None
                if writes:
                    remote.call("write_context", asks_notice={}, **note)
                else:
                    remote.call("read_context", asks_notice={}, limit=20)
            elif number % 3 == 1:
                client.call_tool("write_context" if writes else "read_context", note if writes else {"limit": 20})
            else:
                client.call("write_context" if writes else "read_context", note if writes else {"limit": 20})
            if number + 1 in {early, late}:
                held[number + 1] = server.memory_mb()
        files = len([*Path(f"/proc/{server.process.pid}/fd").iterdir()])
    return [
        Figure("memory of an idle server after one request", idle, "MB", at_most=_IDLE_MB),
        Figure(f"memory after {late:,} requests", held[late], "MB", None, held[early], f"after {early:,}"),
        Figure("growth between them", held[late] - held[early], "MB", at_most=_GROWTH_MB),
        Figure("files that the server has open then", files),
    ]


def _hooks(bench: Bench, folder: Path) -> list[Figure]:
    """Run hooks as clients do, over the store itself, over a server of it, and beside a bare interpreter."""
    file = folder / "store.db"
    open_filled(file, notes(bench.choose(10_000, 1_000))).close()
    numbers = count()
    events: dict[str, Callable[[], dict[str, object]]] = {
        "UserPromptSubmit": lambda: {"prompt": f"the session cache drops its lock ({next(numbers)})"},
        "PreToolUse": lambda: {
            "tool_name": "Edit",
            "tool_use_id": f"t{next(numbers)}",
            "tool_input": {"file_path": str(folder / "src" / "a.py"), "old_string": "a", "new_string": "b"},
        },
    }
    with ServedStore(file, folder) as server:
        alike = {"HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "SATCHEL_TRUST": "1"}
        near = clean_environment() | alike | {"SATCHEL_DB": str(file), "SATCHEL_PROJECT": PROJECT}
        far = server.of_clients() | alike
        processor: dict[str, list[float]] = {}

        def hook(what: str, name: str, environment: Mapping[str, str]) -> Callable[[int], None]:
            def start(_: int) -> None:
                event = {"hook_event_name": name, "session_id": what, "cwd": str(folder), **events[name]()}
                command = [satchel_command(), "hook", "claude", name]
                processor.setdefault(what, []).append(_run(command, json.dumps(event).encode(), environment, folder))

            return start

        def bare(_: int) -> None:
            processor.setdefault("bare", []).append(_run([sys.executable, "-c", "pass"], b"", near, folder))

        started: dict[str, Callable[[int], object]] = {"bare": bare}
        for name in events:
            started[f"{name} near"] = hook(f"{name} near", name, near)
            started[f"{name} far"] = hook(f"{name} far", name, far)
        warm_up = 3
        taken = interleave(started, bench.choose(40, 8), warm_up=warm_up)
    used = {what: Samples(tuple(times[warm_up:])) for what, times in processor.items()}
    figures = []
    for name in events:
        far_one, near_one = f"{name} far", f"{name} near"
        figures += [
            timed(f"hook over a server: {name}", taken[far_one], taken[near_one], "over the store"),
            Figure(
                "p95 of it, within the deadline of hooks",
                taken[far_one].p95,
                "ms",
                baseline=taken["bare"].p95,
                beside="python -c pass",
                at_most=_HOOK_MS,
            ),
            timed("its processor time", used[far_one], used[near_one], "over the store"),
        ]
    return figures


def _run(command: Sequence[str], given: bytes, environment: Mapping[str, str], folder: Path) -> float:
    """Run a command to its end, and return the processor time that it took, in milliseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, input=given, env=environment, cwd=folder, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1_000
