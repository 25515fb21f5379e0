"""Reading the entries that answer a search."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.find import search
from satchel.find.kind import Kind
from satchel.find.query import parse
from satchel.find.search import Hit, Scope
from satchel.keep import names
from satchel.keep.entries.queries import Filter
from satchel.keep.entries.records import COLUMNS, Entry, entry_of
from satchel.store.transaction import Transaction


def search_entries(
    transaction: Transaction, project_id: int, run: int, run_id: str, chosen: Filter, text: str
) -> tuple[tuple[Entry, ...], int, tuple[str, ...]]:
    """Return the page of what answers a search, the total and notes for the reader.

    Args:
        run, run_id: where to look: its number and its name.
        chosen: the filters.
        text: what is searched for.
    """
    query = parse(text)
    if not query.terms:
        return (), 0, (f"{text.strip()[:80]!r} holds no word to search for",)
    scope = Scope(
        project_id,
        run,
        (Kind.ENTRY,),
        tuple((Kind.ENTRY, number) for number in chosen.types),
        names.find_agent(transaction, project_id, chosen.agent),
        chosen.task_id,
        chosen.loop_id,
        chosen.file,
        chosen.since,
        chosen.status,
    )
    ranking = search.rank(transaction, query, scope)
    hits = ranking.hits
    if chosen.order is not None:
        hits = _by_time(transaction, [hit for hit in hits if not hit.by_surroundings], chosen.order)
    page = hits[chosen.offset : chosen.offset + chosen.limit]
    listed = ", ".join(str(hit.document) for hit in page)
    rows = transaction.all(
        f"SELECT {COLUMNS}, d.id FROM documents d JOIN context c ON c.id = d.item_id "
        f"LEFT JOIN agents a ON a.id = c.agent_id WHERE d.id IN ({listed})"
    )
    if len(rows) + transaction.left_out < len(page):
        raise search.disagreement()
    found = {row[12]: row for row in rows}
    entries = tuple(entry_of(found[hit.document], run_id, round(hit.score, 4)) for hit in page if hit.document in found)
    return entries, len(hits), ranking.notes


def _by_time(transaction: Transaction, hits: Sequence[Hit], order: str) -> tuple[Hit, ...]:
    by_document = {hit.document: hit for hit in hits}
    direction = "ASC" if order == "asc" else "DESC"
    rows = transaction.all(
        f"SELECT id FROM documents WHERE id IN ({', '.join(map(str, by_document))}) "
        f"ORDER BY created_at {direction}, item_id {direction}"
    )
    return tuple(by_document[row[0]] for row in rows)
