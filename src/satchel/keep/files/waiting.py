"""Waiting for a claim, without holding a transaction."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

from satchel.base.errors import Busy, SatchelError
from satchel.base.records import NamedTuple, replace
from satchel.keep import projects
from satchel.keep.files import claims, waiters
from satchel.keep.files.claiming import DOING, ClaimRequest, try_claim
from satchel.keep.files.claims import ClaimRefused
from satchel.keep.files.places import Place
from satchel.keep.files.records import Claimed
from satchel.keep.projects import Workplace
from satchel.keep.sessions.actors import acting_named
from satchel.keep.sessions.records import Actor
from satchel.keep.waits import POLL_SECONDS
from satchel.store.transaction import Transaction

_LOOK_SECONDS = 1.0
"""Interval of checks without a new commit: a killed holder writes nothing."""


class _QueuePlace(NamedTuple):
    """A waiting call: its number as a waiter, and the places it wants."""

    number: int
    project_id: int
    actor: Actor
    wanted: list[Place]
    shared: set[Place]
    since: int


def claim(work: Workplace, seats: threading.Semaphore, request: ClaimRequest, seconds: int) -> Claimed:
    """Claim all requested places as soon as they are free, within ``seconds``.

    ``seats`` limits the connection's waiting calls. Raises ClaimRefused after that time or without a seat, and
    Interrupted if the call is cancelled.
    """
    has_seat = seats.acquire(blocking=False)
    try:
        place = _first_try(work, request, seconds, may_wait=has_seat)
        if isinstance(place, Claimed):
            return place
        claimed = None
        try:
            claimed = _wait(work, request, place, seconds)
        finally:
            if claimed is None:
                with suppress(SatchelError), work.engine.write() as transaction:
                    waiters.remove(transaction, place.number)
        return claimed
    finally:
        if has_seat:
            seats.release()


def _first_try(work: Workplace, request: ClaimRequest, seconds: int, *, may_wait: bool) -> Claimed | _QueuePlace:
    # claims at once, or else joins the queue
    with work.engine.write() as transaction:
        try:
            return try_claim(transaction, work, request)
        except ClaimRefused as refused:
            if not may_wait:
                raise ClaimRefused(
                    "too many calls of this connection are already waiting for claims, so this one did not wait; "
                    f"{refused.problem}",
                    refused.remedy,
                    refused.places,
                    refused.holders,
                ) from None
        now = work.clock()
        project = projects.ensure(transaction, work, now)
        # a waiting agent is registered, so that others can see and ask it
        actor, _, _ = acting_named(transaction, work, project.id, request.agent, now, DOING)
        wanted, shared = request.spelled(transaction, work, project.id)
        until = now + seconds * 1_000
        number = waiters.add(transaction, project.id, actor, wanted, now, until, shared)
    return _QueuePlace(number, project.id, actor, wanted, shared, now)


def _wait(work: Workplace, request: ClaimRequest, place: _QueuePlace, seconds: int) -> Claimed:
    deadline = time.monotonic() + seconds
    look_at, changes_at = 0.0, 0
    with work.engine.watch() as is_changed:
        while (remaining := deadline - time.monotonic()) > 0:
            if is_changed() or time.monotonic() >= look_at or work.clock() >= changes_at:
                look_at = time.monotonic() + _LOOK_SECONDS
                with work.engine.read() as transaction:
                    changes_at = _changes_at(transaction, work, place)
                if changes_at <= 0:
                    with suppress(ClaimRefused, Busy):
                        return _take(work, request, place)
            time.sleep(min(POLL_SECONDS, remaining))
        try:
            return _take(work, request, place)
        except ClaimRefused as refused:
            problem = refused.problem.replace("nothing was claimed", f"nothing was claimed within {seconds} s", 1)
            raise ClaimRefused(problem, refused.remedy, refused.places, refused.holders) from None


def _changes_at(transaction: Transaction, work: Workplace, place: _QueuePlace) -> int:
    # when the first obstacle expires; 0 if there is none
    now = work.clock()
    overlaps = claims.find_overlaps(transaction, place.project_id, place.actor, place.wanted, now, place.shared)
    if overlaps.blocking:
        return min(lease.claim.expires_at for lease in overlaps.blocking)
    first = waiters.next_waiter(
        transaction, place.project_id, place.actor, place.wanted, now, place.number, place.shared
    )
    return 0 if first is None else first.expires_at


def _take(work: Workplace, request: ClaimRequest, place: _QueuePlace) -> Claimed:
    with work.engine.write() as transaction:
        claimed = try_claim(transaction, work, request, place.number)
        waiters.remove(transaction, place.number)
    return replace(claimed, waited_ms=max(0, claimed.claimed_at - place.since))
