"""The MCP server over stdio beside an echo tool on the official SDK's server: start, memory, round trips."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack

from benchmarks.content import notes, open_filled
from benchmarks.harness import ROOT, Bench, Figure, Samples, Section, interleave, timed
from benchmarks.raw_client import RawClient
from benchmarks.start_up import clean_environment, satchel_command

_HELD = 200
_PAGE = {"limit": 20}


def run(bench: Bench) -> Section:
    """Start both servers in turn, then call both in turn."""
    satchel = satchel_command()
    file = bench.folder / "store.db"
    open_filled(file, notes(_HELD)).close()

    def start_satchel() -> RawClient:
        command = [
            satchel,
            "mcp",
            "--toolsets",
            "all",
            "--db",
            str(file),
            "--project",
            "bench",
            "--run",
            "bench",
            "--agent",
            "bencher",
        ]
        return RawClient(command, clean_environment(), bench.folder)

    def start_echo() -> RawClient:
        return RawClient([sys.executable, "-m", "benchmarks.echo_server"], clean_environment(), ROOT)

    bench.progress.say("cold starts")
    ours, theirs = _cold_starts(start_satchel, start_echo, bench.choose(20, 4))
    bench.progress.say("round trips")
    return Section(
        "The MCP server over stdio",
        (
            timed("cold start to the first tool result", ours, theirs, "SDK echo", at_most=120),
            *_round_trips(start_satchel, start_echo, bench.choose(1_000, 100)),
        ),
        (
            "One raw client drives both servers in turn, in the 2026-07-28 revision. The baseline is a tool that "
            "echoes a note's text on the official SDK's low-level server. A read returns the newest notes of the store "
            f"with their total, compactly; a write is durable. The store held {_HELD} notes at the start. Memory is "
            "measured after all calls.",
        ),
    )


def _cold_starts(
    start_satchel: Callable[[], RawClient], start_echo: Callable[[], RawClient], rounds: int
) -> tuple[Samples, Samples]:
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        with start_satchel() as client:
            client.call("read_context", _PAGE)
            ours.append(client.milliseconds_since_start())
        with start_echo() as client:
            client.call("echo", {"text": "hello"})
            theirs.append(client.milliseconds_since_start())
    return Samples(tuple(ours)), Samples(tuple(theirs))


def _round_trips(
    start_satchel: Callable[[], RawClient], start_echo: Callable[[], RawClient], rounds: int
) -> list[Figure]:
    fresh = notes(rounds + 20, "stdio")
    with ExitStack() as stack:
        ours, theirs = stack.enter_context(start_satchel()), stack.enter_context(start_echo())
        taken = interleave(
            {
                "read 20": lambda _: ours.call("read_context", _PAGE),
                "echo": lambda number: theirs.call("echo", {"text": fresh[number].content}),
                "read 1": lambda _: ours.call("read_context", {"limit": 1}),
                "write": lambda number: ours.call("write_context", fresh[number].arguments()),
            },
            rounds,
            warm_up=20,
        )
        memory = ours.memory_mb(), theirs.memory_mb()
    echo = taken["echo"]
    figures = [
        timed("round trip of a read, 20 notes", taken["read 20"], echo, "SDK echo", at_most=0.5),
        timed("round trip of a read, 1 note", taken["read 1"], echo, "SDK echo", at_most=0.5),
        timed("round trip of a write", taken["write"], echo, "SDK echo"),
    ]
    if memory[0] is not None and memory[1] is not None:
        figures += (
            Figure("memory (VmRSS)", memory[0][0], "MB", None, memory[1][0], "SDK echo", at_most=30),
            Figure("most memory ever (VmHWM)", memory[0][1], "MB", None, memory[1][1], "SDK echo", at_most=30),
        )
    return figures
