"""Waiting until a claim is free, without holding anything of the store meanwhile."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

from satchel.base.errors import Busy, SatchelError
from satchel.base.records import NamedTuple, replace
from satchel.keep import projects
from satchel.keep.files import claims, waiters
from satchel.keep.files.claiming import DOING, Ask, attempt
from satchel.keep.files.claims import ClaimRefused
from satchel.keep.files.places import Place, as_on_disk
from satchel.keep.files.records import Claimed
from satchel.keep.projects import Workplace
from satchel.keep.sessions.actors import acting_named
from satchel.keep.sessions.records import Actor
from satchel.keep.waits import POLL_SECONDS
from satchel.store.transaction import Transaction

_LOOK_SECONDS = 1.0
"""So often the claims are looked at though nothing was written: a process that was killed writes nothing."""


class _Place(NamedTuple):
    """Where a call waits: its number as a waiter, what it waits for, and since when, in milliseconds UTC."""

    number: int
    project_id: int
    actor: Actor
    wanted: list[Place]
    since: int


def claim(work: Workplace, seats: threading.Semaphore, ask: Ask, seconds: int) -> Claimed:
    """Claim all that is asked for, as soon as it is free.

    Args:
        seats: of the calls of the connection that may wait.
        seconds: how long to wait at most.

    Raises:
        ClaimRefused: it was not free in that time, or too many calls wait already.
        Interrupted: the call was cancelled.
    """
    has_seat = seats.acquire(blocking=False)
    try:
        place = _first_try(work, ask, seconds, may_wait=has_seat)
        if isinstance(place, Claimed):
            return place
        claimed = None
        try:
            claimed = _wait(work, ask, place, seconds)
        finally:
            if claimed is None:
                with suppress(SatchelError), work.engine.write() as transaction:
                    waiters.leave(transaction, place.number)
        return claimed
    finally:
        if has_seat:
            seats.release()


def _first_try(work: Workplace, ask: Ask, seconds: int, *, may_wait: bool) -> Claimed | _Place:
    """Return what was claimed at once, or where the call waits."""
    with work.engine.write() as transaction:
        try:
            return attempt(transaction, work, ask)
        except ClaimRefused as refused:
            if not may_wait:
                raise ClaimRefused(
                    "as many calls of this connection as may wait for claims do so already, so this one does not; "
                    f"{refused.problem}",
                    refused.remedy,
                    refused.places,
                ) from None
        now = work.clock()
        project = projects.ensure(transaction, work, now)
        # an agent that waits can be seen, and asked
        actor, _, _ = acting_named(transaction, work, project.id, ask.agent, now, DOING)
        wanted = as_on_disk(transaction, project.id, work.files_root, list(ask.wanted))
        until = now + seconds * 1_000
        number = waiters.enter(transaction, project.id, actor, wanted, now, until, exclusive=ask.terms.exclusive)
    return _Place(number, project.id, actor, wanted, now)


def _wait(work: Workplace, ask: Ask, place: _Place, seconds: int) -> Claimed:
    deadline = time.monotonic() + seconds
    look_at, changes_at = 0.0, 0
    with work.engine.watch() as is_changed:
        while (left := deadline - time.monotonic()) > 0:
            if is_changed() or time.monotonic() >= look_at or work.clock() >= changes_at:
                look_at = time.monotonic() + _LOOK_SECONDS
                with work.engine.read() as transaction:
                    changes_at = _changes_at(transaction, work, ask, place)
                if changes_at <= 0:
                    with suppress(ClaimRefused, Busy):
                        return _take(work, ask, place)
            time.sleep(min(POLL_SECONDS, left))
        try:
            return _take(work, ask, place)
        except ClaimRefused as refused:
            problem = refused.problem.replace("nothing was claimed", f"nothing was claimed within {seconds} s", 1)
            raise ClaimRefused(problem, refused.remedy, refused.places) from None


def _changes_at(transaction: Transaction, work: Workplace, ask: Ask, place: _Place) -> int:
    """Return when the first of what stands against a claim expires, in milliseconds UTC; 0 where nothing does."""
    now, exclusive = work.clock(), ask.terms.exclusive
    seen = claims.look(transaction, place.project_id, place.actor, place.wanted, now, exclusive=exclusive)
    if seen.blocking:
        return min(held.claim.expires_at for held in seen.blocking)
    first = waiters.next_one(
        transaction, place.project_id, place.actor, place.wanted, now, place.number, exclusive=exclusive
    )
    return 0 if first is None else first.expires_at


def _take(work: Workplace, ask: Ask, place: _Place) -> Claimed:
    with work.engine.write() as transaction:
        claimed = attempt(transaction, work, ask, place.number)
        waiters.leave(transaction, place.number)
    return replace(claimed, waited_ms=max(0, claimed.claimed_at - place.since))
