"""Many processes that write into one store at once: how many writes, how evenly shared, and none lost."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

import apsw

from benchmarks.bare import BareStore, prepared
from benchmarks.content import notes, open_store
from benchmarks.harness import Bench, Figure, Section
from satchel.base.errors import SatchelError

_PATIENCE_SECONDS = 120


@dataclass(frozen=True, slots=True)
class _Tally:
    """What one process did between the barrier and the end."""

    written: int
    errors: int


@dataclass(frozen=True, slots=True)
class Race:
    """What all processes of one race did."""

    tallies: tuple[_Tally, ...]
    seconds: float
    lost: int

    @property
    def evenness(self) -> float:
        """The slowest writer's count divided by the fastest one's."""
        counts = [tally.written for tally in self.tallies]
        return min(counts) / max(counts)

    @property
    def per_second(self) -> float:
        """Durable writes per second of all together."""
        return sum(tally.written for tally in self.tallies) / self.seconds

    @property
    def errors(self) -> int:
        """Writes that failed."""
        return sum(tally.errors for tally in self.tallies)


Racer = Callable[[Path, float, "Barrier", "Queue[_Tally]"], None]


def run(bench: Bench) -> Section:
    """Race 8 and 16 processes, each race beside one of bare apsw with nothing but SQLite's busy timeout."""
    seconds = bench.choose(3, 1)
    figures: list[Figure] = []
    for processes in (8, 16):
        for repetition in range(1, bench.choose(2, 1) + 1):
            name = f"{processes} writers, repetition {repetition}"
            bench.progress.say(name)
            folder = bench.folder / f"{processes}-{repetition}"
            folder.mkdir()
            ours, bare = race_both(folder, processes, seconds)
            figures += (
                Figure(f"{name}: slowest / fastest", ours.evenness, "", None, bare.evenness, "bare", at_least=0.8),
                Figure(f"{name}: durable writes", ours.per_second, "/s", None, bare.per_second, "bare row and text"),
                Figure(f"{name}: errors", ours.errors, "", None, bare.errors, "bare", at_most=0),
                Figure(f"{name}: acknowledged writes lost", ours.lost, "", None, bare.lost, "bare", at_most=0),
            )
    return Section(
        "Many processes that write at once",
        tuple(figures),
        (
            f"Separate processes start from a barrier and write for {seconds} s, each write a durable transaction. The "
            "bare ones wait for each other with SQLite's busy timeout of 10 s alone.",
        ),
    )


def race_both(folder: Path, processes: int, seconds: float) -> tuple[Race, Race]:
    """Race so many processes of the library, then as many of bare apsw."""
    ours = _race(folder / "satchel.db", _satchel_racer, processes, seconds)
    return ours, _race(folder / "bare.db", _bare_racer, processes, seconds)


def _race(file: Path, racer: Racer, processes: int, seconds: float) -> Race:
    if racer is _satchel_racer:
        with open_store(file):
            pass
    else:
        with BareStore(file, with_text=True):
            pass
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(processes)
    results: Queue[_Tally] = context.Queue()
    racers = [context.Process(target=racer, args=(file, seconds, barrier, results)) for _ in range(processes)]
    for process in racers:
        process.start()
    tallies = tuple(results.get(timeout=_PATIENCE_SECONDS) for _ in racers)
    for process in racers:
        process.join(_PATIENCE_SECONDS)
    connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READWRITE)
    kept = connection.execute("SELECT count(*) FROM context").get
    connection.close()
    # each racer wrote one note before the barrier, so that opening the store is not part of the race
    return Race(tallies, seconds, sum(tally.written + 1 for tally in tallies) - kept)


def _satchel_racer(file: Path, seconds: float, barrier: Barrier, results: Queue[_Tally]) -> None:
    made = notes(500, f"racer {os.getpid()}")  # with the same notes, each would be compared with those of all others
    with open_store(file) as satchel:

        def write(number: int) -> None:
            arguments = made[number % len(made)].arguments()
            # equal notes would be counted as one
            satchel.entries.write(**{**arguments, "content": f"{arguments['content']} {number}"})

        results.put(_count(write, SatchelError, seconds, barrier))


def _bare_racer(file: Path, seconds: float, barrier: Barrier, results: Queue[_Tally]) -> None:
    made = prepared(notes(500))
    with BareStore(file, with_text=True) as store:
        results.put(
            _count(lambda number: store.write(made[number % len(made)]), apsw.BusyError, seconds, barrier),
        )


def _count(write: Callable[[int], None], refusal: type[Exception], seconds: float, barrier: Barrier) -> _Tally:
    write(-1)
    barrier.wait(_PATIENCE_SECONDS)
    written = errors = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            write(written)
        except refusal:
            errors += 1
        else:
            written += 1
    return _Tally(written, errors)
