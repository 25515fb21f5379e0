"""Briefings: their time over a hundred thousand records, and what a thousand small stores say of their promises."""

from __future__ import annotations

import random
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path

from benchmarks.big_stores import START, open_kept
from benchmarks.content import Note, notes, open_store, sentence, sqlite_of
from benchmarks.harness import Bench, Figure, NotMeasuredError, Samples, Section, interleave, timed
from benchmarks.others import KINDS, Place, write_others
from satchel.base.clock import DAY_MS
from satchel.base.tokens import TokenCounter, token_counter
from satchel.base.vocabulary import PRIORITIES
from satchel.brief.briefing.records import Briefing
from satchel.client import Satchel
from satchel.keep.entries.records import NewEntry

ROLES = ("developer", "qa_expert", "tech_lead", "investigator", None)
READERS = tuple(f"reader-{number}" for number in range(20))
WIDE = "wide"
"""The run that holds half of the entries and packages; the others are spread over many."""

_RUNS = tuple(f"run-{number}" for number in range(100))
_SIZE, _QUICK_SIZE = 100_000, 8_000
_CRITICAL = 0.001
_BATCH = 500
_MEDIAN_MS, _P99_MS, _KNOWN_MS = 50, 250, 5
LATER = START + 3 * DAY_MS
"""When the project is looked at: three days after it was begun."""
_LEAST_BUDGET, _MAX_BUDGET = 50, 50_000
_PACKS_PER_STORE = 3


def run(bench: Bench) -> Section:
    """Measure the time of briefings and of known errors, and check briefings of small stores."""
    counter = token_counter()
    if not counter.exact:
        raise NotMeasuredError("it needs the tokens extra: an estimate can prove no budget")
    return Section(
        "Briefings",
        (*_speed(bench), *_known_errors(bench), *_promises(bench, counter)),
        (
            "The project holds as many entries as decisions, constraints, messages, file changes, packages, error "
            "patterns and strategies; half of the entries and packages stand in one run, the others in a hundred. "
            "Every twentieth entry is a scratchpad or an issue of a review. A briefing of 2,000 tokens is for an agent "
            "with a task and a loop, of each role in turn; a query is a sentence whose every word thousands of records "
            "hold. Previewed, but for those that are said to be recorded: they end in a durable write.",
            "A known error is reported by `patterns.report`, which counts it durably, and answered with its solutions.",
            f"Small stores hold up to 60 records of every kind, a quarter of them critical, in prose, code, Chinese, "
            f"emoji and letters without spaces; {_PACKS_PER_STORE} briefings of each, {_LEAST_BUDGET} to "
            f"{_MAX_BUDGET:,} tokens, at least one of the least, in any role and zone, with and without a query. "
            "Tokens are counted again. A critical item is dropped silently if neither the text shows it nor the count "
            "of what was left out and the text tell of it.",
        ),
    )


def _speed(bench: Bench) -> list[Figure]:
    rounds = bench.choose(200, 15)
    chance = random.Random("queries")
    queries = [sentence(chance, 1) for _ in range(rounds + 1)]
    with open_project(bench) as satchel:

        def briefing_of(run_id: str, *, has_query: bool, is_recorded: bool = False) -> Callable[[int], object]:
            return lambda number: satchel.brief(
                ROLES[number % len(ROLES)],
                task_id=f"T{number % 40}",
                loop_id=f"loop-{number % 25}",
                iteration=number,
                query=queries[number] if has_query else None,
                budget=2_000,
                dry_run=not is_recorded,
                run_id=run_id,
                agent=READERS[number % len(READERS)],
            )

        bench.progress.say("briefings")
        taken = interleave(
            {
                "a run of half of it": briefing_of(WIDE, has_query=False),
                "a run of half of it, query": briefing_of(WIDE, has_query=True),
                "one run of a hundred": briefing_of(_RUNS[7], has_query=False),
                "one run of a hundred, query": briefing_of(_RUNS[7], has_query=True),
                "one run of a hundred, recorded": briefing_of(_RUNS[8], has_query=False, is_recorded=True),
            },
            rounds,
            warm_up=1,
        )
    every = Samples(tuple(value for samples in taken.values() for value in samples.values))
    what = f"briefing, {bench.choose(_SIZE, _QUICK_SIZE):,} records"
    return [
        timed(f"{what}: all", every, at_most=_MEDIAN_MS),
        Figure(f"{what}: all, p99", _p99(every), "ms", at_most=_P99_MS),
        *(timed(f"{what}: {name}", samples, at_most=_MEDIAN_MS) for name, samples in taken.items()),
    ]


def _p99(samples: Samples) -> float:
    return statistics.quantiles(samples.values, n=100, method="inclusive")[-1]


def _known_errors(bench: Bench) -> list[Figure]:
    size, rounds = bench.choose(_SIZE, _QUICK_SIZE), bench.choose(300, 30)
    with open_kept("errors", size, bench, _report_all, clock=lambda: LATER) as satchel:
        chance = random.Random("known")
        errors = [_error(chance.randrange(size)) for _ in range(rounds + 5)]
        bench.progress.say("reporting known errors")
        taken = interleave(
            {"report": lambda number: satchel.patterns.report(*errors[number], agent="tester")}, rounds, warm_up=5
        )["report"]
        assert all(satchel.patterns.report(*error).solutions for error in errors[:5])
    return [timed(f"an error of {size:,} patterns: its known solution", taken, at_most=_KNOWN_MS)]


def _error(number: int) -> tuple[str, str]:
    return f"Error{number % 1_000}", sentence(random.Random(f"error {number}"), 2)


def _report_all(satchel: Satchel, size: int, say: Callable[[int], None]) -> None:
    chance = random.Random("solutions")
    for number in range(size):
        satchel.patterns.report(*_error(number), solution=sentence(chance, 2), agent="colleague")
        if number % 1_000 == 0:
            say(number)


def fill(satchel: Satchel, size: int, say: Callable[[int], None]) -> None:
    """Write a project of so many records, as many entries as of each other kind."""
    for run_id in (WIDE, *_RUNS):
        satchel.runs.start(run_id)
    each = size // (len(KINDS) + 1)
    chance = random.Random("loops")
    made = [_entry(note, number, chance) for number, note in enumerate(notes(each, "briefing"))]
    of_runs = {WIDE: made[::2]} | {name: made[1 + 2 * at :: 2 * len(_RUNS)] for at, name in enumerate(_RUNS)}
    for run_id, mine in of_runs.items():
        for start in range(0, len(mine), _BATCH):
            satchel.entries.write_many(mine[start : start + _BATCH], run_id=run_id, agent="reader-0")
    place = Place(
        runs=tuple(name for other in _RUNS for name in (WIDE, other)),
        readers=READERS,
        tasks=tuple(f"T{number}" for number in range(40)),
        roles=tuple(role for role in ROLES if role),
        critical=_CRITICAL,
    )
    write_others(satchel, each, place, say=lambda done: say(done * len(KINDS)))


def _entry(note: Note, number: int, chance: random.Random) -> NewEntry:
    """Make of each twentieth note a scratchpad, and of another twentieth an issue of a review."""
    entry = note.entry()
    if number % 20 == 0:
        attempted = [sentence(chance, 1) for _ in range(3)]
        pad = {"iteration": number // 20, "done": False, "test_status": "failed", "attempted": attempted}
        return replace(entry, type="scratchpad", content=pad)
    if number % 20 == 1:
        return replace(entry, type="review_issue", content={"issue_type": "dead-code", "description": note.content})
    return entry


def open_project(bench: Bench) -> Satchel:
    """Open the project, built where it is not kept from an earlier run; three days have passed since it was begun."""
    return open_kept("project", bench.choose(_SIZE, _QUICK_SIZE), bench, fill, clock=lambda: LATER)


def _promises(bench: Bench, counter: TokenCounter) -> list[Figure]:
    stores = bench.choose(1_000, 20)
    found: Counter[str] = Counter()
    for number in range(stores):
        if number % 10 == 0:
            bench.progress.say(f"small stores: {number:,} of {stores:,}")
        found.update(_broken(bench.folder / "small.db", random.Random(f"store {number}"), counter))
        for file in bench.folder.glob("small.db*"):
            file.unlink()
    what = f"{stores:,} stores, {found['briefing']:,} briefings"
    return [
        Figure(f"{what}: over budget", found["over budget"], at_most=0),
        Figure(f"{what}: critical items, of {found['critical']:,}, dropped silently", found["silent"], at_most=0),
        Figure(f"{what}: critical items left out and said", found["said"]),
    ]


def _broken(file: Path, chance: random.Random, counter: TokenCounter) -> Counter[str]:
    """Write a small store, brief agents on it, and count what there is and what is broken."""
    found: Counter[str] = Counter()
    times = count(START, 60_000)
    with open_store(file, clock=lambda: next(times)) as satchel:
        with sqlite_of(satchel).exclusive() as connection:
            connection.pragma("synchronous", "OFF")
        critical = _write_small(satchel, chance)
        for turn in range(_PACKS_PER_STORE):
            least = _LEAST_BUDGET if turn == 0 else chance.choice((_LEAST_BUDGET, 300, 2_000))
            budget = _LEAST_BUDGET if turn == 0 else min(_MAX_BUDGET, int(least * 10 ** chance.uniform(0, 2)))
            zone = chance.choice((None, None, None, 0.3, 0.6, 0.75, 0.85, 0.95))
            briefing = satchel.brief(
                chance.choice(ROLES),
                task_id=chance.choice((None, "T1")),
                loop_id=chance.choice((None, "loop-1")),
                iteration=turn,
                query=chance.choice((None, _text(chance)[:500] or "nothing")),
                budget=budget,
                window_used=zone,
                agent="reader",
            )
            missing = len(unshown(critical, briefing))
            found["briefing"] += 1
            found["over budget"] += counter.count(briefing.text) > budget
            found["critical"] += len(critical)
            found["silent"] += silent(missing, briefing)
            found["said"] += missing
    return found


def unshown(critical: Mapping[str, str], briefing: Briefing) -> set[str]:
    """Return which critical items a briefing does not show; given are their texts by short id.

    An item is shown by a line of its own, or by that of an item with the same text that stands for it.
    """
    shown = set(re.findall(r"^([a-z]+\d+)\b", briefing.text, re.MULTILINE))
    twins = {
        ref
        for item in briefing.items
        if item.ref in shown
        for ref in item.stands_for
        if critical.get(ref) == critical.get(item.ref)
    }
    return critical.keys() - shown - twins


def silent(missing: int, briefing: Briefing) -> int:
    """Return how many of so many critical items that are not shown a briefing neither counts nor tells of."""
    if not re.search(r"left out: .*critical", briefing.text):
        return missing
    return max(0, missing - sum(one.critical for one in briefing.left_out))


def _write_small(satchel: Satchel, chance: random.Random) -> dict[str, str]:
    """Write up to 60 records, and return by short id the texts of those that are critical to the agent reader."""
    critical: dict[str, str] = {}

    def note(ref: str, priority: str, text: str, *, is_for_reader: bool = True) -> None:
        if priority == PRIORITIES[-1] and is_for_reader:
            critical[ref] = text

    for number in range(chance.randint(1, 60)):
        priority, text = chance.choice(PRIORITIES), _text(chance)
        kind = chance.randrange(7)
        if kind == 0:
            note(satchel.constraints.add(text, priority=priority).ref, priority, text)
        elif kind == 1:
            to, author = chance.choice((None, "reader", "another")), chance.choice(("writer", "another", "reader"))
            is_for_reader = to == "reader" or (to is None and author != "reader")
            sent = satchel.messages.send(text, to=to, priority=priority, agent=author)
            note(sent.ref, priority, text, is_for_reader=is_for_reader)
        elif kind == 2:
            consumers = chance.choice(((), ("developer",), ("tech_lead", "qa_expert")))
            saved = satchel.packages.save(text[:180], content=text, priority=priority, consumers=consumers)
            note(saved.ref, saved.priority, text)
        elif kind == 3:
            satchel.patterns.report(f"Error{number}", text, solution=_text(chance))
        elif kind == 4:
            satchel.strategies.save(f"topic {number}", text[:400])
        elif kind == 5:
            satchel.decisions.set(f"key_{number}", text[:400])
        else:
            satchel.entries.write_many(list(_entries(text, number, chance)))
    return critical


def _entries(text: str, number: int, chance: random.Random) -> Iterable[NewEntry]:
    place = chance.choice(((None, None), ("T1", "loop-1"), ("T2", "loop-2")))
    yield NewEntry("discovery", text, *place)
    if number % 3 == 0:
        yield NewEntry("scratchpad", {"iteration": number, "attempted": [text[:200]]}, *place)
        yield NewEntry("review_issue", {"issue_type": "dead-code", "description": text}, *place)


_SCRIPTS = (
    "",
    "会话缓存每次失败都会重新计算令牌。",
    "🧪🔥👩‍👩‍👧‍👦 ",
    "x" * 90,
    "\n\t ",
    "naïve façade ",
    "def f(a, b):\n    return a[b]\n",
    "=-=-",
)


def _text(chance: random.Random) -> str:
    """Return a text of 1 to some 2,000 characters, in one script or several."""
    pieces = [
        chance.choice((sentence(chance, 1), chance.choice(_SCRIPTS))) for _ in range(chance.choice((1, 1, 2, 5, 25)))
    ]
    return f"{' '.join(pieces).strip() or 'short'}"
