"""Quick checks for claims, waiters and refusals, so that callers load more code only if there are any."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing is slow
if TYPE_CHECKING:
    from satchel.store.glance import Rows


CLAIM = "SELECT 1 FROM file_claims WHERE project_id = :project AND expires_at > :now"
"""Query for live claims of a project."""

REFUSAL = "SELECT 1 FROM claim_refusals WHERE project_id = :project"
"""Query for refused claims whose agents were not notified yet that the place is free."""


def is_anything_claimed(rows: Rows, project_id: int, now: int) -> bool:
    """Return whether the project has a live claim."""
    return rows.one(f"{CLAIM} LIMIT 1", {"project": project_id, "now": now}) is not None


def is_anyone_waiting(rows: Rows, project_id: int) -> bool:
    """Return whether a call has begun to wait for a claim; it may have ended since."""
    some = "SELECT 1 FROM claim_waiters WHERE project_id = :project LIMIT 1"
    return rows.one(some, {"project": project_id}) is not None


def is_anyone_refused(rows: Rows, project_id: int) -> bool:
    """Return whether there are refused claims whose agents were not notified yet."""
    return rows.one(f"{REFUSAL} LIMIT 1", {"project": project_id}) is not None
