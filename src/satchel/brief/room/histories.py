"""Histories of items and errors, and the number of notes in each run."""

from __future__ import annotations

import json

from satchel.base.records import dataclass
from satchel.find.kind import Kind
from satchel.keep import deliveries, events
from satchel.keep.corrections import log
from satchel.keep.patterns.records import SOLUTION_LETTER, ErrorPattern
from satchel.keep.runs import Run
from satchel.store.transaction import Transaction

MOST_DELIVERIES = 20
MOST_WORDS = 200
MOST_REPORTS = 20

_ACTIONS = {log.SUPERSEDED: "replaced", log.RETRACTED: "retracted", log.CONFIRMED: "confirmed"}
_SUPERSEDED = {Kind.ENTRY, Kind.PACKAGE, Kind.STRATEGY}
"""The kinds whose table names the replacement of an item."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """A delivery of an item to an agent.

    Attributes:
        session: the uid of the session, in hexadecimal, with its client and branch; None without one.
        delivered_at: in milliseconds UTC.
    """

    agent: str | None
    session: str | None
    client: str | None
    branch: str | None
    delivered_at: int


@dataclass(frozen=True, slots=True)
class ItemCorrection:
    """A correction of an item by an agent or a person.

    Attributes:
        action: replaced, retracted or confirmed.
        reason: why, or None.
        heir: the short id of its replacement, or None.
        corrected_at: in milliseconds UTC.
    """

    action: str
    agent: str | None
    reason: str | None
    heir: str | None
    corrected_at: int


@dataclass(frozen=True, slots=True)
class ItemHistory:
    """The history of an item.

    Attributes:
        item: its short id.
        corrections: those in force, in order.
        replaces: the short ids of at most 20 items that it replaced.
        replaced_by: the short id of its replacement, or None.
        deliveries: the latest first, at most 20.
    """

    item: str
    corrections: tuple[ItemCorrection, ...]
    replaces: tuple[str, ...]
    replaced_by: str | None
    deliveries: tuple[Delivered, ...]


@dataclass(frozen=True, slots=True)
class SolutionWord:
    """An agent's report on whether a solution helped.

    Attributes:
        solution: its short id.
        confidence: in tenths after that; None if it was not recorded.
        said_at: in milliseconds UTC.
    """

    solution: str
    agent: str | None
    helped: bool
    confidence: int | None
    said_at: int


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """A report of an error.

    Attributes:
        solution: the short id of its fix there, or None.
        reported_at: in milliseconds UTC.
    """

    agent: str | None
    run_id: str
    task_id: str | None
    loop_id: str | None
    solution: str | None
    reported_at: int


@dataclass(frozen=True, slots=True)
class ErrorHistory:
    """An error with the reports on its solutions.

    Attributes:
        words: the newest first, at most 200, of the last 90 days.
        reports: of the error, the newest first, at most 20.
        asked_at: in milliseconds UTC.
    """

    pattern: ErrorPattern
    words: tuple[SolutionWord, ...]
    reports: tuple[ErrorReport, ...]
    asked_at: int


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run, the number of its notes (replaced and retracted ones included), and the time of the last."""

    run: Run
    notes: int
    noted_at: int | None


def of_item(transaction: Transaction, project_id: int, kind: Kind, number: int) -> ItemHistory:
    """Return the history of an item of the project."""
    corrections = tuple(
        ItemCorrection(
            _ACTIONS[one.action],
            one.agent,
            one.reason,
            None if one.heir is None else kind.ref(one.heir),
            one.created_at,
        )
        for one in log.of_item(transaction, kind, number)
    )
    replaces = [
        row[0]
        for row in transaction.all(
            f"SELECT item_id FROM corrections WHERE item_kind = {kind.number} AND heir_id = :id AND undone_at IS NULL "
            f"ORDER BY id DESC LIMIT {MOST_DELIVERIES}",
            {"id": number},
        )
    ]
    heir = next((one.heir for one in reversed(corrections) if one.heir is not None), None)
    if kind in _SUPERSEDED:
        row = transaction.one(f"SELECT superseded_by FROM {kind.table} WHERE id = :id", {"id": number})
        if row is not None and row[0] is not None:
            heir = None if row[0] == number else kind.ref(row[0])
    if kind is Kind.PACKAGE:
        replaces = [
            row[0]
            for row in transaction.all(
                f"SELECT id FROM {kind.table} WHERE superseded_by = :id ORDER BY id DESC LIMIT {MOST_DELIVERIES}",
                {"id": number},
            )
        ]
    delivered = deliveries.of_item(transaction, project_id, kind, number, MOST_DELIVERIES)
    return ItemHistory(
        kind.ref(number),
        corrections,
        tuple(map(kind.ref, dict.fromkeys(replaces))),
        heir,
        tuple(
            Delivered(agent, None if uid is None else uid.hex(), client, branch, at)
            for agent, uid, client, branch, at in delivered
        ),
    )


def has_item(transaction: Transaction, project_id: int, kind: Kind, number: int) -> bool:
    """Return whether the project has an item."""
    sql = f"SELECT 1 FROM {kind.table} WHERE id = :id AND project_id = :project"
    return transaction.one(sql, {"id": number, "project": project_id}) is not None


def of_error(transaction: Transaction, project_id: int, pattern: ErrorPattern, now: int) -> ErrorHistory:
    """Return the reports on an error and on its solutions."""
    rows = transaction.all(
        f"""
        SELECT a.name, e.details, e.created_at FROM events e LEFT JOIN agents a ON a.id = e.agent_id
        WHERE e.project_id = :project AND e.kind = {events.CONFIDENCE}
            AND e.item_kind = {Kind.ERROR_PATTERN.number} AND e.item_id = :id
        ORDER BY e.seq DESC LIMIT {MOST_WORDS}
        """,
        {"project": project_id, "id": pattern.id},
    )
    words = tuple(_word(agent, details, at) for agent, details, at in rows)
    reports = transaction.all(
        f"""
        SELECT a.name, u.run_id, r.task_id, r.loop_id, r.solution_id, r.created_at
        FROM error_reports r JOIN runs u ON u.id = r.run_id LEFT JOIN agents a ON a.id = r.agent_id
        WHERE r.pattern_id = :id ORDER BY r.id DESC LIMIT {MOST_REPORTS}
        """,
        {"id": pattern.id},
    )
    return ErrorHistory(
        pattern,
        words,
        tuple(
            ErrorReport(agent, run, task, loop or None, None if fix is None else f"{SOLUTION_LETTER}{fix}", at)
            for agent, run, task, loop, fix, at in reports
        ),
        now,
    )


def _word(agent: str | None, text: str | None, at: int) -> SolutionWord:
    try:
        read = json.loads(text or "{}")
    except (ValueError, RecursionError):  # another program may have written the row
        read = {}
    details: dict[str, object] = read if isinstance(read, dict) else {}
    confidence = details.get("confidence")
    tenths = confidence if isinstance(confidence, int) else None
    return SolutionWord(str(details.get("solution")), agent, details.get("helped") is True, tenths, at)


def of_run(transaction: Transaction, run: Run) -> RunSummary:
    """Return the number of notes in a run."""
    noted = transaction.one("SELECT count(*), max(created_at) FROM context WHERE run_id = :run", {"run": run.id})
    return RunSummary(run, *(noted or (0, None)))
