"""The goals for speed: each figure beside its baseline, measured in the same run."""

from __future__ import annotations

import json
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path

from benchmarks import fairness
from benchmarks.bare import BareStore, prepared
from benchmarks.content import notes, open_filled
from benchmarks.harness import Bench, Figure, Samples, Section, interleave, timed
from benchmarks.hosts import starter
from benchmarks.raw_client import RawClient
from benchmarks.serving import PROJECT, JsonClient, ServedStore
from benchmarks.start_up import clean_environment, satchel_command
from satchel.find import meaning

_WORDS = ("parser cache", "worker token", "scheduler retries", "queue", "lock timeouts")
_BESIDE = "python -c pass"
_MANY, _CLIENTS, _HTTP_CLIENTS, _EACH = 8, 4, 16, 200


def run(bench: Bench) -> Section:
    """Measure all figures; stores of a million items are left to the families for them."""
    figures: list[Figure] = []
    for part, measure in (
        ("writes", _writes),
        ("writers", _writers),
        ("reads", _reads),
        ("starts", _starts),
        ("server", _server),
        ("meaning", _meaning),
    ):
        bench.progress.say(part)
        folder = bench.folder / part
        folder.mkdir()
        figures += measure(bench, folder)
    return Section(
        "Goals for speed",
        tuple(figures),
        (
            "Ratios judge: a figure and its baseline are sampled in turn. The bare row is durable too, in a store with "
            "the same tables. Processes are timed from their start to their end or first answer, bytecode compiled. "
            "All but the rows on `search.meaning` is measured without what the extras `meaning` and `minilm` add.",
        ),
    )


def _mcp(file: Path, folder: Path, model: str = "off") -> RawClient:
    where = ["--db", str(file), "--project", PROJECT, "--agent", "bencher"]
    environment = clean_environment() | {"SATCHEL_SEARCH_MEANING": model}
    return RawClient([satchel_command(), "mcp", "--toolsets", "all", *where], environment, folder)


def _writes(bench: Bench, folder: Path) -> list[Figure]:
    rounds = bench.choose(400, 30)
    first, *fresh = notes(rounds + 1, "library")
    with open_filled(folder / "library.db", notes(1_000)) as satchel:
        satchel.entries.write(first.type, first.content)
        began = time.process_time()
        for note in fresh:
            satchel.entries.write(**note.arguments())
        took = (time.process_time() - began) / rounds * 1_000
    return [
        *(_written(folder, size, rounds) for size in (1_000, bench.choose(10_000, 1_500))),
        Figure("processor time of a write, library", took, "ms", at_most=0.7),
    ]


def _written(folder: Path, size: int, rounds: int) -> Figure:
    fresh = notes(rounds + 20, f"fresh {size}")
    ready = prepared(fresh)
    file = folder / f"{size}.db"
    open_filled(file, notes(size)).close()
    with _mcp(file, folder) as client, BareStore(folder / f"bare-{size}.db", with_text=False) as bare:
        bare.fill(notes(size))
        taken = interleave(
            {
                "ours": lambda number: client.call("write_context", fresh[number].arguments()),
                "bare": lambda number: bare.write(ready[number]),
            },
            rounds,
            20,
        )
    return timed(f"write over stdio, {size:,} notes", taken["ours"], taken["bare"], "bare row", ratio_at_most=4)


def _writers(bench: Bench, folder: Path) -> list[Figure]:
    ours, bare = fairness.race_both(folder, _MANY, bench.choose(3, 1))
    share = ours.per_second / bare.per_second
    with ExitStack() as stack:
        clients = [stack.enter_context(_mcp(folder / "clients.db", folder)) for _ in range(_CLIENTS)]
        each = bench.choose(_EACH, 10)
        together = _at_once([_caller(client.call, number, each) for number, client in enumerate(clients)])
    return [
        Figure(f"{_MANY} writers, share of the rate of bare rows with text", share, at_least=0.45),
        Figure(f"{_MANY} writers, slowest / fastest", ours.evenness, at_least=0.9),
        Figure(f"{_CLIENTS} clients x {each} over stdio", _CLIENTS * each / together, "/s"),
    ]


def _caller(call: Callable[[str, Mapping[str, object]], object], number: int, each: int) -> Callable[[], None]:
    made = notes(each + 1, f"client {number}")
    call("write_context", made[each].arguments())

    def write_all() -> None:
        for note in made[:each]:
            call("write_context", note.arguments())

    return write_all


def _at_once(all_of: list[Callable[[], None]]) -> float:
    began = time.perf_counter()
    with ThreadPoolExecutor(len(all_of)) as pool:
        for done in [pool.submit(one) for one in all_of]:
            done.result()
    return time.perf_counter() - began


def _reads(bench: Bench, folder: Path) -> list[Figure]:
    sizes = (100, 1_000, bench.choose(100_000, 2_000))
    taken = {size: _read(folder / f"{size}.db", size, bench.choose(60, 10)) for size in sizes}
    smaller, largest = (taken[size]["brief"] for size in sizes[1:])
    return [
        *(figure for size in sizes for figure in _read_figures(f"{size:,} items", taken[size])),
        timed(f"briefing with a query, {sizes[2]:,} items", largest, smaller, "at 1,000", ratio_at_most=2.2),
    ]


def _read(file: Path, size: int, rounds: int) -> dict[str, Samples]:
    with open_filled(file, notes(size)) as satchel, _mcp(file, file.parent) as client:

        def words(number: int) -> str:
            return _WORDS[number % len(_WORDS)]

        return interleave(
            {
                "search": lambda number: satchel.finding.search(words(number), limit=10),
                "read": lambda number: satchel.entries.read(query=words(number), limit=10),
                "list": lambda _: satchel.finding.search(limit=20),
                "newest": lambda _: satchel.entries.read(limit=20),
                "titles": lambda number: client.call("search", {"query": words(number), "detail": "titles"}),
                "full": lambda number: client.call("search", {"query": words(number), "detail": "full"}),
                "brief": lambda number: satchel.brief(query=words(number), dry_run=True),
            },
            rounds,
            5,
        )


def _read_figures(of: str, taken: Mapping[str, Samples]) -> list[Figure]:
    return [
        timed(f"search, {of}", taken["search"], taken["read"], "read of the same words", ratio_at_most=1.2),
        timed(f"list by search, {of}", taken["list"], taken["newest"], "list by read", ratio_at_most=1.2),
        timed(f"titles, {of}", taken["titles"], taken["full"], "whole texts", ratio_at_most=1),
        timed(f"briefing with a query, {of}", taken["brief"], taken["search"], "search", ratio_at_most=4),
    ]


def _starts(bench: Bench, folder: Path) -> list[Figure]:
    file = folder / "store.db"
    with open_filled(file, notes(1_000)):
        pass
    environment = clean_environment() | {
        "SATCHEL_DB": str(file),
        "SATCHEL_PROJECT": PROJECT,
        "SATCHEL_HOOKS_DEADLINE_MS": "60000",
        "XDG_STATE_HOME": str(folder / "state"),
    }
    satchel, numbers = satchel_command(), count()

    def hook(name: str) -> Callable[[int], object]:
        def event() -> bytes:
            told = {"hook_event_name": name, "source": "startup", "session_id": f"goal-{next(numbers)}"}
            return json.dumps(told | {"prompt": "mend the parser", "tool_name": "Edit"}).encode()

        return starter([satchel, "hook", "claude", name], environment, folder, event)

    def list_tools(_: int) -> None:
        with RawClient([satchel, "mcp"], environment, folder) as client:
            client.initialize()
            client.ask("tools/list", {})

    commands = {name: [satchel, name, *words] for name, words in (("who", []), ("search", ["cache"]))}
    hooks = ("SessionStart", "PreToolUse", "UserPromptSubmit")
    taken = interleave(
        {
            "bare": starter([sys.executable, "-c", "pass"], environment, folder),
            "mcp": list_tools,
            **{name: hook(name) for name in hooks},
            **{name: starter(command, environment, folder) for name, command in commands.items()},
            "write": lambda number: starter([satchel, "write", f"note {number} of starts"], environment, folder)(0),
        },
        bench.choose(30, 4),
        1,
    )
    with RawClient([satchel, "mcp"], environment, folder) as client:
        client.initialize()
        client.call("search", {"limit": 20})
        memory = (client.memory_mb() or (0.0, 0.0))[0]
    goals = {"SessionStart": 4.5, "PreToolUse": 4, "UserPromptSubmit": 4, "mcp": 3.5, "who": 6, "search": 6, "write": 6}
    names = {name: f"hook {name}" for name in hooks} | {"mcp": "`satchel mcp` to tools/list"}
    return [
        *(
            timed(names.get(name, f"`satchel {name}`"), taken[name], taken["bare"], _BESIDE, ratio_at_most=goal)
            for name, goal in goals.items()
        ),
        Figure("memory of a server after its first answers", memory, "MB", at_most=25),
    ]


def _meaning(bench: Bench, folder: Path) -> list[Figure]:
    # what the extras cost, which nobody pays before the first search
    file, rounds = folder / "store.db", bench.choose(60, 10)
    open_filled(file, notes(1_000)).close()
    choices = [choice for choice in meaning.MODELS if meaning.is_installed(choice)]
    figures: list[Figure] = []
    with ExitStack() as stack:
        clients = {choice: stack.enter_context(_mcp(file, folder, choice)) for choice in ("off", *choices)}
        taken = interleave({choice: _searching(client) for choice, client in clients.items()}, rounds, len(_WORDS))
        for choice in choices:
            of = f"search over stdio, 1,000 items, `search.meaning = {choice}`"
            figures.append(timed(of, taken[choice], taken["off"], "off"))
            memory = (clients[choice].memory_mb() or (0.0, 0.0))[0]
            figures.append(Figure(f"memory of a server that has searched, `search.meaning = {choice}`", memory, "MB"))
    return figures


def _searching(client: RawClient) -> Callable[[int], object]:
    return lambda number: client.call("search", {"query": _WORDS[number % len(_WORDS)]})


def _server(bench: Bench, folder: Path) -> list[Figure]:
    file, rounds, each = folder / "store.db", bench.choose(300, 20), bench.choose(50, 5)
    open_filled(file, notes(1_000)).close()
    bare = starter([sys.executable, "-c", "pass"], clean_environment(), folder)
    starts: list[float] = []

    def start(number: int) -> None:
        own = folder / f"start-{number}"
        own.mkdir()
        began = time.perf_counter()
        with ServedStore(file, own) as served, urllib.request.urlopen(f"{served.url}/health") as answer:
            answer.read()
            starts.append((time.perf_counter() - began) * 1_000)

    beside = interleave({"serve": start, "bare": bare}, bench.choose(5, 1))["bare"]
    fresh = notes(2 * rounds + 40, "served")
    with ServedStore(file, folder) as served, _mcp(file, folder) as stdio:
        own = JsonClient(served.port, served.token())
        taken = interleave(
            {
                "http": lambda number: own.call("write_context", fresh[2 * number].arguments()),
                "stdio": lambda number: stdio.call("write_context", fresh[2 * number + 1].arguments()),
            },
            rounds,
            20,
        )
        clients = [JsonClient(served.port, served.token()) for _ in range(_HTTP_CLIENTS)]
        alone = _at_once([_caller(own.call, _HTTP_CLIENTS, each * 4)])
        together = _at_once([_caller(client.call, number, each) for number, client in enumerate(clients)])
        for client in (own, *clients):
            client.close()
    times = (_HTTP_CLIENTS * each / together) / (4 * each / alone)
    return [
        timed("`satchel serve` to /health", Samples(tuple(starts)), beside, _BESIDE, ratio_at_most=32),
        timed("write over HTTP", taken["http"], taken["stdio"], "write over stdio", ratio_at_most=1.5),
        Figure(f"writes of {_HTTP_CLIENTS} clients, times those of one", times, at_least=3),
    ]
