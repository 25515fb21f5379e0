"""What briefings hold of real history for tasks at hand, beside what a plain search holds in the same tokens.

The tasks and the commits relevant to each stand in ``data/repositories``, the commits in a folder of data sets.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.content import sqlite_of
from benchmarks.harness import Bench, Figure, NotMeasuredError, Section, shown
from satchel.base.tokens import token_counter
from satchel.brief.briefing.records import Briefing
from satchel.client import Satchel, open_satchel
from satchel.interfaces.text.search import results_text
from satchel.keep.finding import FoundPage

TASKS = Path(__file__).parent / "data" / "repositories" / "tasks.json"
"""The repositories with their tasks and the commits relevant to each."""

BUDGETS = (300, 800, 2_000)
_RUNS = 6
_MAX_RESULTS = 200
_HOUR_MS = 3_600_000
_ROLE = "developer"
_NOT_FED = frozenset({"attempts", "reviews"})
"""The sections that show what is the agent's own, whatever the query."""

_SUFFIX = ".commits.jsonl"
_NOTE = (
    "Sums over twenty tasks, four for each of five repositories. A store holds 600 commits as discoveries of five "
    "agents in six runs. Briefings are for a developer, the task as the query, without agent or task id; counted are "
    "the distinct items in the sections that a query feeds, with those that an item stands for, shortened or not. The "
    "search gets the same words and is cut at the last whole result that fits, as an agent reads it; beside it the "
    "same results with nothing but their ids and snippets. Relevance was tagged by reading all titles before anything "
    "was measured. Target: what the search holds."
)


@dataclass(frozen=True, slots=True)
class Task:
    """One task, and the hashes of the commits that help with it."""

    text: str
    relevant: frozenset[str]


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository.

    Attributes:
        sha256: of the file of its commits.
    """

    name: str
    sha256: str
    tasks: tuple[Task, ...]


def repositories() -> tuple[Repository, ...]:
    """Return the repositories with their tasks."""
    return tuple(
        Repository(
            name,
            one["sha256"],
            tuple(Task(task["task"], frozenset(task["relevant"])) for task in one["tasks"]),
        )
        for name, one in json.loads(TASKS.read_text(encoding="utf-8")).items()
    )


def run(bench: Bench) -> Section:
    """Measure every repository, each in a store of its own."""
    if bench.data is None:
        raise NotMeasuredError("it needs the commits of the repositories: give their folder with --data")
    counter = token_counter()
    if not counter.exact:
        raise NotMeasuredError("it needs the tokens extra: an estimate can fill no budget")
    held: dict[int, dict[str, Compared]] = {budget: {} for budget in BUDGETS}
    for repository in repositories():
        bench.progress.say(f"repositories: {repository.name}")
        filled = fill(bench.folder / f"{repository.name}.db", commits_of(repository, bench.data))
        with filled.satchel as satchel:
            for task in repository.tasks:
                page = satchel.finding.search(task.text, limit=_MAX_RESULTS)
                for budget in BUDGETS:
                    briefing = satchel.brief(_ROLE, query=task.text, budget=budget, dry_run=True)
                    assert briefing.tokens <= budget
                    sums = held[budget].setdefault(repository.name, Compared())
                    sums.briefings.add(fed(briefing), filled.hashes, task)
                    for results, text_of in ((sums.searches, results_text), (sums.snippets, snippets_text)):
                        results.add(fitting(page, budget, counter.count, text_of), filled.hashes, task)
    return Section("Briefings of real history", tuple(_figures(held)), (_NOTE,))


@dataclass(slots=True)
class Held:
    """How many distinct items were held for some tasks, and how many of them are relevant."""

    relevant: int = 0
    shown: int = 0

    def add(self, refs: Iterable[str], hashes: Mapping[str, str], task: Task) -> None:
        """Count the items held for one more task."""
        held = {hashes[ref] for ref in refs}
        self.relevant += len(held & task.relevant)
        self.shown += len(held)

    @property
    def precision(self) -> float:
        """The part that is relevant."""
        return self.relevant / self.shown if self.shown else 0.0


@dataclass(frozen=True, slots=True)
class Compared:
    """What was held by briefings, by searches as an agent reads them, and by their results as ids and snippets."""

    briefings: Held = field(default_factory=Held)
    searches: Held = field(default_factory=Held)
    snippets: Held = field(default_factory=Held)


@dataclass(frozen=True, slots=True)
class Filled:
    """A store that holds the commits of a repository, and the commit that each entry tells of, by its short id."""

    satchel: Satchel
    hashes: Mapping[str, str]


def commits_of(repository: Repository, data: Path) -> list[dict[str, Any]]:
    """Return the commits of a repository, by time.

    Raises:
        NotMeasuredError: they are not in the folder, or are not those that were tagged.
    """
    file = next(iter(sorted(data.glob(f"**/{repository.name}{_SUFFIX}"))), None)
    if file is None:
        raise NotMeasuredError(f"{data} holds no {repository.name}{_SUFFIX}, which python -m benchmarks.commits makes")
    raw = file.read_bytes()
    if hashlib.sha256(raw).hexdigest() != repository.sha256:
        raise NotMeasuredError(f"{file.name} does not hold the commits that were tagged")
    commits = [json.loads(line) for line in raw.splitlines()]
    unknown = frozenset[str]().union(*(task.relevant for task in repository.tasks)) - {one["hash"] for one in commits}
    if unknown:
        raise NotMeasuredError(f"{file.name} lacks {', '.join(sorted(unknown))}, which a task names")
    return commits


def fill(file: Path, commits: Sequence[Mapping[str, Any]]) -> Filled:
    """Make a store with an entry for each commit, written at its time by its agent, in six runs that have ended."""
    times = [0]
    satchel = open_satchel(file, "bench", cwd=file.parent, environ={}, clock=lambda: times[0])
    with sqlite_of(satchel).exclusive() as connection:
        connection.pragma("synchronous", "OFF")
    hashes: dict[str, str] = {}
    each = len(commits) // _RUNS
    for run in (commits[at : at + each] for at in range(0, len(commits), each)):
        times[0] = run[0]["time"] * 1_000
        run_id = satchel.runs.start().run_id
        for commit in run:
            times[0] = commit["time"] * 1_000
            text = "\n\n".join(filter(None, (commit["title"], commit["body"])))
            entry = satchel.entries.write(
                "discovery", text, file=commit["file"] or None, run_id=run_id, agent=commit["agent"]
            )
            assert entry.ref not in hashes
            hashes[entry.ref] = commit["hash"]
        satchel.runs.end(run_id)
    times[0] += _HOUR_MS
    return Filled(satchel, hashes)


def fed(briefing: Briefing) -> list[str]:
    """Return the short ids of what a briefing holds in the sections that a query feeds."""
    return [ref for item in briefing.items if item.section not in _NOT_FED for ref in (item.ref, *item.stands_for)]


def fitting(
    page: FoundPage, budget: int, count: Callable[[str], int], text_of: Callable[[FoundPage], str]
) -> list[str]:
    """Return the short ids of the first results of a search, as many as fit whole into so many tokens."""
    for number in range(len(page.results), 0, -1):
        first = replace(page, results=page.results[:number], limit=number)
        if count(text_of(first)) <= budget:
            return [result.ref for result in first.results]
    return []


def snippets_text(page: FoundPage) -> str:
    """Render results with nothing but their short ids and snippets."""
    return "\n".join(f"{result.ref} {result.snippet.text}" for result in page.results)


def _figures(held: Mapping[int, Mapping[str, Compared]]) -> Iterator[Figure]:
    for budget, of_budget in held.items():
        what = f"{budget:,} tokens"
        briefings, searches, snippets = (
            Held(sum(one.relevant for one in some), sum(one.shown for one in some))
            for some in zip(*((one.briefings, one.searches, one.snippets) for one in of_budget.values()), strict=True)
        )
        beside = "by search, {} as ids and snippets alone"
        yield Figure(
            f"{what}: relevant items",
            briefings.relevant,
            baseline=searches.relevant,
            beside=beside.format(snippets.relevant),
            at_least=searches.relevant,
        )
        yield Figure(f"{what}: items", briefings.shown, baseline=searches.shown, beside=beside.format(snippets.shown))
        yield Figure(
            f"{what}: precision",
            briefings.precision,
            baseline=searches.precision,
            beside=beside.format(shown(snippets.precision)),
        )
        for name, one in of_budget.items():
            yield Figure(
                f"{what}, {name}: relevant of {one.briefings.shown} items",
                one.briefings.relevant,
                baseline=one.searches.relevant,
                beside=f"of {one.searches.shown} by search, {one.snippets.relevant} of {one.snippets.shown} as ids and "
                "snippets alone",
            )
