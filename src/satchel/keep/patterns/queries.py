"""Reading error patterns: every filter, one snapshot for the count and the page."""

from __future__ import annotations

from dataclasses import dataclass

from satchel.base.clock import check_since
from satchel.base.errors import nearest, unknown_name
from satchel.base.paging import Reading, check_page, check_reading
from satchel.base.text import check_name
from satchel.find import search
from satchel.find.kind import Kind
from satchel.find.query import parse
from satchel.find.search import Scope
from satchel.keep.patterns.preparing import check_lang
from satchel.keep.patterns.records import COLUMNS, LEAST, STATES, WEAK, ErrorPattern, pattern_of
from satchel.keep.patterns.updates import solutions_of
from satchel.keep.projects import Workplace
from satchel.store.transaction import Transaction

SHOWN = ("offered", "all")
"""Which solutions to show: those that a report offers, or those that are only observed too."""

UNSOLVED = "unsolved"

STATES_FOUND = (*STATES, UNSOLVED)
"""What patterns can be asked for: those with a solution in a state, or those without any solution."""

_ORDERS = {"newest": "p.created_at DESC, p.id DESC", "oldest": "p.created_at, p.id", "seq": "p.seq"}


@dataclass(frozen=True, slots=True)
class Filter(Reading):
    """What to read, checked. None means that a filter was not given.

    Attributes:
        state: the number of one of :data:`STATES`, or 0 for patterns without a solution.
        least: only solutions of at least so many tenths count and are shown.
        now: milliseconds UTC.
    """

    lang: str | None
    error_type: str | None
    state: int | None
    least: int
    now: int


def check_filter(
    workplace: Workplace,
    *,
    search: str | None,
    lang: str | None,
    error_type: str | None,
    state: str | None,
    status: str,
    since: str | int | None,
    after_seq: int | None,
    order: str | None,
    limit: int,
    offset: int,
) -> Filter:
    """Check every filter at the edge.

    Raises:
        InvalidInput: a filter is empty, unknown, out of range, or two contradict each other.
    """
    check_reading(order=order, search=search, after_seq=after_seq)
    check_page(limit, offset)
    if state is not None and state not in STATES_FOUND:
        raise unknown_name("state", state, STATES_FOUND)
    now = workplace.clock()
    return Filter(
        search=search,
        lang=None if lang is None else check_lang(lang),
        error_type=None if error_type is None else check_name(error_type, "error_type"),
        state=None if state is None else (0 if state == UNSOLVED else STATES.index(state) + 1),
        least=least_shown(status),
        since=check_since(since, now),
        after_seq=after_seq,
        order=order,
        limit=limit,
        offset=offset,
        now=now,
    )


def least_shown(status: str) -> int:
    """Return the least tenths of the solutions to show.

    Raises:
        InvalidInput: it is not one of :data:`SHOWN`.
    """
    if status not in SHOWN:
        raise unknown_name("status", status, SHOWN)
    return LEAST if status == "all" else WEAK


Result = tuple[tuple[ErrorPattern, ...], int, tuple[str, ...]]


def read(transaction: Transaction, project_id: int, chosen: Filter) -> Result:
    """Return the page, the total and notes for the reader."""
    where, values = _conditions(project_id, chosen)
    if chosen.search is not None:
        patterns, total, notes = _search(transaction, project_id, chosen, chosen.search, where, values)
    else:
        notes = ()
        row = transaction.one(f"SELECT count(*) FROM error_patterns p WHERE {where}", values)
        total = int(row[0]) if row else 0
        numbers = [
            number
            for (number,) in transaction.all(
                f"SELECT p.id FROM error_patterns p WHERE {where} ORDER BY {_ORDERS[chosen.order_name]} "
                "LIMIT :limit OFFSET :offset",
                {**values, "limit": chosen.limit, "offset": chosen.offset},
            )
        ]
        patterns = _load(transaction, project_id, numbers, chosen, {})
    if not total and chosen.error_type is not None:
        notes = (*notes, *_note_on_type(transaction, project_id, chosen.error_type, chosen.now))
    return patterns, total, notes


def _search(
    transaction: Transaction, project_id: int, chosen: Filter, text: str, where: str, values: dict[str, object]
) -> Result:
    query = parse(text)
    if not query.terms:
        return (), 0, (f"{text.strip()[:80]!r} holds no word to search for",)
    scope = Scope(project_id, kinds=(Kind.ERROR_PATTERN,), status="all", now=chosen.now)
    ranking = search.rank(transaction, query, scope)
    notes = ranking.notes
    if not ranking.hits:
        return (), 0, notes
    scores = {hit.document: round(hit.score, 4) for hit in ranking.hits}
    by_time = "" if chosen.order is None else f" ORDER BY {_ORDERS[chosen.order_name]}"
    matched = transaction.all(
        f"SELECT d.id, p.id, {where} FROM documents d JOIN error_patterns p ON p.id = d.item_id "
        f"WHERE d.id IN ({', '.join(map(str, scores))}){by_time}",
        values,
    )
    if len(matched) < len(scores):
        raise search.disagreement()
    found = {document: number for document, number, passes in matched if passes}
    ordered = [document for document in scores if document in found] if chosen.order is None else list(found)
    page = ordered[chosen.offset : chosen.offset + chosen.limit]
    numbers = [found[document] for document in page]
    by_number = {found[document]: scores[document] for document in page}
    return _load(transaction, project_id, numbers, chosen, by_number), len(ordered), notes


def _conditions(project_id: int, chosen: Filter) -> tuple[str, dict[str, object]]:
    """Return the WHERE clause over ``error_patterns p`` without the search, and its values."""
    parts = ["p.project_id = :project", "p.expires_at > :now"]
    values: dict[str, object] = {"project": project_id, "now": chosen.now}
    for name, value, condition in (
        ("lang", chosen.lang, "(p.lang IS NULL OR p.lang = :lang)"),
        ("type", chosen.error_type, "p.error_type = :type"),
        ("since", chosen.since, "p.last_seen >= :since"),
        ("after", chosen.after_seq, "p.seq > :after"),
    ):
        if value is not None:
            parts.append(condition)
            values[name] = value
    if chosen.state is not None:
        is_in_state = "AND s.state = :state" if chosen.state else ""
        parts.append(
            f"""
            {"" if chosen.state else "NOT "}EXISTS (SELECT 1 FROM error_solutions s
                WHERE s.pattern_id = p.id AND s.project_id = :project AND s.confidence >= :least {is_in_state})
            """
        )
        values |= {"least": chosen.least} | ({"state": chosen.state} if chosen.state else {})
    return " AND ".join(parts), values


def _load(
    transaction: Transaction, project_id: int, numbers: list[int], chosen: Filter, scores: dict[int, float]
) -> tuple[ErrorPattern, ...]:
    if not numbers:
        return ()
    rows = {
        row[0]: row
        for row in transaction.all(
            f"SELECT {COLUMNS} FROM error_patterns p "
            f"WHERE p.id IN ({', '.join(map(str, numbers))}) AND p.project_id = :project",
            {"project": project_id},
        )
    }
    solutions = solutions_of(transaction, project_id, numbers, chosen.least)
    return tuple(
        pattern_of(rows[number], solutions.get(number, ()), score=scores.get(number))
        for number in numbers
        if number in rows
    )


def _note_on_type(transaction: Transaction, project_id: int, error_type: str, now: int) -> tuple[str, ...]:
    """Say that no error of a type was reported, and which known type comes close; nothing where there was one."""
    rows = transaction.all(
        "SELECT DISTINCT error_type FROM error_patterns WHERE project_id = :project AND expires_at > :now",
        {"project": project_id, "now": now},
    )
    known = [row[0] for row in rows]
    if error_type in known:
        return ()
    close = nearest(error_type, known)
    return (f"no {error_type!r} was reported yet" + (f"; did you mean {close!r}?" if close else ""),)
