"""One call that claims: what it asks for, trying to get it in a transaction, and what is kept of its refusal."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from satchel.base.errors import SatchelError
from satchel.base.records import dataclass, replace
from satchel.keep import events, expiry, projects
from satchel.keep.files import claims
from satchel.keep.files.claims import ClaimRefused, Terms
from satchel.keep.files.places import Place, as_on_disk
from satchel.keep.files.presence import is_anyone_refused, is_anyone_waiting
from satchel.keep.files.records import Claimed
from satchel.keep.projects import Workplace
from satchel.keep.sessions.actors import UNKNOWN, acting_named, reading
from satchel.store.transaction import Transaction

DOING = "claiming files"

RENEWED_MS = 60_000
"""An automatic claim is renewed at most once in so long."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What is to be claimed.

    Attributes:
        agent: the name that was chosen, if one was.
        wanted: each place with whether its file is there.
    """

    agent: str | None
    wanted: Mapping[Place, bool | None]
    terms: Terms


def attempt(transaction: Transaction, work: Workplace, ask: Ask, waiter: int | None = None) -> Claimed:
    """Claim all that is asked for.

    Args:
        waiter: the number of the waiter that asks; None for a call that has not waited.

    Raises:
        ClaimRefused: others hold something of it, or are next to get it. Nothing was written but what has expired.
        InvalidInput: there is no agent.
    """
    now = work.clock()
    project = projects.ensure(transaction, work, now)
    actor, _, _ = acting_named(transaction, work, project.id, ask.agent, now, DOING)
    spelled = as_on_disk(transaction, project.id, work.files_root, list(ask.wanted))
    wanted = dict(zip(spelled, ask.wanted.values(), strict=True))
    exclusive = ask.terms.exclusive
    claims.remove_expired(transaction, project.id, now)
    seen = claims.look(transaction, project.id, actor, spelled, now, exclusive=exclusive)
    claims.refuse(spelled, seen, now, exclusive=exclusive)
    if is_anyone_waiting(transaction, project.id):
        from satchel.keep.files import waiters

        waiters.refuse_out_of_turn(transaction, project.id, actor, spelled, now, waiter, exclusive=exclusive)
    claimed = claims.grant(transaction, project.id, actor, wanted, seen, ask.terms, now)
    if is_anyone_refused(transaction, project.id):
        from satchel.keep.files import refusals

        refusals.end(transaction, project.id, actor, spelled, now)
    expiry.sweep_now_and_then(work.engine, transaction, project.id, now)
    return replace(claimed, claimed_at=now)


def renewed_just_now(work: Workplace, ask: Ask) -> Claimed | None:
    """Return the caller's own claims on all that is asked for, if none of them is due to be renewed."""
    with work.engine.read() as transaction:
        project = projects.find(transaction, work)
        if project is None:
            return None
        now = work.clock()
        actor = reading(transaction, work, project.id, ask.agent)
        spelled = as_on_disk(transaction, project.id, work.files_root, list(ask.wanted))
        seen = claims.look(transaction, project.id, actor, spelled, now, exclusive=ask.terms.exclusive)
    own = {held.place: held.claim for held in seen.mine}
    due = now + ask.terms.minutes * 60_000 - RENEWED_MS
    kept = [own[place] for place in spelled if place in own]
    if len(kept) < len(spelled) or any(
        one.expires_at <= due or (ask.terms.exclusive and not one.exclusive) for one in kept
    ):
        return None
    return Claimed(actor.name or "", tuple(kept), tuple(one.path for one in kept), (), (), claimed_at=now)


def record_refusal(work: Workplace, ask: Ask, refused: ClaimRefused) -> None:
    """Record who was refused what; where that fails, the refusal stands without it."""
    from satchel.keep.files import refusals

    with suppress(SatchelError), work.engine.write() as transaction:
        now = work.clock()
        project = projects.ensure(transaction, work, now)
        # the session is told later; an agent is not registered for being refused
        if work.caller is not None:
            work.caller.ensure(transaction, work, project.id, now)
        actor = reading(transaction, work, project.id, ask.agent)
        known = None if actor.number == UNKNOWN else actor.number
        details = {"paths": [place.path for place in ask.wanted], "worktree": work.worktree}
        events.record(transaction, project.id, events.REFUSAL, now, session=actor.session, agent=known, details=details)
        refusals.add(transaction, project.id, actor, refused.places, now, exclusive=ask.terms.exclusive)
