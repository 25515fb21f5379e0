"""Errors reported in a loop, waiting for the fix that makes the loop succeed."""

from __future__ import annotations

from satchel.base.records import dataclass
from satchel.keep.loop_scope import LoopScope
from satchel.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Waiting:
    """An error reported in a loop and not solved yet.

    Attributes:
        pattern: its number.
        met_at: when it was last reported, in milliseconds UTC.
    """

    pattern: int
    error_type: str
    met_at: int


def note(transaction: Transaction, place: LoopScope, pattern: int, now: int) -> None:
    """Record a report of an error; repeated reports by one author at one place keep only the latest time."""
    values = {**place.values, "pattern": pattern, "now": now}
    met_again = transaction.execute(
        """
        UPDATE error_reports SET created_at = :now
        WHERE project_id = :project AND run_id = :run AND task_id IS NOT DISTINCT FROM :task
            AND loop_id IS NOT DISTINCT FROM :loop AND agent_id IS NOT DISTINCT FROM :author
            AND session_id IS NOT DISTINCT FROM :session AND pattern_id = :pattern AND solution_id IS NULL
        """,
        values,
    )
    if not met_again:
        transaction.run(
            """
            INSERT INTO error_reports
                (project_id, pattern_id, run_id, task_id, loop_id, agent_id, session_id, created_at)
            VALUES (:project, :pattern, :run, :task, :loop, :author, :session, :now)
            """,
            values,
        )


def waiting(transaction: Transaction, loop: LoopScope, since: int, now: int) -> list[Waiting]:
    """Return the unsolved and unexpired errors of a loop reported after ``since``, oldest first.

    Errors of commands that still fail are left out: the agent's work has not fixed them.
    """
    rows = transaction.all(
        f"""
        SELECT r.pattern_id, p.error_type, max(r.created_at)
        FROM error_reports r JOIN error_patterns p ON p.id = r.pattern_id
        WHERE {loop.holds("error_reports", "r")} AND r.solution_id IS NULL
            AND r.created_at > :since AND p.expires_at > :now AND NOT EXISTS (
                SELECT 1 FROM failed_commands f WHERE f.session_id = r.session_id AND f.pattern_id = r.pattern_id)
        GROUP BY r.pattern_id, p.error_type
        ORDER BY max(r.created_at), min(r.id)
        """,
        {**loop.values, "since": since, "now": now},
    )
    return [Waiting(*row) for row in rows]


def met_since(transaction: Transaction, loop: LoopScope, since: int) -> set[str]:
    """Return the hashes of all errors reported in a loop after a time."""
    rows = transaction.all(
        f"""
        SELECT p.pattern_hash FROM error_reports r JOIN error_patterns p ON p.id = r.pattern_id
        WHERE {loop.holds("error_reports", "r")} AND r.created_at > :since
        """,
        {**loop.values, "since": since},
    )
    return {row[0] for row in rows}


def settle(transaction: Transaction, loop: LoopScope, pattern: int, solution: int) -> None:
    """Record the solution of a loop's error."""
    transaction.run(
        f"""
        UPDATE error_reports SET solution_id = :solution
        WHERE {loop.holds("error_reports")} AND pattern_id = :pattern AND solution_id IS NULL
        """,
        {**loop.values, "pattern": pattern, "solution": solution},
    )


def settle_of(transaction: Transaction, project_id: int, pattern: int, solution: int, agent: int | None) -> None:
    """Record the solution of an error in every loop where the agent reported it; None covers all anonymous agents.

    An agent's own report overrides any guess.
    """
    transaction.run(
        """
        UPDATE error_reports SET solution_id = :solution
        WHERE project_id = :project AND pattern_id = :pattern AND agent_id IS NOT DISTINCT FROM :agent
            AND solution_id IS NULL
        """,
        {"solution": solution, "project": project_id, "pattern": pattern, "agent": agent},
    )
