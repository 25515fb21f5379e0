"""Refused claims, kept until the agent is notified that the place is free, or claims it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NoReturn

from satchel.base.clock import span_in_words
from satchel.base.records import NamedTuple
from satchel.base.text import fold
from satchel.keep import events
from satchel.keep.expiry import REFUSAL_MS
from satchel.keep.files import claims, waiters
from satchel.keep.files.claims import Claimant
from satchel.keep.files.places import Place
from satchel.keep.files.records import PendingClaim
from satchel.store.transaction import Transaction, set_of


class Refusal(NamedTuple):
    """A place that an agent was refused."""

    id: int
    agent: str
    place: Place
    exclusive: bool
    refused_at: int

    @property
    def shared(self) -> tuple[Place, ...]:
        return () if self.exclusive else (self.place,)


_MOST_HOLDERS = 5


def refuse(transaction: Transaction, wanted: Sequence[Place], overlaps: claims.Overlaps, now: int) -> NoReturn:
    """Raise ClaimRefused, naming the holders, whether they are active, their reasons and how long they last."""
    blocking = [lease.claim for lease in overlaps.blocking]
    last_seen = _last_seen(transaction, overlaps.blocking, now)
    refused = {place: [lease for lease in overlaps.blocking if place.clashes(lease.place)] for place in wanted}
    by_holders: dict[str, list[str]] = {}
    for place, leases in refused.items():
        if leases:
            holders = " and ".join(
                claims.describe(lease.claim, now, place.path, last_seen.get(lease.session, "")) for lease in leases
            )
            by_holders.setdefault(holders, []).append(place.path)
    parts = [
        f"{_listed(places)} {'are' if len(places) > 1 else 'is'} held by {holders}"
        for holders, places in by_holders.items()
    ]
    more = f"; and {len(parts) - claims.MAX_SHOWN} more" if len(parts) > claims.MAX_SHOWN else ""
    free = [place.path for place, leases in refused.items() if not leases]
    if free:
        more += f". Free: {_listed(free)}"
    names = list(dict.fromkeys(claim.agent for claim in blocking))
    share = "" if any(claim.exclusive for claim in blocking) else "claim it as shared, "
    raise claims.ClaimRefused(
        f"nothing was claimed: {'; '.join(parts[: claims.MAX_SHOWN])}{more}",
        f"{share}ask {' or '.join(names)} by a message, or work on something else",
        [place for place, leases in refused.items() if leases],
        names,
    )


def _last_seen(transaction: Transaction, leases: Sequence[claims.Lease], now: int) -> dict[int | None, str]:
    # when the sessions of claims were last heard of, in words
    numbers = {lease.session for lease in leases if lease.session is not None}
    rows = transaction.all(f"SELECT id, seen_at FROM sessions WHERE id IN {set_of(numbers)}") if numbers else []
    return {number: f", last active {span_in_words(now - seen_at)} ago" for number, seen_at in rows}


def _listed(names: Sequence[str]) -> str:
    more = len(names) - claims.MAX_SHOWN
    return ", ".join(names[: claims.MAX_SHOWN]) + (f" and {more} more" if more > 0 else "")


def log(
    claimant: Claimant, places: Sequence[Place], worktree: str | None, holders: Iterable[str], **details: object
) -> None:
    names = list(dict.fromkeys(holders))[:_MOST_HOLDERS]
    facts = {"paths": [place.path for place in places], "worktree": worktree, **details, "holders": names}
    transaction, project_id, actor, now = claimant
    events.record(transaction, project_id, events.REFUSAL, now, by=actor, details=facts)


def add(by: Claimant, places: Iterable[Place], shared: Collection[Place] = ()) -> None:
    """Record refused places; a repeated refusal of a place replaces the last one."""
    by.transaction.many(
        """
        INSERT INTO claim_refusals
            (project_id, session_id, agent, folded, path, worktree, is_key, exclusive, created_at)
        VALUES (:project, :session, :agent, :folded, :path, :worktree, :is_key, :exclusive, :now)
        ON CONFLICT (project_id, COALESCE(session_id, 0), folded, path, worktree, is_key)
        DO UPDATE SET exclusive = excluded.exclusive, created_at = excluded.created_at
        """,
        [
            {
                "project": by.project_id,
                "session": by.actor.session,
                "agent": by.actor.name or "",
                "folded": fold(by.actor.name or ""),
                "path": place.path,
                "worktree": place.worktree or "",
                "is_key": int(place.is_key),
                "exclusive": int(place not in shared),
                "now": by.now,
            }
            for place in places
        ],
    )


def newest(transaction: Transaction, project_id: int, now: int, most: int) -> list[tuple[Refusal, int | None]]:
    """Return up to ``most`` refusals, newest first, with the number of the refused session."""
    rows = transaction.all(
        f"SELECT {_COLUMNS}, session_id FROM claim_refusals WHERE project_id = :project AND created_at > :after "
        "ORDER BY created_at DESC, id DESC LIMIT :most",
        {"project": project_id, "after": now - REFUSAL_MS, "most": most},
    )
    return [(_refusal(*row), session) for *row, session in rows]


def available(by: Claimant) -> list[Refusal]:
    """Return the refusals of an agent or its session that could be claimed now, oldest first."""
    return [
        refusal
        for refusal in _load(by, _OF_ACTOR)
        if not claims.find_overlaps(by, [refusal.place], refusal.shared).blocking
        and waiters.next_waiter(by, [refusal.place], shared=refusal.shared) is None
    ]


def blocked_by(by: Claimant) -> list[Refusal]:
    """Return refusals of others because of the agent's claims, if it was not notified of them yet, oldest first."""
    refused = _load(by, f"NOT ({_OF_ACTOR}) AND told_at IS NULL")
    leases = claims.leases_of(by) if refused else []
    return [refusal for refusal in refused if any(refusal.place.clashes(own.place) for own in leases)]


def mark_holders_notified(transaction: Transaction, numbers: Sequence[int], now: int) -> set[int]:
    """Record that holders were notified of refusals, and return the numbers of those that are new to them."""
    return {
        row[0]
        for row in transaction.all(
            f"UPDATE claim_refusals SET told_at = :now WHERE id IN {set_of(numbers)} AND told_at IS NULL RETURNING id",
            {"now": now},
        )
    }


def remove(transaction: Transaction, numbers: Sequence[int]) -> set[int]:
    """Delete refusals, and return the numbers of those that still existed."""
    rows = transaction.all(f"DELETE FROM claim_refusals WHERE id IN {set_of(numbers)} RETURNING id")
    return {row[0] for row in rows}


def remove_claimed(by: Claimant, places: Iterable[Place]) -> None:
    claimed = list(places)
    ended = [refusal.id for refusal in _load(by, _OF_ACTOR) if any(refusal.place.clashes(place) for place in claimed)]
    if ended:
        remove(by.transaction, ended)


def pending_claims(holder: Claimant, places: Sequence[Place]) -> tuple[PendingClaim, ...]:
    """Return the other agents that wait for some places, in order, then those that were refused them."""
    waiting = [
        PendingClaim(one.actor.name or "", place.path, True, one.created_at)
        for one in waiters.load(holder.transaction, holder.project_id, holder.now)
        if not claims.is_actor(holder.actor, one.actor.number or 0, one.actor.session)
        for place in one.places
        if any(place.clashes(free) for free in places)
    ]
    queued = {(one.agent, one.path) for one in waiting}
    refused = [
        PendingClaim(one.agent, one.place.path, False, one.refused_at)
        for one in _load(holder, f"NOT ({_OF_ACTOR})")
        if (one.agent, one.place.path) not in queued
        and any(one.place.clashes(free) for free in places)
        and not _is_held(holder, one)
    ]
    return (*waiting, *refused)


def _is_held(by: Claimant, refused: Refusal) -> bool:
    # whether the agent would be refused again
    return any(
        lease.claim.agent != refused.agent
        and refused.place.clashes(lease.place)
        and (refused.exclusive or lease.claim.exclusive)
        for lease in claims.load_overlapping(by.transaction, by.project_id, [refused.place], by.now)
    )


_OF_ACTOR = "session_id IS NOT NULL AND session_id = :session OR session_id IS NULL AND folded = :folded"


def _load(by: Claimant, where: str) -> list[Refusal]:
    actor = by.actor
    rows = by.transaction.all(
        f"SELECT {_COLUMNS} FROM claim_refusals "
        f"WHERE project_id = :project AND created_at > :after AND ({where}) ORDER BY created_at, id",
        {
            "session": actor.session or 0,
            "folded": fold(actor.name or ""),
            "project": by.project_id,
            "after": by.now - REFUSAL_MS,
        },
    )
    return [_refusal(*row) for row in rows]


_COLUMNS = "id, agent, path, worktree, is_key, exclusive, created_at"


def _refusal(number: int, agent: str, path: str, worktree: str, is_key: int, exclusive: int, created: int) -> Refusal:
    return Refusal(number, agent, Place(path, worktree or None, bool(is_key)), bool(exclusive), created)
