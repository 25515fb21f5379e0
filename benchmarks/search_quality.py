"""Finding the right thing in public data sets, beside what plain FTS5 finds on the same texts.

LoCoMo: Maharana et al., Evaluating Very Long-Term Conversational Memory of LLM Agents (ACL 2024). CoSQA: Huang et al.,
CoSQA: 20,000+ Web Queries for Code Search and Question Answering (ACL 2021). Neither is part of the project.
"""

from __future__ import annotations

import gzip
import json
import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import apsw

from benchmarks.content import open_store, sqlite_of
from benchmarks.harness import Bench, Figure, NotMeasuredError, Section
from satchel.client import Satchel
from satchel.find.query import words
from satchel.keep.entries.records import NewEntry

_DEPTHS = (5, 10, 20)
ANSWERABLE = (1, 2, 3, 4)
_LOCOMO_TARGET, _COSQA_TARGET = 0.765, 0.588
_CODE_DEPTH = 500
_BATCH = 500
_START = 1_683_000_000_000
_T = TypeVar("_T")
_EVIDENCE = re.compile(r"D\d+:\d+")


def run(bench: Bench) -> Section:
    """Measure every LoCoMo and every CoSQA file in the folder of data sets."""
    if bench.data is None:
        raise NotMeasuredError("it needs public data sets: give their folder with --data, or make bench DATA=...")
    searches = Searches()
    figures = measured(bench, bench.data, searches, lambda name: open_fresh(bench.folder / f"{name}.db"))
    if not figures:
        raise NotMeasuredError(f"{bench.data} holds neither locomo*.json.gz nor queries*.json")
    figures.append(Figure(f"errors in {searches.done:,} searches", len(searches.errors), at_most=0))
    return Section(
        "Search in public data sets",
        tuple(figures),
        (
            "Values are shares. LoCoMo: a conversation is a run, a turn an entry with its image's caption, a session a "
            "loop, the speaker the agent; the recall of a question is the share of its evidence among the first so "
            "many results, averaged over questions. Category 5 asks for what was never said. CoSQA: every function is "
            "an entry of one run, without a loop. The baselines are FTS5 tables with porter and bm25() over the same "
            "texts, in LoCoMo with the speaker's name: the words without stop words joined by OR and by AND, and the "
            "question as it was typed, given to MATCH. Every question is searched for with `entries.read` in its run "
            "and once more with `finding.search` over the project; any exception is an error. Where the extra "
            "`meaning` is installed, it reranks what is found.",
            *(f"Error: {error}" for error in searches.errors[:5]),
        ),
    )


def measured(bench: Bench, data: Path, searches: Searches, opened: Callable[[str], Satchel]) -> list[Figure]:
    """Return the figures of every LoCoMo and every CoSQA file in a folder.

    Args:
        opened: makes an empty store of a name, in any database.
    """
    figures: list[Figure] = []
    for file in sorted(data.glob("**/locomo*.json.gz")):
        bench.progress.say(f"LoCoMo: {file.name}")
        figures += _locomo(file, opened, searches)
    for file in sorted(data.glob("**/queries*.json")):
        bench.progress.say(f"CoSQA: {file.name}")
        figures += _cosqa(file, opened, searches)
    return figures


class Searches:
    """Counts searches, and keeps what went wrong instead of stopping at it."""

    def __init__(self) -> None:
        self.done = 0
        self.errors: list[str] = []

    def over_all(self, satchel: Satchel, text: str) -> None:
        """Search the whole project in natural syntax; only an error counts."""
        self._counted(text, lambda: satchel.finding.search(text))

    def in_run(self, satchel: Satchel, text: str, run_id: str, limit: int) -> list[int]:
        """Return the numbers of the entries found in a run, best first; none after an error."""
        page = self._counted(text, lambda: satchel.entries.read(query=text, run_id=run_id, limit=limit))
        return [entry.id for entry in page or ()]

    def _counted(self, text: str, search: Callable[[], _T]) -> _T | None:
        self.done += 1
        try:
            return search()
        except Exception as error:  # noqa: BLE001 -- that there is none, of whatever kind, is the figure
            self.errors.append(f"{text[:80]!r}: {error!r}")
            return None


class _Plain:
    """The baseline: one FTS5 table of texts, whose numbers are their places from 1."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._connection = apsw.Connection(":memory:")
        self._connection.execute(
            """CREATE VIRTUAL TABLE plain USING fts5 (text, tokenize = "porter unicode61 remove_diacritics 2")"""
        )
        self._connection.executemany("INSERT INTO plain (rowid, text) VALUES (?, ?)", enumerate(texts, 1))

    def any_word(self, text: str, limit: int) -> list[int]:
        return self._best(" OR ".join(f'"{word}"' for word in words(text)), limit)

    def every_word(self, text: str, limit: int) -> list[int]:
        return self._best(" AND ".join(f'"{word}"' for word in words(text)), limit)

    def as_typed(self, text: str, limit: int) -> list[int]:
        """Return nothing where FTS5 takes the text for wrong syntax, as it does with nearly every question."""
        try:
            return self._best(text, limit)
        except apsw.SQLError:
            return []

    def _best(self, expression: str, limit: int) -> list[int]:
        if not expression:
            return []
        found = self._connection.execute(
            "SELECT rowid FROM plain WHERE plain MATCH ? ORDER BY rank LIMIT ?", (expression, limit)
        )
        return [row[0] for row in found]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the places of the texts that answer it, and the answer where there is one in words."""

    text: str
    category: int
    gold: frozenset[int]
    answer: str = ""


@dataclass(frozen=True, slots=True)
class _Answers:
    """The places of what each method found for a question, best first."""

    question: Question
    ours: list[int]
    any_word: list[int]
    every_word: list[int]
    as_typed: list[int]


def _recall(depth: int) -> Callable[[Question, list[int]], float]:
    """Return what gives the share of a question's gold among the first results."""
    return lambda question, found: len(question.gold.intersection(found[:depth])) / len(question.gold)


def _reciprocal_rank(question: Question, found: list[int]) -> float:
    return next((1 / place for place, number in enumerate(found, 1) if number in question.gold), 0.0)


def _answers(
    satchel: Satchel,
    run_id: str,
    kept: Sequence[tuple[int, str]],
    questions: Iterable[Question],
    depth: int,
    searches: Searches,
) -> Iterator[_Answers]:
    """Ask every question of a run and of the baselines; given are the run's entries in order, and their texts."""
    plain = _Plain([text for _, text in kept])
    places = {number: place for place, (number, _) in enumerate(kept, 1)}
    for question in questions:
        searches.over_all(satchel, question.text)
        found = searches.in_run(satchel, question.text, run_id, depth)
        yield _Answers(
            question,
            [places[number] for number in found],
            plain.any_word(question.text, depth),
            plain.every_word(question.text, depth),
            plain.as_typed(question.text, depth),
        )


def _figure(
    what: str,
    answers: Sequence[_Answers],
    value: Callable[[Question, list[int]], float],
    at_least: float | None = None,
) -> Figure:
    """Make the figure of a mean over questions, beside the same of the baselines."""
    every = statistics.fmean(value(one.question, one.every_word) for one in answers)
    typed = statistics.fmean(value(one.question, one.as_typed) for one in answers)
    return Figure(
        what,
        statistics.fmean(value(one.question, one.ours) for one in answers),
        baseline=statistics.fmean(value(one.question, one.any_word) for one in answers),
        beside=f"OR, {every:.3f} AND, {typed:.3f} as typed",
        at_least=at_least,
    )


def _locomo(file: Path, opened: Callable[[str], Satchel], searches: Searches) -> list[Figure]:
    answers: list[_Answers] = []
    with opened(file.name) as satchel:
        conversations = load(file)
        written = [write_conversation(satchel, one) for one in conversations]
        for one, turns in zip(conversations, written, strict=True):
            kept = list(turns.values())
            answers += _answers(satchel, one["sample_id"], kept, questions_of(one, turns), max(_DEPTHS), searches)
    name = file.name.removesuffix(".json.gz")
    categories = sorted({one.question.category for one in answers})
    groups = (
        ("categories 1-4", ANSWERABLE),
        *((f"category {category}", (category,)) for category in categories),
        ("all questions", tuple(categories)),
    )
    figures: list[Figure] = []
    for group, wanted in groups:
        chosen = [one for one in answers if one.question.category in wanted]
        for depth in _DEPTHS:
            target = _LOCOMO_TARGET if wanted == ANSWERABLE and depth == 10 else None
            what = f"{name}, {group} ({len(chosen):,}): recall@{depth}"
            figures.append(_figure(what, chosen, _recall(depth), target))
    return figures


def write_conversation(satchel: Satchel, one: Any) -> dict[str, tuple[int, str]]:
    """Write the turns in their order, and return for each its entry and the text that the baselines get."""
    turns: dict[str, tuple[int, str]] = {}
    talk = one["conversation"]
    satchel.runs.start(one["sample_id"])
    for session in sorted(int(name[8:]) for name in talk if re.fullmatch(r"session_\d+", name)):
        for turn in talk[f"session_{session}"]:
            text = "\n".join(filter(None, (turn["text"], turn.get("blip_caption"))))
            entry = satchel.entries.write(
                "discovery", text, loop_id=f"session_{session}", run_id=one["sample_id"], agent=turn["speaker"]
            )
            turns[turn["dia_id"]] = entry.id, f"{turn['speaker']} {text}"
    return turns


def questions_of(one: Any, turns: Iterable[str]) -> Iterator[Question]:
    """Yield the questions whose evidence exists."""
    places = {name: place for place, name in enumerate(turns, 1)}
    for asked in one["qa"]:
        named = _EVIDENCE.findall(" ".join(asked["evidence"]))
        if gold := frozenset(places[name] for name in named if name in places):
            yield Question(asked["question"], asked["category"], gold, str(asked.get("answer", "")))


def _cosqa(file: Path, opened: Callable[[str], Satchel], searches: Searches) -> list[Figure]:
    numbers: dict[str, int] = load(file.parent / "code_idx_map.txt.gz")
    functions = sorted(numbers, key=numbers.__getitem__)
    places = {numbers[function]: place for place, function in enumerate(functions, 1)}
    questions = [Question(asked["doc"], 0, frozenset((places[asked["retrieval_idx"]],))) for asked in load(file)]
    kept: list[tuple[int, str]] = []
    with opened(file.name) as satchel:
        satchel.runs.start("code")
        for start in range(0, len(functions), _BATCH):
            batch = functions[start : start + _BATCH]
            written = satchel.entries.write_many([NewEntry("discovery", function) for function in batch], run_id="code")
            kept += zip((entry.id for entry in written), batch, strict=True)
        answers = list(_answers(satchel, "code", kept, questions, _CODE_DEPTH, searches))
    name = f"CoSQA, {file.stem} ({len(answers):,})"
    return [
        _figure(f"{name}: MRR", answers, _reciprocal_rank),
        *(
            _figure(f"{name}: recall@{depth}", answers, _recall(depth), _COSQA_TARGET if depth == 10 else None)
            for depth in (1, 10, 100)
        ),
    ]


def open_fresh(file: Path) -> Satchel:
    """Make a store that is not synced to the disk, with a minute between what is written."""
    times = count(_START, 60_000)
    satchel = open_store(file, clock=lambda: next(times), environ={})
    with sqlite_of(satchel).exclusive() as connection:
        connection.pragma("synchronous", "OFF")
    return satchel


def load(file: Path) -> Any:
    raw = file.read_bytes()
    return json.loads(gzip.decompress(raw) if file.suffix == ".gz" else raw)
