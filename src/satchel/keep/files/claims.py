"""Claims: leases on paths and folders, owned, renewable and expiring, granted all together or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from satchel.base.clock import moment_text, span_in_words, year_of
from satchel.base.errors import Conflict
from satchel.base.paging import KeptPage
from satchel.base.records import NamedTuple
from satchel.base.text import quoted_line
from satchel.keep import events, paths
from satchel.keep.expiry import end_claims
from satchel.keep.files.places import Place, clashing
from satchel.keep.files.presence import is_anything_claimed
from satchel.keep.files.records import Claim, Claimed
from satchel.keep.projects import Project
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Row, Transaction, set_of

if TYPE_CHECKING:
    from satchel.keep.common_filters import Chosen

_COLUMNS = """
    c.id, c.uid, c.seq, c.path, c.is_key, c.exclusive, c.automatic, a.name, c.worktree, c.reason, c.created_at,
    c.expires_at, c.agent_id, c.session_id, c.existed
"""
_JOINED = "file_claims c JOIN agents a ON a.id = c.agent_id"
_PATHS_PER_STATEMENT = 200
_SHOWN = 20


class Held(NamedTuple):
    """A claim, and the numbers of the agent and the session that hold it, and whether its file was there by then."""

    claim: Claim
    agent_id: int
    session: int | None
    existed: bool | None

    @property
    def place(self) -> Place:
        """What it is about."""
        return Place(self.claim.path, self.claim.worktree, self.claim.is_key)

    def is_of(self, actor: Actor) -> bool:
        """Whether an agent holds it: in its session, or by its name where either has no session."""
        return is_same(actor, self.agent_id, self.session)


class Terms(NamedTuple):
    """How something is claimed.

    Attributes:
        reason: None keeps that of a claim that is renewed.
        automatic: it is a hook's, which neither shortens an explicit claim nor makes an automatic one of it.
    """

    exclusive: bool
    minutes: int
    reason: str | None
    automatic: bool


class Look(NamedTuple):
    """What is claimed of some places.

    Attributes:
        mine: the caller's own claims.
        here: those of others, in the same worktrees.
        elsewhere: those of others in other worktrees.
        blocking: those of ``here`` that stand against a claim.
        over: those of ``here`` that would, but are held in sessions that are over.
    """

    mine: list[Held]
    here: list[Held]
    elsewhere: list[Held]
    blocking: list[Held]
    over: list[Held]


class ClaimRefused(Conflict):
    """Others hold, or are next to get, what was to be claimed.

    Attributes:
        places: what of it.
    """

    def __init__(self, problem: str, remedy: str | None, places: Sequence[Place]) -> None:
        super().__init__(problem, remedy)
        self.places = places


def is_same(actor: Actor, agent_id: int, session: int | None) -> bool:
    """Whether an agent is one that was recorded: of one session, or of one name where either has no session."""
    if session is not None and actor.session is not None:
        return session == actor.session
    return actor.number is not None and agent_id == actor.number


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
    found = overlapping(transaction, project_id, [Place(file, None) for file in files], now)
    return [held.claim for held in found if not held.is_of(actor)]


def overlapping(transaction: Transaction, project_id: int, wanted: Sequence[Place], now: int) -> list[Held]:
    """Return the live claims that overlap some places, in any worktree, the oldest first."""
    found: dict[int, Held] = {}
    for start in range(0, len(wanted), _PATHS_PER_STATEMENT):
        condition, values = _overlap(wanted[start : start + _PATHS_PER_STATEMENT])
        rows = transaction.all(
            f"SELECT {_COLUMNS} FROM {_JOINED} WHERE {condition}", {**values, "project": project_id, "now": now}
        )
        found |= {row[0]: _held(row) for row in rows}
    return sorted(found.values(), key=lambda held: (held.claim.created_at, held.claim.id))


def of_others_in(transaction: Transaction, project_id: int, actor: Actor, worktree: str | None, now: int) -> list[Held]:
    """Return the live claims of others on files of a worktree, the oldest first, but for those of ended sessions."""
    rows = transaction.all(
        f"SELECT {_COLUMNS} FROM {_JOINED} WHERE c.project_id = :project AND c.expires_at > :now AND c.is_key = 0 "
        "AND c.worktree = :worktree ORDER BY c.created_at, c.id",
        {"project": project_id, "now": now, "worktree": worktree or ""},
    )
    others = [held for held in map(_held, rows) if not held.is_of(actor)]
    over = _of_ended_sessions(transaction, others, now)
    return [held for held in others if held not in over]


def held_by(transaction: Transaction, project_id: int, actor: Actor, now: int) -> list[Held]:
    """Return the live claims of an agent, or of its session, by their paths."""
    rows = transaction.all(
        f"SELECT {_COLUMNS} FROM {_JOINED} WHERE c.project_id = :project AND c.expires_at > :now "
        "AND (c.agent_id = :agent OR c.session_id = :session) ORDER BY c.path, c.id",
        {"agent": actor.number, "session": actor.session, "project": project_id, "now": now},
    )
    return [one for one in map(_held, rows) if one.is_of(actor)]


def _overlap(wanted: Iterable[Place]) -> tuple[str, dict[str, object]]:
    """Return the condition that a live claim of a project overlaps one of some places, and its values."""
    keys = [place.path for place in wanted if place.is_key]
    files = [place.path for place in wanted if not place.is_key]
    conditions, values = paths.overlapping(files, "path") if files else ([], {})
    conditions = [f"{condition} AND is_key = 0" for condition in conditions]
    if keys:
        values |= {f"key{number}": key for number, key in enumerate(keys)}
        conditions.append(f"path IN ({', '.join(f':key{number}' for number in range(len(keys)))}) AND is_key = 1")
    # joined by OR they would read every claim of the project
    ways = " UNION ALL ".join(
        f"SELECT id FROM file_claims WHERE project_id = :project AND {condition}" for condition in conditions
    )
    return f"+c.expires_at > :now AND c.id IN ({ways})", values


def look(
    transaction: Transaction, project_id: int, actor: Actor, wanted: Sequence[Place], now: int, *, exclusive: bool
) -> Look:
    """Return what is claimed of some places, and what of it stands against a claim on them.

    Args:
        actor: who would claim them.
        exclusive: whether nobody else may claim them then.
    """
    found = overlapping(transaction, project_id, wanted, now)
    others = [held for held in found if not held.is_of(actor)]
    clashes = clashing(wanted)
    here = [held for held in others if clashes(held.place)]
    against = [held for held in here if exclusive or held.claim.exclusive]
    over = _of_ended_sessions(transaction, against, now)
    near, ended = {held.claim.id for held in here}, {held.claim.id for held in over}
    return Look(
        mine=[held for held in found if held.is_of(actor)],
        here=here,
        elsewhere=[held for held in others if held.claim.id not in near],
        blocking=[held for held in against if held.claim.id not in ended],
        over=over,
    )


def refuse(wanted: Sequence[Place], seen: Look, now: int, *, exclusive: bool) -> None:
    """Raise where claims of others stand against one.

    Raises:
        ClaimRefused: it says of every place who holds it, until when and why.
    """
    against = [held.claim for held in seen.blocking]
    if not against:
        return
    refused = {place: [held.claim for held in seen.blocking if place.clashes(held.place)] for place in wanted}
    by_holders: dict[str, list[str]] = {}
    for place, claims in refused.items():
        if claims:
            holders = " and ".join(_described(claim, now, place.path) for claim in claims)
            by_holders.setdefault(holders, []).append(place.path)
    said = [
        f"{_named(places)} {'are' if len(places) > 1 else 'is'} held by {holders}"
        for holders, places in by_holders.items()
    ]
    more = f"; and {len(said) - _SHOWN} more" if len(said) > _SHOWN else ""
    free = [place.path for place, claims in refused.items() if not claims]
    if free:
        more += f". Free: {_named(free)}"
    names = " or ".join(dict.fromkeys(claim.agent for claim in against))
    share = "claim it shared (exclusive=false), " if exclusive and not any(claim.exclusive for claim in against) else ""
    raise ClaimRefused(
        f"nothing was claimed: {'; '.join(said[:_SHOWN])}{more}",
        f"{share}ask {names} by a message, or do something else meanwhile",
        [place for place, claims in refused.items() if claims],
    )


def _named(some: Sequence[str]) -> str:
    more = len(some) - _SHOWN
    return ", ".join(some[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def grant(
    transaction: Transaction,
    project_id: int,
    holder: Actor,
    wanted: Mapping[Place, bool | None],
    seen: Look,
    terms: Terms,
    now: int,
) -> Claimed:
    """Claim places for an agent, or renew the claims of its session on them.

    What is held in a session that is over is taken over, and the notes say so.

    Args:
        holder: an agent that has a number.
        wanted: each with whether its file is there.
        seen: what is claimed of them; nothing of it stands against this.
    """
    if seen.over:
        end_claims(transaction, [held.claim.id for held in seen.over], events.EXPIRY, now)
    clashes = clashing(wanted)
    mine = [held for held in seen.mine if clashes(held.place)]
    own = {held.place: held for held in sorted(mine, key=lambda held: held.session == holder.session)}
    _take_into_session(transaction, holder, mine, own)
    ended = {held.claim.id for held in seen.over}
    first = transaction.next_seq(project_id, len(wanted))
    values: dict[str, object] = {
        "session_id": holder.session,
        "exclusive": int(terms.exclusive),
        "automatic": int(terms.automatic),
        "reason": terms.reason,
        "expires_at": now + terms.minutes * 60_000,
    }
    numbers = []
    for seq, (place, existed) in enumerate(wanted.items(), first):
        renewed = own.get(place)
        if renewed is None:
            row = {
                **values,
                "uid": os.urandom(16),
                "seq": seq,
                "project_id": project_id,
                "path": place.path,
                "is_key": int(place.is_key),
                "agent_id": holder.number,
                "worktree": place.worktree or "",
                "existed": existed,
                "created_at": now,
            }
            numbers.append(transaction.add("file_claims", row))
        else:
            numbers.append(renewed.claim.id)
            transaction.run(
                """
                UPDATE file_claims SET seq = :seq, exclusive = :exclusive, automatic = automatic * :automatic,
                    expires_at = CASE WHEN :automatic = 1 AND expires_at > :expires_at THEN expires_at
                        ELSE :expires_at END,
                    reason = COALESCE(:reason, reason), session_id = COALESCE(:session_id, session_id)
                WHERE id = :id
                """,
                {**values, "seq": seq, "id": renewed.claim.id},
            )
    rows = transaction.all(f"SELECT {_COLUMNS} FROM {_JOINED} WHERE c.id IN {set_of(numbers)}")
    kept = {row[0]: _claim(row) for row in rows}
    elsewhere = tuple(held.claim for held in seen.elsewhere)
    return Claimed(
        agent=holder.name or "",
        claims=tuple(kept[claim] for claim in numbers),
        renewed=tuple(place.path for place in wanted if place in own),
        elsewhere=elsewhere,
        shared=tuple(held.claim for held in seen.here if held.claim.id not in ended),
        notes=(
            *(f"{held.claim.path} is taken over from {held.claim.agent}, whose session is over" for held in seen.over),
            *(
                f"{held.claim.path} is held in your session already, by {held.claim.agent}"
                for held in mine
                if held.agent_id != holder.number
            ),
            *_warnings(elsewhere, now),
        ),
    )


def _take_into_session(
    transaction: Transaction, holder: Actor, mine: Sequence[Held], own: Mapping[Place, Held]
) -> None:
    """Make what an agent holds by its name its session's, so that nobody holds a place in two ways.

    Args:
        mine: what the agent holds, by its name or in its session.
        own: by its place the one of them that stays.
    """
    by_name = [held for held in mine if held.session is None] if holder.session is not None else []
    for held in by_name:
        stays = own[held.place]
        if stays is held:
            statement = "UPDATE file_claims SET session_id = :session WHERE id = :id"
            transaction.run(statement, {"session": holder.session, "id": held.claim.id})
            continue
        transaction.run("DELETE FROM file_claims WHERE id = :id", {"id": held.claim.id})
        transaction.run(
            """
            UPDATE file_claims SET exclusive = CASE WHEN :exclusive = 1 THEN 1 ELSE exclusive END,
                expires_at = CASE WHEN expires_at > :expires_at THEN expires_at ELSE :expires_at END
            WHERE id = :id
            """,
            {"exclusive": int(held.claim.exclusive), "expires_at": held.claim.expires_at, "id": stays.claim.id},
        )


def _of_ended_sessions(transaction: Transaction, claims: Sequence[Held], now: int) -> list[Held]:
    """Return those of some claims that are held in sessions that are over."""
    sessions = {held.session for held in claims if held.session is not None}
    if not sessions:
        return []
    from satchel.keep.sessions import joining

    found = joining.load(transaction, f"s.id IN {set_of(sessions)}", {})
    over = sessions - {one.state.id for one in found if not joining.is_gone(one, now)}
    return [held for held in claims if held.session in over]


def remove_expired(transaction: Transaction, project_id: int, now: int) -> None:
    """Remove every claim of a project that has ended, so that what is claimed again starts as a new claim."""
    rows = transaction.all(
        "SELECT id FROM file_claims WHERE expires_at <= :now AND project_id = :project",
        {"now": now, "project": project_id},
    )
    if rows:
        end_claims(transaction, [row[0] for row in rows], events.EXPIRY, now)


def release(
    transaction: Transaction,
    project_id: int,
    holder: Actor,
    wanted: Sequence[Place] | None,
    worktree: str | None,
    now: int,
) -> list[Held]:
    """End claims of an agent, or of its session, and return them, in the order asked for.

    Args:
        wanted: as they were claimed, each once; None ends all of a worktree, and those of keys.
        worktree: that worktree.
    """
    remove_expired(transaction, project_id, now)
    held = held_by(transaction, project_id, holder, now)
    if wanted is None:
        ended = [one for one in held if one.claim.is_key or one.claim.worktree == worktree]
    else:
        ended = sorted((one for one in held if one.place in wanted), key=lambda one: wanted.index(one.place))
    if ended:
        end_claims(transaction, [one.claim.id for one in ended], events.RELEASE, now)
    return ended


def listed(
    transaction: Transaction,
    project: Project,
    holders: Sequence[int] | None,
    place: Place | None,
    limit: int,
    offset: int,
    now: int,
    chosen: Chosen,
) -> KeptPage[Claim]:
    """Return live claims, the newest first.

    Args:
        holders: only those of these agents.
        place: only those that overlap a file or folder, in any worktree, or are of this key.
    """
    where, values = ("c.project_id = :project AND c.expires_at > :now", {}) if place is None else _overlap([place])
    values |= {"project": project.id, "now": now, "limit": limit, "offset": offset}
    if holders is not None:
        where += f" AND c.agent_id IN {set_of(holders)}"
    where += chosen.where("c.created_at")
    values |= chosen.values
    total = transaction.one(f"SELECT count(*) FROM file_claims c WHERE {where}", values)
    rows = transaction.all(
        f"SELECT {_COLUMNS} FROM {_JOINED} WHERE {where} "
        "ORDER BY c.created_at DESC, c.id DESC LIMIT :limit OFFSET :offset",
        values,
    )
    assert total is not None
    return KeptPage(tuple(map(_claim, rows)), int(total[0]), offset, limit, project.seq)


def _held(row: Row) -> Held:
    agent, session, existed = row[-3:]
    return Held(_claim(row), agent, session, None if existed is None else bool(existed))


def _claim(row: Row) -> Claim:
    number, uid, seq, path, is_key, exclusive, automatic, agent, worktree, reason, created, expires = row[:12]
    return Claim(
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


def _described(claim: Claim, now: int, path: str) -> str:
    wider = "" if claim.path == path else f" as {claim.path}"
    how = "" if claim.exclusive else ", shared,"
    left, year = span_in_words(claim.expires_at - now), year_of(now)
    why = "" if claim.reason is None else f": {quoted_line(claim.reason)}"
    return (
        f"{claim.agent}{wider}{how} since {moment_text(claim.created_at, year)} "
        f"until {moment_text(claim.expires_at, year)} UTC ({left} left){why}"
    )


def _warnings(elsewhere: Sequence[Claim], now: int) -> tuple[str, ...]:
    """Say what others claim in other worktrees: no conflict now, but one when the branches meet."""
    said = [
        f"in {'the main worktree' if claim.worktree is None else f'the worktree {claim.worktree}'} "
        f"{claim.path} is held by {_described(claim, now, claim.path)}"
        for claim in elsewhere[:_SHOWN]
    ]
    if len(elsewhere) > _SHOWN:
        more = len(elsewhere) - _SHOWN
        said.append(f"{more} more {'claims are' if more > 1 else 'claim is'} held in other worktrees")
    return tuple(said)
