"""Claims: leases on paths and folders, owned, renewable and expiring, granted all together or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from satchel.base.clock import iso
from satchel.base.errors import Conflict
from satchel.base.paging import KeptPage
from satchel.keep.files import paths
from satchel.keep.files.presence import is_anything_claimed
from satchel.keep.files.records import Claim, Claimed, Released
from satchel.keep.projects import Project, next_seq
from satchel.store.transaction import Row, Transaction

_COLUMNS = """
    c.id, c.uid, c.seq, c.path, c.exclusive, a.name, c.worktree, c.reason, c.created_at, c.expires_at, c.agent_id
"""
_JOINED = "file_claims c JOIN agents a ON a.id = c.agent_id"
_PATHS_PER_STATEMENT = 200
_SHOWN = 20


class Held(NamedTuple):
    """A claim, and the number of the agent that holds it."""

    claim: Claim
    agent_id: int


def claims_of_others(
    transaction: Transaction, project_id: int, agent_id: int | None, files: Sequence[str], now: int
) -> list[Claim]:
    """Return the live claims of others that cover or overlap some paths, in any worktree, the oldest first.

    Args:
        agent_id: whose claims are left out; None leaves out nobody's.
        files: canonical paths of files or folders.
        now: milliseconds UTC.
    """
    if not files or not is_anything_claimed(transaction, project_id, now):
        return []
    return [held.claim for held in overlapping(transaction, project_id, files, now) if held.agent_id != agent_id]


def overlapping(transaction: Transaction, project_id: int, wanted: Sequence[str], now: int) -> list[Held]:
    """Return the live claims on paths that overlap some paths, in any worktree, the oldest first."""
    found: dict[int, Held] = {}
    for start in range(0, len(wanted), _PATHS_PER_STATEMENT):
        condition, values = _overlap(wanted[start : start + _PATHS_PER_STATEMENT])
        rows = transaction.all(
            f"SELECT {_COLUMNS} FROM {_JOINED} WHERE {condition}", {**values, "project": project_id, "now": now}
        )
        found |= {row[0]: Held(_claim(row), row[10]) for row in rows}
    return sorted(found.values(), key=lambda held: (held.claim.created_at, held.claim.id))


def _overlap(wanted: Iterable[str]) -> tuple[str, dict[str, object]]:
    """Return the condition that a live claim of a project overlaps one of some paths, and its values."""
    conditions, values = paths.overlapping(wanted, "path")
    # joined by OR they would read every claim of the project
    ways = " UNION ALL ".join(
        f"SELECT id FROM file_claims WHERE project_id = :project AND {condition}" for condition in conditions
    )
    return f"+c.expires_at > :now AND c.id IN ({ways})", values


_KEEP = """
    INSERT INTO file_claims
        (uid, seq, project_id, path, agent_id, worktree, exclusive, reason, expires_at, created_at)
    VALUES
        (:uid, :seq, :project, :path, :agent, :worktree, :exclusive, :reason, :expires, :now)
    ON CONFLICT (project_id, path, agent_id, worktree) DO UPDATE
    SET seq = excluded.seq, exclusive = excluded.exclusive, expires_at = excluded.expires_at,
        reason = COALESCE(excluded.reason, file_claims.reason)
    RETURNING id
"""
"""Stores a claim, or renews the agent's own on the same path."""


def grant(
    transaction: Transaction,
    project_id: int,
    agent: tuple[int, str],
    worktree: str | None,
    wanted: Sequence[str],
    reason: str | None,
    now: int,
    expires_at: int,
    *,
    exclusive: bool,
) -> Claimed:
    """Claim paths for an agent, or renew its claims on them: all of them or none.

    Args:
        agent: its number and name.
        worktree: the linked worktree it works in; None is the main one.
        wanted: canonical, each once.
        reason: None keeps that of a claim that is renewed.

    Raises:
        Conflict: another agent holds what overlaps a path in the same worktree, and one of the two is exclusive.
    """
    remove_expired(transaction, now)
    number, name = agent
    found = overlapping(transaction, project_id, wanted, now)
    others = [held.claim for held in found if held.agent_id != number]
    here = [claim for claim in others if claim.worktree == worktree]
    elsewhere = tuple(claim for claim in others if claim.worktree != worktree)
    against = [claim for claim in here if exclusive or claim.exclusive]
    if against:
        raise _refusal(wanted, against, exclusive=exclusive)
    own = {held.claim.path for held in found if held.agent_id == number and held.claim.worktree == worktree}
    first = next_seq(transaction, project_id, len(wanted))
    values = {
        "project": project_id,
        "agent": number,
        "worktree": worktree or "",
        "exclusive": int(exclusive),
        "reason": reason,
        "expires": expires_at,
        "now": now,
    }
    stored = [
        transaction.one(_KEEP, {**values, "uid": os.urandom(16), "seq": seq, "path": path})
        for seq, path in enumerate(wanted, first)
    ]
    numbers = [row[0] for row in stored if row is not None]
    rows = transaction.all(f"SELECT {_COLUMNS} FROM {_JOINED} WHERE c.id IN ({', '.join(map(str, numbers))})")
    kept = {row[0]: _claim(row) for row in rows}
    return Claimed(
        agent=name,
        claims=tuple(kept[claim] for claim in numbers),
        renewed=tuple(path for path in wanted if path in own),
        elsewhere=elsewhere,
        shared=tuple(here),
        notes=_warnings(elsewhere),
    )


def remove_expired(transaction: Transaction, now: int) -> None:
    """Remove every claim that has ended, so that what is claimed again starts as a new claim."""
    transaction.execute("DELETE FROM file_claims WHERE expires_at <= :now", {"now": now})


def release(
    transaction: Transaction,
    project_id: int,
    agent: tuple[int, str],
    worktree: str | None,
    wanted: Sequence[str] | None,
    now: int,
) -> Released:
    """End claims of an agent in a worktree.

    Args:
        wanted: the paths as they were claimed, each once; None ends all of them.
    """
    remove_expired(transaction, now)
    number, name = agent
    own: dict[str, int] = dict(
        transaction.all(
            "SELECT path, id FROM file_claims WHERE agent_id = :agent AND project_id = :project "
            "AND worktree = :worktree ORDER BY path",
            {"agent": number, "project": project_id, "worktree": worktree or ""},
        )
    )
    released = tuple(path for path in (own if wanted is None else wanted) if path in own)
    transaction.many("DELETE FROM file_claims WHERE id = :id", [{"id": own[path]} for path in released])
    return Released(name, released, tuple(path for path in wanted or () if path not in own))


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
