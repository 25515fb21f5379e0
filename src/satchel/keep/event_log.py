"""What happened in a project, as its listeners are told: the rows of the table of events, read in their order."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from satchel.base.records import dataclass
from satchel.find.kind import Kind
from satchel.keep.events import KINDS
from satchel.store.transaction import Transaction, set_of

_KIND_OF = {kind.number: kind for kind in Kind}


@dataclass(frozen=True, slots=True)
class Happening:
    """One event.

    Attributes:
        seq: its number, which grows over the whole store.
        kind: a name of :data:`satchel.keep.events.KINDS`.
        item: the short id of what it happened to.
        agent: by whom, by name.
        session, client: in which session, as the hexadecimal digits of its uid, and the client of that.
        details: a few plain values.
        created_at: milliseconds UTC.
    """

    seq: int
    kind: str
    item: str | None
    agent: str | None
    session: str | None
    client: str | None
    details: Mapping[str, object] | None
    created_at: int


def after(
    transaction: Transaction, project_id: int, seq: int, limit: int, kinds: Collection[str] | None = None
) -> list[Happening]:
    """Return the events of a project after a number, in their order.

    Args:
        limit: how many at most; the later ones are left for the next call.
        kinds: names of kinds, others are left out; None takes all.
    """
    rows = transaction.all(
        f"""
        SELECT e.seq, e.kind, e.item_kind, e.item_id, a.name, s.uid, s.client, e.details, e.created_at
        FROM events e LEFT JOIN agents a ON a.id = e.agent_id LEFT JOIN sessions s ON s.id = e.session_id
        WHERE {_chosen(kinds)} ORDER BY e.seq LIMIT :limit
        """,
        {"project": project_id, "seq": seq, "limit": limit},
    )
    return [
        Happening(
            number,
            _kind_name(kind),
            _KIND_OF[item_kind].ref(item) if item_kind in _KIND_OF else None,
            agent,
            None if uid is None else uid.hex(),
            client,
            None if details is None else json.loads(details),
            created,
        )
        for number, kind, item_kind, item, agent, uid, client, details, created in rows
    ]


def count_after(
    transaction: Transaction, project_id: int, seq: int, limit: int, kinds: Collection[str] | None = None
) -> int:
    """Count what :func:`after` returns, without reading it."""
    row = transaction.one(
        f"SELECT count(*) FROM (SELECT 1 FROM events e WHERE {_chosen(kinds)} LIMIT :limit) AS counted",
        {"project": project_id, "seq": seq, "limit": limit},
    )
    return 0 if row is None else int(row[0])


def last(transaction: Transaction, project_id: int) -> int:
    """Return the number of a project's last event; 0 where it has none."""
    row = transaction.one(
        "SELECT seq FROM events WHERE project_id = :project ORDER BY seq DESC LIMIT 1", {"project": project_id}
    )
    return 0 if row is None else int(row[0])


def swept_until(transaction: Transaction, project_id: int) -> int:
    """Return the number up to which events of a project may have been swept; those after it are all there."""
    row = transaction.one("SELECT events_swept FROM projects WHERE id = :project", {"project": project_id})
    return 0 if row is None else int(row[0])


def _chosen(kinds: Collection[str] | None) -> str:
    numbers = [number for number, name in enumerate(KINDS, 1) if kinds is None or name in kinds]
    chosen = "" if kinds is None else f" AND e.kind IN {set_of(numbers)}"
    return f"e.project_id = :project AND e.seq > :seq{chosen}"


def _kind_name(number: int) -> str:
    """Name a kind; one that a later program has recorded has no name here."""
    return KINDS[number - 1] if 0 < number <= len(KINDS) else f"kind_{number}"
