"""Queue of calls that wait for claims.

A waiter is next if no claim blocks its places and no earlier waiter is next for some of them. So a free place goes to
one waiter at a time, and a waiter that is still blocked holds up nobody: two that wait for each other's claims do not
block the queue.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from satchel.base import processes
from satchel.base.clock import moment_text, year_of
from satchel.base.processes import Process
from satchel.base.records import NamedTuple
from satchel.keep.files import claims
from satchel.keep.files.claims import Claimant
from satchel.keep.files.places import Place
from satchel.keep.sessions.records import Actor
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


def add(by: Claimant, places: Sequence[Place], expires_at: int, shared: Collection[Place]) -> int:
    """Add a waiter at the end of the queue, delete those that ended, and return its number."""
    transaction, project_id, actor, now = by
    for row in transaction.all(f"{_ROWS} WHERE w.project_id = :project", {"project": project_id}):
        waiter = _waiter(row)
        if waiter.expires_at <= now or not waiter.may_run:
            remove(transaction, waiter.id)
    process = processes.own()
    values = {
        "project_id": project_id,
        "agent_id": actor.number,
        "session_id": actor.session,
        "places": json.dumps(
            [[place.path, place.worktree or "", place.is_key, place in shared] for place in places], ensure_ascii=False
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
    return [waiter for waiter in map(_waiter, rows) if waiter.may_run]


def next_waiter(
    by: Claimant, wanted: Sequence[Place], before: int | None = None, shared: Collection[Place] = ()
) -> Waiter | None:
    """Return the waiter that is next for some of the places, ahead of the agent, or None.

    ``before`` is the agent's own number as a waiter, if it has one.
    """
    for one in load(by.transaction, by.project_id, by.now, before):
        if (
            not claims.is_actor(by.actor, one.actor.number or 0, one.actor.session)
            and any(
                place.clashes(other) and not (place in shared and other in one.shared)
                for place in wanted
                for other in one.places
            )
            and not claims.find_overlaps(by._replace(actor=one.actor), one.places, one.shared).blocking
        ):
            return one
    return None


def refuse_out_of_turn(by: Claimant, wanted: Sequence[Place], before: int | None, shared: Collection[Place]) -> None:
    """Raise ClaimRefused if a waiter is next for some of the places, as :func:`next_waiter` finds."""
    first = next_waiter(by, wanted, before, shared)
    if first is None:
        return
    places = [place for place in wanted if any(place.clashes(other) for other in first.places)]
    listed = ", ".join(place.path for place in places)
    raise claims.ClaimRefused(
        f"nothing was claimed: {first.actor.name} has been waiting for {listed} since "
        f"{moment_text(first.created_at, year_of(by.now))} UTC and is next",
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
