"""Errors that were met in a loop: they wait there until it is known what fixed them."""

from __future__ import annotations

from dataclasses import dataclass

from satchel.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of a run.

    Attributes:
        run: the run's number.
    """

    project_id: int
    run: int
    loop_id: str

    @property
    def values(self) -> dict[str, object]:
        """The parameters that name it in a statement."""
        return {"project": self.project_id, "run": self.run, "loop": self.loop_id}


@dataclass(frozen=True, slots=True)
class Waiting:
    """An error that a loop has met and not solved yet.

    Attributes:
        pattern: its number.
        met_at: milliseconds UTC.
    """

    pattern: int
    error_type: str
    met_at: int


_OPEN = """
    project_id = :project AND run_id = :run AND loop_id = :loop AND pattern_id = :pattern AND solution_id IS NULL
"""


def note(transaction: Transaction, loop: Loop, pattern: int, task_id: str | None, agent: int | None, now: int) -> None:
    """Record that an error was met in a loop; of one that waits there already, the last time counts.

    Args:
        agent: who met it, or None.
        now: milliseconds UTC.
    """
    values = {**loop.values, "pattern": pattern, "task": task_id, "agent": agent, "now": now}
    met_again = transaction.execute(
        f"""
        UPDATE error_reports
        SET created_at = :now, task_id = COALESCE(:task, task_id), agent_id = COALESCE(:agent, agent_id)
        WHERE {_OPEN}
        """,
        values,
    )
    if not met_again:
        transaction.execute(
            """
            INSERT INTO error_reports (project_id, pattern_id, run_id, task_id, loop_id, agent_id, created_at)
            VALUES (:project, :pattern, :run, :task, :loop, :agent, :now)
            """,
            values,
        )


def waiting(transaction: Transaction, loop: Loop, since: int, now: int) -> list[Waiting]:
    """Return the errors that a loop has met and not solved yet, those met first first; expired ones are left out.

    Args:
        since: only those met after this time, in milliseconds UTC.
        now: milliseconds UTC.
    """
    rows = transaction.all(
        """
        SELECT r.pattern_id, p.error_type, r.created_at
        FROM error_reports r JOIN error_patterns p ON p.id = r.pattern_id
        WHERE r.project_id = :project AND r.run_id = :run AND r.loop_id = :loop AND r.solution_id IS NULL
            AND r.created_at > :since AND p.expires_at > :now
        ORDER BY r.created_at, r.id
        """,
        {**loop.values, "since": since, "now": now},
    )
    return [Waiting(*row) for row in rows]


def met_since(transaction: Transaction, loop: Loop, since: int) -> set[str]:
    """Return the hashes of the errors that were reported in a loop after a time, solved or not.

    Args:
        since: milliseconds UTC.
    """
    rows = transaction.all(
        """
        SELECT p.pattern_hash FROM error_reports r JOIN error_patterns p ON p.id = r.pattern_id
        WHERE r.project_id = :project AND r.run_id = :run AND r.loop_id = :loop AND r.created_at > :since
        """,
        {**loop.values, "since": since},
    )
    return {row[0] for row in rows}


def settle(transaction: Transaction, loop: Loop, pattern: int, solution: int) -> None:
    """Record what fixed an error of a loop."""
    transaction.execute(
        f"UPDATE error_reports SET solution_id = :solution WHERE {_OPEN}",
        {**loop.values, "pattern": pattern, "solution": solution},
    )


def settle_of(transaction: Transaction, project_id: int, pattern: int, solution: int, agent: int | None) -> None:
    """Record what fixed an error in every loop where an agent had met it: its own word stands over any guess.

    Args:
        agent: who says so; nothing is recorded for None.
    """
    if agent is not None:
        transaction.execute(
            """
            UPDATE error_reports SET solution_id = :solution
            WHERE project_id = :project AND pattern_id = :pattern AND agent_id = :agent AND solution_id IS NULL
            """,
            {"solution": solution, "project": project_id, "pattern": pattern, "agent": agent},
        )
