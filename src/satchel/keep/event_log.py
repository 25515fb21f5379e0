"""Reading of a project's events in order."""

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
    """An event.

    Attributes:
        seq: its number, increasing over the whole store.
        kind: a name of :data:`satchel.keep.events.KINDS`.
        item: the short id of the item concerned.
        agent: the agent's name.
        session, client: the session's uid in hexadecimal, and its client.
        details: plain values.
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
    """Return up to ``limit`` events of a project after a number, in order; ``kinds`` None takes all."""
    rows = transaction.all(
        f"""
        SELECT e.seq, e.kind, e.item_kind, e.item_id, a.name, s.uid, s.client, e.details, e.created_at
        FROM events e LEFT JOIN agents a ON a.id = e.agent_id LEFT JOIN sessions s ON s.id = e.session_id
        WHERE {_kind_condition(kinds)} ORDER BY e.seq LIMIT :limit
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
    """Count the events that :func:`after` returns."""
    row = transaction.one(
        f"SELECT count(*) FROM (SELECT 1 FROM events e WHERE {_kind_condition(kinds)} LIMIT :limit) AS counted",
        {"project": project_id, "seq": seq, "limit": limit},
    )
    return 0 if row is None else int(row[0])


def last(transaction: Transaction, project_id: int) -> int:
    """Return the number of a project's last event, or 0."""
    row = transaction.one(
        "SELECT seq FROM events WHERE project_id = :project ORDER BY seq DESC LIMIT 1", {"project": project_id}
    )
    return 0 if row is None else int(row[0])


def swept_until(transaction: Transaction, project_id: int) -> int:
    """Return the number up to which events may have been deleted."""
    row = transaction.one("SELECT events_swept FROM projects WHERE id = :project", {"project": project_id})
    return 0 if row is None else int(row[0])


def _kind_condition(kinds: Collection[str] | None) -> str:
    numbers = [number for number, name in enumerate(KINDS, 1) if kinds is None or name in kinds]
    condition = "" if kinds is None else f" AND e.kind IN {set_of(numbers)}"
    return f"e.project_id = :project AND e.seq > :seq{condition}"


def _kind_name(number: int) -> str:
    # a later version's kinds have no name here
    return KINDS[number - 1] if 0 < number <= len(KINDS) else f"kind_{number}"
