"""Whether anything is claimed, waited for or refused: mostly nothing is, and callers need not load what that is."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes 4 ms
if TYPE_CHECKING:
    from satchel.store.glance import Rows


CLAIM = "SELECT 1 FROM file_claims WHERE project_id = :project AND expires_at > :now"
"""Some live claim of the project."""

REFUSAL = "SELECT 1 FROM claim_refusals WHERE project_id = :project"
"""Someone who was refused a claim and was not told yet that it is free."""


def is_anything_claimed(rows: Rows, project_id: int, now: int) -> bool:
    """Whether the project has a live claim.

    Args:
        now: milliseconds UTC.
    """
    return rows.one(f"{CLAIM} LIMIT 1", {"project": project_id, "now": now}) is not None


def is_anyone_waiting(rows: Rows, project_id: int) -> bool:
    """Whether a call has begun to wait for a claim; it may have ended since."""
    some = "SELECT 1 FROM claim_waiters WHERE project_id = :project LIMIT 1"
    return rows.one(some, {"project": project_id}) is not None


def is_anyone_refused(rows: Rows, project_id: int) -> bool:
    """Whether someone was refused a claim and was not told yet that it is free."""
    return rows.one(f"{REFUSAL} LIMIT 1", {"project": project_id}) is not None
