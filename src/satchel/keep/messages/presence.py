"""Whether any critical message is alive: mostly none is, and then callers need not load what inboxes are."""

from __future__ import annotations

from satchel.base.vocabulary import PRIORITIES
from satchel.store.transaction import Transaction

_CRITICAL = PRIORITIES.index("critical") + 1


def is_anything_critical(transaction: Transaction, project_id: int, now: int) -> bool:
    """Whether the project has a critical message that has not expired.

    Args:
        now: milliseconds UTC.
    """
    where = f"project_id = :project AND priority = {_CRITICAL} AND expires_at > :now"
    return (
        transaction.one(f"SELECT 1 FROM agent_messages WHERE {where} LIMIT 1", {"project": project_id, "now": now})
        is not None
    )
