"""Whether anything is claimed at all: mostly nothing is, and then callers need not load what claims are."""

from __future__ import annotations

from satchel.store.transaction import Transaction


def is_anything_claimed(transaction: Transaction, project_id: int, now: int) -> bool:
    """Whether the project has a live claim.

    Args:
        now: milliseconds UTC.
    """
    some = "SELECT 1 FROM file_claims WHERE project_id = :project AND expires_at > :now LIMIT 1"
    return transaction.one(some, {"project": project_id, "now": now}) is not None
