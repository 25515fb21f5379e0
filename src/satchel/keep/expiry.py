"""Deletion of expired items during writes; reads already hide them."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from satchel.base.clock import DAY_MS
from satchel.find import documents
from satchel.find.kind import Kind
from satchel.keep import deliveries, events, past_conversations
from satchel.store.engine import Engine
from satchel.store.transaction import Transaction, set_of

PAUSE_MS = 60_000
"""Minimum time between sweeps of a project, per process."""

BACKLOG_PAUSE_MS = 1_000
"""The same after an incomplete sweep."""

MOST = 200
"""Maximum number of items, and of claims, deleted by one sweep; fewer conversations."""

REFUSAL_MS = DAY_MS
"""How long an agent is notified that a refused file is free."""

_EXPIRING = (Kind.MESSAGE, Kind.FILE_CHANGE, Kind.ERROR_PATTERN)
_due: WeakKeyDictionary[Engine, dict[int, tuple[int, int]]] = WeakKeyDictionary()


def sweep_now_and_then(engine: Engine, transaction: Transaction, project_id: int, now: int) -> int:
    """Sweep a project, unless this process did so recently. A clock that was set back does not delay the next sweep."""
    due = _due.setdefault(engine, {})
    last, pause = due.get(project_id, (0, 0))
    if last <= now < last + pause:
        return 0
    removed = sweep(transaction, project_id, now)
    due[project_id] = now, PAUSE_MS if removed < MOST else BACKLOG_PAUSE_MS
    return removed


def sweep(transaction: Transaction, project_id: int, now: int, *, most: int = MOST) -> int:
    """Delete expired messages, file changes, error patterns, claims, refusals and conversations of a project, up to
    ``most`` items and claims.
    """
    values = {"project": project_id, "now": now}
    kinds = ", ".join(str(kind.number) for kind in _EXPIRING)
    expired = transaction.all(
        "SELECT kind, item_id FROM documents "
        f"WHERE project_id = :project AND expires_at <= :now AND +kind IN ({kinds}) ORDER BY expires_at LIMIT :most",
        {**values, "most": most},
    )
    for kind in _EXPIRING:
        items = [item for number, item in expired if number == kind.number]
        if items:
            transaction.run(f"DELETE FROM {kind.table} WHERE id IN {set_of(items)}")
            documents.remove(transaction, kind, items)
    claims = transaction.all(
        "SELECT id FROM file_claims WHERE project_id = :project AND expires_at <= :now ORDER BY expires_at LIMIT :most",
        {**values, "most": most},
    )
    if claims:
        end_claims(transaction, [row[0] for row in claims], events.EXPIRY, now)
    transaction.run("DELETE FROM claim_waiters WHERE project_id = :project AND expires_at <= :now", values)
    transaction.run(
        "DELETE FROM claim_refusals WHERE project_id = :project AND created_at <= :before",
        {"project": project_id, "before": now - REFUSAL_MS},
    )
    old = events.sweep(transaction, project_id, now, most)
    deliveries.sweep(transaction, project_id, now)
    return len(expired) + len(claims) + old + past_conversations.sweep(transaction, project_id, now)


def end_claims(
    transaction: Transaction,
    numbers: Sequence[int],
    kind: int,
    now: int,
    *,
    by: str | None = None,
    with_session: bool = False,
) -> None:
    """Delete claims and log the reason.

    ``by`` is the person who ends them; None means their holder, or expiry. ``with_session`` tells whether their session
    ends too: the events then record their expiry, for a resumed session.
    """
    if not numbers:
        return
    rows = transaction.all(
        "SELECT project_id, session_id, agent_id, path, worktree, expires_at, existed FROM file_claims "
        f"WHERE id IN {set_of(numbers)} ORDER BY id"
    )
    for project, session, agent, path, worktree, until, existed in rows:
        details = {"path": path} | ({"worktree": worktree} if worktree else {}) | ({"by": by} if by else {})
        if with_session:
            details |= {"until": until, "existed": existed}
        events.record(transaction, project, kind, now, session=session, agent=agent, details=details)
    transaction.many("DELETE FROM file_claims WHERE id = :id", [{"id": number} for number in numbers])
