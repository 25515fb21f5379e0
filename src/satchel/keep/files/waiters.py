"""Who waits for a claim, in the order in which they asked.

A waiter is next where nothing that others hold stands against what it asked for, and no waiter before it is next for a
part of that. So what is free goes to one waiter at a time; nobody is held up by a waiter that cannot have all it asked
for yet, and two that each hold what the other waits for do not keep everybody waiting.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from satchel.base import processes
from satchel.base.clock import moment_text, year_of
from satchel.base.processes import Process
from satchel.base.records import NamedTuple
from satchel.keep.files import claims
from satchel.keep.files.places import Place
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Row, Transaction


class Waiter(NamedTuple):
    """A call that waits.

    Attributes:
        places: all that it asked for.
        process: where it runs, if that is on this machine.
        expires_at: until when it waits, in milliseconds UTC.
        created_at: since when.
    """

    id: int
    actor: Actor
    places: tuple[Place, ...]
    exclusive: bool
    process: Process | None
    expires_at: int
    created_at: int

    @property
    def is_there(self) -> bool:
        """Whether its process runs, as far as that can be seen from here."""
        return self.process is None or processes.is_alive(self.process)


def enter(
    transaction: Transaction,
    project_id: int,
    actor: Actor,
    places: Sequence[Place],
    now: int,
    expires_at: int,
    *,
    exclusive: bool,
) -> int:
    """Take the last place, forget those who wait no more, and return the waiter's number.

    Args:
        actor: an agent that has a number.
    """
    for row in transaction.all(f"{_ROWS} WHERE w.project_id = :project", {"project": project_id}):
        one = _waiter(row)
        if one.expires_at <= now or not one.is_there:
            leave(transaction, one.id)
    process = processes.own()
    values = {
        "project_id": project_id,
        "agent_id": actor.number,
        "session_id": actor.session,
        "places": json.dumps([[one.path, one.worktree or "", one.is_key] for one in places], ensure_ascii=False),
        "exclusive": int(exclusive),
        "machine": processes.machine(),
        "process": None if process is None else process.pid,
        "process_started": None if process is None else process.started,
        "expires_at": expires_at,
        "created_at": now,
    }
    return transaction.add("claim_waiters", values)


def leave(transaction: Transaction, number: int) -> None:
    """Wait no more."""
    transaction.run("DELETE FROM claim_waiters WHERE id = :id", {"id": number})


def load(transaction: Transaction, project_id: int, now: int, before: int | None = None) -> list[Waiter]:
    """Return those who wait, in their order.

    Args:
        before: the number of a waiter: only those who asked before it.
    """
    rows = transaction.all(
        f"{_ROWS} WHERE w.project_id = :project AND w.expires_at > :now "
        "AND (CAST(:before AS INTEGER) IS NULL OR w.id < :before) ORDER BY w.id",
        {"project": project_id, "now": now, "before": before},
    )
    return [one for one in map(_waiter, rows) if one.is_there]


def next_one(
    transaction: Transaction,
    project_id: int,
    actor: Actor,
    wanted: Sequence[Place],
    now: int,
    before: int | None = None,
    *,
    exclusive: bool,
) -> Waiter | None:
    """Return the waiter that gets a part of some places before an agent does, or None.

    Args:
        before: the number of the agent as a waiter; None where it is none.
    """
    for one in load(transaction, project_id, now, before):
        if (
            (exclusive or one.exclusive)
            and not claims.is_same(actor, one.actor.number or 0, one.actor.session)
            and any(place.clashes(other) for place in wanted for other in one.places)
            and not claims.look(transaction, project_id, one.actor, one.places, now, exclusive=one.exclusive).blocking
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
    *,
    exclusive: bool,
) -> None:
    """Raise where a waiter gets a part of some places before an agent does.

    Raises:
        ClaimRefused: it says who waits, and since when.
    """
    first = next_one(transaction, project_id, actor, wanted, now, before, exclusive=exclusive)
    if first is None:
        return
    places = [place for place in wanted if any(place.clashes(other) for other in first.places)]
    named = ", ".join(place.path for place in places)
    raise claims.ClaimRefused(
        f"nothing was claimed: {first.actor.name} waits for {named} since "
        f"{moment_text(first.created_at, year_of(now))} UTC and is next",
        f"ask {first.actor.name} by a message, or do something else meanwhile",
        places,
    )


_ROWS = """
    SELECT w.id, w.agent_id, a.name, w.session_id, w.places, w.exclusive, w.machine, w.process, w.process_started,
        w.expires_at, w.created_at
    FROM claim_waiters w JOIN agents a ON a.id = w.agent_id
"""


def _waiter(row: Row) -> Waiter:
    number, agent, name, session, places, exclusive, machine, process, started, expires, created = row
    is_here = process is not None and machine is not None and machine == processes.machine()
    return Waiter(
        number,
        Actor(agent, name, session),
        tuple(Place(path, worktree or None, is_key) for path, worktree, is_key in json.loads(places)),
        bool(exclusive),
        Process(process, started) if is_here else None,
        expires,
        created,
    )
