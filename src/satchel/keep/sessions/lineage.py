"""The sessions that one goes on from."""

from __future__ import annotations

from satchel.store.transaction import Transaction

_MOST = 20


def sessions_before(transaction: Transaction, session: int | None) -> tuple[int, ...]:
    """Return the numbers of the sessions that one goes on from, the last one first, at most 20."""
    if session is None:
        return ()
    rows = transaction.all(
        f"""
        WITH RECURSIVE line (id, place) AS (
            SELECT predecessor_id, 1 FROM sessions WHERE id = :session AND predecessor_id IS NOT NULL
            UNION ALL
            SELECT s.predecessor_id, l.place + 1 FROM line l JOIN sessions s ON s.id = l.id
            WHERE s.predecessor_id IS NOT NULL AND l.place < {_MOST}
        )
        SELECT id FROM line ORDER BY place
        """,
        {"session": session},
    )
    return tuple(row[0] for row in rows)
