"""Who was refused what, until they were told that it is free or have claimed it themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from satchel.base.records import NamedTuple
from satchel.base.text import fold
from satchel.keep.expiry import REFUSAL_MS
from satchel.keep.files import claims, waiters
from satchel.keep.files.places import Place
from satchel.keep.files.records import Wish
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Transaction, set_of


class Refusal(NamedTuple):
    """That an agent was refused a place.

    Attributes:
        refused_at: milliseconds UTC.
    """

    id: int
    agent: str
    place: Place
    exclusive: bool
    refused_at: int


def add(
    transaction: Transaction, project_id: int, actor: Actor, places: Iterable[Place], now: int, *, exclusive: bool
) -> None:
    """Remember that an agent was refused some places; of several refusals of one place the last counts."""
    transaction.many(
        """
        INSERT INTO claim_refusals
            (project_id, session_id, agent, folded, path, worktree, is_key, exclusive, created_at)
        VALUES (:project, :session, :agent, :folded, :path, :worktree, :is_key, :exclusive, :now)
        ON CONFLICT (project_id, COALESCE(session_id, 0), folded, path, worktree, is_key)
        DO UPDATE SET exclusive = excluded.exclusive, created_at = excluded.created_at
        """,
        [
            {
                "project": project_id,
                "session": actor.session,
                "agent": actor.name or "",
                "folded": fold(actor.name or ""),
                "path": place.path,
                "worktree": place.worktree or "",
                "is_key": int(place.is_key),
                "exclusive": int(exclusive),
                "now": now,
            }
            for place in places
        ],
    )


def newest(transaction: Transaction, project_id: int, now: int, most: int) -> list[tuple[Refusal, int | None]]:
    """Return what anybody was refused and was not told is free, the newest first, with the number of the session.

    Args:
        most: how many at most.
    """
    rows = transaction.all(
        f"SELECT {_COLUMNS}, session_id FROM claim_refusals WHERE project_id = :project AND created_at > :after "
        "ORDER BY created_at DESC, id DESC LIMIT :most",
        {"project": project_id, "after": now - REFUSAL_MS, "most": most},
    )
    return [(_refusal(*row), session) for *row, session in rows]


def now_free(transaction: Transaction, project_id: int, actor: Actor, now: int) -> list[Refusal]:
    """Return what an agent, or its session, was refused and could claim now, the oldest first."""
    return [
        refusal
        for refusal in _load(transaction, project_id, _OF_ACTOR, _bounds(actor), now)
        if not claims.look(transaction, project_id, actor, [refusal.place], now, exclusive=refusal.exclusive).blocking
        and waiters.next_one(transaction, project_id, actor, [refusal.place], now, exclusive=refusal.exclusive) is None
    ]


def of_held(transaction: Transaction, project_id: int, actor: Actor, now: int) -> list[Refusal]:
    """Return what others were refused that an agent, or its session, holds, and was not told of; the oldest first."""
    refused = _load(transaction, project_id, f"NOT ({_OF_ACTOR}) AND told_at IS NULL", _bounds(actor), now)
    held = claims.held_by(transaction, project_id, actor, now) if refused else []
    return [one for one in refused if any(one.place.clashes(own.place) for own in held)]


def tell(transaction: Transaction, numbers: Sequence[int], now: int) -> set[int]:
    """Record that their holder was told of refusals, and return the numbers of those of which it was not before."""
    return {
        row[0]
        for row in transaction.all(
            f"UPDATE claim_refusals SET told_at = :now WHERE id IN {set_of(numbers)} AND told_at IS NULL RETURNING id",
            {"now": now},
        )
    }


def forget(transaction: Transaction, numbers: Sequence[int]) -> set[int]:
    """Remove refusals, and return the numbers of those that were still there."""
    rows = transaction.all(f"DELETE FROM claim_refusals WHERE id IN {set_of(numbers)} RETURNING id")
    return {row[0] for row in rows}


def end(transaction: Transaction, project_id: int, actor: Actor, places: Iterable[Place], now: int) -> None:
    """Remove what an agent was refused of places that it has claimed now."""
    claimed = list(places)
    own = _load(transaction, project_id, _OF_ACTOR, _bounds(actor), now)
    ended = [one.id for one in own if any(one.place.clashes(place) for place in claimed)]
    if ended:
        forget(transaction, ended)


def wishes(
    transaction: Transaction, project_id: int, holder: Actor, places: Sequence[Place], now: int
) -> tuple[Wish, ...]:
    """Return who else waits for some places, in order, then who was refused them."""
    waiting = [
        Wish(one.actor.name or "", place.path, True, one.created_at)
        for one in waiters.load(transaction, project_id, now)
        if not claims.is_same(holder, one.actor.number or 0, one.actor.session)
        for place in one.places
        if any(place.clashes(free) for free in places)
    ]
    known = {(wish.agent, wish.path) for wish in waiting}
    refused = [
        Wish(one.agent, one.place.path, False, one.refused_at)
        for one in _load(transaction, project_id, f"NOT ({_OF_ACTOR})", _bounds(holder), now)
        if (one.agent, one.place.path) not in known
        and any(one.place.clashes(free) for free in places)
        and not _is_held(transaction, project_id, one, now)
    ]
    return (*waiting, *refused)


def _is_held(transaction: Transaction, project_id: int, refused: Refusal, now: int) -> bool:
    """Whether somebody else still holds what an agent was refused, so that it would be refused again."""
    return any(
        held.claim.agent != refused.agent
        and refused.place.clashes(held.place)
        and (refused.exclusive or held.claim.exclusive)
        for held in claims.overlapping(transaction, project_id, [refused.place], now)
    )


_OF_ACTOR = "session_id IS NOT NULL AND session_id = :session OR session_id IS NULL AND folded = :folded"


def _bounds(actor: Actor) -> dict[str, object]:
    return {"session": actor.session or 0, "folded": fold(actor.name or "")}


def _load(transaction: Transaction, project_id: int, where: str, values: dict[str, object], now: int) -> list[Refusal]:
    rows = transaction.all(
        f"SELECT {_COLUMNS} FROM claim_refusals "
        f"WHERE project_id = :project AND created_at > :after AND ({where}) ORDER BY created_at, id",
        {**values, "project": project_id, "after": now - REFUSAL_MS},
    )
    return [_refusal(*row) for row in rows]


_COLUMNS = "id, agent, path, worktree, is_key, exclusive, created_at"


def _refusal(number: int, agent: str, path: str, worktree: str, is_key: int, exclusive: int, created: int) -> Refusal:
    return Refusal(number, agent, Place(path, worktree or None, bool(is_key)), bool(exclusive), created)
