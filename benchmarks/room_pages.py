"""Pages of the control room from a real server: how long and how large they are, and what live pages cost."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

from benchmarks.events import another_process
from benchmarks.harness import Bench, Figure, NotMeasuredError, Samples, interleave, timed
from benchmarks.room_paint import first_paint
from benchmarks.search_speed import vocabulary
from benchmarks.serving import PROJECT, ServedStore
from benchmarks.start_up import clean_environment
from satchel.base.clock import system_clock
from satchel.interfaces.web.logins import Logins

_MOST_MS, _MOST_KB, _SOON_MS, _PAINT_MS = 30, 120, 500, 300
_OPEN_PAGES, _IDLE_SHARE = 20, 5
_PATIENCE_SECONDS = 60.0
_STORM_PER_MINUTE, _AT_ONCE = 10_000, 10
_GAP_SECONDS = 1.0
"""The script loads the page so often at most while more comes."""

_STORM = f"""
import sys, time
from satchel import open_satchel
from satchel.keep.entries.records import NewEntry
with open_satchel(sys.argv[1], "{PROJECT}", agent="storm") as satchel:
    began = time.monotonic()
    for number in range(int(sys.argv[2]) // {_AT_ONCE}):
        notes = [NewEntry("discovery", f"storm {{number}} {{place}}") for place in range({_AT_ONCE})]
        satchel.entries.write_many(notes)
        time.sleep(max(0, began + (number + 1) * {_AT_ONCE} * 60 / {_STORM_PER_MINUTE} - time.monotonic()))
    print(satchel.messages.send("the last", to="human", agent="storm").ref, time.monotonic_ns())
"""


def _pages() -> dict[str, str]:
    """Return the pages by what they are called: the paths below the project."""
    common, medium, rare = vocabulary()[:4], vocabulary()[500], vocabulary()[30_000]

    def search(text: str, more: str = "") -> str:
        return f"memory?q={quote(text)}{more}"

    return {
        "the overview": "",
        "an item": "items/e5",
        "messages": "memory?kind=message",
        "a thread": "items/m1",
        "proposals": "proposals",
        "the form of a decision": "new?kind=decision",
        "decisions": "memory?kind=decision",
        "the memory, page 500": "memory?offset=9980",
        "search for a common word": search(common[0]),
        "search for a rare word": search(rare),
        "search for two words": search(f"{common[0]} {medium}"),
        "search for four common words": search(" ".join(common)),
        "search for a question": search(f"Why does the {medium} not {common[1]} when it is in a {rare}?"),
        "search for a path": search("src/d1/f1.py"),
        "search with AND": search(f"{common[0]} AND {common[1]}"),
        "search with NOT": search(f"{common[0]} NOT {medium}"),
        "search for a beginning": search("ba*"),
        "search for a phrase": search(f'"{common[0]} {common[1]}"'),
        "search, the 20th page": search(f"{common[0]} {medium}", "&offset=380"),
    }


def measure(bench: Bench, store: Path) -> tuple[list[Figure], tuple[str, ...]]:
    """Measure the pages of a store's project; return the figures, and what a reader must know."""
    with ServedStore(store, bench.folder) as server:
        visitor = Visitor(server)
        paths = {**_pages(), **visitor.others()}
        bench.progress.say("pages")
        looks = {what: partial(visitor.ask, path) for what, path in paths.items()}
        taken = interleave(looks, bench.choose(30, 5), warm_up=2)
        figures = [timed(f"answered: {what}", taken[what], at_most=_MOST_MS) for what in paths]
        bench.progress.say("processor time of pages")
        costs = {what: visitor.cost(path, bench.choose(20, 5)) for what, path in paths.items()}
        dearest = max(costs, key=costs.__getitem__)
        figures.append(Figure(f"processor time of the dearest: {dearest}", costs[dearest], "ms", at_most=_MOST_MS))
        largest = max(paths, key=lambda what: visitor.weigh(paths[what]))
        kilobytes = visitor.weigh(paths[largest]) / 1_000
        figures.append(Figure(f"the largest with all it loads: {largest}", kilobytes, "KB", at_most=_MOST_KB))
        bench.progress.say("from a write to the page")
        shown = _write_to_page(visitor, store, bench.choose(60, 5))
        figures.append(timed("from the write of another process to the page", shown, at_most=_SOON_MS))
        figures.append(Figure("the slowest of them", max(shown.values), "ms", at_most=_SOON_MS))
        figures += _costs(bench, visitor, store)
        painted = first_paint(server.url, visitor.new_link, f"/p/{PROJECT}/", bench.choose(10, 2))
        if painted is not None:
            figures.append(timed("first paint in Chromium", painted, at_most=_PAINT_MS))
    return figures, (
        "Pages are asked one after the other on one connection, so that what is measured is the server and the "
        "loopback; nothing is written meanwhile, so that counts of the last commit still hold. From the write to the "
        "page: a real writer has committed, until the stream of the page has said so and the page was loaded. An open "
        "page in the storm is loaded at most once a second, as the script does; processor shares are the server's, in "
        "percent of one core."
        + ("" if painted else " First paint was not measured: Chromium or Playwright is missing."),
    )


class Visitor:
    """A browser without a screen that is logged in."""

    def __init__(self, server: ServedStore) -> None:
        self.server = server
        self._logins = Logins(server.state / "satchel", system_clock)
        self._connection = HTTPConnection("127.0.0.1", server.port, timeout=_PATIENCE_SECONDS)
        self._headers = {"Accept": "text/html"}
        self._connection.request("GET", self.new_link(), headers=self._headers)
        answer = self._connection.getresponse()
        answer.read()
        self._headers["Cookie"] = answer.headers["Set-Cookie"].partition(";")[0]

    def new_link(self) -> str:
        """Return the path of a link of one use."""
        return f"/login?key={self._logins.new_link('bencher', self.server.port)}"

    def get(self, path: str) -> bytes:
        """Return what a path below the project answers, or another of the server."""
        where = path if path.startswith("/") else f"/p/{PROJECT}/{path}"
        self._connection.request("GET", where, headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise NotMeasuredError(f"{where} answers {answer.status}")
        return body

    def rest(self) -> None:
        """Let the next request come on a new connection: the server closes one that is idle for long."""
        self._connection.close()

    def ask(self, path: str, _round: int) -> None:
        """Do the same in a round of samples."""
        self.get(path)

    def others(self) -> dict[str, str]:
        """Return the pages that the overview leads to: those of the navigation, and that of an agent."""
        overview = self.get("").decode()
        links = re.findall(rf'<a href="/p/{PROJECT}/([a-z]+)" data-go', overview)
        agent = re.search(rf"/p/{PROJECT}/(agents/[0-9a-f]+)", overview)
        return {f"the page {path}": path for path in links} | ({"an agent": agent[1]} if agent else {})

    def cost(self, path: str, rounds: int) -> float:
        """Return the server's processor time for a page, in milliseconds."""
        before = self.processor_seconds()
        for _ in range(rounds):
            self.get(path)
        return 1_000 * (self.processor_seconds() - before) / rounds

    def weigh(self, path: str) -> int:
        """Return how many bytes a page has with all that it loads."""
        page = self.get(path)
        loaded = set(re.findall(r'(?:src|href)="(/static/[^"]+)"', page.decode()))
        return len(page) + sum(len(self.get(one)) for one in loaded)

    @contextmanager
    def listen(self) -> Iterator[Iterator[dict[str, object]]]:
        """Yield what the stream of the page says, from now on."""
        connection = HTTPConnection("127.0.0.1", self.server.port, timeout=_PATIENCE_SECONDS)
        connection.request("GET", f"/p/{PROJECT}/events", headers=self._headers | {"Accept": "text/event-stream"})
        answer = connection.getresponse()

        def said() -> Iterator[dict[str, object]]:
            while line := answer.readline():
                if line.startswith(b"data: "):
                    yield json.loads(line.removeprefix(b"data: "))

        told = said()
        next(told)
        yield told
        connection.close()

    def processor_seconds(self) -> float:
        """Return how much processor time the server has taken."""
        fields = Path(f"/proc/{self.server.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _write_to_page(visitor: Visitor, store: Path, rounds: int) -> Samples:
    chance = random.Random("room")
    taken = []
    with another_process(store) as writer, visitor.listen() as told:
        for _ in range(rounds):
            time.sleep(chance.random() / 5)
            item, written = writer.write()
            next(one for one in told if one.get("item") == item)
            visitor.get("")
            taken.append(max(0, time.monotonic_ns() - written) / 1_000_000)
    return Samples(tuple(taken))


def _costs(bench: Bench, visitor: Visitor, store: Path) -> list[Figure]:
    """Measure what open pages cost the server while nothing happens, and one while much does."""
    seconds = bench.choose(60, 5)
    bench.progress.say("idle pages")
    with ExitStack() as stack:
        for _ in range(_OPEN_PAGES):
            stack.enter_context(visitor.listen())
        before, began = visitor.processor_seconds(), time.monotonic()
        time.sleep(seconds)
        visitor.rest()
        # each is loaded once a minute
        for _ in range(_OPEN_PAGES * seconds // 60):
            visitor.get("")
        idle = 100 * (visitor.processor_seconds() - before) / (time.monotonic() - began)
    bench.progress.say("a storm of events")
    busy, late, loads = _storm(visitor, store, _STORM_PER_MINUTE * seconds // 60)
    return [
        Figure(f"processor share, {_OPEN_PAGES} open pages, idle", idle, "%", at_most=_IDLE_SHARE),
        Figure(f"processor share, one page, {_STORM_PER_MINUTE:,} events a minute", busy, "%"),
        Figure("the last of them to the page", late, "ms", at_most=_GAP_SECONDS * 1_000 + _SOON_MS),
        Figure("loads of the page a second meanwhile", loads, at_most=1),
    ]


def _storm(visitor: Visitor, store: Path, events: int) -> tuple[float, float, float]:
    """Return the server's share, the delay of the last event in milliseconds, and the loads a second."""
    due, last = threading.Event(), threading.Event()
    with visitor.listen() as told:

        def hear() -> None:
            for one in told:
                due.set()
                if one["kind"] == "message":
                    last.set()
                    return

        hearing = threading.Thread(target=hear)
        hearing.start()
        before, began = visitor.processor_seconds(), time.monotonic()
        loaded, loads = 0.0, 0
        command = [sys.executable, "-c", _STORM, str(store), str(events)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean_environment()) as process:
            while not last.is_set() or due.is_set():
                if due.is_set() and time.monotonic() >= loaded + _GAP_SECONDS:
                    due.clear()
                    loaded = time.monotonic()
                    visitor.get("")
                    loads += 1
                time.sleep(0.01)
            ended = time.monotonic_ns()
            spent = visitor.processor_seconds() - before
            assert process.stdout is not None
            written = int(process.stdout.readline().split()[1])
        hearing.join()
        seconds = time.monotonic() - began
    return 100 * spent / seconds, max(0, ended - written) / 1_000_000, loads / seconds
