"""The end of a session, and the restoration of its claims if it resumes."""

from __future__ import annotations

import json
from collections.abc import Sequence

from satchel.keep import events, paths
from satchel.keep.expiry import claim_again, end_claims, end_expired
from satchel.keep.sessions.clients import State
from satchel.store.transaction import Transaction, set_of, update_row

_MOST_NAMED = 5


def end(transaction: Transaction, project_id: int, state: State, reason: str | None, now: int) -> None:
    """End a session, once, and release its automatic claims."""
    if state.ended_at is not None:
        return
    transaction.run("UPDATE sessions SET ended_at = :now, seen_at = :now WHERE id = :id", {"now": now, "id": state.id})
    transaction.forget()
    mine = "session_id = :id AND automatic = 1 AND is_over = 0"
    claims = transaction.all(f"SELECT id FROM file_claims WHERE {mine}", {"id": state.id})
    end_claims(transaction, [number for (number,) in claims], events.RELEASE, now, with_session=True)
    details = None if reason is None else {"reason": reason}
    events.record(
        transaction, project_id, events.SESSION_ENDED, now, session=state.id, agent=state.agent, details=details
    )


def take_back_claims(transaction: Transaction, project_id: int, state: State, now: int) -> str | None:
    """Restore the unexpired claims of a resumed session; return a notice of those that others hold now."""
    end_expired(transaction, project_id, now)
    lost = _take_from_successors(transaction, project_id, state, now)
    rows = transaction.all(
        "SELECT agent_id, details FROM events "
        "WHERE session_id = :session AND created_at = :at AND kind = :release AND details IS NOT NULL ORDER BY seq",
        {"session": state.id, "at": state.ended_at, "release": events.RELEASE},
    )
    for agent, text in rows:
        details = json.loads(text)
        if not details.get("with_session") or details["until"] <= now:
            continue
        path, worktree = details["path"], details.get("worktree", "")
        holder = _holder(transaction, project_id, state, agent, path, worktree, now)
        if holder is None:
            claim_again(transaction, project_id, state.id, agent, details, now, now)
        elif holder:
            lost.append(f"{path} by {holder}")
    if not lost:
        return None
    more = f" and {len(lost) - _MOST_NAMED} more" if len(lost) > _MOST_NAMED else ""
    return (
        "Satchel: your session had ended and was resumed; others have claimed some of its files since: "
        f"{', '.join(lost[:_MOST_NAMED])}{more}."
    )


def _take_from_successors(transaction: Transaction, project_id: int, state: State, now: int) -> list[str]:
    # moves back inherited claims; returns those that conflict with a successor's own
    inherited = transaction.all(
        """
        WITH RECURSIVE later (id, began_at) AS (
            SELECT id, created_at FROM sessions WHERE predecessor_id = :session
            UNION ALL
            SELECT s.id, l.began_at FROM later l JOIN sessions s ON s.predecessor_id = l.id
        )
        SELECT c.id, c.agent_id, c.path, c.worktree, c.is_key, c.exclusive
        FROM later l JOIN file_claims c ON c.session_id = l.id
        WHERE c.created_at < l.began_at AND c.expires_at > :now AND (c.agent_id = :agent OR c.agent_id = :unnamed)
            AND NOT EXISTS (
                SELECT 1 FROM file_claims o WHERE o.session_id = :session AND o.project_id = c.project_id
                    AND o.path = c.path AND o.worktree = c.worktree AND o.is_key = c.is_key AND o.is_over = 0
            )
        """,
        {"session": state.id, "now": now, "agent": state.agent, "unnamed": state.unnamed},
    )
    numbers = [number for number, *_ in inherited]
    lost = []
    for number, agent, path, worktree, is_key, exclusive in inherited:
        holder = None
        if not is_key:
            holder = _holder(
                transaction, project_id, state, agent, path, worktree, now, exclusive=exclusive, but=numbers
            )
        if holder:
            lost.append(f"{path} by {holder}")
            end_claims(transaction, [number], events.RELEASE, now)
        else:
            update_row(transaction, "file_claims", number, session_id=state.id)
    return lost


def _holder(
    transaction: Transaction,
    project_id: int,
    state: State,
    agent: int,
    path: str,
    worktree: str,
    now: int,
    *,
    exclusive: int = 1,
    but: Sequence[int] = (),
) -> str | None:
    # the holder of a claim that blocks this one; "" if the session itself holds it, None if nobody does;
    # the claims ``but`` do not count
    conditions, values = paths.overlapping([path], "c.path")
    rows = transaction.all(
        f"""
        SELECT a.name, c.session_id, c.agent_id FROM file_claims c JOIN agents a ON a.id = c.agent_id
        WHERE c.project_id = :project AND c.worktree = :worktree AND c.is_key = 0 AND c.expires_at > :now
            AND (c.exclusive = 1 OR :exclusive = 1) AND c.id NOT IN {set_of(but)} AND ({" OR ".join(conditions)})
        """,
        {**values, "project": project_id, "worktree": worktree, "now": now, "exclusive": exclusive},
    )
    others = [name for name, session, holder in rows if session != state.id and (session or holder != agent)]
    return others[0] if others else "" if rows else None
