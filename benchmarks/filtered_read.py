"""Reads that match the same thousand entries in stores of 1,000, 100,000 and 1,000,000: is the cost flat?"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import apsw

from benchmarks import big_stores as big
from benchmarks.harness import Bench, Figure, Section, interleave, timed
from satchel.client import Satchel
from satchel.find.search import OF_ONE_TERM
from satchel.keep.entries.records import EntryPage

_FLAT = 2.0
_SMALLEST = big.MATCHES

Read = Callable[[Satchel], EntryPage]
_FILTERS: dict[str, Read] = {
    "run": lambda satchel: satchel.entries.read(run_id=big.NARROW),
    "type": lambda satchel: satchel.entries.read(run_id=big.WIDE, types=[big.TYPE]),
    "task": lambda satchel: satchel.entries.read(run_id=big.WIDE, task_id=big.TASK),
    "loop": lambda satchel: satchel.entries.read(run_id=big.WIDE, loop_id=big.LOOP),
    "file": lambda satchel: satchel.entries.read(run_id=big.WIDE, file=big.FILE),
    "search, a rare word": lambda satchel: satchel.entries.read(run_id=big.WIDE, query=big.RARE_WORD),
    "search in a small run, a word frequent outside": lambda satchel: satchel.entries.read(
        run_id=big.NARROW, query=big.FREQUENT_WORD
    ),
}

_BARE_COUNT = "SELECT count(*) FROM context WHERE project_id = 1 AND run_id = ?"
_BARE_PAGE = """
    SELECT id, uid, seq, type, content, task_id, loop_id, file, line, agent_id, superseded_by, created_at
    FROM context WHERE project_id = 1 AND run_id = ? ORDER BY created_at DESC, id DESC LIMIT 20
"""


def run(bench: Bench) -> Section:
    """Read the total and the newest or best 20 of the thousand, in turn from every store."""
    sizes = (_SMALLEST, 100_000) if bench.quick else (_SMALLEST, 100_000, 1_000_000)
    rounds = bench.choose(100, 30)
    figures: list[Figure] = []
    with ExitStack() as stack:
        stores = {size: stack.enter_context(big.open_big(size, bench)) for size in sizes}
        figures.append(_beside_bare(stores[_SMALLEST], rounds))
        for name, read in _FILTERS.items():
            bench.progress.say(f"reading by {name}")
            total = OF_ONE_TERM if name.startswith("search") else big.MATCHES
            for size, satchel in stores.items():
                page = read(satchel)
                assert (page.total, len(page)) == (total, 20), f"{name} matches {page.total} of {size}"
            taken = interleave(
                {str(size): _reader(read, satchel) for size, satchel in stores.items()}, rounds, warm_up=5
            )
            figures += (
                timed(
                    f"by {name}: {size:,} entries",
                    taken[str(size)],
                    taken[str(_SMALLEST)],
                    f"at {_SMALLEST:,}",
                    ratio_at_most=_FLAT,
                )
                for size in sizes[1:]
            )
    return Section(
        "Filtered reads of the same 1,000 entries",
        tuple(figures),
        (
            f"Each read returns the total, {big.MATCHES:,} (a search of a word {OF_ONE_TERM}, the most it ranks), and "
            "a page of 20 of the same entries, which lie evenly spread in a run of the size given; beside it the store "
            "has a run of 1,000 of its own. Stores are built once and kept for the next run; the file cache is warm.",
        ),
    )


def _reader(read: Read, satchel: Satchel) -> Callable[[int], EntryPage]:
    return lambda _: read(satchel)


def _beside_bare(satchel: Satchel, rounds: int) -> Figure:
    """Measure the library's part of a read: the same count and page as two statements on one bare connection."""
    connection = apsw.Connection(str(satchel.place.file), flags=apsw.SQLITE_OPEN_READWRITE)
    narrow = connection.execute("SELECT id FROM runs WHERE run_id = ?", (big.NARROW,)).get

    def bare(_: int) -> None:
        connection.execute("BEGIN")
        assert connection.execute(_BARE_COUNT, (narrow,)).get == big.MATCHES
        assert len(connection.execute(_BARE_PAGE, (narrow,)).fetchall()) == 20
        connection.execute("COMMIT")

    taken = interleave({"ours": _reader(_FILTERS["run"], satchel), "bare": bare}, rounds * 5, warm_up=20)
    connection.close()
    return timed(f"by run: {_SMALLEST:,} entries", taken["ours"], taken["bare"], "bare count and page")
