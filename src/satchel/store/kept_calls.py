"""Keys of stored calls from other machines: a caller that lost the answer can ask whether its call succeeded."""

from __future__ import annotations

from satchel.base.clock import DAY_MS
from satchel.store.transaction import Transaction

# How long a caller can ask about a lost answer.
KEPT_MS = 7 * DAY_MS

_SWEPT_AT_ONCE = 20
_OF_PROJECT = "project_id = (SELECT id FROM projects WHERE name = :project)"


def keep(transaction: Transaction, project: str, call: bytes, now: int) -> bool:
    """Record a call's key in the call's own transaction, and delete a few old ones of the project.

    Returns whether the key is new; an unknown project records nothing.
    """
    is_new = transaction.execute(
        "INSERT INTO kept_calls (project_id, call, kept_at) SELECT id, :call, :now FROM projects WHERE name = :project "
        "ON CONFLICT DO NOTHING",
        {"project": project, "call": call, "now": now},
    )
    transaction.run(
        f"""
        DELETE FROM kept_calls WHERE {_OF_PROJECT} AND call IN (
            SELECT call FROM kept_calls WHERE {_OF_PROJECT}
                AND kept_at < (SELECT vouched_at FROM projects WHERE name = :project) - :age LIMIT :most
        )
        """,
        {"project": project, "age": KEPT_MS, "most": _SWEPT_AT_ONCE},
    )
    return bool(is_new) or not is_kept(transaction, project, call)


def is_kept(transaction: Transaction, project: str, call: bytes) -> bool:
    sql = f"SELECT 1 FROM kept_calls WHERE {_OF_PROJECT} AND call = :call"
    return transaction.one(sql, {"project": project, "call": call}) is not None
