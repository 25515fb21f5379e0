"""Searching an inbox: what the index finds, narrowed to what the reader may see."""

from __future__ import annotations

from satchel.find import search as ranking
from satchel.find.kind import Kind
from satchel.find.query import parse
from satchel.find.search import Scope
from satchel.keep import names
from satchel.keep.messages.queries import Filter
from satchel.keep.messages.visibility import Reader
from satchel.store.transaction import Transaction


def search(
    transaction: Transaction, reader: Reader, chosen: Filter, text: str, condition: str, values: dict[str, object]
) -> tuple[dict[int, float | None], int, tuple[str, ...]]:
    """Return the page's messages in order with their scores, how many match in all, and notes.

    Args:
        condition: what messages must meet besides, over ``agent_messages m``.
        values: its parameters.
    """
    query = parse(text)
    if not query.terms:
        return {}, 0, (f"{text.strip()[:80]!r} holds no word to search for",)
    ranked = ranking.rank(
        transaction,
        query,
        Scope(
            reader.project_id,
            kinds=(Kind.MESSAGE,),
            types=tuple((Kind.MESSAGE, number) for number in chosen.types),
            agent_id=names.find_agent(transaction, reader.project_id, chosen.sender),
            since=chosen.since,
            status="all",
            now=reader.now,
        ),
    )
    notes = ranked.notes
    direction = "ASC" if chosen.order == "asc" else "DESC"
    rows = transaction.all(
        f"""
        SELECT d.id, m.id FROM documents d JOIN agent_messages m ON m.id = d.item_id
        WHERE d.id IN ({", ".join(str(hit.document) for hit in ranked.hits)}) AND {condition}
        ORDER BY m.created_at {direction}, m.id {direction}
        """,
        values,
    )
    scores = {hit.document: round(hit.score, 4) for hit in ranked.hits}
    if chosen.order is None:
        place = {document: number for number, document in enumerate(scores)}
        rows.sort(key=lambda row: place[row[0]])
    page = rows[chosen.offset : chosen.offset + chosen.limit]
    return {number: scores[document] for document, number in page}, len(rows), notes
