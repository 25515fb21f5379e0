"""Queue of calls that wait for claims.

A waiter is next if no claim blocks its places and no earlier waiter is next for some of them. So a free place goes to
one waiter at a time, and a waiter that is still blocked holds up nobody: two that wait for each other's claims do not
block the queue.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Collection, Sequence
from contextlib import suppress

from satchel.base import processes
from satchel.base.clock import moment_text, year_of
from satchel.base.errors import Busy, SatchelError
from satchel.base.processes import Process
from satchel.base.records import NamedTuple, replace
from satchel.keep import projects
from satchel.keep.files import claims
from satchel.keep.files.claiming import DOING, ClaimRequest, try_claim
from satchel.keep.files.claims import ClaimRefused
from satchel.keep.files.places import Place
from satchel.keep.files.records import Claimed
from satchel.keep.projects import Workplace
from satchel.keep.sessions.actors import acting_named
from satchel.keep.sessions.records import Actor
from satchel.keep.waits import POLL_SECONDS
from satchel.store.transaction import Row, Transaction


class Waiter(NamedTuple):
    """A waiting call.

    Attributes:
        places: the places it waits for.
        shared: those of them that it wants shared.
        process: its process, if on this machine.
        created_at, expires_at: milliseconds UTC.
    """

    id: int
    actor: Actor
    places: tuple[Place, ...]
    shared: frozenset[Place]
    process: Process | None
    expires_at: int
    created_at: int

    @property
    def exclusive(self) -> bool:
        """Return whether it wants any place for itself alone."""
        return any(place not in self.shared for place in self.places)

    @property
    def may_run(self) -> bool:
        """Return False if its process is known to have ended."""
        return self.process is None or processes.is_alive(self.process) is not False


def add(
    transaction: Transaction,
    project_id: int,
    actor: Actor,
    places: Sequence[Place],
    now: int,
    expires_at: int,
    shared: Collection[Place],
) -> int:
    """Add a waiter at the end of the queue, delete those that ended, and return its number."""
    for row in transaction.all(f"{_ROWS} WHERE w.project_id = :project", {"project": project_id}):
        one = _waiter(row)
        if one.expires_at <= now or not one.may_run:
            remove(transaction, one.id)
    process = processes.own()
    values = {
        "project_id": project_id,
        "agent_id": actor.number,
        "session_id": actor.session,
        "places": json.dumps(
            [[one.path, one.worktree or "", one.is_key, one in shared] for one in places], ensure_ascii=False
        ),
        "exclusive": int(any(place not in shared for place in places)),
        "machine": processes.machine(),
        "process": None if process is None else process.pid,
        "process_started": None if process is None else process.started,
        "expires_at": expires_at,
        "created_at": now,
    }
    return transaction.add("claim_waiters", values)


def remove(transaction: Transaction, number: int) -> None:
    transaction.run("DELETE FROM claim_waiters WHERE id = :id", {"id": number})


def load(transaction: Transaction, project_id: int, now: int, before: int | None = None) -> list[Waiter]:
    """Return the waiters in order; ``before`` is a waiter's number, for those ahead of it."""
    rows = transaction.all(
        f"{_ROWS} WHERE w.project_id = :project AND w.expires_at > :now "
        "AND (CAST(:before AS INTEGER) IS NULL OR w.id < :before) ORDER BY w.id",
        {"project": project_id, "now": now, "before": before},
    )
    return [one for one in map(_waiter, rows) if one.may_run]


def next_waiter(
    transaction: Transaction,
    project_id: int,
    actor: Actor,
    wanted: Sequence[Place],
    now: int,
    before: int | None = None,
    shared: Collection[Place] = (),
) -> Waiter | None:
    """Return the waiter that is next for some of the places, ahead of the agent, or None.

    ``before`` is the agent's own number as a waiter, if it has one.
    """
    for one in load(transaction, project_id, now, before):
        if (
            not claims.is_actor(actor, one.actor.number or 0, one.actor.session)
            and any(
                place.clashes(other) and not (place in shared and other in one.shared)
                for place in wanted
                for other in one.places
            )
            and not claims.find_overlaps(transaction, project_id, one.actor, one.places, now, one.shared).blocking
        ):
            return one
    return None


def refuse_out_of_turn(
    transaction: Transaction,
    project_id: int,
    actor: Actor,
    wanted: Sequence[Place],
    now: int,
    before: int | None,
    shared: Collection[Place],
) -> None:
    """Raise ClaimRefused if a waiter is next for some of the places, as :func:`next_waiter` finds."""
    first = next_waiter(transaction, project_id, actor, wanted, now, before, shared)
    if first is None:
        return
    places = [place for place in wanted if any(place.clashes(other) for other in first.places)]
    listed = ", ".join(place.path for place in places)
    raise claims.ClaimRefused(
        f"nothing was claimed: {first.actor.name} has been waiting for {listed} since "
        f"{moment_text(first.created_at, year_of(now))} UTC and is next",
        f"ask {first.actor.name} by a message, or work on something else",
        places,
        [first.actor.name or ""],
    )


_ROWS = """
    SELECT w.id, w.agent_id, a.name, w.session_id, w.places, w.machine, w.process, w.process_started,
        w.expires_at, w.created_at
    FROM claim_waiters w JOIN agents a ON a.id = w.agent_id
"""


def _waiter(row: Row) -> Waiter:
    number, agent, name, session, places, machine, process, started, expires, created = row
    listed = {
        Place(path, worktree or None, is_key): any(shared) for path, worktree, is_key, *shared in json.loads(places)
    }
    is_here = process is not None and machine is not None and machine == processes.machine()
    return Waiter(
        number,
        Actor(agent, name, session),
        tuple(listed),
        frozenset(place for place, is_shared in listed.items() if is_shared),
        Process(process, started) if is_here else None,
        expires,
        created,
    )


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


def wait_for_claim(work: Workplace, seats: threading.Semaphore, request: ClaimRequest, seconds: int) -> Claimed:
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
                    remove(transaction, place.number)
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
        number = add(transaction, project.id, actor, wanted, now, until, shared)
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
    first = next_waiter(transaction, place.project_id, place.actor, place.wanted, now, place.number, place.shared)
    return 0 if first is None else first.expires_at


def _take(work: Workplace, request: ClaimRequest, place: _QueuePlace) -> Claimed:
    with work.engine.write() as transaction:
        claimed = try_claim(transaction, work, request, place.number)
        remove(transaction, place.number)
    return replace(claimed, waited_ms=max(0, claimed.claimed_at - place.since))
