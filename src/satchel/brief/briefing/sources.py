"""Sources of candidates of one kind, which are chosen and counted without reading them all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from satchel.base.errors import SatchelError
from satchel.base.records import dataclass, field, replace
from satchel.base.vocabulary import PRIORITIES
from satchel.brief.briefing.ranking import LOW, MEDIUM
from satchel.brief.briefing.records import COUNTED, CRITICAL, Candidate, Request
from satchel.brief.fields import joined, name_text, value_text
from satchel.find.kind import Kind
from satchel.keep.binding import UNCONFIRMED, author_of, binding_caller, until_in
from satchel.keep.decisions.records import DEPRECATED, STATUSES, value_of
from satchel.keep.loop_scope import LoopScope
from satchel.keep.names import is_persons
from satchel.keep.projects import Workplace
from satchel.keep.runs import RunChoice
from satchel.store.transaction import Asking, Row, Rows, Transaction, of_these, set_of

# The most candidates of one kind, whatever the budget.
MAX_CANDIDATES = 500


# With a query, other candidates are gathered for this part of the budget.
_PART_WITHOUT_MATCH = 4
_LEAST_RELEVANCE = 0.5  # of the best match, if only matches are shown


@dataclass(frozen=True, slots=True)
class BriefingContext:
    """The reader of a briefing and its work, looked up in the store.

    Attributes:
        run: the run of the agent's loop: the chosen one, else ``main``.
        is_run_chosen: whether it was chosen, so that it is also that of the agent's task.
        delivered: earlier deliveries, as :func:`satchel.keep.deliveries.delivered` returns them.
        has_query: whether matches of a query will be added.
        now: milliseconds UTC.
        left_off: the id of the scratchpad that a new session continues, or None.
        carried: the ids of the attempts of its loop since the last success, if the session names no task or loop.
        loop: whose attempts count; its author is the agent's id, None for nobody, -1 for an unknown name.
        loop_since: the time (milliseconds UTC) and id after which scratchpads of the loop are shown.
        pinned: the ids of pinned items, by kind number.
    """

    transaction: Transaction
    workplace: Workplace
    request: Request
    run: RunChoice
    is_run_chosen: bool
    delivered: Mapping[int, Mapping[int, int]]
    has_query: bool
    only_matches: bool
    now: int
    loop: LoopScope
    loop_since: tuple[int, int] = (0, 0)
    pinned: Mapping[int, Collection[int]] = MappingProxyType({})
    left_off: int | None = None
    carried: tuple[int, ...] = ()

    @property
    def values(self) -> dict[str, object]:
        """The parameters of every statement of a source."""
        return {
            **self.loop.values,
            "role": self.request.role,
            "me": self.loop.author,
            "now": self.now,
            "since": self.request.since,
            "loop_since": self.loop_since[0],
            "success": self.loop_since[1],
        }


# Makes a candidate of its fields after section, kind, number and seq.
New = Callable[..., Candidate]

# Makes candidates of items by their ids; a note names those that cannot be read.
Load = Callable[[BriefingContext, "Source", Sequence[int], list[str]], Asking[list[Candidate]]]


@dataclass(frozen=True, slots=True)
class Source:
    """One kind of item that a briefing draws on.

    Attributes:
        name: the kind in the plural, as in ``error patterns``.
        tool: the tool that shows more of them.
        where: the SQL condition for eligible items, with the values of :class:`BriefingContext`; empty if there are
            none.
        match_where: the condition for eligible matches of the query; None is ``where``.
        orders: how they are ranked, critical ones first; several if one index cannot serve them, each an order and a
            condition.
        narrowed: the condition that those add to; None is ``where``.
        priority: their priority, in SQL.
        may_be_critical: whether any of them can be critical.
        load: makes candidates of them.
        tokens: the length of a short one, which decides how many candidates are read.
        seq: the number of their last change, in SQL.
        changed_at: the time of that change, in SQL.
        counts_matches: whether only matches count if there is a query.
        narrows: returns which matches count, if not all do.
        reminds: whether a line of critical ones stays after their delivery.
        binds: whether they are rules or decisions: all are read and counted.
    """

    name: str
    section: str
    kind: Kind
    where: str
    orders: tuple[tuple[str, str], ...]
    priority: str
    load: Load
    tokens: int
    match_where: str | None = None
    narrowed: str | None = None
    may_be_critical: bool = False
    seq: str = "c.seq"
    changed_at: str = "c.created_at"
    counts_matches: bool = False
    reminds: bool = False
    binds: bool = False
    narrows: Callable[[BriefingContext, Sequence[int]], Asking[list[int]]] | None = None
    tool: str = "search"

    @property
    def table(self) -> str:
        return f"{self.kind.table} c"

    def most(self, budget: int) -> int:
        """Return the number of candidates that so many tokens can use."""
        return min(MAX_CANDIDATES, budget // self.tokens + 1)


@dataclass(slots=True)
class Gathered:
    """The candidates of one source, and how many new items there are in all.

    Attributes:
        total: eligible items that are new to the receiver; counted up to the limit for :data:`COUNTED` if none can be
            critical.
        critical: how many of them are critical.
        repeated: unchanged items that were delivered.
        only_matches: whether only matches of the query were counted.
    """

    source: Source
    candidates: dict[int, Candidate] = field(default_factory=dict)
    total: int = 0
    critical: int = 0
    repeated: int = 0
    only_matches: bool = False


def with_pins(context: BriefingContext, source: Source) -> Source:
    """Return a source in which pinned items rank as critical."""
    pinned = context.pinned.get(source.kind.number)
    if not pinned:
        return source
    is_pinned = f"c.id IN {set_of(pinned)}"
    return replace(
        source,
        orders=(("c.id DESC", is_pinned), *source.orders),
        priority=f"CASE WHEN {is_pinned} THEN {CRITICAL} ELSE {source.priority} END",
        may_be_critical=True,
        # messages cannot be pinned, so they leave no line
        reminds=True,
    )


def gather(
    context: BriefingContext, source: Source, relevance: Mapping[int, float], notes: list[str]
) -> Asking[Gathered]:
    """Choose and count the candidates of a source.

    ``relevance`` has the matches of the query, best first. ``notes`` gets items that cannot be read.
    """
    gathered = Gathered(source)
    match_where = source.where if source.match_where is None else source.match_where
    matches = None
    if match_where and relevance:
        of_matches = of_these(match_where, "c", set_of(relevance))
        matches = context.transaction.ask(
            f"SELECT c.id, {source.seq} FROM {source.table} WHERE {of_matches}", context.values
        )
    if source.where:
        yield from _choose(context, gathered, notes)
    if matches is not None:
        yield from _add_matches(context, gathered, matches, relevance, notes)
    return gathered


def _choose(context: BriefingContext, gathered: Gathered, notes: list[str]) -> Asking[None]:
    source, transaction, values = gathered.source, context.transaction, context.values
    lately = "" if context.request.since is None else f" AND {source.changed_at} > :since"
    where = source.where + lately
    narrowed = where if source.narrowed is None else source.narrowed + lately
    got = context.delivered.get(source.kind.number, {})
    delivered = counted = None
    if got:
        of_delivered = of_these(where, "c", set_of(got))
        delivered = transaction.ask(
            f"SELECT c.id, {source.seq}, {source.priority} FROM {source.table} WHERE {of_delivered}", values
        )
    if context.request.counts or source.binds:
        counted = transaction.ask(*_counting(source, where, values, len(got)))
    last = counted or delivered
    if last is not None:
        yield last
    rows = [] if delivered is None else delivered.all()
    priorities = {number: priority for number, seq, priority in rows if seq <= got[number]}
    gathered.repeated = len(priorities)
    if counted is not None:
        ((total, of_critical),) = counted.all()
        gathered.total = total - len(priorities)
        gathered.critical = of_critical - sum(priority == CRITICAL for priority in priorities.values())
    if gathered.total or counted is None:
        most = source.most(context.request.budget)
        if context.has_query and not source.binds:
            # other items only fill the rest
            most = 0 if context.only_matches else source.most(context.request.budget // _PART_WITHOUT_MATCH)
        most = max(most, min(MAX_CANDIDATES, gathered.critical))
        most += len(priorities) if most else 0
        ordered = [
            transaction.ask(
                f"""
                SELECT c.id FROM {source.table} WHERE {narrowed}{f" AND {condition}" if condition else ""}
                ORDER BY {order} LIMIT {most}
                """,
                values,
            )
            for order, condition in reversed(source.orders)
        ]
        yield ordered[-1]
        numbers = dict.fromkeys(number for rows in ordered for (number,) in rows.all() if number not in priorities)
        yield from _add(context, gathered, list(numbers), notes)
        if counted is None:
            gathered.total = gathered.critical = sum(one.is_critical for one in gathered.candidates.values())
    reminders = [number for number, priority in priorities.items() if priority == CRITICAL]
    if source.reminds and context.request.reminds and reminders:
        yield from _add(context, gathered, reminders, notes)
        for number in reminders:
            if number in gathered.candidates:
                gathered.candidates[number] = replace(gathered.candidates[number], is_repeated=True)


def _counting(source: Source, where: str, values: Mapping[str, object], got: int) -> tuple[str, dict[str, object]]:
    if source.may_be_critical:
        critical = f"count(*) FILTER (WHERE {source.priority} = {CRITICAL})"
        return f"SELECT count(*), {critical} FROM {source.table} WHERE {where}", {**values}
    most = COUNTED + MAX_CANDIDATES + got + 1
    some = f"SELECT 1 FROM {source.table} WHERE {where} LIMIT :counted"
    return f"SELECT count(*), 0 FROM ({some}) AS counted", {**values, "counted": most}


def _add_matches(
    context: BriefingContext, gathered: Gathered, matches: Rows, relevance: Mapping[int, float], notes: list[str]
) -> Asking[None]:
    source = gathered.source
    yield matches
    got = context.delivered.get(source.kind.number, {})
    eligible: dict[int, int] = dict(matches.all())
    least = _LEAST_RELEVANCE if context.only_matches and not source.binds else 0.0
    strong = (number for number, strength in relevance.items() if strength >= least)
    fresh = [number for number in strong if number in eligible and eligible[number] > got.get(number, -1)]
    repeated = len(eligible) - len(fresh)
    if source.narrows is not None:
        fresh = yield from source.narrows(context, fresh)
    if source.counts_matches and eligible:
        gathered.total, gathered.critical, gathered.only_matches = len(fresh), 0, True
        gathered.repeated = repeated
    more = [number for number in fresh[: source.most(context.request.budget)] if number not in gathered.candidates]
    yield from _add(context, gathered, more, notes)
    for number in fresh:
        candidate = gathered.candidates.get(number)
        if candidate is not None:
            gathered.candidates[number] = replace(candidate, relevance=relevance[number])


def _add(context: BriefingContext, gathered: Gathered, numbers: Sequence[int], notes: list[str]) -> Asking[None]:
    if numbers:
        pinned = context.pinned.get(gathered.source.kind.number, ())
        some = yield from gathered.source.load(context, gathered.source, numbers, notes)
        loaded = {
            one.number: replace(one, priority=CRITICAL, is_pinned=True) if one.number in pinned else one for one in some
        }
        gathered.candidates |= {number: loaded[number] for number in numbers if number in loaded}


def loading(columns: str, joined: str, make: Callable[[BriefingContext, New, Row], Candidate]) -> Load:
    """Return a loader that makes a candidate of each row of ``columns`` (after id and seq) FROM ``joined``."""

    def load(
        context: BriefingContext, source: Source, numbers: Sequence[int], notes: list[str]
    ) -> Asking[list[Candidate]]:
        rows = context.transaction.ask(
            f"SELECT c.id, c.seq, {columns} FROM {joined} WHERE c.id IN {set_of(numbers)}", context.values
        )
        yield rows
        return candidates(source, rows.all(), partial(make, context), notes)

    return load


def candidates(
    source: Source, rows: Iterable[Row], make: Callable[[New, Row], Candidate], notes: list[str]
) -> list[Candidate]:
    """Make candidates of rows that begin with id and seq; a note names a row that cannot be read."""
    made: list[Candidate] = []
    for row in rows:
        try:
            made.append(make(partial(Candidate, source.section, source.kind, row[0], row[1]), row))
        except (SatchelError, ValueError, TypeError, LookupError) as error:
            problem = error.problem if isinstance(error, SatchelError) else f"{type(error).__name__}: {error}"
            notes.append(f"{source.kind.ref(int(str(row[0])))} could not be read: {problem}"[:200])
    return made


# Always true, so that an index by priority and time is searched for each priority, not scanned.
ANY_PRIORITY = f"c.priority IN ({', '.join(map(str, range(1, len(PRIORITIES) + 1)))})"


_ACTIVE, _DRAFT = (STATUSES.index(status) + 1 for status in ("active", "draft"))

# Whether a decision has the task of the agent, or the branch of its session, as a tag.
_IS_OF_TASK = """
    EXISTS (SELECT 1 FROM decision_tags j JOIN tags n ON n.id = j.tag_id WHERE j.decision_id = c.id
        AND n.name IN (:task, (SELECT branch FROM sessions WHERE id = :session)))
"""


def constraints(context: BriefingContext) -> Source:
    """Return the active constraints, the most urgent first."""
    binding = binding_caller(context.transaction, context.workplace, context.loop.project_id)
    return Source(
        name="rules",
        section="rules",
        kind=Kind.CONSTRAINT,
        where=f"c.project_id = :project AND c.active = 1{binding} AND {ANY_PRIORITY}",
        reminds=True,
        orders=(("c.priority DESC, c.created_at DESC, c.id DESC", ""),),
        priority="c.priority",
        may_be_critical=True,
        binds=True,
        load=loading(
            "c.priority, c.text, a.name, c.created_at, c.unconfirmed, c.metadata, c.paths",
            f"constraints c LEFT JOIN agents a ON a.id = {author_of('c')}",
            _constraint,
        ),
        tokens=12,
    )


def _constraint(_context: BriefingContext, new: New, row: Row) -> Candidate:
    _number, _seq, priority, text, agent, created, unconfirmed, metadata, globs = row
    return new(
        group="rules",
        head=UNCONFIRMED if unconfirmed else "",
        text=f"{text}{until_in(metadata, globs)}",
        priority=priority,
        changed_at=created,
        is_persons=is_persons(agent),
    )


def decisions(_context: BriefingContext) -> Source:
    """Return the active decisions, the last changed first, then drafts."""
    return Source(
        name="decisions",
        section="rules",
        kind=Kind.DECISION,
        changed_at="c.updated_at",
        where=f"c.project_id = :project AND c.status <> {DEPRECATED}",
        narrowed="c.project_id = :project",
        orders=(
            ("c.updated_at DESC, c.id DESC", f"c.status = {_ACTIVE}"),
            # drafts are few: + avoids reading all decisions in the order of the index
            ("+c.updated_at DESC, c.id DESC", f"c.status = {_DRAFT}"),
        ),
        priority=str(MEDIUM),
        binds=True,
        load=loading(
            f"c.key, c.status, c.value_text, c.value_number, c.rationale, a.name, c.updated_at, c.metadata, "
            f"c.paths, {_IS_OF_TASK}",
            "decisions c LEFT JOIN agents a ON a.id = c.agent_id",
            _decision,
        ),
        tokens=10,
    )


def _decision(_context: BriefingContext, new: New, row: Row) -> Candidate:
    _number, _seq, key, status, text, value, rationale, agent, changed, metadata, globs, is_of_task = row
    return new(
        group="decisions",
        head=joined(name_text(key), "(draft)" if status == _DRAFT else None),
        text=f"{value_text(value_of(text, value))}{until_in(metadata, globs)}",
        reason=rationale or "",
        priority=LOW if status == _DRAFT else MEDIUM,  # a draft stands behind what holds
        changed_at=changed,
        subject=key,
        is_of_task=bool(is_of_task),
        is_persons=is_persons(agent),
    )
