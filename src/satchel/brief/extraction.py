"""Strategies that a run suggests: work that passed review after it had failed, with its entries as evidence.

A run is split by what its verdicts name: a task, else a loop, else the whole run. A task includes entries without a
task in the loops that its verdicts name. A part suggests a strategy if its newest verdict passed, and earlier a verdict
or the tests of a scratchpad failed (:func:`satchel.brief.loop_history.fails`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from satchel.base.errors import InvalidInput, NotFound
from satchel.base.records import dataclass
from satchel.base.text import fold, shortened
from satchel.brief.loop_history import fails, new_attempts, succeeded
from satchel.find.kind import Kind
from satchel.keep import projects, runs
from satchel.keep.entries import structured
from satchel.keep.entries.records import CODEBASE_ANALYSIS, REVIEW_ISSUE, REVIEW_VERDICT, SCRATCHPAD
from satchel.keep.entries.structured import ReviewIssue, ReviewVerdict, Scratchpad
from satchel.keep.projects import Workplace
from satchel.keep.strategies import MAX_INSIGHT_CHARS, check_topic
from satchel.store.transaction import Transaction

# How many entries are named as evidence, newest first.
MAX_EVIDENCE = 12

# How many entries of one part are read, newest first.
_MOST_READ = 1_000

_MAX_TEXTS = 3
_WORKED_CHARS = 280
_TOPIC_WORDS = 5

_TICKET = re.compile(r"\b[A-Z]+-\d+\b")
_TOKEN = re.compile(r"[^\W_]+")
_GENERIC = frozenset("task tasks group story ticket issue step item todo work loop".split())

_STACK_WORD = re.compile(r"(?<![\w-])[a-z][\w+#]*(?:-native|\.js)?")
_LANGS = """
c c++ cpp=c++ c# csharp=c# clojure dart elixir erlang go golang=go haskell java javascript js=javascript kotlin lua perl
php python py=python ruby rust scala swift typescript ts=typescript zig
"""
# Names in a stack, each with the canonical name if that differs.
_FRAMEWORKS = """
angular astro django express express.js=express fastapi fastify flask flutter laravel nestjs nest.js=nestjs next=next.js
nextjs=next.js next.js nuxt nuxt.js=nuxt phoenix quarkus rails react react.js=react react-native remix spring starlette
svelte symfony vue vue.js=vue
"""

# Technologies that imply another: a note that names both means the first.
_CONTAINED = {"typescript": "javascript", "next.js": "react", "remix": "react", "react-native": "react", "nuxt": "vue"}


@dataclass(frozen=True, slots=True)
class StrategyProposal:
    """A strategy that a run suggests; it is not saved.

    Attributes:
        topic: from the task's name, else the issue type, else words of the solution; hyphenated.
        insight: the solution and the failures before it; at most 500 characters.
        evidence: the short ids of at most 12 entries, in order.
        lang: the language, if the run's codebase_analysis names exactly one; ``framework`` likewise.
        run_id: the run that suggests it.
        task_id, loop_id: the part that passed review; both None is the whole run.
    """

    topic: str
    insight: str
    evidence: tuple[str, ...]
    lang: str | None
    framework: str | None
    run_id: str
    task_id: str | None
    loop_id: str | None


@dataclass(frozen=True, slots=True)
class _Event:
    number: int
    content: ReviewIssue | ReviewVerdict | Scratchpad
    summary: str | None
    task_id: str | None
    loop_id: str | None
    is_live: bool

    @property
    def has_failed(self) -> bool:
        if isinstance(self.content, Scratchpad):
            return fails(self.content.test_status)
        return isinstance(self.content, ReviewVerdict) and not self.content.passed


@dataclass(frozen=True, slots=True)
class _Part:
    task_id: str | None
    loop_id: str | None


@dataclass(frozen=True, slots=True)
class _Lesson:
    worked: str
    insight: str
    evidence: list[int]


def propose(workplace: Workplace, run_id: str | None) -> tuple[StrategyProposal, ...]:
    """Return the strategies that a run suggests, in the order in which they passed review.

    ``run_id`` None takes the default run, else the run that ended last.
    """
    with projects.reading(workplace) as (transaction, project):
        number, name = _choose(transaction, workplace, project.id, run_id)
        events, stack = _load(transaction, number)
    return _proposals(events, stack, name)


def _proposals(events: Sequence[_Event], stack: Sequence[str], run_id: str) -> tuple[StrategyProposal, ...]:
    lang, framework = _only_match(stack, _LANGS), _only_match(stack, _FRAMEWORKS)
    proposals: list[StrategyProposal] = []
    for part, members in _parts(events):
        lesson = _lesson(members)
        if lesson is not None:
            topic = _topic(part.task_id, members, lesson.worked)
            refs = tuple(map(Kind.ENTRY.ref, lesson.evidence))
            proposals.append(
                StrategyProposal(topic, lesson.insight, refs, lang, framework, run_id, part.task_id, part.loop_id)
            )
    return tuple(proposals)


def _choose(transaction: Transaction, workplace: Workplace, project_id: int, run_id: str | None) -> tuple[int, str]:
    if run_id is not None or workplace.run_id is not None:
        choice = runs.choose_one(transaction, workplace, project_id, run_id)
        return choice.id, choice.run_id
    ended = runs.latest_ended(transaction, project_id)
    if ended is None:
        raise NotFound("no run has ended yet", "Name the run with run_id")
    return ended.id, ended.run_id


def _load(transaction: Transaction, run: int, part: _Part | None = None) -> tuple[list[_Event], tuple[str, ...]]:
    columns, of_project = "id, type, content, task_id, loop_id, superseded_by, created_at", "(SELECT project_id FROM r)"
    if part is None:
        source = f"SELECT {columns} FROM context WHERE +project_id = {of_project} AND run_id = :run"
    else:
        arms = (
            f"SELECT * FROM (SELECT {columns} FROM context WHERE project_id = {of_project} AND {scope} "
            f"AND run_id = :run ORDER BY created_at DESC, id DESC LIMIT {_MOST_READ}) AS newest"
            for scope in _scopes(part)
        )
        source = " UNION ALL ".join(arms)
    values = {"run": run, "task": part and part.task_id, "loop": part and part.loop_id}
    rows = transaction.all(
        f"""
        WITH r AS (SELECT project_id FROM runs WHERE id = :run)
        SELECT id, type, content, task_id, loop_id, superseded_by IS NULL FROM ({source}) AS entries
        WHERE type IN ({", ".join(map(str, _READERS))}) ORDER BY created_at, id
        """,
        values,
    )
    events: list[_Event] = []
    for number, kind, content, task, loop, is_live in rows:
        with suppress(InvalidInput):  # rows written by other programs may be malformed
            parsed = _READERS[kind](content)
            events.append(_Event(number, parsed, structured.telling_text(content), task, loop, bool(is_live)))
    analyses = transaction.all(
        f"SELECT content FROM context WHERE run_id = :run AND type = {CODEBASE_ANALYSIS} AND superseded_by IS NULL",
        {"run": run},
    )
    for (content,) in analyses:
        with suppress(InvalidInput):
            analysis = structured.codebase_analysis(content)
            return events, analysis.tech_stack or (analysis.project_type or "",)
    return events, ()


def _scopes(part: _Part) -> tuple[str, ...]:
    if part.task_id is not None:
        loops = (
            f"SELECT loop_id FROM context WHERE project_id = (SELECT project_id FROM r) AND task_id = :task "
            f"AND run_id = :run AND type = {REVIEW_VERDICT} AND loop_id IS NOT NULL"
        )
        return "task_id = :task", f"loop_id IN ({loops}) AND task_id IS NULL"
    return ("loop_id = :loop",) if part.loop_id is not None else tuple(f"type = {kind}" for kind in _READERS)


_READERS: dict[int, Callable[[str], ReviewIssue | ReviewVerdict | Scratchpad]] = {
    REVIEW_ISSUE: structured.review_issue,
    REVIEW_VERDICT: structured.review_verdict,
    SCRATCHPAD: structured.scratchpad,
}


def _parts(events: Sequence[_Event]) -> list[tuple[_Part, list[_Event]]]:
    verdicts = [(place, event) for place, event in enumerate(events) if isinstance(event.content, ReviewVerdict)]
    parts: dict[_Part, list[_Event]] = {}
    for place, verdict in reversed(verdicts):
        part = _part_of(verdict)
        if part not in parts:
            loops = {one.loop_id for _, one in verdicts if one.task_id == part.task_id} - {None}
            is_passed = verdict.is_live and not verdict.has_failed
            members = [event for event in events[: place + 1] if _belongs(event, part, loops)]
            parts[part] = members if is_passed else []
    return [(part, members) for part, members in reversed(parts.items()) if members]


def _part_of(verdict: _Event) -> _Part:
    return _Part(verdict.task_id, None if verdict.task_id is not None else verdict.loop_id)


def _belongs(event: _Event, part: _Part, loops: set[str | None]) -> bool:
    if part.task_id is not None:
        return event.task_id == part.task_id or (event.task_id is None and event.loop_id in loops)
    if part.loop_id is not None:
        return event.loop_id == part.loop_id
    return event.task_id is None and event.loop_id is None


def _lesson(members: Sequence[_Event]) -> _Lesson | None:
    failures = [place for place, event in enumerate(members) if event.has_failed]
    if not failures:
        return None
    before, after = members[: failures[-1] + 1], members[failures[-1] + 1 : -1]
    old = [event.content for event in before if isinstance(event.content, Scratchpad)]
    new = [event for event in after if isinstance(event.content, Scratchpad)]
    issues = [event for event in members if isinstance(event.content, ReviewIssue)]
    worked = _solution(old, new, issues, members[-1])
    if worked is None:
        return None
    failed = [members[place] for place in failures]
    failures_text = "; ".join(_last_texts(_failures(old, failed, issues)))
    times = "once" if len(failures) == 1 else f"{len(failures)} times"
    short = shortened(worked, _WORKED_CHARS)
    insight = f"{short} (passed review after failing {times}{': ' if failures_text else ''}"
    insight += f"{shortened(failures_text, MAX_INSIGHT_CHARS - len(insight) - 1)})" if failures_text else ")"
    evidence = sorted(event.number for event in (*failed, *new, *issues, members[-1]))
    return _Lesson(worked, insight, evidence[-MAX_EVIDENCE:])


def _solution(
    old: Sequence[Scratchpad], new: Sequence[_Event], issues: Sequence[_Event], verdict: _Event
) -> str | None:
    pads = [event.content for event in new if isinstance(event.content, Scratchpad)]
    if passed := next((place for place, pad in enumerate(pads) if succeeded(pad) and new_attempts(pad, old)), None):
        old, pads = [*old, *pads[:passed]], pads[passed:]
    attempts = list(dict.fromkeys(attempt for pad in pads for attempt in new_attempts(pad, old)))
    summaries = [event.summary for event in new if event.summary is not None]
    suggested = [event.content.suggestion for event in issues if isinstance(event.content, ReviewIssue)]
    sources: tuple[Iterable[str | None], ...] = (attempts, summaries[-1:], suggested, (verdict.summary,))
    texts = ("; ".join(_last_texts(source)) for source in sources)
    return next((text for text in texts if text), None)


def _failures(old: Sequence[Scratchpad], failed: Sequence[_Event], issues: Sequence[_Event]) -> list[str | None]:
    passed = {attempt for place, pad in enumerate(old) if succeeded(pad) for attempt in new_attempts(pad, old[:place])}
    listed = dict.fromkeys(attempt for pad in old for attempt in pad.attempted)
    attempts: list[str | None] = [attempt for attempt in listed if attempt.strip() not in passed]
    summaries: list[str | None] = [event.summary for event in failed]
    issue_texts: list[str | None] = [
        event.content.description for event in issues if isinstance(event.content, ReviewIssue)
    ]
    return next((texts for texts in (attempts, summaries, issue_texts) if any(texts)), [])


def _last_texts(texts: Iterable[str | None]) -> list[str]:
    return [" ".join(text.split()) for text in texts if text and text.strip()][-_MAX_TEXTS:]


def _topic(task_id: str | None, members: Sequence[_Event], worked: str) -> str:
    words = [word for word in _TOKEN.findall(_TICKET.sub(" ", task_id or "")) if _is_specific(word)]
    if words:
        return check_topic(" ".join(words))
    types = Counter(
        event.content.issue_type
        for event in members
        if isinstance(event.content, ReviewIssue) and event.content.issue_type
    )
    for name, _ in types.most_common(1):
        try:
            return check_topic(name)
        except InvalidInput:
            break  # a store of an earlier version may have any text
    from satchel.find.likeness import words_of

    telling = [word for word in words_of(worked) if _is_specific(word)][:_TOPIC_WORDS]
    return check_topic(" ".join(telling or ["general"]))


def _is_specific(word: str) -> bool:
    return fold(word) not in _GENERIC and sum(letter.isalpha() for letter in word) >= 3


def _only_match(stack: Sequence[str], names_text: str) -> str | None:
    names = {name: called or name for name, _, called in (word.partition("=") for word in names_text.split())}
    words = _STACK_WORD.findall(" ".join(stack).casefold().replace("react native", "react-native"))
    matches = {names[word] for word in words if word in names}
    matches -= {_CONTAINED[name] for name in matches if name in _CONTAINED}
    return matches.pop() if len(matches) == 1 else None
