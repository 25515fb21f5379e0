"""Deletion of expired items during writes, a day or more after they expired; reads hide them from then on."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from satchel.base.clock import DAY_MS
from satchel.find import documents
from satchel.find.kind import Kind
from satchel.keep import deliveries, events, jumps, past_conversations
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
    """Delete what had expired by the last vouched day of a project: messages, file changes, error patterns, claims and
    conversations, up to ``most`` items and claims; and end the claims that have expired since.
    """
    end_expired(transaction, project_id, now)
    day = jumps.vouched(transaction, project_id)
    if not day.at:
        return 0
    values = {"project": project_id, "by": day.at, "seq": day.seq, "most": most}
    kinds = ", ".join(str(kind.number) for kind in _EXPIRING)
    expired = transaction.all(
        "SELECT kind, item_id FROM documents WHERE project_id = :project AND expires_at <= :by AND seq <= :seq "
        f"AND +kind IN ({kinds}) ORDER BY expires_at LIMIT :most",
        values,
    )
    for kind in _EXPIRING:
        items = [item for number, item in expired if number == kind.number]
        if items:
            transaction.run(f"DELETE FROM {kind.table} WHERE id IN {set_of(items)}")
            documents.remove(transaction, kind, items)
    claims = transaction.execute(
        """
        DELETE FROM file_claims WHERE id IN (
            SELECT id FROM file_claims WHERE project_id = :project AND is_over = 1 AND expires_at <= :by AND seq <= :seq
            ORDER BY expires_at LIMIT :most
        )
        """,
        values,
    )
    transaction.run("DELETE FROM claim_waiters WHERE project_id = :project AND expires_at <= :by", values)
    transaction.run(
        "DELETE FROM claim_refusals WHERE project_id = :project AND created_at <= :before",
        {"project": project_id, "before": day.at - REFUSAL_MS},
    )
    old = events.sweep(transaction, project_id, day.at, most)
    deliveries.sweep(transaction, project_id, day.at)
    return len(expired) + claims + old + past_conversations.sweep(transaction, project_id, day.at, now)


def end_expired(transaction: Transaction, project_id: int, now: int) -> None:
    """Mark a project's expired claims as over and log that, so that claiming again makes new claims."""
    rows = transaction.all(
        """
        UPDATE file_claims SET is_over = 1 WHERE project_id = :project AND expires_at <= :now AND is_over = 0
        RETURNING id
        """,
        {"project": project_id, "now": now},
    )
    if rows:
        _log_ends(transaction, [row[0] for row in rows], events.EXPIRY, now)


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
    ends too, which a resumed session takes back.
    """
    if numbers:
        _log_ends(transaction, numbers, kind, now, by=by, with_session=with_session)
        transaction.many("DELETE FROM file_claims WHERE id = :id", [{"id": number} for number in numbers])


_ENDED = {
    "path": "path",
    "worktree": "worktree",
    "expires_at": "until",
    "existed": "existed",
    "created_at": "began",
    "1 - exclusive": "shared",
    "automatic": "automatic",
    "is_key": "is_key",
    "reason": "reason",
}
"""The expressions whose values the record of a claim's end has, if they are set, and their names there."""


def _log_ends(
    transaction: Transaction,
    numbers: Sequence[int],
    kind: int,
    now: int,
    *,
    by: str | None = None,
    with_session: bool = False,
) -> None:
    rows = transaction.all(
        f"SELECT project_id, session_id, agent_id, {', '.join(_ENDED)} FROM file_claims "
        f"WHERE id IN {set_of(numbers)} ORDER BY id"
    )
    for project, session, agent, *values in rows:
        claim = zip(_ENDED.values(), values, strict=True)
        details = {name: value for name, value in claim if value or (name == "existed" and value is not None)}
        details |= ({"by": by} if by else {}) | ({"with_session": True} if with_session else {})
        events.record(transaction, project, kind, now, session=session, agent=agent, details=details)
