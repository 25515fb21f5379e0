"""Writes of error patterns and solutions, and of their search documents."""

from __future__ import annotations

import os
from collections.abc import Sequence

from satchel.base.errors import NotFound
from satchel.base.records import NamedTuple, dataclass, replace
from satchel.base.text import fold
from satchel.find import documents
from satchel.find.kind import Kind
from satchel.keep import events
from satchel.keep.loop_scope import LoopScope
from satchel.keep.patterns.records import (
    COLUMNS,
    CONFIRMATION,
    CONFIRMED,
    DEMOTED,
    FAILURE,
    FIRST,
    LEAST,
    MOST,
    SOLUTION_COLUMNS,
    SOLUTION_LETTER,
    SOLUTION_SOURCE,
    TENTATIVE,
    WEAK,
    ErrorPattern,
    Solution,
    pattern_of,
    solution_of,
    solutions_of,
)
from satchel.keep.patterns.stacks import without_stacks
from satchel.keep.texts import Storable
from satchel.store.transaction import Transaction, grouped, set_of, update_row


def index(transaction: Transaction, number: int, *, is_new: bool) -> None:
    if not is_new:
        documents.remove(transaction, Kind.ERROR_PATTERN, [number])
    for document in DOCUMENTS.load(transaction, number - 1, 1):
        documents.add(transaction, document, counts=True)


class Reporter(NamedTuple):
    """An agent that reports errors, fixes or outcomes, with the transaction, project and time of its call."""

    transaction: Transaction
    project_id: int
    agent: int | None
    session: int | None
    now: int


def solve(by: Reporter, pattern: int, fix: Storable) -> tuple[int, bool, tuple[str, ...]]:
    """Record a solution, or confirm the same one of another agent; return its number, whether it is new, and notes."""
    transaction, project_id, agent, _, now = by
    rows = transaction.all(
        "SELECT id, solution, agent_id FROM error_solutions WHERE project_id = :project AND pattern_id = :pattern",
        {"project": project_id, "pattern": pattern},
    )
    same = next(((number, author) for number, text, author in rows if fold(text) == fold(fix.text)), None)
    if same is not None:
        ref = f"{SOLUTION_LETTER}{same[0]}"
        if agent is None or same[1] is None or agent == same[1]:
            return same[0], False, (f"{ref} already records this fix; only another agent can confirm it",)
        if not record_outcome(by, same[0], helped=True)[1]:
            return same[0], False, (f"{ref} already records this fix, and this agent has confirmed it before",)
        return same[0], False, (f"{ref} already records this fix: it is now confirmed",)
    seq = transaction.next_seq(project_id)
    number = transaction.add(
        "error_solutions",
        {
            "uid": os.urandom(16),
            "seq": seq,
            "project_id": project_id,
            "pattern_id": pattern,
            "solution": fix.text,
            "confidence": FIRST,
            "agent_id": agent,
            "created_at": now,
            "updated_at": now,
        },
    )
    _touch(transaction, pattern, seq)
    return number, True, ()


_ALIVE = """
    id = :id AND project_id = :project AND EXISTS (
        SELECT 1 FROM error_patterns p
        WHERE p.id = error_solutions.pattern_id AND p.project_id = :project AND p.expires_at > :now)
"""
_CONFIRM = f"""
    UPDATE error_solutions
    SET confirmed = confirmed + 1, seq = :seq, updated_at = :now,
        confidence = CASE WHEN confidence + {CONFIRMATION} > {MOST} THEN {MOST} ELSE confidence + {CONFIRMATION} END,
        state = CASE WHEN confidence + {CONFIRMATION} < {TENTATIVE} THEN {DEMOTED} ELSE {CONFIRMED} END
    WHERE {_ALIVE}
"""
_FAIL = f"""
    UPDATE error_solutions
    SET failed = failed + 1, seq = :seq, updated_at = :now,
        confidence = CASE WHEN confidence - {FAILURE} < {LEAST} THEN {LEAST} ELSE confidence - {FAILURE} END,
        state = CASE WHEN confidence - {FAILURE} < {TENTATIVE} THEN {DEMOTED} ELSE state END
    WHERE {_ALIVE}
"""


def record_outcome(by: Reporter, number: int, *, helped: bool) -> tuple[int, bool]:
    """Record whether a solution helped, once per session; return its pattern, and whether the verdict is new."""
    transaction, project_id, agent, session, now = by
    values = {"id": number, "project": project_id, "now": now}
    solution = transaction.one(f"SELECT pattern_id, agent_id FROM error_solutions WHERE {_ALIVE}", values)
    if solution is None:
        raise no_solution(number)
    if helped and agent is not None and agent == solution[1]:
        return int(solution[0]), False
    is_news = transaction.execute(
        """
        INSERT INTO solution_confirmations (solution_id, agent_id, session_id, helped)
        VALUES (:id, :agent, :session, :helped)
        ON CONFLICT DO NOTHING
        """,
        {"id": number, "agent": agent, "session": session, "helped": int(helped)},
    )
    if is_news:
        seq = transaction.next_seq(project_id)
        moved = transaction.one(f"{_CONFIRM if helped else _FAIL} RETURNING confidence", {**values, "seq": seq})
        assert moved is not None
        _touch(transaction, solution[0], seq)
        events.record(
            transaction,
            project_id,
            events.CONFIDENCE,
            now,
            session=session,
            agent=agent,
            item=(Kind.ERROR_PATTERN, solution[0]),
            details={"solution": f"{SOLUTION_LETTER}{number}", "helped": helped, "confidence": moved[0]},
        )
    return int(solution[0]), is_news > 0


def no_solution(number: int) -> NotFound:
    return NotFound(
        f"there is no solution {SOLUTION_LETTER}{number} in this project, or it has expired",
        "Reporting or listing errors shows the ids of their solutions",
    )


def _touch(transaction: Transaction, pattern: int, seq: int) -> None:
    # a change of a solution counts as one of its pattern
    update_row(transaction, "error_patterns", pattern, seq=seq)


def load(transaction: Transaction, project_id: int, key: int | str, now: int, least: int = WEAK) -> ErrorPattern | None:
    """Return a pattern by number or hash, with solutions of at least ``least`` tenths; None if missing or expired."""
    column = "id" if isinstance(key, int) else "pattern_hash"
    row = transaction.one(
        f"SELECT {COLUMNS} FROM error_patterns p "
        f"WHERE p.{column} = :key AND p.project_id = :project AND p.expires_at > :now",
        {"key": key, "project": project_id, "now": now},
    )
    if row is None:
        return None
    return pattern_of(row, solutions_of(transaction, project_id, [row[0]], least).get(row[0], ()))


def load_with_tried(
    transaction: Transaction, project_id: int, key: int | str, now: int
) -> tuple[ErrorPattern, tuple[Solution, ...]] | None:
    """Return a pattern with the solutions to offer, and the fixes that have failed too often for that."""
    pattern = load(transaction, project_id, key, now, LEAST)
    if pattern is None:
        return None
    offered = tuple(solution for solution in pattern.solutions if solution.confidence >= WEAK)
    tried = tuple(solution for solution in pattern.solutions if solution.confidence < WEAK and solution.failed)
    return replace(pattern, solutions=offered), tried


def load_solution(transaction: Transaction, project_id: int, number: int) -> Solution:
    row = transaction.one(
        f"SELECT {SOLUTION_COLUMNS} FROM {SOLUTION_SOURCE} WHERE s.id = :id AND s.project_id = :project",
        {"id": number, "project": project_id},
    )
    if row is None:
        raise no_solution(number)
    return solution_of(row)


def delete_solution(transaction: Transaction, project_id: int, solution: Solution) -> None:
    transaction.run(
        "DELETE FROM error_solutions WHERE id = :id AND project_id = :project",
        {"id": solution.id, "project": project_id},
    )
    _touch(transaction, solution.pattern_id, transaction.next_seq(project_id))
    index(transaction, solution.pattern_id, is_new=False)


def delete(transaction: Transaction, project_id: int, numbers: Sequence[int]) -> None:
    transaction.run(
        f"DELETE FROM error_patterns WHERE project_id = :project AND id IN {set_of(numbers)}", {"project": project_id}
    )
    documents.remove(transaction, Kind.ERROR_PATTERN, numbers)


def display_texts(transaction: Transaction, numbers: Sequence[int]) -> dict[int, str]:
    """Return the texts that a search shows of patterns by number: the error without its stack, and the fixes."""
    from satchel.keep.patterns import saying  # imported here: only a search needs it

    rows = transaction.all(f"SELECT id, error_type, example FROM error_patterns WHERE id IN {set_of(numbers)}")
    fixes = _fixes(transaction, numbers)
    return {
        number: "\n".join(
            (
                f"{name}: {saying.read(text).message or text}",
                *(f"{_label(confidence)}: {fix}" for fix, confidence in fixes.get(number, ())),
            )
        )
        for number, name, text in rows
    }


def _label(confidence: int) -> str:
    # a solution that failed more often than it helped is not a fix
    return "fix" if confidence >= TENTATIVE else "a fix that has failed"


def _fixes(transaction: Transaction, patterns: Sequence[int]) -> dict[int, list[tuple[str, int]]]:
    rows = transaction.all(
        f"""
        SELECT pattern_id, solution, confidence FROM error_solutions
        WHERE pattern_id IN {set_of(patterns)} ORDER BY id
        """
    )
    return grouped((pattern, (text, confidence)) for pattern, text, confidence in rows)


def _searchable(error_type: str, message: str, example: str, fixes: Sequence[tuple[str, int]] = ()) -> str:
    # lines of code in a stack match what has nothing to do with the error
    return "\n".join((error_type, message, without_stacks(example), *(fix for fix, _ in fixes)))


DOCUMENTS = documents.Source(
    Kind.ERROR_PATTERN, "error_type, message, example", _searchable, also=_fixes, expires_at="expires_at"
)


@dataclass(frozen=True, slots=True)
class Waiting:
    """An error reported in a loop and not solved yet."""

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
    """Return a loop's unsolved errors reported after ``since``, oldest first, except of commands that still fail."""
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
    rows = transaction.all(
        f"""
        SELECT p.pattern_hash FROM error_reports r JOIN error_patterns p ON p.id = r.pattern_id
        WHERE {loop.holds("error_reports", "r")} AND r.created_at > :since
        """,
        {**loop.values, "since": since},
    )
    return {row[0] for row in rows}


def settle(transaction: Transaction, loop: LoopScope, pattern: int, solution: int) -> None:
    transaction.run(
        f"""
        UPDATE error_reports SET solution_id = :solution
        WHERE {loop.holds("error_reports")} AND pattern_id = :pattern AND solution_id IS NULL
        """,
        {**loop.values, "pattern": pattern, "solution": solution},
    )


def settle_of(by: Reporter, pattern: int, solution: int) -> None:
    """Record the solution of an error in every loop where the agent reported it; None covers all anonymous agents."""
    by.transaction.run(
        """
        UPDATE error_reports SET solution_id = :solution
        WHERE project_id = :project AND pattern_id = :pattern AND agent_id IS NOT DISTINCT FROM :agent
            AND solution_id IS NULL
        """,
        {"solution": solution, "project": by.project_id, "pattern": pattern, "agent": by.agent},
    )
