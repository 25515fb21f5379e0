"""Lists of items: checks, counts, pages and searches for every declared kind.

Every filter acts before a search cuts its candidates: conditions that the search documents know go into the search's
scope, the others become conditions on the items behind the documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from satchel.base.errors import InvalidInput, unknown_name
from satchel.base.paging import DEFAULT_LIMIT, ORDERS, KeptPage, check_page, check_whole, counted_to
from satchel.base.text import check_query
from satchel.base.vocabulary import ALL_RUNS
from satchel.keep import projects, runs
from satchel.keep.common_filters import COMMON, check_common
from satchel.keep.listing import Item, Listing, ListRequest, View, hidden_note
from satchel.keep.projects import Workplace
from satchel.store.transaction import NO_LIMIT, Rows, Transaction, set_of

PageT = TypeVar("PageT", bound=KeptPage[Any])

_MAX_SEQ = 2**53


def find(
    workplace: Workplace, listing: Listing[Item], page: type[PageT], arguments: Mapping[str, object], **fields: object
) -> PageT:
    """Return a page of a list with the total of the same snapshot; ``fields`` are further fields of the page."""
    request = _check(workplace, listing, arguments)
    alias = listing.alias
    items: tuple[Item, ...] = ()
    total = 0
    with projects.reading(workplace) as (transaction, project):
        view = View(
            transaction,
            workplace,
            request,
            project.id,
            project.seq,
            alias,
            f"{alias}.project_id = :project",
            fields=fields,
        )
        view.values |= {"project": project.id, "now": request.now}
        if listing.in_run:
            _choose_run(view, listing, request.run_id)
        if listing.begin is not None:
            listing.begin(view)
        applied = [declared for declared in listing.filters if declared.name in request.filters]
        # an unknown layer is an error even without a project
        for declared in applied:
            if declared.apply is not None:
                declared.apply(view, request.filters[declared.name])
        if not project.id:
            view.notes[:] = [projects.NOTHING_YET]
        elif not view.is_empty:
            _add_common(view, listing)
            items, total = _list(view, listing) if request.query is None else _search(view, listing, request.query)
            for declared in applied if not total else ():
                if declared.known_sql is not None:
                    view.note_unknown(declared.name, request.filters[declared.name], declared.known_sql)
            if not total and "file" in request.filters:
                from satchel.keep.paths import meant_note

                view.notes += meant_note(transaction, project.id, request.filters["file"])
    if project.id and not total:
        view.notes += _hidden(workplace, listing, page, arguments, request, view, fields)
    order = listing.order(request).name
    notes = tuple(view.notes)
    return page(
        items, total, request.offset, request.limit, project.seq, order, notes, request.after_seq, **view.fields
    )


def _hidden(
    workplace: Workplace,
    listing: Listing[Item],
    page: type[PageT],
    arguments: Mapping[str, object],
    request: ListRequest,
    view: View,
    fields: Mapping[str, object],
) -> list[str]:
    # tells which filters leave nothing, and how many items there are without them
    if request.after_seq is not None:
        return []  # an unchanged list needs no explanation
    names = {declared.name: declared.parameter or declared.name for declared in listing.filters if declared.hides}
    names |= {declared.name: declared.name for declared in COMMON}
    narrowing = {name: value for name, value in arguments.items() if name in names and value is not None}
    if view.fields.get("run_id") is not None:
        narrowing["run_id"] = view.fields["run_id"]
    if not narrowing:
        return []
    others = {name: value for name, value in arguments.items() if name not in narrowing and name != "offset"}
    without = {**others, "limit": 0} | ({"run_id": ALL_RUNS} if listing.in_run else {})
    total = find(workplace, listing, page, without, **fields).total
    if not total:
        return []
    return [hidden_note({names.get(name, name): value for name, value in narrowing.items()}, total)]


def _check(workplace: Workplace, listing: Listing[Any], arguments: Mapping[str, Any]) -> ListRequest:
    if not listing.argument_names.issuperset(arguments):
        unknown = sorted(arguments.keys() - listing.argument_names)
        raise TypeError(f"a list of this kind takes no {', '.join(unknown)}")
    query, order, after_seq = arguments.get("query"), arguments.get("order"), arguments.get("after_seq")
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
            raise InvalidInput("query is empty", "Say what to look for, or leave it out")
        check_query(query)
    limit, offset = arguments.get("limit", DEFAULT_LIMIT), arguments.get("offset", 0)
    check_page(limit, offset)
    now = workplace.clock()
    filters = {}
    for declared in listing.filters:
        value = arguments.get(declared.name)
        if value is None:
            value = declared.default
        if value is not None:
            filters[declared.name] = declared.check(value, workplace)
    common = check_common(arguments, now).values
    return ListRequest(query, after_seq, order, limit, offset, arguments.get("run_id"), common, filters, now)


def _choose_run(view: View, listing: Listing[Any], run_id: str | None) -> None:
    run = runs.choose(view.transaction, view.workplace, view.project_id, run_id)
    if run is not None:
        view.base = f"{view.base} AND {listing.alias}.run_id = :run"
        view.values["run"] = view.scope["run_id"] = run.id
    view.fields["run_id"] = None if run is None else run.run_id


def _add_common(view: View, listing: Listing[Any]) -> None:
    request, alias = view.request, listing.alias
    if listing.expires:
        # the search itself leaves out expired items
        view.conditions.append(f"{alias}.expires_at > :now")
    for declared in COMMON:
        if declared.name in request.common:
            value = view.values[declared.name] = request.common[declared.name]
            # unchanging items have a single time, which is in their documents too
            has_one_time = declared.in_scope and listing.changed == ("created_at",)
            times = [f"{alias}.{column}" for column in listing.changed]
            view.where(declared.condition(times), **({declared.name: value} if has_one_time else {}))
    if request.after_seq is not None:
        view.where(f"{alias}.seq > {{}}", request.after_seq)


def _list(view: View, listing: Listing[Item]) -> tuple[tuple[Item, ...], int]:
    planned = None if listing.plan is None else listing.plan(view)
    if planned is not None:
        return _load(view, listing, planned[0]), planned[1]
    request, arms = view.request, view.arms
    some = " UNION ALL ".join(f"SELECT 1 FROM {listing.table} WHERE {arm}" for arm in arms)
    # the number itself: PostgreSQL plans for a tenth of the rows where it does not know the limit
    most = counted_to(request.offset, request.limit) if request.limit else NO_LIMIT
    counted = view.transaction.ask(f"SELECT count(*) FROM ({some} LIMIT {most}) AS counted", view.values)
    if listing.finish is not None:
        listing.finish(view, " OR ".join(f"({arm})" for arm in arms))
    if not request.limit:
        return (), _total(counted)
    order = listing.order(request).sql
    # joins are limited to the page's rows
    rows = view.transaction.all(
        f"""
        SELECT {listing.columns} FROM {listing.source} WHERE {listing.alias}.id IN ({_page(listing, arms, order)})
        ORDER BY {order}
        """,
        {**view.values, "limit": request.limit, "offset": request.offset, "reached": request.offset + request.limit},
    )
    return listing.make(view, rows), _total(counted)


def _page(listing: Listing[Any], arms: Sequence[str], order: str) -> str:
    # each arm is read in order from its own index
    alias, table = listing.alias, listing.table
    if len(arms) == 1:
        return f"SELECT {alias}.id FROM {table} WHERE {arms[0]} ORDER BY {order} LIMIT :limit OFFSET :offset"
    columns = f"{alias}.id, {alias}.created_at, {alias}.seq"
    some = " UNION ALL ".join(
        f"SELECT * FROM (SELECT {columns} FROM {table} WHERE {arm} ORDER BY {order} LIMIT :reached) AS arm"
        for arm in arms
    )
    return f"SELECT {alias}.id FROM ({some}) AS {alias} ORDER BY {order} LIMIT :limit OFFSET :offset"


def _total(counted: Rows) -> int:
    [row] = counted.all()
    return int(row[0])


def _search(view: View, listing: Listing[Item], text: str) -> tuple[tuple[Item, ...], int]:
    # imported here: only a search needs it
    from satchel.find import search
    from satchel.find.query import parse
    from satchel.find.scopes import Scope
    from satchel.find.search import SearchTime
    from satchel.keep.kinds import meaning_for, texts_of

    query = parse(text)
    if not query.terms:
        view.notes.append(f"{text.strip()[:80]!r} holds no word to search for")
        return (), 0
    request, transaction, alias = view.request, view.transaction, listing.alias
    condition = " AND ".join(view.unsearchable)
    if condition:
        # missing items pass, so that they are detected later
        condition = f"COALESCE((SELECT ({condition}) IS TRUE FROM {listing.table} WHERE {alias}.id = d.item_id), TRUE)"
    scope: dict[str, Any] = {"kinds": (listing.kind,), "status": "all", "now": request.now} | view.scope
    order = listing.order(request).sql
    # before the time of the search begins: a command's first search loads the model
    meaning = None if order else meaning_for(view.workplace, query)
    ranking = SearchTime(transaction).rank(
        query,
        Scope(view.project_id, condition=condition, values=view.values, **scope),
        sink=None if listing.sink is None else listing.sink(view),
        texts=texts_of,
        reach=request.offset + request.limit,
        order=request.order if order else None,
        meaning=meaning,
    )
    view.notes += ranking.notes
    # matches by neighbors only do not belong in a list ordered by time
    hits = {hit.document: hit.score for hit in ranking.hits if not (order and hit.by_surroundings)}
    documents_shown = list(hits)
    if order:
        documents_shown = _ordered(transaction, listing, hits, order)
    documents_shown = documents_shown[request.offset : request.offset + request.limit]
    items: dict[int, int] = dict(
        transaction.all(f"SELECT d.id, d.item_id FROM documents d WHERE d.id IN {set_of(documents_shown)}")
    )
    view.scores = {items[document]: round(hits[document], 4) for document in documents_shown if document in items}
    if listing.finish is not None:
        of_hits = f"SELECT item_id FROM documents WHERE id IN {set_of(hits)}"
        listing.finish(view, f"{alias}.id IN ({of_hits})")
    records = _load(view, listing, list(view.scores))
    if len(records) < len(documents_shown):
        raise search.disagreement()
    return records, ranking.total - len(ranking.hits) + len(hits)


def _ordered(transaction: Transaction, listing: Listing[Any], hits: Iterable[int], order: str) -> list[int]:
    rows = transaction.all(
        f"SELECT d.id FROM documents d LEFT JOIN {listing.table} ON {listing.alias}.id = d.item_id "
        f"WHERE d.id IN {set_of(hits)} ORDER BY {order}"
    )
    return [row[0] for row in rows]


def _load(view: View, listing: Listing[Item], wanted: Sequence[int]) -> tuple[Item, ...]:
    if not wanted:
        return ()
    rows = view.transaction.all(
        f"SELECT {listing.columns} FROM {listing.source} WHERE {listing.alias}.id IN {set_of(wanted)}", view.values
    )
    by_number = {row[0]: row for row in rows}
    return listing.make(view, [by_number[number] for number in wanted if number in by_number])
