"""How fast the servers are: rounds of starts, searches and writes, each round every server in turn."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from benchmarks.rivals.servers import Client, Home, note
from benchmarks.rivals.table import Cell, Rows

HELD = 1_000
_FILL_SECONDS = 90
_CALLS = 10
_CLIENTS = 4
_WRITES_OF_EACH = 25


@dataclass
class _Figures:
    held: int = 0
    start: list[float] = field(default_factory=list)
    write: list[float] = field(default_factory=list)
    search: list[float] = field(default_factory=list)
    together: list[float] = field(default_factory=list)
    together_writes: int = 0
    lost: int = 0
    megabytes: list[float] = field(default_factory=list)
    listing: Sequence[Mapping[str, object]] = ()
    note_bytes: float = 0
    next: int = 0


def measure(homes: Sequence[Home], rounds: int, held: int = HELD) -> Rows:
    """Fill each server's store, then measure round by round.

    Returns:
        Medians over all rounds.
    """
    figures = {home.rival.name: _Figures() for home in homes}
    for home in homes:
        _fill(home, figures[home.rival.name], held)
    for number in range(rounds):
        # each round begins with another one
        for at in range(len(homes)):
            home = homes[(at + number) % len(homes)]
            _round(home, figures[home.rival.name])
    return _rows(figures)


def _fill(home: Home, figures: _Figures, held: int) -> None:
    with Client(home) as client:
        figures.listing = [
            {name: tool.get(name) for name in ("name", "description", "inputSchema")}
            for tool in client.ask("tools/list", {})["tools"]
        ]
    empty = _bytes(home)
    with Client(home) as client:
        until = time.monotonic() + _FILL_SECONDS
        while figures.next < held and time.monotonic() < until:
            _write(client, figures)
    figures.held = figures.next
    figures.note_bytes = (_bytes(home) - empty) / figures.held


def _bytes(home: Home) -> int:
    return sum(path.stat().st_size for path in home.files())


def _write(client: Client, figures: _Figures) -> None:
    client.write(figures.next)
    figures.next += 1


def _round(home: Home, figures: _Figures) -> None:
    with Client(home) as client:
        client.search("timeout of the upload")
        figures.start.append((time.perf_counter() - client.started) * 1e3)
        figures.write += [_milliseconds(lambda: _write(client, figures)) for _ in range(_CALLS)]
        for number in range(_CALLS):
            words = " ".join(note(number + len(figures.search)).split()[1:4])
            figures.search.append(_milliseconds(lambda words=words: client.search(words)))  # type: ignore[misc]
        figures.megabytes.append(client.resident_mb())
    _write_together(home, figures)


def _milliseconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


def _write_together(home: Home, figures: _Figures) -> None:
    numbers = range(figures.next, figures.next + _CLIENTS * _WRITES_OF_EACH)
    figures.next = numbers.stop
    outcome = write_together(home, _CLIENTS, numbers)
    figures.together.append(len(outcome.acknowledged) / outcome.seconds)
    figures.together_writes += len(numbers)
    figures.lost += len(numbers) - len(outcome.acknowledged) + len(outcome.lost)


@dataclass(frozen=True)
class Outcome:
    """What became of notes that several servers wrote at once.

    Attributes:
        acknowledged: the notes that were.
        lost: those of them that are not found afterwards.
        refusals: why the others were not written.
    """

    acknowledged: Sequence[int]
    lost: Sequence[int]
    refusals: Sequence[str]
    seconds: float


def write_together(home: Home, servers: int, numbers: range) -> Outcome:
    """Write notes by several servers at once, then look for those that were acknowledged."""
    acknowledged: list[int] = []
    refusals: list[str] = []
    with ThreadPoolExecutor(servers) as pool:

        def begin(_: int) -> Client | None:
            try:
                return Client(home)
            except RuntimeError as error:
                refusals.append(f"a server does not start: {error}")
                return None

        clients = list(pool.map(begin, range(servers)))

        def write(at: int) -> None:
            client = clients[at]
            if client is None:
                return
            for number in numbers[at::servers]:
                try:
                    client.write(number)
                    acknowledged.append(number)
                except RuntimeError as error:
                    refusals.append(str(error))

        start = time.perf_counter()
        list(pool.map(write, range(servers)))
        seconds = time.perf_counter() - start
        for client in filter(None, clients):
            client.__exit__(None, None, None)
    with Client(home) as client:
        return Outcome(acknowledged, client.missing(acknowledged), refusals, seconds)


def _rows(every: Mapping[str, _Figures]) -> Rows:
    from satchel.base.tokens import token_counter

    count = token_counter("o200k_base").count

    def tokens(one: _Figures) -> int:
        return count(json.dumps(one.listing, separators=(",", ":")))

    def times(values: Callable[[_Figures], Sequence[float]]) -> dict[str, Cell]:
        medians = {name: statistics.median(values(one)) for name, one in every.items()}
        return {name: Cell(f"{ms:,.0f}" if ms >= 100 else f"{ms:.1f}", round(ms, 1)) for name, ms in medians.items()}

    def whole(value: Callable[[_Figures], float], sign: int = 1) -> dict[str, Cell]:
        return {name: Cell(f"{value(one):,.0f}", sign * round(value(one))) for name, one in every.items()}

    return {
        "tools; tokens of their listing": {
            name: Cell(f"{len(one.listing)}; {tokens(one):,}", tokens(one)) for name, one in every.items()
        },
        "start to the first answer, ms": whole(lambda one: statistics.median(one.start)),
        "a write, ms": times(lambda one: one.write),
        "a search for 10, ms": times(lambda one: one.search),
        "notes held before the first round": {name: Cell(f"{one.held:,}") for name, one in every.items()},
        f"{_CLIENTS} servers write at once: notes a second": whole(lambda one: statistics.median(one.together), -1),
        f"{_CLIENTS} servers write at once: refused or not found afterwards": {
            name: Cell(f"{one.lost} of {one.together_writes}", one.lost) for name, one in every.items()
        },
        "resident memory, MB": whole(lambda one: statistics.median(one.megabytes)),
        "bytes on disk for a note": whole(lambda one: one.note_bytes),
    }
