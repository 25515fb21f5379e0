"""Claims: leases on paths and folders, owned, renewable and expiring, granted all together or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from satchel.base.clock import iso
from satchel.base.errors import Conflict
from satchel.base.paging import KeptPage
from satchel.keep import events, paths
from satchel.keep.expiry import end_claims
from satchel.keep.files.presence import is_anything_claimed
from satchel.keep.files.records import Claim, Claimed, Released
from satchel.keep.projects import Project, next_seq
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Row, Transaction

_COLUMNS = """
    c.id, c.uid, c.seq, c.path, c.exclusive, a.name, c.worktree, c.reason, c.created_at, c.expires_at, c.agent_id,
    c.session_id
"""
_JOINED = "file_claims c JOIN agents a ON a.id = c.agent_id"
_PATHS_PER_STATEMENT = 200
_SHOWN = 20


class Held(NamedTuple):
    """A claim, and the numbers of the agent and the session that hold it."""

    claim: Claim
    agent_id: int
    session: int | None

    def is_of(self, actor: Actor) -> bool:
        """Whether an agent holds it: in its session, or by its name where either has no session."""
        if self.session is not None and actor.session is not None:
            return self.session == actor.session
        return actor.number is not None and self.agent_id == actor.number


def claims_of_others(
    transaction: Transaction, project_id: int, actor: Actor, files: Sequence[str], now: int
) -> list[Claim]:
    """Return the live claims of others that cover or overlap some paths, in any worktree, the oldest first.

    Args:
        actor: whose claims are left out.
        files: canonical paths of files or folders.
        now: milliseconds UTC.
    """
    if not files or not is_anything_claimed(transaction, project_id, now):
        return []
    return [held.claim for held in overlapping(transaction, project_id, files, now) if not held.is_of(actor)]


def overlapping(transaction: Transaction, project_id: int, wanted: Sequence[str], now: int) -> list[Held]:
    """Return the live claims on paths that overlap some paths, in any worktree, the oldest first."""
    found: dict[int, Held] = {}
    for start in range(0, len(wanted), _PATHS_PER_STATEMENT):
        condition, values = _overlap(wanted[start : start + _PATHS_PER_STATEMENT])
        rows = transaction.all(
            f"SELECT {_COLUMNS} FROM {_JOINED} WHERE {condition}", {**values, "project": project_id, "now": now}
        )
        found |= {row[0]: Held(_claim(row), row[10], row[11]) for row in rows}
    return sorted(found.values(), key=lambda held: (held.claim.created_at, held.claim.id))


def _overlap(wanted: Iterable[str]) -> tuple[str, dict[str, object]]:
    """Return the condition that a live claim of a project overlaps one of some paths, and its values."""
    conditions, values = paths.overlapping(wanted, "path")
    # joined by OR they would read every claim of the project
    ways = " UNION ALL ".join(
        f"SELECT id FROM file_claims WHERE project_id = :project AND {condition}" for condition in conditions
    )
    return f"+c.expires_at > :now AND c.id IN ({ways})", values


def grant(
    transaction: Transaction,
    project_id: int,
    holder: Actor,
    worktree: str | None,
    wanted: Sequence[str],
    reason: str | None,
    now: int,
    expires_at: int,
    *,
    exclusive: bool,
) -> Claimed:
    """Claim paths for an agent, or renew the claims of its session on them: all of them or none.

    What is held in a session that is over is taken over, and the notes say so.

    Args:
        holder: an agent that has a number.
        worktree: the linked worktree it works in; None is the main one.
        wanted: canonical, each once.
        reason: None keeps that of a claim that is renewed.

    Raises:
        Conflict: another holds what overlaps a path in the same worktree, and one of the two is exclusive.
    """
    remove_expired(transaction, now)
    found = overlapping(transaction, project_id, wanted, now)
    others = [held for held in found if not held.is_of(holder)]
    here = [held for held in others if held.claim.worktree == worktree]
    elsewhere = tuple(held.claim for held in others if held.claim.worktree != worktree)
    against = [held for held in here if exclusive or held.claim.exclusive]
    over = _of_ended_sessions(transaction, against, now)
    if len(over) < len(against):
        raise _refusal(wanted, [held.claim for held in against if held not in over], exclusive=exclusive)
    if over:
        end_claims(transaction, [held.claim.id for held in over], events.EXPIRY, now)
    # an agent may hold a path by its name and in its session too: the latter is renewed
    mine = sorted((held for held in found if held.is_of(holder)), key=lambda held: held.session == holder.session)
    own = {held.claim.path: held for held in mine if held.claim.worktree == worktree}
    first = next_seq(transaction, project_id, len(wanted))
    values = {"session": holder.session, "exclusive": int(exclusive), "reason": reason, "expires": expires_at}
    numbers = []
    for seq, path in enumerate(wanted, first):
        renewed = own.get(path)
        if renewed is None:
            row = {
                "uid": os.urandom(16),
                "seq": seq,
                "project_id": project_id,
                "path": path,
                "agent_id": holder.number,
                "session_id": holder.session,
                "worktree": worktree or "",
                "exclusive": int(exclusive),
                "reason": reason,
                "expires_at": expires_at,
                "created_at": now,
            }
            numbers.append(transaction.add("file_claims", row))
        else:
            numbers.append(renewed.claim.id)
            transaction.execute(
                """
                UPDATE file_claims SET seq = :seq, exclusive = :exclusive, expires_at = :expires,
                    reason = COALESCE(:reason, reason), session_id = COALESCE(:session, session_id)
                WHERE id = :id
                """,
                {**values, "seq": seq, "id": renewed.claim.id},
            )
    rows = transaction.all(f"SELECT {_COLUMNS} FROM {_JOINED} WHERE c.id IN ({', '.join(map(str, numbers))})")
    kept = {row[0]: _claim(row) for row in rows}
    return Claimed(
        agent=holder.name or "",
        claims=tuple(kept[claim] for claim in numbers),
        renewed=tuple(path for path in wanted if path in own),
        elsewhere=elsewhere,
        shared=tuple(held.claim for held in here if held not in over),
        notes=(
            *(f"{held.claim.path} is taken over from {held.claim.agent}, whose session is over" for held in over),
            *(
                f"{held.claim.path} is held in your session already, by {held.claim.agent}"
                for held in found
                if held.is_of(holder) and held.agent_id != holder.number
            ),
            *_warnings(elsewhere),
        ),
    )


def _of_ended_sessions(transaction: Transaction, claims: Sequence[Held], now: int) -> list[Held]:
    """Return those of some claims that are held in sessions that are over."""
    sessions = {held.session for held in claims if held.session is not None}
    if not sessions:
        return []
    from satchel.keep.sessions import joining

    listed = ", ".join(map(str, sessions))
    found = joining.load(transaction, f"s.id IN ({listed})", {})
    over = sessions - {one.state.id for one in found if not joining.is_gone(one, now)}
    return [held for held in claims if held.session in over]


def remove_expired(transaction: Transaction, now: int) -> None:
    """Remove every claim that has ended, so that what is claimed again starts as a new claim."""
    rows = transaction.all("SELECT id FROM file_claims WHERE expires_at <= :now", {"now": now})
    if rows:
        end_claims(transaction, [row[0] for row in rows], events.EXPIRY, now)


def release(
    transaction: Transaction,
    project_id: int,
    holder: Actor,
    worktree: str | None,
    wanted: Sequence[str] | None,
    now: int,
) -> Released:
    """End claims of an agent, or of its session, in a worktree.

    Args:
        wanted: the paths as they were claimed, each once; None ends all of them.
    """
    remove_expired(transaction, now)
    rows = transaction.all(
        f"SELECT {_COLUMNS} FROM {_JOINED} WHERE c.project_id = :project AND c.worktree = :worktree "
        "AND (c.agent_id = :agent OR c.session_id = :session) ORDER BY c.path",
        {"agent": holder.number, "session": holder.session, "project": project_id, "worktree": worktree or ""},
    )
    held = [one for one in (Held(_claim(row), row[10], row[11]) for row in rows) if one.is_of(holder)]
    own = dict.fromkeys(one.claim.path for one in held)
    released = tuple(path for path in (own if wanted is None else wanted) if path in own)
    if released:
        end_claims(transaction, [one.claim.id for one in held if one.claim.path in released], events.RELEASE, now)
    return Released(holder.name or "", released, tuple(path for path in wanted or () if path not in own))


def listed(
    transaction: Transaction,
    project: Project,
    agent_id: int | None,
    path: str | None,
    limit: int,
    offset: int,
    now: int,
) -> KeptPage[Claim]:
    """Return live claims, the newest first.

    Args:
        agent_id: only those of an agent.
        path: only those that overlap a file or folder.
    """
    where, values = ("c.project_id = :project AND c.expires_at > :now", {}) if path is None else _overlap([path])
    values |= {"project": project.id, "now": now, "limit": limit, "offset": offset}
    if agent_id is not None:
        where += " AND c.agent_id = :agent"
        values["agent"] = agent_id
    total = transaction.one(f"SELECT count(*) FROM file_claims c WHERE {where}", values)
    rows = transaction.all(
        f"SELECT {_COLUMNS} FROM {_JOINED} WHERE {where} "
        "ORDER BY c.created_at DESC, c.id DESC LIMIT :limit OFFSET :offset",
        values,
    )
    assert total is not None
    return KeptPage(tuple(map(_claim, rows)), int(total[0]), offset, limit, project.seq)


def _claim(row: Row) -> Claim:
    number, uid, seq, path, exclusive, agent, worktree, reason, created, expires = row[:10]
    return Claim(number, uid.hex(), seq, path, bool(exclusive), agent, worktree or None, reason, created, expires)


def _refusal(wanted: Iterable[str], against: Sequence[Claim], *, exclusive: bool) -> Conflict:
    """Say of every path who holds it, since when, until when and why, and what to do."""
    refused = {path: [claim for claim in against if paths.overlap(path, claim.path)] for path in wanted}
    said = [
        f"{path} is held by {' and '.join(_described(claim, path) for claim in claims)}"
        for path, claims in refused.items()
        if claims
    ]
    more = f"; and {len(said) - _SHOWN} more" if len(said) > _SHOWN else ""
    holders = " or ".join(dict.fromkeys(claim.agent for claim in against))
    share = "claim it shared (exclusive false), " if exclusive and not any(claim.exclusive for claim in against) else ""
    return Conflict(
        f"nothing was claimed: {'; '.join(said[:_SHOWN])}{more}",
        f"Wait until then, {share}ask {holders} by a message, or claim something else",
    )


def _described(claim: Claim, path: str) -> str:
    wider = "" if claim.path == path else f" as {claim.path}"
    how = "" if claim.exclusive else ", shared,"
    why = "" if claim.reason is None else f" ({claim.reason})"
    return f"{claim.agent}{wider}{how} since {iso(claim.created_at)} until {iso(claim.expires_at)}{why}"


def _warnings(elsewhere: Sequence[Claim]) -> tuple[str, ...]:
    """Say what others claim in other worktrees: no conflict now, but one when the branches meet."""
    said = [
        f"in {'the main worktree' if claim.worktree is None else f'the worktree {claim.worktree}'} "
        f"{claim.path} is held by {_described(claim, claim.path)}"
        for claim in elsewhere[:_SHOWN]
    ]
    if len(elsewhere) > _SHOWN:
        said.append(f"{len(elsewhere) - _SHOWN} more claims are held in other worktrees")
    return tuple(said)
