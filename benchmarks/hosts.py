"""What hosts start, beside a bare interpreter: a server until it has answered a call, and hooks, alone and at once."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.briefing import open_project
from benchmarks.harness import Bench, Figure, Samples, Section, interleave, timed
from benchmarks.raw_client import RawClient
from benchmarks.start_up import clean_environment, satchel_command

_AT_ONCE = 8
_BARE = [sys.executable, "-c", "pass"]
_SERVER_RATIO, _SERVER_MB = 6, 25
_SILENT_RATIO, _BRIEFING_RATIO = 3, 9
_SILENT_AT_ONCE_RATIO, _BRIEFING_AT_ONCE_RATIO = 4, 10


def run(bench: Bench) -> Section:
    """Start a server and hooks in turn with a bare interpreter, over a hundred thousand records."""
    satchel = satchel_command()
    with open_project(bench) as opened:
        file = opened.place.file
    environment = clean_environment() | {
        "SATCHEL_DB": str(file),
        "SATCHEL_PROJECT": "bench",
        "SATCHEL_HOOKS_DEADLINE_MS": "60000",
        "XDG_STATE_HOME": str(bench.folder / "state"),
    }
    numbers = itertools.count()

    def event(name: str) -> bytes:
        said = {"hook_event_name": name, "source": "startup", "session_id": f"bench-{next(numbers)}"}
        return json.dumps(said).encode()

    hooks = {
        "silent": ([satchel, "hook", "claude", "PreToolUse"], lambda: event("PreToolUse")),
        "briefing": ([satchel, "hook", "claude", "SessionStart"], lambda: event("SessionStart")),
        "bare": (_BARE, bytes),
    }
    memory: list[float] = []

    def serve(_: int) -> float:
        with RawClient([satchel, "mcp"], environment, bench.folder) as client:
            client.initialize()
            client.call("search", {"limit": 20})
            took = client.milliseconds_since_start()
            memory.append((client.memory_mb() or (0.0, 0.0))[1])
            return took

    bench.progress.say("what hosts start")
    alone = {name: starter(command, environment, bench.folder, given) for name, (command, given) in hooks.items()}
    served: list[float] = []
    one = interleave(alone | {"server": lambda number: served.append(serve(number))}, bench.choose(40, 5))
    together = {name: at_once(run_one, _AT_ONCE) for name, run_one in alone.items()}
    eight = {
        name: Samples(tuple(itertools.chain.from_iterable(times)))
        for name, times in _collected(together, bench.choose(15, 2)).items()
    }
    beside = "python -c pass"
    return Section(
        "What hosts start",
        (
            timed(
                "`satchel mcp` to its first tool result",
                Samples(tuple(served)),
                one["bare"],
                beside,
                ratio_at_most=_SERVER_RATIO,
            ),
            Figure("its memory then, at most", max(memory), "MB", at_most=_SERVER_MB),
            timed("a hook that stays silent", one["silent"], one["bare"], beside, ratio_at_most=_SILENT_RATIO),
            timed("a hook that briefs", one["briefing"], one["bare"], beside, ratio_at_most=_BRIEFING_RATIO),
            _p95("silent", eight, _SILENT_AT_ONCE_RATIO),
            _p95("briefing", eight, _BRIEFING_AT_ONCE_RATIO),
        ),
        (
            "Wall time of whole processes over a store of 100,000 records, bytecode compiled; the server is timed from "
            "its start over `initialize` to the answer of `search`. Each hook tells of a session of its own.",
        ),
    )


def starter(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, given: Callable[[], bytes] = bytes
) -> Callable[[int], object]:
    """Return what runs a command to its end.

    Args:
        given: makes what stands on its standard input.
    """
    return lambda _: subprocess.run(
        command,
        input=given(),
        env=environment,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )


def at_once(run_one: Callable[[int], object], count: int) -> Callable[[], list[float]]:
    """Return what runs a command so many times at once and says how long each took, in milliseconds."""
    from concurrent.futures import ThreadPoolExecutor
    from time import perf_counter

    def one(number: int) -> float:
        began = perf_counter()
        run_one(number)
        return (perf_counter() - began) * 1_000

    def run_all() -> list[float]:
        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(one, range(count)))

    return run_all


def _collected(runs: Mapping[str, Callable[[], list[float]]], rounds: int) -> dict[str, list[list[float]]]:
    taken: dict[str, list[list[float]]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run_all in runs.items():
            taken[name].append(run_all())
    return taken


def _p95(name: str, taken: Mapping[str, Samples], ratio: float) -> Figure:
    return Figure(
        f"eight hooks at once, {name}: p95",
        taken[name].p95,
        "ms",
        baseline=taken["bare"].p95,
        beside="eight bare ones",
        ratio_at_most=ratio,
    )
