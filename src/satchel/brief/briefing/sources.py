"""Sources: where the candidates of one kind come from, and how they are chosen and counted without reading them all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from satchel.base.errors import SatchelError
from satchel.base.records import dataclass, field, replace
from satchel.base.vocabulary import PRIORITIES
from satchel.brief.briefing.records import COUNTED, CRITICAL, Candidate
from satchel.find.kind import Kind
from satchel.keep.loop_scope import LoopScope
from satchel.keep.projects import Workplace
from satchel.keep.runs import RunChoice
from satchel.store.asking import Asking
from satchel.store.transaction import Row, Rows, Transaction, of_these, set_of

MAX_CANDIDATES = 500
"""So many of one kind are enough for a budget of any size."""


_FOR_WHAT_IS_NOT_FOUND = 4
"""With a query, candidates that it does not find are gathered for this part of the budget."""


@dataclass(frozen=True, slots=True)
class Asked:
    """For whom a briefing is made, looked up in the store.

    Attributes:
        run: the run of the agent's loop: the one that was chosen, else ``main``.
        is_run_chosen: whether it was chosen, so that it is that of the agent's task too.
        role: folded, or None.
        agent: the agent's number; None for nobody, -1 for a name that nobody has.
        delivered: what this receiver has got, as :func:`satchel.keep.deliveries.delivered` returns it.
        budget: the briefing's tokens.
        has_query: whether what a query finds will be added.
        now: milliseconds UTC.
        left_off: the number of the scratchpad that a new session goes on from, or None.
        loop: whose attempts count.
        since: only what changed after that time counts, in milliseconds UTC; None is everything.
        reminds: whether what is critical stays in a line after it was delivered.
        counts: whether everything that is new is counted; otherwise what is critical alone, as far as it is looked at.
        loop_since: after which of its scratchpads the loop is shown, so that those since it succeeded last are, else
            the newest: its time in milliseconds UTC, and its number or 0.
        pinned: the numbers of what persons have pinned, by kind.
    """

    transaction: Transaction
    workplace: Workplace
    project_id: int
    run: RunChoice
    is_run_chosen: bool
    task_id: str | None
    loop_id: str | None
    role: str | None
    agent: int | None
    delivered: Mapping[int, Mapping[int, int]]
    budget: int
    has_query: bool
    now: int
    loop: LoopScope
    loop_since: tuple[int, int] = (0, 0)
    pinned: Mapping[int, Collection[int]] = MappingProxyType({})
    left_off: int | None = None
    since: int | None = None
    reminds: bool = True
    counts: bool = True

    @property
    def values(self) -> dict[str, object]:
        """What every statement of a source may name."""
        return {
            "project": self.project_id,
            "run": self.run.id,
            "task": self.task_id,
            "loop": self.loop_id,
            "role": self.role,
            "me": self.agent,
            "author": self.agent,
            "session": self.loop.session,
            "now": self.now,
            "since": self.since,
            "loop_since": self.loop_since[0],
            "success": self.loop_since[1],
        }


New = Callable[..., Candidate]
"""Makes a candidate of what stands beside its section, kind, number and seq."""

Load = Callable[[Asked, "Source", Sequence[int], list[str]], Asking[list[Candidate]]]
"""Makes candidates of items, by their numbers; what cannot be read is left out and told."""


@dataclass(frozen=True, slots=True)
class Source:
    """One kind of thing that a briefing draws on.

    Attributes:
        name: the kind in the plural, as in ``error patterns``.
        tool: what shows more of them.
        table: what stands after FROM, the items as ``c``.
        where: which of them are eligible, in SQL with the values of :class:`Asked`; empty where none can be.
        found_where: which are eligible when the query finds them; None is ``where``.
        orders: in which order they are needed, critical ones first; several where one index cannot serve them, each an
            order and a condition of its own.
        narrowed: what those conditions narrow to eligible items; None is ``where``.
        priority: their priority, in SQL.
        may_be_critical: whether any of them can be.
        load: makes candidates of them.
        tokens: what a short one takes; decides how many candidates there is use for.
        seq: the number of their last change, in SQL.
        changed_at: when that was, in SQL.
        counts_found: whether what is eligible is what the query found, where there is a query.
        narrows: returns which of the items that the query found count, where that is not all.
        reminds: whether critical ones stay in a line after they were delivered.
    """

    name: str
    section: str
    kind: Kind
    tool: str
    table: str
    where: str
    orders: tuple[tuple[str, str], ...]
    priority: str
    load: Load
    tokens: int
    found_where: str | None = None
    narrowed: str | None = None
    may_be_critical: bool = False
    seq: str = "c.seq"
    changed_at: str = "c.created_at"
    counts_found: bool = False
    reminds: bool = False
    narrows: Callable[[Asked, Sequence[int]], Asking[list[int]]] | None = None

    def most(self, budget: int) -> int:
        """Return how many candidates there is use for in so many tokens."""
        return min(MAX_CANDIDATES, budget // self.tokens + 1)


@dataclass(slots=True)
class Gathered:
    """What one source offers: candidates, and how many new items there are in all.

    Attributes:
        total: everything eligible that is new to the receiver, counted far enough to tell whether more than
            :data:`COUNTED` are left out where nothing of the kind can be critical.
        critical: how much of that is critical.
        repeated: what was delivered and is unchanged.
        only_found: whether only what the query found was counted.
    """

    source: Source
    candidates: dict[int, Candidate] = field(default_factory=dict)
    total: int = 0
    critical: int = 0
    repeated: int = 0
    only_found: bool = False


def with_pins(asked: Asked, source: Source) -> Source:
    """Return a source in which what is pinned ranks as critical."""
    pinned = asked.pinned.get(source.kind.number)
    if not pinned:
        return source
    is_pinned = f"c.id IN {set_of(pinned)}"
    return replace(
        source,
        orders=(("c.id DESC", is_pinned), *source.orders),
        priority=f"CASE WHEN {is_pinned} THEN {CRITICAL} ELSE {source.priority} END",
        may_be_critical=True,
        # of messages, which nobody pins, no line stays
        reminds=True,
    )


def gather(asked: Asked, source: Source, relevance: Mapping[int, float], notes: list[str]) -> Asking[Gathered]:
    """Choose and count the candidates of a source.

    Args:
        relevance: of the items that the query found, by number, best first.
        notes: gets what could not be read.
    """
    gathered = Gathered(source)
    found_where = source.where if source.found_where is None else source.found_where
    found = _Found(asked, source, found_where, relevance) if found_where and relevance else None
    if source.where:
        yield from _choose(asked, gathered, notes)
    if found is not None:
        yield from _add_found(asked, gathered, found, relevance, notes)
    return gathered


def _choose(asked: Asked, gathered: Gathered, notes: list[str]) -> Asking[None]:
    """Choose and count the candidates of a source without a query."""
    source, transaction, values = gathered.source, asked.transaction, asked.values
    lately = "" if asked.since is None else f" AND {source.changed_at} > :since"
    where = source.where + lately
    narrowed = where if source.narrowed is None else source.narrowed + lately
    unchanged = _Unchanged(asked, source, where)
    counted = None
    if asked.counts:
        counted = transaction.ask(*_counting(source, where, values, len(unchanged)))
    last = counted or unchanged.rows
    if last is not None:
        yield last
    known = unchanged.priorities
    gathered.repeated = len(known)
    if counted is not None:
        ((total, of_critical),) = counted.all()
        gathered.total = total - len(known)
        gathered.critical = of_critical - sum(priority == CRITICAL for priority in known.values())
    if gathered.total or not asked.counts:
        most = source.most(asked.budget)
        if asked.has_query:
            # what it does not find only fills what is left, but for what is critical
            most = max(source.most(asked.budget // _FOR_WHAT_IS_NOT_FOUND), min(most, gathered.critical))
        most += len(known)
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
        chosen = dict.fromkeys(number for rows in ordered for (number,) in rows.all() if number not in known)
        yield from _add(asked, gathered, list(chosen), notes)
        if not asked.counts:
            gathered.total = gathered.critical = sum(one.is_critical for one in gathered.candidates.values())
    reminders = [number for number, priority in known.items() if priority == CRITICAL]
    if source.reminds and asked.reminds and reminders:
        yield from _add(asked, gathered, reminders, notes)
        for number in reminders:
            if number in gathered.candidates:
                gathered.candidates[number] = replace(gathered.candidates[number], is_repeated=True)


def _counting(source: Source, where: str, values: Mapping[str, object], got: int) -> tuple[str, dict[str, object]]:
    """Return the statement that counts what is eligible, and of it what is critical."""
    if source.may_be_critical:
        critical = f"count(*) FILTER (WHERE {source.priority} = {CRITICAL})"
        return f"SELECT count(*), {critical} FROM {source.table} WHERE {where}", {**values}
    most = COUNTED + MAX_CANDIDATES + got + 1
    some = f"SELECT 1 FROM {source.table} WHERE {where} LIMIT :counted"
    return f"SELECT count(*), 0 FROM ({some}) AS counted", {**values, "counted": most}


def _add_found(
    asked: Asked, gathered: Gathered, found: _Found, relevance: Mapping[int, float], notes: list[str]
) -> Asking[None]:
    """Add what a query found to what a source offers, and say how relevant each is."""
    source = gathered.source
    yield found.rows
    eligible = {row[0] for row in found.rows.all()}
    known = found.unchanged.priorities
    fresh = [number for number in relevance if number in eligible and number not in known]
    repeated = len(eligible) - len(fresh)
    if source.narrows is not None:
        fresh = yield from source.narrows(asked, fresh)
    if source.counts_found and eligible:
        gathered.total, gathered.critical, gathered.only_found = len(fresh), 0, True
        gathered.repeated = repeated
    more = [number for number in fresh[: source.most(asked.budget)] if number not in gathered.candidates]
    yield from _add(asked, gathered, more, notes)
    for number in fresh:
        candidate = gathered.candidates.get(number)
        if candidate is not None:
            gathered.candidates[number] = replace(candidate, relevance=relevance[number])


def _add(asked: Asked, gathered: Gathered, numbers: Sequence[int], notes: list[str]) -> Asking[None]:
    if numbers:
        pinned = asked.pinned.get(gathered.source.kind.number, ())
        some = yield from gathered.source.load(asked, gathered.source, numbers, notes)
        loaded = {
            one.number: replace(one, priority=CRITICAL, is_pinned=True) if one.number in pinned else one for one in some
        }
        gathered.candidates |= {number: loaded[number] for number in numbers if number in loaded}


class _Unchanged:
    """The eligible items that the receiver got as they are.

    Attributes:
        rows: those that it got; None where it got nothing of the kind.
    """

    def __init__(self, asked: Asked, source: Source, where: str) -> None:
        self._got = asked.delivered.get(source.kind.number, {})
        self.rows: Rows | None = None
        if self._got:
            self.rows = asked.transaction.ask(
                f"""
                SELECT c.id, {source.seq}, {source.priority} FROM {source.table}
                WHERE {of_these(where, "c", set_of(self._got))}
                """,
                asked.values,
            )

    def __len__(self) -> int:
        return len(self._got)

    @property
    def priorities(self) -> dict[int, int]:
        """Their priorities, by number."""
        rows = [] if self.rows is None else self.rows.all()
        return {number: priority for number, seq, priority in rows if seq <= self._got[number]}


class _Found:
    """What is eligible of the items that the query found.

    Attributes:
        rows: their numbers.
        unchanged: which of them the receiver has got.
    """

    def __init__(self, asked: Asked, source: Source, where: str, relevance: Mapping[int, float]) -> None:
        self.unchanged = _Unchanged(asked, source, where)
        self.rows = asked.transaction.ask(
            f"SELECT c.id FROM {source.table} WHERE {of_these(where, 'c', set_of(relevance))}", asked.values
        )


def loading(columns: str, joined: str, make: Callable[[Asked, New, Row], Candidate]) -> Load:
    """Return what makes a candidate of each row.

    Args:
        columns: what ``make`` gets after the number and seq of an item, in SQL with the values of :class:`Asked`.
        joined: what stands after FROM, the items as ``c``.
    """

    def load(asked: Asked, source: Source, numbers: Sequence[int], notes: list[str]) -> Asking[list[Candidate]]:
        rows = asked.transaction.ask(
            f"SELECT c.id, c.seq, {columns} FROM {joined} WHERE c.id IN {set_of(numbers)}", asked.values
        )
        yield rows
        return candidates(source, rows.all(), partial(make, asked), notes)

    return load


def candidates(
    source: Source, rows: Iterable[Row], make: Callable[[New, Row], Candidate], notes: list[str]
) -> list[Candidate]:
    """Make candidates of rows that begin with number and seq; a row that cannot be read is told, never fatal."""
    made: list[Candidate] = []
    for row in rows:
        try:
            made.append(make(partial(Candidate, source.section, source.kind, row[0], row[1]), row))
        except (SatchelError, ValueError, TypeError, LookupError) as error:
            said = error.problem if isinstance(error, SatchelError) else f"{type(error).__name__}: {error}"
            notes.append(f"{source.kind.ref(int(str(row[0])))} could not be read: {said}"[:200])
    return made


ANY_PRIORITY = f"c.priority IN ({', '.join(map(str, range(1, len(PRIORITIES) + 1)))})"
"""True of all, so that an index by priority and time is sought for each priority, not walked from end to end."""
