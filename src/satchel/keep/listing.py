"""Lists of what is kept: each kind declares its filters as a table; checking, counting, paging and searching are here.

Every filter acts before the ranking of a search cuts its candidates: what the search documents can tell goes into the
search's scope, the rest becomes a condition on the item behind each document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypedDict, TypeVar

from satchel.base.clock import check_since
from satchel.base.errors import InvalidInput, unknown_name
from satchel.base.paging import DEFAULT_LIMIT, ORDERS, KeptPage, check_page, check_whole
from satchel.base.text import check_query
from satchel.find.kind import Kind
from satchel.keep import names, projects, runs
from satchel.keep.projects import Workplace
from satchel.store.transaction import Row, Transaction

Item = TypeVar("Item")
PageT = TypeVar("PageT", bound=KeptPage[Any])

_MAX_SEQ = 2**53
_MAX_KNOWN = 2_000
"""Among so many names the nearest to an unknown one is looked for."""


class ListFilters(TypedDict, total=False):
    """What every list takes.

    Keys:
        query: words in any form, at most 64 KiB; without ``order`` the best matches come first.
        since: only what was created or changed at or after this time: ISO 8601, an age such as ``90m``, or
            milliseconds UTC.
        after_seq: only what changed after this number, in that order; ``page.cursor`` is the next one.
        order: desc or asc, by (created_at, id); None is what is usual for the kind, or relevance for a search.
        limit: 0 to 500; 0 gives the total alone.
        offset: how many to skip.
    """

    query: str | None
    since: str | int | None
    after_seq: int | None
    order: str | None
    limit: int
    offset: int


class RunFilters(ListFilters, total=False):
    """What the list of a kind takes whose items belong to runs.

    Keys:
        run_id: the run; None takes the default, else the only active run.
    """

    run_id: str | None


@dataclass(frozen=True, slots=True)
class Filter:
    """One filter of a kind's list.

    Attributes:
        name: of the parameter.
        check: turns what was given into what is compared, or refuses it.
        apply: adds the conditions; gets what ``check`` returned. None where other filters ask for it.
        default: what is chosen where nothing is given; None is no filter.
        known: SQL that lists the values there are, so that a list without items can say that one is unknown.
    """

    name: str
    check: Callable[[Any, Workplace], Any]
    apply: Callable[[View, Any], None] | None
    default: object = None
    known: str | None = None


class Order(NamedTuple):
    """A way to order a list: its name, and the SQL."""

    name: str
    sql: str


@dataclass(frozen=True, slots=True)
class Listing(Generic[Item]):
    """How one kind is listed.

    Attributes:
        table: the kind's table with its alias, as in ``constraints c``; the alias is neither d nor documents.
        columns: what ``make`` reads, the number first.
        source: the table with what is joined to it.
        make: turns rows of ``columns`` into records, in their order.
        filters: those of the kind, in the order in which they are checked and applied.
        usual: the order without a search; None is the newest first.
        changed: the columns with the times at which an item was created or changed.
        expires: whether items have a time from which on they are not found.
        in_run: whether items belong to a run, which ``run_id`` chooses.
        begin: looks up what the conditions rest on, and may add conditions and fields of the page.
        plan: lists in a way of its own: returns the numbers of the page in order and the total, or None where the
            usual way serves.
        finish: adds fields to the page; gets the condition that the items of all pages meet.
    """

    kind: Kind
    table: str
    columns: str
    source: str
    make: Callable[[View, Sequence[Row]], tuple[Item, ...]]
    filters: tuple[Filter, ...]
    usual: Order | None = None
    changed: tuple[str, ...] = ("created_at",)
    expires: bool = False
    in_run: bool = False
    begin: Callable[[View], None] | None = None
    plan: Callable[[View], tuple[Sequence[int], int] | None] | None = None
    finish: Callable[[View, str], None] | None = None

    @property
    def alias(self) -> str:
        """The alias of the kind's table."""
        return self.table.rpartition(" ")[2]

    def order(self, asked: Asked) -> Order:
        """Return the order that is asked for; its SQL is empty for relevance."""
        alias = self.alias
        if asked.after_seq is not None:
            return Order("seq", f"{alias}.seq")
        if asked.order is not None:
            way = "ASC" if asked.order == "asc" else "DESC"
            return Order("oldest" if way == "ASC" else "newest", f"{alias}.created_at {way}, {alias}.id {way}")
        if asked.query is not None:
            return Order("relevance", "")
        return self.usual or Order("newest", f"{alias}.created_at DESC, {alias}.id DESC")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a list is asked for, checked.

    Attributes:
        since: milliseconds UTC.
        chosen: the kind's filters that were given or have a default, with what they compare.
        now: milliseconds UTC.
    """

    query: str | None
    since: int | None
    after_seq: int | None
    order: str | None
    limit: int
    offset: int
    run_id: str | None
    chosen: Mapping[str, Any]
    now: int


@dataclass(slots=True)
class View:
    """One reading of a list in one snapshot: its conditions, collected filter by filter.

    Attributes:
        project_id: None where nothing was written for the project yet.
        seq: the project's change counter.
        base: the condition that finds the list's items, which a filter may replace by a narrower one.
        conditions: further ones over the kind's own table.
        unsearchable: those of them that the search documents cannot tell.
        scope: what they can, as arguments of :class:`satchel.find.search.Scope`.
        values: the parameters of all conditions.
        notes: what the reader should know.
        numbers: of the names that filters compare, by filter.
        begun: what the kind's ``begin`` looked up.
        is_empty: whether nothing can match.
        fields: further fields of the page.
        scores: of a search, by the items' numbers.
    """

    transaction: Transaction
    workplace: Workplace
    asked: Asked
    project_id: int | None
    seq: int
    base: str
    conditions: list[str] = field(default_factory=list)
    unsearchable: list[str] = field(default_factory=list)
    scope: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    numbers: dict[str, tuple[int, ...]] = field(default_factory=dict)
    begun: Any = None
    is_empty: bool = False
    fields: dict[str, Any] = field(default_factory=dict)
    scores: Mapping[int, float] = field(default_factory=dict)

    def where(self, condition: str, *values: object, **scope: object) -> None:
        """Add a condition.

        Args:
            condition: SQL with ``{}`` for each value.
            scope: how a search's scope says the same.
        """
        bound = [f"v{len(self.values) + place}" for place in range(len(values))]
        self.values |= dict(zip(bound, values, strict=True))
        text = condition.format(*(f":{name}" for name in bound)) if bound else condition
        self.conditions.append(text)
        self.scope |= scope
        if not scope:
            self.unsearchable.append(text)

    def number(self, table: str, what: str, name: str) -> int | None:
        """Return the number of a name; where nothing has it, nothing matches, and a note names the nearest."""
        number = names.find_name(self.transaction, table, self.project_id, name)
        if number is None:
            self.is_empty = True
            self.note_unknown(what, name, f"SELECT name FROM {table} WHERE project_id = :project")
        else:
            self.numbers[what] = (*self.numbers.get(what, ()), number)
        return number

    def note_unknown(self, what: str, name: str, known: str) -> None:
        """Say that a name is unknown, if it is, and which known one is the nearest.

        Args:
            what: what it would name.
            known: SQL that lists the known names.
        """
        rows = self.transaction.all(
            f"{known} LIMIT :max_known", {"project": self.project_id, "now": self.asked.now, "max_known": _MAX_KNOWN}
        )
        known_names = [row[0] for row in rows]
        if name not in known_names:
            self.notes.append(names.unknown_note(what, name, known_names))

    @property
    def all_conditions(self) -> str:
        """Every condition, as SQL."""
        return " AND ".join((self.base, *self.conditions))


def find(
    workplace: Workplace, listing: Listing[Item], page: type[PageT], given: Mapping[str, object], **fields: object
) -> PageT:
    """Return a page of a list, with the total of the same snapshot.

    Args:
        page: the record of the page.
        given: the filters; None is not given.
        fields: further fields of the page.

    Raises:
        InvalidInput: a filter is empty, unknown or out of range, or two contradict each other.
        TooLarge: the query is longer than 64 KiB.
        StoreDamaged: the search index names what is not kept.
    """
    asked = _check(workplace, listing, given)
    alias = listing.alias
    items: tuple[Item, ...] = ()
    total = 0
    with workplace.engine.read() as transaction:
        project = projects.find(transaction, workplace)
        number, seq = (None, 0) if project is None else (project.id, project.seq)
        view = View(transaction, workplace, asked, number, seq, f"{alias}.project_id = :project", fields=fields)
        view.values |= {"project": number, "now": asked.now}
        if listing.in_run:
            _choose_run(view, listing, asked.run_id)
        if listing.begin is not None:
            listing.begin(view)
        chosen = [one for one in listing.filters if one.name in asked.chosen]
        for one in chosen if project is None or not view.is_empty else ():
            if one.apply is not None:
                one.apply(view, asked.chosen[one.name])
        if project is None:
            view.notes[:] = view.notes[:1] if listing.in_run else [projects.NOTHING_YET]
        elif not view.is_empty:
            _add_common(view, listing)
            items, total = _list(view, listing) if asked.query is None else _search(view, listing, asked.query)
            for one in chosen if not total else ():
                if one.known is not None:
                    view.note_unknown(one.name, asked.chosen[one.name], one.known)
    order = listing.order(asked).name
    notes = tuple(view.notes)
    return page(items, total, asked.offset, asked.limit, seq, order, notes, asked.after_seq, **view.fields)


def _check(workplace: Workplace, listing: Listing[Any], given: Mapping[str, Any]) -> Asked:
    filters = {one.name: one for one in listing.filters}
    unknown = given.keys() - filters.keys() - _taken(listing).keys()
    if unknown:
        raise TypeError(f"a list of this kind takes no {', '.join(sorted(unknown))}")
    query, order, after_seq = given.get("query"), given.get("order"), given.get("after_seq")
    if order is not None and order not in ORDERS:
        raise unknown_name("order", order, ORDERS)
    if after_seq is not None:
        check_whole("after_seq", after_seq, _MAX_SEQ)
        if order is not None or query is not None:
            raise InvalidInput(
                "after_seq reads changes in their order", "Leave out order and query, or leave out after_seq"
            )
    if query is not None:
        if not query.strip():
            raise InvalidInput("query is empty", "Say what to look for, or leave query out")
        check_query(query, "query")
    limit, offset = given.get("limit", DEFAULT_LIMIT), given.get("offset", 0)
    check_page(limit, offset)
    now = workplace.clock()
    chosen = {}
    for name, one in filters.items():
        value = given.get(name)
        if value is None:
            value = one.default
        if value is not None:
            chosen[name] = one.check(value, workplace)
    return Asked(
        query, check_since(given.get("since"), now), after_seq, order, limit, offset, given.get("run_id"), chosen, now
    )


def _taken(listing: Listing[Any]) -> Mapping[str, object]:
    return (RunFilters if listing.in_run else ListFilters).__annotations__


def _choose_run(view: View, listing: Listing[Any], run_id: str | None) -> None:
    run = runs.choose_for_reading(view.transaction, view.workplace, view.project_id, run_id)
    if run is None:
        view.notes.append(runs.none_active(view.transaction, view.project_id))
        view.is_empty = True
    else:
        view.base = f"{view.base} AND {listing.alias}.run_id = :run"
        view.values["run"] = view.scope["run_id"] = run.id
    view.fields["run_id"] = None if run is None else run.run_id


def _add_common(view: View, listing: Listing[Any]) -> None:
    asked, alias = view.asked, listing.alias
    if listing.expires:
        # the search leaves out by itself what has expired
        view.conditions.append(f"{alias}.expires_at > :now")
    if asked.since is not None:
        later = " OR ".join(f"{alias}.{column} >= :since" for column in listing.changed)
        view.values["since"] = asked.since
        # what never changes has one time, which its document has too
        view.where(f"({later})", **({"since": asked.since} if listing.changed == ("created_at",) else {}))
    if asked.after_seq is not None:
        view.where(f"{alias}.seq > {{}}", asked.after_seq)


def _list(view: View, listing: Listing[Item]) -> tuple[tuple[Item, ...], int]:
    planned = None if listing.plan is None else listing.plan(view)
    if planned is not None:
        return _load(view, listing, planned[0]), planned[1]
    asked, where = view.asked, view.all_conditions
    row = view.transaction.one(f"SELECT count(*) FROM {listing.table} WHERE {where}", view.values)
    assert row is not None
    if listing.finish is not None:
        listing.finish(view, where)
    if not asked.limit:
        return (), int(row[0])
    rows = view.transaction.all(
        f"SELECT {listing.columns} FROM {listing.source} WHERE {where} "
        f"ORDER BY {listing.order(asked).sql} LIMIT :limit OFFSET :offset",
        {**view.values, "limit": asked.limit, "offset": asked.offset},
    )
    return listing.make(view, rows), int(row[0])


def _search(view: View, listing: Listing[Item], text: str) -> tuple[tuple[Item, ...], int]:
    # a list without a search leaves it alone: the modules behind it take 4 ms to load
    from satchel.find import search
    from satchel.find.query import parse

    query = parse(text)
    if not query.terms:
        view.notes.append(f"{text.strip()[:80]!r} holds no word to search for")
        return (), 0
    asked, transaction, alias = view.asked, view.transaction, listing.alias
    condition = " AND ".join(view.unsearchable)
    if condition:
        # an item that is missing passes, so that it is found to be missing
        condition = f"COALESCE((SELECT ({condition}) IS TRUE FROM {listing.table} WHERE {alias}.id = d.item_id), TRUE)"
    assert view.project_id is not None
    scope: dict[str, Any] = {"kinds": (listing.kind,), "status": "all", "now": asked.now} | view.scope
    ranking = search.rank(
        transaction, query, search.Scope(view.project_id, condition=condition, values=view.values, **scope)
    )
    view.notes += ranking.notes
    order = listing.order(asked).sql
    # what matches by its surroundings alone has no place among what is asked for by time
    hits = {hit.document: round(hit.score, 4) for hit in ranking.hits if not (order and hit.by_surroundings)}
    shown = list(hits)
    if order:
        shown = _ordered(transaction, listing, hits, order)
    shown = shown[asked.offset : asked.offset + asked.limit]
    items: dict[int, int] = dict(
        transaction.all(f"SELECT d.id, d.item_id FROM documents d WHERE d.id IN ({_numbers(shown)})")
    )
    view.scores = {items[document]: hits[document] for document in shown if document in items}
    if listing.finish is not None:
        of_hits = f"SELECT item_id FROM documents WHERE id IN ({_numbers(hits)})"
        listing.finish(view, f"{alias}.id IN ({of_hits})")
    found = _load(view, listing, list(view.scores))
    if len(found) + transaction.left_out < len(shown):
        raise search.disagreement()
    return found, len(hits)


def _ordered(transaction: Transaction, listing: Listing[Any], hits: Iterable[int], order: str) -> list[int]:
    rows = transaction.all(
        f"SELECT d.id FROM documents d LEFT JOIN {listing.table} ON {listing.alias}.id = d.item_id "
        f"WHERE d.id IN ({_numbers(hits)}) ORDER BY {order}"
    )
    return [row[0] for row in rows]


def _load(view: View, listing: Listing[Item], wanted: Sequence[int]) -> tuple[Item, ...]:
    if not wanted:
        return ()
    rows = view.transaction.all(
        f"SELECT {listing.columns} FROM {listing.source} WHERE {listing.alias}.id IN ({_numbers(wanted)})", view.values
    )
    by_number = {row[0]: row for row in rows}
    return listing.make(view, [by_number[number] for number in wanted if number in by_number])


def _numbers(numbers: Iterable[int]) -> str:
    """Return numbers of our own as a list in SQL."""
    return ", ".join(map(str, numbers))
