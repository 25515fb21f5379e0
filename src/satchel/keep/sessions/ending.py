"""The end of a session, and what it gets back when it goes on."""

from __future__ import annotations

import json
import os

from satchel.keep import events, paths
from satchel.keep.expiry import end_claims
from satchel.keep.sessions.caller import State
from satchel.store.transaction import Transaction

_MOST_NAMED = 5


def end(transaction: Transaction, project_id: int, state: State, reason: str | None, now: int) -> None:
    """End a session, once, and release what was claimed in it automatically."""
    if state.ended_at is not None:
        return
    transaction.run("UPDATE sessions SET ended_at = :now, seen_at = :now WHERE id = :id", {"now": now, "id": state.id})
    transaction.forget()
    claims = transaction.all("SELECT id FROM file_claims WHERE session_id = :id AND automatic = 1", {"id": state.id})
    end_claims(transaction, [number for (number,) in claims], events.RELEASE, now, with_session=True)
    details = None if reason is None else {"reason": reason}
    events.record(
        transaction, project_id, events.SESSION_ENDED, now, session=state.id, agent=state.agent, details=details
    )


def take_back_claims(transaction: Transaction, project_id: int, state: State, now: int) -> str | None:
    """Restore the claims that ended with a session and would still hold; return a notice of those that others have."""
    if state.ended_at is None:
        return None
    rows = transaction.all(
        "SELECT agent_id, details FROM events "
        "WHERE session_id = :session AND created_at = :at AND kind = :release AND details IS NOT NULL ORDER BY seq",
        {"session": state.id, "at": state.ended_at, "release": events.RELEASE},
    )
    taken = []
    for agent, text in rows:
        details = json.loads(text)
        if details.get("until", 0) <= now:
            continue
        path, worktree = details["path"], details.get("worktree", "")
        holder = _holder(transaction, project_id, state, agent, path, worktree, now)
        if holder is None:
            row = {
                "uid": os.urandom(16),
                "seq": transaction.next_seq(project_id),
                "project_id": project_id,
                "path": path,
                "is_key": 0,
                "agent_id": agent,
                "session_id": state.id,
                "worktree": worktree,
                "exclusive": 1,
                "automatic": 1,
                "existed": details.get("existed"),
                "created_at": now,
                "expires_at": details["until"],
            }
            transaction.add("file_claims", row)
        elif holder:
            taken.append(f"{path} by {holder}")
    if not taken:
        return None
    more = f" and {len(taken) - _MOST_NAMED} more" if len(taken) > _MOST_NAMED else ""
    return (
        "Satchel: your session had ended and goes on; files that it had claimed are claimed by others now: "
        f"{', '.join(taken[:_MOST_NAMED])}{more}."
    )


def _holder(
    transaction: Transaction, project_id: int, state: State, agent: int, path: str, worktree: str, now: int
) -> str | None:
    """Return who else claims a file; an empty name where the session claims it again already, None where nobody."""
    conditions, values = paths.overlapping([path], "c.path")
    rows = transaction.all(
        f"""
        SELECT a.name, c.session_id, c.agent_id FROM file_claims c JOIN agents a ON a.id = c.agent_id
        WHERE c.project_id = :project AND c.worktree = :worktree AND c.is_key = 0 AND c.expires_at > :now
            AND ({" OR ".join(conditions)})
        """,
        {**values, "project": project_id, "worktree": worktree, "now": now},
    )
    others = [name for name, session, holder in rows if session != state.id and (session or holder != agent)]
    return others[0] if others else "" if rows else None
