"""Deliveries: what was delivered to whom, so that a briefing repeats nothing within one iteration."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from satchel.base.text import fold
from satchel.store.transaction import Transaction

NO_TASK, NO_ROLE, NOBODY = "", "", 0
"""What stands in the table for no task, no role and no agent: nulls would be distinct in its key."""


@dataclass(frozen=True, slots=True)
class Receiver:
    """To whom something is delivered: an agent in its role, at one iteration of a task of a run.

    Attributes:
        run: the run's number.
        role: folded, or None.
        agent: the agent's number, or None.
    """

    run: int
    task_id: str | None
    role: str | None
    agent: int | None
    iteration: int

    @property
    def values(self) -> dict[str, object]:
        """The parameters that name it in a statement."""
        return {
            "run": self.run,
            "task": NO_TASK if self.task_id is None else self.task_id,
            "role": NO_ROLE if self.role is None else fold(self.role),
            "agent": NOBODY if self.agent is None else self.agent,
            "iteration": self.iteration,
        }


def delivered(transaction: Transaction, receiver: Receiver) -> dict[int, dict[int, int]]:
    """Return what a receiver has got: by the number of the kind and of the item, the item's seq when it was shown."""
    rows = transaction.all(
        """
        SELECT kind, item_id, seq FROM deliveries
        WHERE run_id = :run AND task_id = :task AND role = :role AND agent_id = :agent AND iteration = :iteration
        """,
        receiver.values,
    )
    found: dict[int, dict[int, int]] = {}
    for kind, item, seq in rows:
        found.setdefault(kind, {})[item] = seq
    return found


def record(transaction: Transaction, receiver: Receiver, items: Iterable[tuple[int, int, int]], now: int) -> None:
    """Record that items were delivered.

    Args:
        items: the number of the kind, of the item, and the item's seq when it was shown.
        now: milliseconds UTC.
    """
    transaction.many(
        """
        INSERT INTO deliveries (run_id, task_id, role, agent_id, iteration, kind, item_id, created_at, seq)
        VALUES (:run, :task, :role, :agent, :iteration, :kind, :item, :now, :seq)
        ON CONFLICT (run_id, task_id, role, agent_id, iteration, kind, item_id)
        DO UPDATE SET seq = excluded.seq, created_at = excluded.created_at
        """,
        [{**receiver.values, "kind": kind, "item": item, "seq": seq, "now": now} for kind, item, seq in items],
    )
