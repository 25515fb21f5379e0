"""Reading strategies: every filter, one snapshot for the count and the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from satchel.base.clock import check_since
from satchel.base.errors import nearest
from satchel.base.paging import Reading, check_page, check_reading
from satchel.base.text import check_name
from satchel.find import search
from satchel.find.kind import Kind
from satchel.find.query import parse
from satchel.find.search import Scope
from satchel.keep import names
from satchel.keep.projects import Workplace
from satchel.keep.strategies.records import COLUMNS, SOURCE, Strategy, strategy_of
from satchel.keep.strategies.updates import check_folded, check_topic
from satchel.store.transaction import Transaction

_MAX_TOPICS = 2_000

_ORDERS = {
    "newest": "t.created_at DESC, t.id DESC",
    "oldest": "t.created_at, t.id",
    "most helpful": "t.helped - t.not_helped DESC, t.created_at DESC, t.id DESC",
    "seq": "t.seq",
}


@dataclass(frozen=True, slots=True)
class Filter(Reading):
    """What to read, checked. None means that a filter was not given."""

    topic: str | None
    lang: str | None
    framework: str | None
    agent: str | None

    usual_order: ClassVar[str] = "most helpful"


def check_filter(
    workplace: Workplace,
    *,
    search: str | None,
    topic: str | None,
    lang: str | None,
    framework: str | None,
    agent: str | None,
    since: str | int | None,
    after_seq: int | None,
    order: str | None,
    limit: int,
    offset: int,
) -> Filter:
    """Check every filter at the edge.

    Raises:
        InvalidInput: a filter is empty, out of range, or two contradict each other.
    """
    check_reading(order=order, search=search, after_seq=after_seq)
    check_page(limit, offset)
    return Filter(
        search=search,
        topic=None if topic is None else check_topic(topic),
        lang=check_folded(lang, "lang"),
        framework=check_folded(framework, "framework"),
        agent=None if agent is None else check_name(agent, "agent"),
        since=check_since(since, workplace.clock()),
        after_seq=after_seq,
        order=order,
        limit=limit,
        offset=offset,
    )


def read(
    transaction: Transaction, project_id: int, chosen: Filter
) -> tuple[tuple[Strategy, ...], int, tuple[str, ...]]:
    """Return the page, the total and notes for the reader."""
    agent = names.find_agent(transaction, project_id, chosen.agent)
    if agent == -1:
        return (), 0, (f"there is no agent {chosen.agent!r}",)
    where, values = _conditions(project_id, agent, chosen)
    unknown = () if chosen.topic is None else _unknown_topic(transaction, project_id, chosen.topic)
    if chosen.search is not None:
        strategies, total, notes = _search(transaction, project_id, chosen, chosen.search, where, values)
        return strategies, total, (*unknown, *notes)
    row = transaction.one(f"SELECT count(*) FROM strategies t WHERE {where}", values)
    assert row is not None
    if not chosen.limit:
        return (), int(row[0]), unknown
    rows = transaction.all(
        f"SELECT {COLUMNS} FROM {SOURCE} WHERE {where} ORDER BY {_ORDERS[chosen.order_name]} "
        "LIMIT :limit OFFSET :offset",
        {**values, "limit": chosen.limit, "offset": chosen.offset},
    )
    return tuple(map(strategy_of, rows)), int(row[0]), unknown


def _search(
    transaction: Transaction, project_id: int, chosen: Filter, text: str, where: str, values: dict[str, object]
) -> tuple[tuple[Strategy, ...], int, tuple[str, ...]]:
    query = parse(text)
    if not query.terms:
        return (), 0, (f"{text.strip()[:80]!r} holds no word to search for",)
    ranking = search.rank(transaction, query, Scope(project_id, kinds=(Kind.STRATEGY,), status="all"))
    notes = ranking.notes
    hits = {hit.document: round(hit.score, 4) for hit in ranking.hits}
    by_time = "" if chosen.order is None else f" ORDER BY {_ORDERS[chosen.order_name]}"
    matched = transaction.all(
        f"SELECT d.id, t.id, {where} FROM documents d JOIN strategies t ON t.id = d.item_id "
        f"WHERE d.id IN ({', '.join(map(str, hits))}){by_time}",
        values,
    )
    if len(matched) < len(hits):
        raise search.disagreement()
    found = {document: number for document, number, passes in matched if passes}
    ordered = [document for document in hits if document in found] if chosen.order is None else list(found)
    page = ordered[chosen.offset : chosen.offset + chosen.limit]
    listed = ", ".join(str(found[document]) for document in page)
    rows = {row[0]: row for row in transaction.all(f"SELECT {COLUMNS} FROM {SOURCE} WHERE t.id IN ({listed})")}
    strategies = tuple(
        strategy_of(rows[found[document]], score=hits[document]) for document in page if found[document] in rows
    )
    return strategies, len(ordered), notes


def _conditions(project_id: int, agent: int | None, chosen: Filter) -> tuple[str, dict[str, object]]:
    """Return the WHERE clause without the search, and its values."""
    parts = ["t.project_id = :project"]
    values: dict[str, object] = {"project": project_id}
    for name, value, condition in (
        ("topic", chosen.topic, "t.topic = :topic"),
        ("lang", chosen.lang, "(t.lang = :lang OR t.lang IS NULL)"),
        ("framework", chosen.framework, "(t.framework = :framework OR t.framework IS NULL)"),
        ("agent", agent, "t.agent_id = :agent"),
        ("since", chosen.since, "(t.created_at >= :since OR t.last_seen >= :since)"),
        ("after", chosen.after_seq, "t.seq > :after"),
    ):
        if value is not None:
            parts.append(condition)
            values[name] = value
    return " AND ".join(parts), values


def _unknown_topic(transaction: Transaction, project_id: int, topic: str) -> tuple[str, ...]:
    """Say that nothing is kept on a topic, and which known one comes close."""
    values = {"project": project_id, "topic": topic, "most": _MAX_TOPICS}
    if transaction.one("SELECT 1 FROM strategies WHERE project_id = :project AND topic = :topic LIMIT 1", values):
        return ()
    known = transaction.all("SELECT DISTINCT topic FROM strategies WHERE project_id = :project LIMIT :most", values)
    close = nearest(topic, [row[0] for row in known])
    return (f"there is no topic {topic!r} yet" + (f"; did you mean {close!r}?" if close else ""),)
