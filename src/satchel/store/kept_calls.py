"""Calls from elsewhere that were kept: who lost the answer of one asks by its key whether it was."""

from __future__ import annotations

from satchel.base.clock import DAY_MS
from satchel.store.transaction import Transaction

KEPT_MS = 7 * DAY_MS
"""So long a caller that lost an answer may ask."""

_SWEPT_AT_ONCE = 20
_OF_PROJECT = "project_id = (SELECT id FROM projects WHERE name = :project)"


def keep(transaction: Transaction, project: str, call: bytes, now: int) -> bool:
    """Record in the transaction that keeps it that a call was kept; a few old ones of the project are forgotten.

    Args:
        project: by its name; a call for one that there is not keeps nothing.
        call: its key.
        now: milliseconds UTC.

    Returns:
        Whether it was not kept before.
    """
    is_new = transaction.execute(
        "INSERT INTO kept_calls (project_id, call, kept_at) SELECT id, :call, :now FROM projects WHERE name = :project "
        "ON CONFLICT DO NOTHING",
        {"project": project, "call": call, "now": now},
    )
    transaction.run(
        f"""
        DELETE FROM kept_calls WHERE {_OF_PROJECT} AND call IN (
            SELECT call FROM kept_calls WHERE {_OF_PROJECT} AND kept_at < :before LIMIT :most
        )
        """,
        {"project": project, "before": now - KEPT_MS, "most": _SWEPT_AT_ONCE},
    )
    return bool(is_new) or not is_kept(transaction, project, call)


def is_kept(transaction: Transaction, project: str, call: bytes) -> bool:
    """Whether a call was kept for a project, given by its name."""
    sql = f"SELECT 1 FROM kept_calls WHERE {_OF_PROJECT} AND call = :call"
    return transaction.one(sql, {"project": project, "call": call}) is not None
