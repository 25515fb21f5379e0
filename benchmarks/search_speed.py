"""Searching a million entries, in one run and over the project, beside FTS5's own bm25() on the same index."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from benchmarks.big_stores import open_kept
from benchmarks.content import open_store
from benchmarks.harness import Bench, Figure, Samples, Section, interleave, timed
from satchel.client import Satchel
from satchel.find.index_sqlite import scope_tokens
from satchel.find.query import words
from satchel.find.words import STOP_WORDS
from satchel.keep.entries.records import NewEntry

PER_RUN = 1_000
"""How many entries a run has where there are many."""

_VOCABULARY = 60_000
_SIDE_BY_SIDE = 10
_TURN = 100
_BATCH = 500
_PER_LOOP = 25
_TYPES = ("discovery", "error", "decision")
_LIMIT = 20
_SMALL_SIZES = (1_000, 5_000, 8_000)
_COMMON_WORDS = 40
_COMMON_ROUNDS = 11
_OVER_PAGE_MS = 3
_BARE_EVERY = 10
_IN_RUN_MS, _IN_RUN_WORST_MS = 3, 8
_PROJECT_MS, _PROJECT_WORST_MS = 15, 40


def run(bench: Bench) -> Section:
    """Ask every mix of words of both stores, in turn through both rooms and the bare index."""
    runs = bench.choose(1_000, 100)
    rounds = bench.choose(60, 20)
    figures: list[Figure] = []
    notes: list[str] = []
    stores = (
        (f"{runs:,} runs of {PER_RUN:,}", "search-many-runs", _fill_many_runs, runs),
        (f"one run of {runs * PER_RUN:,}", "search-one-run", fill_one_run, 1),
    )
    for label, kind, fill, count in stores:
        with open_kept(kind, runs * PER_RUN, bench, fill) as satchel:
            bench.progress.say(f"searching {label}")
            measured, note = _measure(satchel, label, count, rounds)
            figures += measured
            notes.append(note)
    figures += _common_words(bench)
    return Section(
        "Search in a million entries" if runs == 1_000 else f"Search in {runs * PER_RUN:,} entries",
        tuple(figures),
        (
            f"Entries are 8 to 40 made-up words, drawn by Zipf's law from {_VOCABULARY:,}; every search asks for the "
            f"best {_LIMIT} of other words and, where there are many, of another run. A common word is one of the ten "
            "most frequent, which stand in up to nine of ten entries; a medium one in about one of 250; a rare one in "
            "about one of 10,000. The baseline asks the same index for the same words with FTS5's own bm25() and reads "
            "nothing but the numbers of the best. `read` is `entries.read`, `find` is `finding.search`, with snippets. "
            "The first row of each kind pools all mixes. Stores are built once and kept; the file cache is warm. Rows "
            "of a few thousand entries search a project for each of the forty most common words: the slowest word's "
            "median stands beside a page of the run.",
            *notes,
        ),
    )


def _common_words(bench: Bench) -> list[Figure]:
    """Search projects of a few thousand entries for one common word, beside an ordinary page."""
    figures: list[Figure] = []
    for size in _SMALL_SIZES:
        bench.progress.say(f"searching {size:,} entries for common words")
        with open_store(bench.folder / f"common-{size}.db") as satchel:
            fill_one_run(satchel, size, lambda _: None)
            candidates = {word: _word_finder(satchel, word) for word in vocabulary()[:_COMMON_WORDS]}
            candidates["a page"] = lambda _: satchel.entries.read(limit=_LIMIT, run_id=_run_id(0))
            taken = interleave(candidates, _COMMON_ROUNDS, warm_up=2)
        page = taken.pop("a page")
        slowest = max(taken.values(), key=lambda samples: samples.median)
        what = f"{size:,} entries: find the slowest of the {_COMMON_WORDS} most common words"
        figures.append(timed(what, slowest, page, "an ordinary page", at_most=page.median + _OVER_PAGE_MS))
    return figures


def _word_finder(satchel: Satchel, word: str) -> Callable[[int], object]:
    return lambda _: satchel.finding.search(word, limit=_LIMIT)


@cache
def vocabulary() -> tuple[str, ...]:
    """Return made-up words, the most frequent first."""
    chance = random.Random("vocabulary")
    made: dict[str, None] = {}
    while len(made) < _VOCABULARY:
        syllables = (chance.choice("bdfghklmnprstvz") + chance.choice("aeiou") for _ in range(chance.randint(2, 4)))
        word = "".join(syllables) + chance.choice(("", "n", "r", "s", "t", "ed", "ing"))
        if word not in STOP_WORDS:
            made[word] = None
    return tuple(made)


def texts(block: int) -> list[str]:
    """Return the texts of one block of :data:`PER_RUN` entries, the same for the same number."""
    chance = random.Random(f"block {block}")
    lengths = [chance.randint(8, 40) for _ in range(PER_RUN)]
    drawn = iter(chance.choices(vocabulary(), cum_weights=_frequencies(), k=sum(lengths)))
    return [" ".join(next(drawn) for _ in range(length)) for length in lengths]


@cache
def _frequencies() -> tuple[float, ...]:
    return tuple(accumulate(1 / rank for rank in range(1, _VOCABULARY + 1)))


def _fill_many_runs(satchel: Satchel, size: int, say: Callable[[int], None]) -> None:
    """Write the runs ten at a time, which take turns: what belongs to one run does not lie all in one place."""
    for first in range(0, size // PER_RUN, _SIDE_BY_SIDE):
        together = range(first, min(first + _SIDE_BY_SIDE, size // PER_RUN))
        due = {block: _entries(block) for block in together}
        for block in together:
            satchel.runs.start(_run_id(block))
        for start in range(0, PER_RUN, _TURN):
            for block in together:
                satchel.entries.write_many(due[block][start : start + _TURN], run_id=_run_id(block))
        say((together[-1] + 1) * PER_RUN)


def fill_one_run(satchel: Satchel, size: int, say: Callable[[int], None]) -> None:
    """Write so many entries into one run."""
    satchel.runs.start(_run_id(0))
    for block in range(size // PER_RUN):
        due = _entries(block)
        for start in range(0, PER_RUN, _BATCH):
            satchel.entries.write_many(due[start : start + _BATCH], run_id=_run_id(0))
        say((block + 1) * PER_RUN)


def _entries(block: int) -> list[NewEntry]:
    return [
        NewEntry(_TYPES[place % len(_TYPES)], text, loop_id=f"loop-{block}-{place // _PER_LOOP}")
        for place, text in enumerate(texts(block))
    ]


def _run_id(block: int) -> str:
    return f"run-{block}"


@dataclass(frozen=True, slots=True)
class _Search:
    """What one round searches for, and in which run."""

    run_id: str
    text: str


def _searches(runs: int, rounds: int) -> dict[str, list[_Search]]:
    """Return the mixes of words, each with a search for every round."""
    chance = random.Random("searches")
    known = vocabulary()
    rank = {word: place for place, word in enumerate(known)}
    mixes: dict[str, list[_Search]] = {}

    def add(mix: str, run_id: str, text: str) -> None:
        mixes.setdefault(mix, []).append(_Search(run_id, text))

    for _ in range(rounds):
        block = chance.randrange(runs)
        run_id = _run_id(block)
        common = chance.sample(known[:10], 4)
        # words that are there: nothing is found faster than nothing
        there = dict.fromkeys(word for text in texts(block) for word in text.split())
        medium = chance.sample([word for word in there if 300 <= rank[word] < 700], 2)
        rare = chance.choice([word for word in there if rank[word] >= 20_000])
        add("a common word", run_id, common[0])
        add("a medium word", run_id, medium[0])
        add("a rare word", run_id, rare)
        add("a common and a medium word", run_id, f"{common[0]} {medium[0]}")
        add("four common words", run_id, " ".join(common))
        add("a question", run_id, f"Why does the {medium[0]} not {common[1]} when it is in a {medium[1]} of {rare}?")
    return mixes


def _measure(satchel: Satchel, label: str, runs: int, rounds: int) -> tuple[list[Figure], str]:
    searches = _searches(runs, rounds + _BARE_EVERY)
    candidates: dict[str, Callable[[int], object]] = {}
    for mix, due in searches.items():
        candidates |= {
            f"read {mix}": _reader(satchel, due),
            f"find {mix}": _finder(satchel, due, in_run=True),
            f"find all {mix}": _finder(satchel, due, in_run=False),
            f"bare {mix}": _bare(satchel, due, in_run=True),
            f"bare all {mix}": _bare(satchel, due, in_run=False),
        }
    taken = interleave(candidates, rounds, warm_up=_BARE_EVERY)
    figures: list[Figure] = []
    slowest: dict[str, float] = {}
    ways = (
        ("read", "bare", "read in one run", _IN_RUN_MS, _IN_RUN_WORST_MS),
        ("find", "bare", "find in one run", _IN_RUN_MS, _IN_RUN_WORST_MS),
        ("find all", "bare all", "find over the project", _PROJECT_MS, _PROJECT_WORST_MS),
    )
    for way, bare, what, target, worst in ways:
        ours = {mix: taken[f"{way} {mix}"] for mix in searches}
        theirs = {mix: Samples(taken[f"{bare} {mix}"].values[::_BARE_EVERY]) for mix in searches}
        slowest[what] = max(max(samples.values) for samples in ours.values())
        figures.append(
            timed(f"{label}: {what}, all mixes", _pooled(ours), _pooled(theirs), "bare bm25()", at_most=target)
        )
        figures += (
            timed(f"{label}: {what}, {mix}", ours[mix], theirs[mix], "bare bm25()", at_most=worst) for mix in searches
        )
    ends = ", ".join(f"{what} {value:.1f} ms" for what, value in slowest.items())
    return figures, f"The slowest single search of {label}: {ends}."


def _pooled(samples: dict[str, Samples]) -> Samples:
    return Samples(tuple(value for one in samples.values() for value in one.values))


def _reader(satchel: Satchel, due: list[_Search]) -> Callable[[int], object]:
    def read(number: int) -> None:
        page = satchel.entries.read(query=due[number].text, limit=_LIMIT, run_id=due[number].run_id)
        assert page.total, due[number]

    return read


def _finder(satchel: Satchel, due: list[_Search], *, in_run: bool) -> Callable[[int], object]:
    def find(number: int) -> None:
        run_id = due[number].run_id if in_run else None
        assert satchel.finding.search(due[number].text, limit=_LIMIT, run_id=run_id).total, due[number]

    return find


def _bare(satchel: Satchel, due: list[_Search], *, in_run: bool) -> Callable[[int], object]:
    """Return what asks the index alone, in every tenth round: over a million entries it takes its time."""
    engine = satchel.workplace.engine
    with engine.read() as transaction:
        numbers: dict[str, int] = dict(transaction.all("SELECT run_id, id FROM runs"))

    def bare(number: int) -> None:
        if number % _BARE_EVERY:
            return
        wanted = f"text : ({' OR '.join(words(due[number].text))})"
        if in_run:
            wanted += f" AND scope : {scope_tokens(None, numbers[due[number].run_id], None)}"
        with engine.read() as transaction:
            assert transaction.all(
                "SELECT rowid FROM documents_fts WHERE documents_fts MATCH :wanted ORDER BY rank LIMIT :limit",
                {"wanted": wanted, "limit": _LIMIT},
            )

    return bare
