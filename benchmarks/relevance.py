"""What share of the evidence briefings deliver, beside plain lists of entries in the same budgets.

LoCoMo: Maharana et al., Evaluating Very Long-Term Conversational Memory of LLM Agents (ACL 2024). It is no
part of the project.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log2
from pathlib import Path
from typing import Any

from benchmarks.harness import Bench, Figure, NotMeasuredError, Section
from benchmarks.others import Place, write_others
from benchmarks.search_quality import ANSWERABLE, Question, load, open_fresh, questions_of, write_conversation
from satchel.base.tokens import TokenCounter, token_counter
from satchel.brief.briefing.records import Briefing
from satchel.client import Satchel
from satchel.find.query import words

BUDGETS = (250, 500, 1_000, 2_000, 4_000)
_JUDGED = (500, 1_000, 2_000)
_ROLE, _ROLES = "developer", ("developer", "senior_engineer", "qa_expert", "tech_lead", "investigator", None)
_ROLES_BUDGET = 1_000
_READER = "reader"
_MAX_RESULTS = 500
_OF_OTHERS, _QUICK_OF_OTHERS = 1_000, 50
_ELSEWHERE = ("bench",) * 4
"""The runs of the packages that are not in the conversation's."""

BRIEFING, UNSHORTENED, PLAIN, LABELLED, NEWEST = (
    "briefing",
    "briefing, unshortened",
    "plain entries",
    "plain entries with id and speaker",
    "newest first",
)
"""What is compared."""

_Growing = defaultdict[str, defaultdict[int, list[float]]]


def _growing() -> _Growing:
    return defaultdict(lambda: defaultdict(list))


def run(bench: Bench) -> Section:
    """Measure every LoCoMo file in the folder of data sets."""
    if bench.data is None:
        raise NotMeasuredError("it needs public data sets: give their folder with --data, or make bench DATA=...")
    counter = token_counter()
    if not counter.exact:
        raise NotMeasuredError("it needs the tokens extra: an estimate can fill no budget")
    files = sorted(bench.data.glob("**/locomo*.json.gz"))
    if not files:
        raise NotMeasuredError(f"{bench.data} holds no locomo*.json.gz")
    figures: list[Figure] = []
    pictures: dict[str, str] = {}
    for file in files:
        name = file.name.removesuffix(".json.gz")
        asked = _ask(file, bench, counter)
        figures += _figures(name, asked)
        pictures["relevance.svg" if len(files) == 1 else f"relevance-{name}.svg"] = drawn(_curves(asked.shares))
    links = " ".join(f"![the share of evidence delivered, by budget]({picture})" for picture in pictures)
    return Section(
        "Evidence delivered by briefings",
        tuple(figures),
        (
            "Values are shares of the evidence of questions of categories 1-4. Each conversation has a project of its "
            "own, so that briefings and plain lists draw on the same entries. Every turn is an entry of one run; "
            f"the project holds {_OF_OTHERS:,} records of every other kind too, a tenth of them of high priority: "
            "a fifth of the packages in that run, half of the messages to the agent that asks. The question is the "
            "query. An entry that a briefing shows counts, shortened or not: it shows the part of a text that holds "
            "most of the question's words. Since evidence that is cut off is of little use, the share of the answer's "
            "words that stand in what is shown is given too. Plain entries: the first results of `entries.read` in the "
            "run, whole, as many as the budget takes; with id and speaker they are what an agent could use. Target: "
            "what plain entries deliver in the same budget.",
            links,
        ),
        pictures,
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """One share a question.

    Attributes:
        shares: of the evidence that each method delivered, by budget.
        answers: of the words of the answer in what each method shows, by budget.
        of_roles: of the evidence that each role got within one budget.
        others: how many items beside entries there were within that budget.
    """

    shares: _Growing = field(default_factory=_growing)
    answers: _Growing = field(default_factory=_growing)
    of_roles: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    others: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Turn:
    """An entry: its place and text, and what it costs alone and with id and speaker."""

    place: int
    text: str
    cost: int
    labelled: int


def _ask(file: Path, bench: Bench, counter: TokenCounter) -> _Asked:
    asked = _Asked()
    conversations = load(file)
    for number, one in enumerate(conversations, 1):
        bench.progress.say(f"LoCoMo: {file.name}, conversation {number} of {len(conversations)}")
        _ask_of(one, bench.folder / f"{file.name}-{number}.db", bench, counter, asked)
    return asked


def _ask_of(one: Any, store: Path, bench: Bench, counter: TokenCounter, asked: _Asked) -> None:
    """Ask the questions of one conversation in a store of its own.

    A briefing draws on the whole project, a plain list on one run: so both see the same entries.
    """
    run_id = one["sample_id"]
    with open_fresh(store) as satchel:
        kept = write_conversation(satchel, one)
        write_others(satchel, bench.choose(_OF_OTHERS, _QUICK_OF_OTHERS), Place((run_id, *_ELSEWHERE), (_READER,)))
        turns = {
            entry: _Turn(place, text, counter.count(f"{text.split(' ', 1)[1]}\n"), counter.count(f"e{entry} {text}\n"))
            for place, (entry, text) in enumerate(kept.values(), 1)
        }
        for question in _chosen(one, kept, bench):
            _answer(satchel, question, run_id, turns, asked)


def _chosen(one: Any, kept: Iterable[str], bench: Bench) -> list[Question]:
    questions = [question for question in questions_of(one, kept) if question.category in ANSWERABLE]
    return questions[:: bench.choose(1, 20)]


def _answer(satchel: Satchel, question: Question, run_id: str, turns: Mapping[int, _Turn], asked: _Asked) -> None:
    """Add what each method delivers of a question's evidence and answer in each budget."""
    wanted = frozenset(words(question.answer))

    def add(method: str, budget: int, shown: Iterable[_Turn], text: str | None = None) -> None:
        turns = list(shown)
        asked.shares[method][budget].append(_share(question, turns))
        if wanted:
            said = words(" ".join(turn.text for turn in turns) if text is None else text)
            asked.answers[method][budget].append(len(wanted.intersection(said)) / len(wanted))

    found = [entry.id for entry in satchel.entries.read(query=question.text, run_id=run_id, limit=_MAX_RESULTS)]
    for budget in BUDGETS:
        briefing = _brief(satchel, question, run_id, _ROLE, budget)
        add(BRIEFING, budget, _turns_of(briefing, turns), briefing.text)
        add(UNSHORTENED, budget, _turns_of(briefing, turns, is_whole=True))
        add(PLAIN, budget, _filled(found, turns, budget))
        add(LABELLED, budget, _filled(found, turns, budget, is_labelled=True))
        add(NEWEST, budget, _filled(sorted(turns, reverse=True), turns, budget))
        if budget == _ROLES_BUDGET:
            asked.others.append(sum(item.kind != "entry" for item in briefing.items))
    for role in _ROLES:
        briefing = _brief(satchel, question, run_id, role, _ROLES_BUDGET)
        asked.of_roles[role or "no role"].append(_share(question, _turns_of(briefing, turns)))


def _brief(satchel: Satchel, question: Question, run_id: str, role: str | None, budget: int) -> Briefing:
    briefing = satchel.brief(role, query=question.text, budget=budget, run_id=run_id, agent=_READER, dry_run=True)
    assert briefing.tokens <= budget
    return briefing


def _turns_of(briefing: Briefing, turns: Mapping[int, _Turn], *, is_whole: bool = False) -> list[_Turn]:
    """Return the turns that a briefing shows, or those that it does not shorten."""
    entries = [item for item in briefing.items if item.kind == "entry" and not (is_whole and item.is_shortened)]
    return [turns[int(item.ref[1:])] for item in entries]


def _filled(
    entries: Iterable[int], turns: Mapping[int, _Turn], budget: int, *, is_labelled: bool = False
) -> list[_Turn]:
    """Return the turns of the first entries that fit into a budget."""
    chosen: list[_Turn] = []
    used = 0
    for entry in entries:
        turn = turns[entry]
        used += turn.labelled if is_labelled else turn.cost
        if used > budget:
            break
        chosen.append(turn)
    return chosen


def _share(question: Question, turns: Iterable[_Turn]) -> float:
    return len(question.gold.intersection(turn.place for turn in turns)) / len(question.gold)


def _curves(shares: _Growing) -> dict[str, list[float]]:
    return {method: [statistics.fmean(by_budget[budget]) for budget in BUDGETS] for method, by_budget in shares.items()}


def _figures(name: str, asked: _Asked) -> list[Figure]:
    curves, said = _curves(asked.shares), _curves(asked.answers)
    questions = len(asked.shares[BRIEFING][BUDGETS[0]])
    figures: list[Figure] = []
    for at, budget in enumerate(BUDGETS):
        what = f"{name} ({questions:,} questions), {budget:,} tokens"
        figures.append(
            Figure(
                f"{what}: {BRIEFING}",
                curves[BRIEFING][at],
                baseline=curves[PLAIN][at],
                beside=f"plain, {curves[LABELLED][at]:.3f} with id and speaker, {curves[NEWEST][at]:.3f} newest first",
                at_least=curves[PLAIN][at] if budget in _JUDGED else None,
            )
        )
        figures.append(Figure(f"{what}: {UNSHORTENED}", curves[UNSHORTENED][at]))
        figures.append(
            Figure(
                f"{what}: words of the answer",
                said[BRIEFING][at],
                baseline=said[PLAIN][at],
                beside=f"plain, {said[LABELLED][at]:.3f} with id and speaker, {said[NEWEST][at]:.3f} newest first",
            )
        )
    for role, shares in asked.of_roles.items():
        figures.append(Figure(f"{name}, {_ROLES_BUDGET:,} tokens: {role}", statistics.fmean(shares)))
    figures.append(
        Figure(f"{name}, {_ROLES_BUDGET:,} tokens: items beside entries, {_ROLE}", statistics.fmean(asked.others))
    )
    return figures


_WIDTH, _HEIGHT = 640, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 224, 16, 40
_COLOURS = {BRIEFING: "#0b6e4f", UNSHORTENED: "#7fb69f", PLAIN: "#1f4e9c", LABELLED: "#8fb0e0", NEWEST: "#999999"}
_LEAST_GAP = 14


def drawn(curves: Mapping[str, Sequence[float]]) -> str:
    """Return curves by budget as an SVG picture; budgets double from mark to mark."""
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    first, last = log2(BUDGETS[0]), log2(BUDGETS[-1])
    across = [_LEFT + (log2(budget) - first) / (last - first) * (right - _LEFT) for budget in BUDGETS]

    def down(share: float) -> float:
        return bottom - share * (bottom - _TOP)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
    ]
    for tenth in range(0, 11, 2):
        y = down(tenth / 10)
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{right}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tenth / 10:.1f}</text>')
    for x, budget in zip(across, BUDGETS, strict=True):
        parts.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{budget:,}</text>')
    middle = (_LEFT + right) / 2
    parts.append(f'<text x="{middle:.0f}" y="{_HEIGHT - 6}" text-anchor="middle">tokens</text>')
    above = float(-_LEAST_GAP)
    for name in sorted(curves, key=lambda name: -curves[name][-1]):
        points = " ".join(f"{x:.1f},{down(share):.1f}" for x, share in zip(across, curves[name], strict=True))
        colour = _COLOURS[name]
        above = max(down(curves[name][-1]), above + _LEAST_GAP)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{right + 8}" y="{above + 4:.1f}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>\n"])
