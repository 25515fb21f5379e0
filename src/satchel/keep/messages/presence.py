"""Whether any message is alive: where none is, callers need not load what inboxes are."""

from __future__ import annotations

from satchel.store.transaction import Transaction


def is_any_alive(transaction: Transaction, project_id: int, now: int) -> bool:
    """Whether the project has a message that has not expired.

    Args:
        now: milliseconds UTC.
    """
    some = "SELECT 1 FROM agent_messages WHERE project_id = :project AND expires_at > :now LIMIT 1"
    return transaction.one(some, {"project": project_id, "now": now}) is not None
