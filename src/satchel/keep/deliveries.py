"""Deliveries: what was delivered in which context window, so that a briefing repeats nothing there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from satchel.base.text import fold
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Transaction

_NONE, _NOBODY = "", 0
"""What stands in the table for no task, role, run, session and agent: nulls would be distinct in its key."""


@dataclass(frozen=True, slots=True)
class Window:
    """A context window of one agent.

    In a session it is one of the session's; each iteration of the agent has one of its own. Without a session it is
    one iteration of an agent in its role at a task of a run.

    Attributes:
        number: that of the session's window; 0 without a session.
        run: the run's number, without a session.
        role: folded, or None.
    """

    project_id: int
    session: int | None
    number: int
    agent: int | None
    iteration: int
    run: int | None = None
    task_id: str | None = None
    role: str | None = None

    @property
    def values(self) -> dict[str, object]:
        """The parameters that name it in a statement."""
        return {
            "project": self.project_id,
            "session": self.session or _NOBODY,
            "number": self.number,
            "agent": self.agent or _NOBODY,
            "iteration": self.iteration,
            "run": self.run or _NOBODY,
            "task": self.task_id or _NONE,
            "role": _NONE if self.role is None else fold(self.role),
        }


def window_of(project_id: int, actor: Actor, run: int, task_id: str | None, role: str | None, iteration: int) -> Window:
    """Return the window that an agent asks in.

    Args:
        run, task_id, role: what tells windows apart without a session.
        iteration: the agent's attempt, from 0.
    """
    if actor.session is not None:
        return Window(project_id, actor.session, actor.window, actor.number, iteration)
    return Window(project_id, None, 0, actor.number, iteration, run, task_id, role)


_IS_WINDOW = """
    w.project_id = :project AND w.agent_id = :agent AND w.session_id = :session AND COALESCE(w.run_id, 0) = :run
    AND w.number = :number AND w.iteration = :iteration AND w.task_id = :task AND w.role = :role
"""


def delivered(transaction: Transaction, window: Window) -> dict[int, dict[int, int]]:
    """Return what was delivered in a window: by the numbers of kind and item, the item's seq when it was shown."""
    rows = transaction.all(
        f"SELECT d.kind, d.item_id, d.seq FROM windows w JOIN deliveries d ON d.window_id = w.id WHERE {_IS_WINDOW}",
        window.values,
    )
    found: dict[int, dict[int, int]] = {}
    for kind, item, seq in rows:
        found.setdefault(kind, {})[item] = seq
    return found


def record(transaction: Transaction, window: Window, items: Iterable[tuple[int, int, int]], now: int) -> None:
    """Record that items were delivered.

    Args:
        items: the number of the kind, of the item, and the item's seq when it was shown.
        now: milliseconds UTC.
    """
    row = transaction.one(f"SELECT w.id FROM windows w WHERE {_IS_WINDOW}", window.values)
    if row is None:
        values = window.values
        number = transaction.add(
            "windows",
            {
                "project_id": values["project"],
                "session_id": values["session"],
                "number": values["number"],
                "run_id": window.run,
                "task_id": values["task"],
                "role": values["role"],
                "agent_id": values["agent"],
                "iteration": values["iteration"],
                "seen_at": now,
            },
        )
    else:
        number = row[0]
        transaction.execute("UPDATE windows SET seen_at = :now WHERE id = :id", {"now": now, "id": number})
    transaction.many(
        """
        INSERT INTO deliveries (window_id, kind, item_id, seq, created_at) VALUES (:window, :kind, :item, :seq, :now)
        ON CONFLICT (window_id, kind, item_id) DO UPDATE SET seq = excluded.seq, created_at = excluded.created_at
        """,
        [{"window": number, "kind": kind, "item": item, "seq": seq, "now": now} for kind, item, seq in items],
    )


def to_writer(session: int | None, run: int, agent: int | None) -> tuple[str, dict[str, object]]:
    """Return the condition on the windows ``w`` of all that was delivered to who writes, and its values.

    That is to an agent in its session, or in a run where it has none.
    """
    values: dict[str, object] = {"session": session or _NOBODY, "run": run, "agent": agent or _NOBODY}
    if session is None:
        return "w.agent_id = :agent AND w.session_id = 0 AND w.run_id = :run AND w.project_id = :project", values
    return "w.session_id = :session AND w.agent_id = :agent AND w.project_id = :project", values
