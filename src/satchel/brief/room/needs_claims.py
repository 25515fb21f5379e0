"""Claims that others wait for or were refused."""

from __future__ import annotations

from satchel.base.records import NamedTuple
from satchel.base.text import shortened
from satchel.brief.room.looking import LINE_CHARS, Look
from satchel.brief.room.records import Need
from satchel.keep.files import claims, refusals, waiters
from satchel.keep.files.claims import Lease
from satchel.keep.files.places import Place
from satchel.keep.sessions import joining
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import set_of


class _Wish(NamedTuple):
    """A claim that somebody wants."""

    kind: str
    actor: Actor
    places: tuple[Place, ...]
    exclusive: bool
    began_at: int


def find(look: Look, most: int) -> list[Need]:
    """Return needs for claims that are waited for, or were refused to sessions still at work, while they are held."""
    wishes = _wishes(look, most)
    if not wishes:
        return []
    places = list(dict.fromkeys(place for wish in wishes for place in wish.places))
    leases = claims.load_overlapping(look.transaction, look.project_id, places, look.now)
    sessions = [one.actor.session for one in wishes] + [one.session for one in leases]
    orphaned, uids = orphaned_and_uids(look, {number for number in sessions if number is not None})
    needs: dict[tuple[str | None, str], Need] = {}
    for wish in wishes:
        if wish.actor.session in orphaned:
            continue
        for place in wish.places:
            holder = next((one for one in leases if one.session not in orphaned and _conflicts(one, wish, place)), None)
            if holder is None:
                continue
            text = shortened(f"{place.path} is held by {holder.claim.agent}", LINE_CHARS)
            severity = "high" if wish.kind == "waiting" else "medium"
            need = Need(
                wish.kind,
                severity,
                text,
                None,
                uids.get(wish.actor.session or 0),
                wish.actor.name,
                wish.began_at,
                ("release", "answer") if wish.actor.name else ("release",),
                key=_key(wish.actor.name, place.path),
                place=place.path,
                holder=holder.claim.agent,
                holder_session=uids.get(holder.session or 0),
                held_path=holder.claim.path,
                held_until=holder.claim.expires_at,
                held_began_at=holder.claim.created_at,
            )
            needs.setdefault((wish.actor.name, place.path), need)
    return list(needs.values())


def _key(agent: str | None, path: str) -> str:
    """Return a key for a wish; its path may be long and have any characters."""
    from hashlib import blake2b

    return f"claim-{blake2b(chr(0).join((agent or '', path)).encode(), digest_size=8).hexdigest()}"


def _wishes(look: Look, most: int) -> list[_Wish]:
    waiting = waiters.load(look.transaction, look.project_id, look.now)[:most]
    wishes = [_Wish("waiting", one.actor, one.places, one.exclusive, one.created_at) for one in waiting]
    for one, session in refusals.newest(look.transaction, look.project_id, look.now, most):
        actor = Actor(None, one.agent or None, session)
        wishes.append(_Wish("refusal", actor, (one.place,), one.exclusive, one.refused_at))
    return wishes


def _conflicts(lease: Lease, wish: _Wish, place: Place) -> bool:
    if not place.clashes(lease.place) or not (wish.exclusive or lease.claim.exclusive):
        return False
    if wish.actor.session is not None and lease.session is not None:
        return lease.session != wish.actor.session
    return lease.claim.agent != wish.actor.name


def orphaned_and_uids(look: Look, numbers: set[int]) -> tuple[set[int], dict[int, str]]:
    if not numbers:
        return set(), {}
    loaded = joining.load(look.transaction, f"s.id IN {set_of(numbers)}", {})
    orphaned = {one.state.id for one in loaded if joining.is_gone(one, look.now)}
    return orphaned, {one.state.id: one.state.uid.hex() for one in loaded}
