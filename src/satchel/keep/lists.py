"""Lists of what is kept: checking, counting, paging and searching, for every kind that declares how it is listed.

Every filter acts before the ranking of a search cuts its candidates: what the search documents can tell goes into the
search's scope, the rest becomes a condition on the item behind each document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from satchel.base.errors import InvalidInput, unknown_name
from satchel.base.paging import DEFAULT_LIMIT, ORDERS, KeptPage, check_page, check_whole, counted_to
from satchel.base.text import check_query
from satchel.base.vocabulary import ALL_RUNS
from satchel.keep import projects, runs
from satchel.keep.common_filters import COMMON
from satchel.keep.listing import Asked, Item, Listing, View, hidden_note
from satchel.keep.projects import Workplace
from satchel.store.transaction import NO_LIMIT, Rows, Transaction, set_of

PageT = TypeVar("PageT", bound=KeptPage[Any])

_MAX_SEQ = 2**53


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
        StoreDamaged: the search index lists an item that does not exist.
    """
    asked = _check(workplace, listing, given)
    alias = listing.alias
    items: tuple[Item, ...] = ()
    total = 0
    with projects.reading(workplace) as (transaction, project):
        number, seq = (None, 0) if project is None else (project.id, project.seq)
        view = View(transaction, workplace, asked, number, seq, alias, f"{alias}.project_id = :project", fields=fields)
        view.values |= {"project": number, "now": asked.now}
        if listing.in_run:
            _choose_run(view, listing, asked.run_id)
        if listing.begin is not None:
            listing.begin(view)
        chosen = [one for one in listing.filters if one.name in asked.chosen]
        # without a project an unknown layer is an error all the same
        for one in chosen:
            if one.apply is not None:
                one.apply(view, asked.chosen[one.name])
        if project is None:
            view.notes[:] = [projects.NOTHING_YET]
        elif not view.is_empty:
            _add_common(view, listing)
            items, total = _list(view, listing) if asked.query is None else _search(view, listing, asked.query)
            for one in chosen if not total else ():
                if one.known is not None:
                    view.note_unknown(one.name, asked.chosen[one.name], one.known)
            if not total and "file" in asked.chosen:
                from satchel.keep.paths import meant_note

                view.notes += meant_note(transaction, project.id, asked.chosen["file"])
    if project is not None and not total:
        view.notes += _hidden(workplace, listing, page, given, asked, view, fields)
    order = listing.order(asked).name
    notes = tuple(view.notes)
    return page(items, total, asked.offset, asked.limit, seq, order, notes, asked.after_seq, **view.fields)


def _hidden(
    workplace: Workplace,
    listing: Listing[Item],
    page: type[PageT],
    given: Mapping[str, object],
    asked: Asked,
    view: View,
    fields: Mapping[str, object],
) -> list[str]:
    """Say which filters have left nothing, and how many there are without them; nothing where none are hidden."""
    if asked.after_seq is not None:
        return []  # that nothing has changed is no surprise
    names = {one.name: one.said_as or one.name for one in listing.filters if one.hides}
    names |= {one.name: one.name for one in COMMON}
    narrowing = {name: value for name, value in given.items() if name in names and value is not None}
    if view.fields.get("run_id") is not None:
        narrowing["run_id"] = view.fields["run_id"]
    if not narrowing:
        return []
    others = {name: value for name, value in given.items() if name not in narrowing and name != "offset"}
    without = {**others, "limit": 0} | ({"run_id": ALL_RUNS} if listing.in_run else {})
    total = find(workplace, listing, page, without, **fields).total
    if not total:
        return []
    return [hidden_note({names.get(name, name): value for name, value in narrowing.items()}, total)]


def _check(workplace: Workplace, listing: Listing[Any], given: Mapping[str, Any]) -> Asked:
    if not listing.taken.issuperset(given):
        unknown = sorted(given.keys() - listing.taken)
        raise TypeError(f"a list of this kind takes no {', '.join(unknown)}")
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
    for one in listing.filters:
        value = given.get(one.name)
        if value is None:
            value = one.default
        if value is not None:
            chosen[one.name] = one.check(value, workplace)
    common = {one.name: one.check(given[one.name], now) for one in COMMON if given.get(one.name) is not None}
    return Asked(query, after_seq, order, limit, offset, given.get("run_id"), common, chosen, now)


def _choose_run(view: View, listing: Listing[Any], run_id: str | None) -> None:
    run = runs.choose(view.transaction, view.workplace, view.project_id, run_id)
    if run is not None:
        view.base = f"{view.base} AND {listing.alias}.run_id = :run"
        view.values["run"] = view.scope["run_id"] = run.id
    view.fields["run_id"] = None if run is None else run.run_id


def _add_common(view: View, listing: Listing[Any]) -> None:
    asked, alias = view.asked, listing.alias
    if listing.expires:
        # the search leaves out by itself what has expired
        view.conditions.append(f"{alias}.expires_at > :now")
    for one in COMMON:
        if one.name in asked.common:
            one.apply(view, listing, asked.common[one.name])
    if asked.after_seq is not None:
        view.where(f"{alias}.seq > {{}}", asked.after_seq)


def _list(view: View, listing: Listing[Item]) -> tuple[tuple[Item, ...], int]:
    planned = None if listing.plan is None else listing.plan(view)
    if planned is not None:
        return _load(view, listing, planned[0]), planned[1]
    asked, arms = view.asked, view.arms
    some = " UNION ALL ".join(f"SELECT 1 FROM {listing.table} WHERE {arm}" for arm in arms)
    counted = view.transaction.ask(
        f"SELECT count(*) FROM ({some} LIMIT :counted) AS counted",
        {**view.values, "counted": counted_to(asked.offset, asked.limit) if asked.limit else NO_LIMIT},
    )
    if listing.finish is not None:
        listing.finish(view, " OR ".join(f"({arm})" for arm in arms))
    if not asked.limit:
        return (), _total(counted)
    order = listing.order(asked).sql
    # what is joined is read of the page alone: the last page of 100,000 notes takes 9 ms, and 32 where all is joined
    rows = view.transaction.all(
        f"""
        SELECT {listing.columns} FROM {listing.source} WHERE {listing.alias}.id IN ({_page(listing, arms, order)})
        ORDER BY {order}
        """,
        {**view.values, "limit": asked.limit, "offset": asked.offset, "reached": asked.offset + asked.limit},
    )
    return listing.make(view, rows), _total(counted)


def _page(listing: Listing[Any], arms: Sequence[str], order: str) -> str:
    """Return SQL for the numbers of a page's items: each arm is read in order from an index of its own."""
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
    row = counted.one()
    assert row is not None
    return int(row[0])


def _texts_of(listing: Listing[Item], transaction: Transaction, documents_of: Sequence[int]) -> dict[int, str]:
    """Return what can be searched of documents of the kind that is listed, by their numbers."""
    rows = transaction.all(f"SELECT item_id, id FROM documents WHERE id IN {set_of(documents_of)}")
    numbers: dict[int, int] = dict(rows)
    return {numbers[item]: text for item, text in listing.texts(transaction, list(numbers)).items()}


def _search(view: View, listing: Listing[Item], text: str) -> tuple[tuple[Item, ...], int]:
    # a list without a search leaves it alone: the modules behind it take 4 ms to load
    from satchel.find import search
    from satchel.find.query import parse
    from satchel.find.scopes import Scope

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
        transaction,
        query,
        Scope(view.project_id, condition=condition, values=view.values, **scope),
        sink=None if listing.sink is None else listing.sink(view),
        texts=partial(_texts_of, listing),
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
        transaction.all(f"SELECT d.id, d.item_id FROM documents d WHERE d.id IN {set_of(shown)}")
    )
    view.scores = {items[document]: hits[document] for document in shown if document in items}
    if listing.finish is not None:
        of_hits = f"SELECT item_id FROM documents WHERE id IN {set_of(hits)}"
        listing.finish(view, f"{alias}.id IN ({of_hits})")
    found = _load(view, listing, list(view.scores))
    if len(found) + transaction.left_out < len(shown):
        raise search.disagreement()
    return found, len(hits)


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
