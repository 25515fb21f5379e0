"""Claims: leases on paths and folders, owned, renewable and expiring, granted all together or not at all."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from satchel.base.clock import moment_text, span_in_words, year_of
from satchel.base.errors import Conflict
from satchel.base.paging import KeptPage
from satchel.base.records import NamedTuple
from satchel.base.text import quoted_line
from satchel.keep import events, paths
from satchel.keep.expiry import end_claims, end_expired
from satchel.keep.files.places import Place, clashing
from satchel.keep.files.records import Claim, Claimed
from satchel.keep.presence import is_anything_claimed
from satchel.keep.projects import Project
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Row, Transaction, first_number, set_of, update_row

if TYPE_CHECKING:
    from satchel.keep.common_filters import CheckedFilters

_COLUMNS = """
    c.id, c.uid, c.seq, c.path, c.is_key, c.exclusive, c.automatic, a.name, c.worktree, c.reason, c.created_at,
    c.expires_at, c.agent_id, c.session_id, c.existed
"""
_JOINED = "file_claims c JOIN agents a ON a.id = c.agent_id"
_PATHS_PER_STATEMENT = 200
MAX_SHOWN = 20


class Lease(NamedTuple):
    """A claim with its holder (agent and session ids) and whether the file existed when claimed."""

    claim: Claim
    agent_id: int
    session: int | None
    existed: bool | None

    @property
    def place(self) -> Place:
        return Place(self.claim.path, self.claim.worktree, self.claim.is_key)

    def is_held_by(self, actor: Actor) -> bool:
        return is_actor(actor, self.agent_id, self.session)


class Claimant(NamedTuple):
    """An agent that claims files or asks about claims, with the transaction, project and time of its call."""

    transaction: Transaction
    project_id: int
    actor: Actor
    now: int


class Terms(NamedTuple):
    """Terms of a claim.

    Attributes:
        reason: None keeps the reason of a renewed claim.
        automatic: whether a hook makes it: it neither shortens an explicit claim nor turns it into an automatic one.
    """

    minutes: int
    reason: str | None = None
    automatic: bool = False


class Overlaps(NamedTuple):
    """Live claims that overlap some places.

    Attributes:
        mine: the caller's claims.
        here: claims of others in the same worktrees.
        elsewhere: claims of others in other worktrees.
        blocking: those of ``here`` that block a claim.
        orphaned: those of ``here`` that would block it, but whose sessions have ended.
    """

    mine: list[Lease]
    here: list[Lease]
    elsewhere: list[Lease]
    blocking: list[Lease]
    orphaned: list[Lease]


class ClaimRefused(Conflict):
    """Raised if others, the ``holders``, hold or are next to get some of the requested places: ``places``."""

    def __init__(self, problem: str, remedy: str | None, places: Sequence[Place], holders: Sequence[str]) -> None:
        super().__init__(problem, remedy)
        self.places = places
        self.holders = holders


def is_actor(actor: Actor, agent_id: int, session: int | None) -> bool:
    """Return whether the actor is the recorded agent: by session, or by agent if either has no session."""
    if session is not None and actor.session is not None:
        return session == actor.session
    return actor.number is not None and agent_id == actor.number


def claims_of_others(by: Claimant, files: Sequence[str]) -> list[Claim]:
    """Return live claims of others that overlap some paths, in any worktree, oldest first."""
    if not files or not is_anything_claimed(by.transaction, by.project_id, by.now):
        return []
    matches = load_overlapping(by.transaction, by.project_id, [Place(file, None) for file in files], by.now)
    return [lease.claim for lease in matches if not lease.is_held_by(by.actor)]


def load_overlapping(transaction: Transaction, project_id: int, wanted: Sequence[Place], now: int) -> list[Lease]:
    """Return the live claims that overlap some places, in any worktree, oldest first."""
    matches: dict[int, Lease] = {}
    for start in range(0, len(wanted), _PATHS_PER_STATEMENT):
        condition, values = _overlap(wanted[start : start + _PATHS_PER_STATEMENT])
        leases = _load(transaction, condition, {**values, "project": project_id, "now": now})
        matches |= {lease.claim.id: lease for lease in leases}
    return sorted(matches.values(), key=lambda lease: (lease.claim.created_at, lease.claim.id))


def others_in_worktree(by: Claimant, worktree: str | None) -> list[Lease]:
    """Return the live claims of others on a worktree's files, oldest first, except those of ended sessions."""
    leases = _load(
        by.transaction,
        "c.project_id = :project AND c.expires_at > :now AND c.is_key = 0 AND c.worktree = :worktree "
        "ORDER BY c.created_at, c.id",
        {"project": by.project_id, "now": by.now, "worktree": worktree or ""},
    )
    others = [lease for lease in leases if not lease.is_held_by(by.actor)]
    orphaned = _find_orphaned(by.transaction, others, by.now)
    return [lease for lease in others if lease not in orphaned]


def leases_of(by: Claimant) -> list[Lease]:
    return _load_own(by, "c.expires_at > :now ORDER BY c.path, c.id")


def expired_of(by: Claimant, wanted: Sequence[Place]) -> dict[Place, Lease]:
    """Return the last expired claims of an agent or its session on some places, except those deleted since."""
    if by.actor.number is None:
        return {}
    leases = _load_own(by, "c.expires_at <= :now ORDER BY c.expires_at, c.id")
    return {lease.place: lease for lease in leases if not lease.claim.automatic and lease.place in wanted}


def _load_own(by: Claimant, condition: str) -> list[Lease]:
    # the claims of an agent or its session that meet a condition
    leases = _load(
        by.transaction,
        f"c.project_id = :project AND (c.agent_id = :agent OR c.session_id = :session) AND {condition}",
        {"agent": by.actor.number, "session": by.actor.session, "project": by.project_id, "now": by.now},
    )
    return [lease for lease in leases if lease.is_held_by(by.actor)]


def _load(transaction: Transaction, where: str, values: Mapping[str, object]) -> list[Lease]:
    return [_lease(row) for row in transaction.all(f"SELECT {_COLUMNS} FROM {_JOINED} WHERE {where}", values)]


def _overlap(wanted: Iterable[Place]) -> tuple[str, dict[str, object]]:
    # returns the SQL condition, with parameters, that a live claim overlaps one of the places
    keys = [place.path for place in wanted if place.is_key]
    files = [place.path for place in wanted if not place.is_key]
    conditions, values = paths.overlapping(files, "path") if files else ([], {})
    conditions = [f"{condition} AND is_key = 0" for condition in conditions]
    if keys:
        values |= {f"key{number}": key for number, key in enumerate(keys)}
        conditions.append(f"path IN ({', '.join(f':key{number}' for number in range(len(keys)))}) AND is_key = 1")
    # OR would read every claim of the project
    ways = " UNION ALL ".join(
        f"SELECT id FROM file_claims WHERE project_id = :project AND {condition}" for condition in conditions
    )
    return f"+c.expires_at > :now AND c.id IN ({ways})", values


def find_overlaps(by: Claimant, wanted: Sequence[Place], shared: Collection[Place] = ()) -> Overlaps:
    """Return the claims that overlap some places, and which of them block a claim.

    Those of ``wanted`` that are in ``shared`` would be claimed shared.
    """
    matches = load_overlapping(by.transaction, by.project_id, wanted, by.now)
    others = [lease for lease in matches if not lease.is_held_by(by.actor)]
    clashes = clashing(wanted)
    here = [lease for lease in others if clashes(lease.place)]
    is_exclusive = clashing(place for place in wanted if place not in shared)
    against = [lease for lease in here if lease.claim.exclusive or is_exclusive(lease.place)]
    orphaned = _find_orphaned(by.transaction, against, by.now)
    near, ended = {lease.claim.id for lease in here}, {lease.claim.id for lease in orphaned}
    return Overlaps(
        mine=[lease for lease in matches if lease.is_held_by(by.actor)],
        here=here,
        elsewhere=[lease for lease in others if lease.claim.id not in near],
        blocking=[lease for lease in against if lease.claim.id not in ended],
        orphaned=orphaned,
    )


def grant(
    by: Claimant,
    wanted: Mapping[Place, bool | None],
    overlaps: Overlaps,
    terms: Terms,
    shared: Collection[Place] = (),
) -> Claimed:
    """Claim places for an agent, or renew its session's claims on them; nothing may block them.

    Orphaned claims are taken over, with a note. ``wanted`` tells whether each place's file exists; those in ``shared``
    are claimed shared.
    """
    transaction, project_id, holder, now = by
    if overlaps.orphaned:
        end_claims(transaction, [lease.claim.id for lease in overlaps.orphaned], events.EXPIRY, now)
    clashes = clashing(wanted)
    mine = [lease for lease in overlaps.mine if clashes(lease.place)]
    own = {lease.place: lease for lease in sorted(mine, key=lambda lease: lease.session == holder.session)}
    _move_to_session(transaction, holder, mine, own)
    ended = {lease.claim.id for lease in overlaps.orphaned}
    first = transaction.next_seq(project_id, len(wanted))
    values: dict[str, object] = {
        "automatic": int(terms.automatic),
        "reason": terms.reason,
        "expires_at": now + terms.minutes * 60_000,
    }
    numbers = []
    for seq, (place, existed) in enumerate(wanted.items(), first):
        renewed = own.get(place)
        values |= {"exclusive": int(place not in shared), "seq": seq}
        if renewed is None:
            row = {
                **values,
                "uid": os.urandom(16),
                "project_id": project_id,
                "path": place.path,
                "is_key": int(place.is_key),
                "agent_id": holder.number,
                "session_id": holder.session,
                "worktree": place.worktree or "",
                "existed": existed,
                "created_at": now,
                "renewed_at": now,
            }
            numbers.append(transaction.add("file_claims", row))
        else:
            numbers.append(renewed.claim.id)
            if not terms.automatic and values["expires_at"] != renewed.claim.expires_at:
                until = {"path": place.path, "worktree": place.worktree, "until": values["expires_at"]}
                events.record(transaction, project_id, events.EXTENSION, now, by=holder, details=until)
            transaction.run(
                """
                UPDATE file_claims
                SET seq = :seq, renewed_at = :now, exclusive = :exclusive, automatic = automatic * :automatic,
                    expires_at = CASE WHEN :automatic = 1 AND expires_at > :expires_at THEN expires_at
                        ELSE :expires_at END,
                    reason = COALESCE(:reason, reason), session_id = COALESCE(:session_id, session_id)
                WHERE id = :id
                """,
                {**values, "session_id": holder.session, "now": now, "id": renewed.claim.id},
            )
    granted = {lease.claim.id: lease.claim for lease in _load(transaction, f"c.id IN {set_of(numbers)}", {})}
    elsewhere = tuple(lease.claim for lease in overlaps.elsewhere)
    return Claimed(
        agent=holder.name or "",
        claims=tuple(granted[claim] for claim in numbers),
        renewed=tuple(place.path for place in wanted if place in own),
        elsewhere=elsewhere,
        shared=tuple(lease.claim for lease in overlaps.here if lease.claim.id not in ended),
        notes=(
            *(
                f"{lease.claim.path} was taken over from {lease.claim.agent}, whose session has ended"
                for lease in overlaps.orphaned
            ),
            *(
                f"{lease.claim.path} is already held in your session by {lease.claim.agent}"
                for lease in mine
                if lease.agent_id != holder.number
            ),
            *_warnings(elsewhere, now),
        ),
    )


def _move_to_session(
    transaction: Transaction, holder: Actor, mine: Sequence[Lease], own: Mapping[Place, Lease]
) -> None:
    # claims held by the agent's name become its session's, so that a place has one claim: the one in ``own``
    by_name = [lease for lease in mine if lease.session is None] if holder.session is not None else []
    for lease in by_name:
        stays = own[lease.place]
        if stays is lease:
            update_row(transaction, "file_claims", lease.claim.id, session_id=holder.session)
            continue
        transaction.run("DELETE FROM file_claims WHERE id = :id", {"id": lease.claim.id})
        transaction.run(
            """
            UPDATE file_claims SET exclusive = CASE WHEN :exclusive = 1 THEN 1 ELSE exclusive END,
                expires_at = CASE WHEN expires_at > :expires_at THEN expires_at ELSE :expires_at END
            WHERE id = :id
            """,
            {"exclusive": int(lease.claim.exclusive), "expires_at": lease.claim.expires_at, "id": stays.claim.id},
        )


def _find_orphaned(transaction: Transaction, claims: Sequence[Lease], now: int) -> list[Lease]:
    sessions = {lease.session for lease in claims if lease.session is not None}
    ended = find_ended_sessions(transaction, sessions, now)
    return [lease for lease in claims if lease.session in ended]


def find_ended_sessions(transaction: Transaction, sessions: set[int], now: int) -> set[int]:
    if not sessions:
        return set()
    from satchel.keep.sessions import joining

    matches = joining.load(transaction, f"s.id IN {set_of(sessions)}", {})
    return sessions - {match.state.id for match in matches if not joining.is_gone(match, now)}


def release(by: Claimant, wanted: Sequence[Place] | None, worktree: str | None) -> list[Lease]:
    """End claims of an agent or its session, and return them in the order of ``wanted``.

    ``wanted`` None ends all claims in the worktree, and on keys.
    """
    end_expired(by.transaction, by.project_id, by.now)
    leases = leases_of(by)
    if wanted is None:
        ended = [lease for lease in leases if lease.claim.is_key or lease.claim.worktree == worktree]
    else:
        ended = sorted((lease for lease in leases if lease.place in wanted), key=lambda one: wanted.index(one.place))
    if ended:
        end_claims(by.transaction, [one.claim.id for one in ended], events.RELEASE, by.now)
    return ended


def forget(transaction: Transaction, expired: Iterable[Lease]) -> None:
    transaction.many("DELETE FROM file_claims WHERE id = :id", [{"id": lease.claim.id} for lease in expired])


def page_of(
    transaction: Transaction,
    project: Project,
    holders: Sequence[int] | None,
    place: Place | None,
    limit: int,
    offset: int,
    now: int,
    common: CheckedFilters,
) -> KeptPage[Claim]:
    """Return live claims, newest first: of some agents, and overlapping a place in any worktree, unless None."""
    where, values = ("c.project_id = :project AND c.expires_at > :now", {}) if place is None else _overlap([place])
    values |= {"project": project.id, "now": now, "limit": limit, "offset": offset}
    if holders is not None:
        where += f" AND c.agent_id IN {set_of(holders)}"
    where += common.where("c.created_at")
    values |= common.values
    total = first_number(transaction, f"SELECT count(*) FROM file_claims c WHERE {where}", values)
    ordered = f"{where} ORDER BY c.created_at DESC, c.id DESC LIMIT :limit OFFSET :offset"
    claims = tuple(lease.claim for lease in _load(transaction, ordered, values))
    return KeptPage(claims, total, offset, limit, project.seq)


def _lease(row: Row) -> Lease:
    number, uid, seq, path, is_key, exclusive, automatic, agent, worktree, reason, created, expires, *holding = row
    claim = Claim(
        id=number,
        uid=uid.hex(),
        seq=seq,
        path=path,
        exclusive=bool(exclusive),
        agent=agent,
        worktree=worktree or None,
        reason=reason,
        created_at=created,
        expires_at=expires,
        automatic=bool(automatic),
        is_key=bool(is_key),
    )
    agent_id, session, existed = holding
    return Lease(claim, agent_id, session, None if existed is None else bool(existed))


def describe(claim: Claim, now: int, path: str, last_seen: str = "") -> str:
    wider = "" if claim.path == path else f" as {claim.path}"
    how = ("" if claim.exclusive else ", shared") + last_seen
    remaining, year = span_in_words(claim.expires_at - now), year_of(now)
    reason_text = "" if claim.reason is None else f": {quoted_line(claim.reason)}"
    return (
        f"{claim.agent}{wider}{how}{',' * bool(how)} since {moment_text(claim.created_at, year)} "
        f"until {moment_text(claim.expires_at, year)} UTC ({remaining} left){reason_text}"
    )


def _warnings(elsewhere: Sequence[Claim], now: int) -> tuple[str, ...]:
    # claims in other worktrees conflict only when the branches are merged
    warnings = [
        f"in {'the main worktree' if claim.worktree is None else f'the worktree {claim.worktree}'} "
        f"{claim.path} is held by {describe(claim, now, claim.path)}"
        for claim in elsewhere[:MAX_SHOWN]
    ]
    if len(elsewhere) > MAX_SHOWN:
        more = len(elsewhere) - MAX_SHOWN
        warnings.append(f"{more} more {'claims are' if more > 1 else 'claim is'} held in other worktrees")
    return tuple(warnings)
