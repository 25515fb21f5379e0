"""Deletion of expired items during writes, a day or more after they expired; reads hide them from then on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from satchel.base.clock import DAY_MS
from satchel.find import documents
from satchel.find.kind import Kind
from satchel.keep import deliveries, events, jumps
from satchel.store.engine import Engine
from satchel.store.transaction import Transaction, add_item, first_number, set_of

MOST_CONVERSATIONS = 5  # maximum number of conversations deleted by one sweep

# condition for unexpired conversations; one held by a call does not expire
GOES_ON = "(expires_at > :now OR lease_until > :now)"

FREE = "(lease_until IS NULL OR lease_until <= :now)"  # condition for conversations that no call holds

# contents b that the prompts of the present thread of conversation c are made of
PARTS = """
    conversations c JOIN conversation_turns t ON t.conversation_id = c.id AND t.n >= c.thread_start
    JOIN conversation_parts p ON p.turn_id = t.id JOIN blobs b ON b.id BETWEEN p.first_blob AND p.last_blob
"""

_OVER = f"expires_at <= :now AND {FREE}"


def sweep_conversations(transaction: Transaction, project_id: int, by: int, now: int) -> int:
    """Delete conversations of a project that had expired by a time and that no call holds; return their number."""
    rows = transaction.all(
        f"SELECT id FROM conversations WHERE project_id = :project AND expires_at <= :by AND {FREE} "
        "ORDER BY expires_at, id LIMIT :most",
        {"project": project_id, "by": by, "now": now, "most": MOST_CONVERSATIONS},
    )
    return remove_conversations(transaction, [row[0] for row in rows], project_id)


def count_old_conversations(transaction: Transaction, project_id: int, before: int | None, now: int) -> int:
    sql = f"SELECT count(*) FROM conversations WHERE {_old(before)}"
    return first_number(transaction, sql, _values(project_id, before, now))


def remove_old_conversations(transaction: Transaction, project_id: int, before: int | None, now: int) -> int:
    """Delete some of the conversations that :func:`count_old_conversations` counts, and return their number."""
    rows = transaction.all(
        f"SELECT id FROM conversations WHERE {_old(before)} ORDER BY id LIMIT {MOST_CONVERSATIONS}",
        _values(project_id, before, now),
    )
    return remove_conversations(transaction, [row[0] for row in rows], project_id)


def remove_conversations(transaction: Transaction, numbers: Sequence[int], project_id: int) -> int:
    """Delete conversations with their turns, files and unshared contents."""
    if not numbers:
        return 0
    deleted = transaction.execute(f"DELETE FROM conversations WHERE id IN {set_of(numbers)}")
    remove_contents(transaction, project_id)
    return deleted


def remove_contents(transaction: Transaction, project_id: int | None = None) -> int:
    """Delete contents that no conversation of their project refers to; None covers all projects."""
    # NOT IN over pairs would be much slower
    return transaction.execute(
        f"""
        DELETE FROM blobs WHERE id IN (
            SELECT id FROM blobs WHERE CAST(:project AS BIGINT) IS NULL OR project_id = :project
            EXCEPT
            SELECT b.id FROM conversation_file_states f JOIN conversations c ON c.id = f.conversation_id
            JOIN blobs b ON b.project_id = c.project_id AND b.digest = f.digest
            EXCEPT
            SELECT b.id FROM {PARTS}
        )
        """,
        {"project": project_id},
    )


def _old(before: int | None) -> str:
    aged = _OVER if before is None else f"turns > 0 AND updated_at <= :before AND {FREE}"
    return f"project_id = :project AND {aged}"


def _values(project_id: int, before: int | None, now: int) -> dict[str, object]:
    return {"project": project_id, "before": before, "now": now}


PAUSE_MS = 60_000  # minimum time between sweeps of a project, per process

BACKLOG_PAUSE_MS = 1_000  # the same after an incomplete sweep

MOST = 200  # maximum number of items, and of claims, deleted by one sweep; fewer conversations

REFUSAL_MS = DAY_MS  # how long an agent is notified that a refused file is free

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
    """End expired claims, and delete up to ``most`` items and claims that had expired by the last vouched day."""
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
    return len(expired) + claims + old + sweep_conversations(transaction, project_id, day.at, now)


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
    """Delete claims and log the reason; ``by`` is the person who ends them, if it is neither the holder nor expiry."""
    if numbers:
        _log_ends(transaction, numbers, kind, now, by=by, with_session=with_session)
        transaction.many("DELETE FROM file_claims WHERE id = :id", [{"id": number} for number in numbers])


# the expressions whose values the record of a claim's end has, if they are set, and their names there
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


def claim_again(
    transaction: Transaction, project_id: int, session: int, agent: int, ended: Mapping[str, Any], began: int, now: int
) -> None:
    """Insert a claim again from the event details of its end, ``ended``, with ``began`` as its beginning."""
    add_item(
        transaction,
        "file_claims",
        project_id,
        path=ended["path"],
        is_key=int(ended.get("is_key", 0)),
        agent_id=agent,
        session_id=session,
        worktree=ended.get("worktree", ""),
        exclusive=int(not ended.get("shared")),
        automatic=int(ended.get("automatic", 0)),
        reason=ended.get("reason"),
        existed=ended.get("existed"),
        created_at=began,
        renewed_at=now,
        expires_at=ended["until"],
    )


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
