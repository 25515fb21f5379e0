"""Events of a project that are recorded nowhere else; kept 90 days."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.base.clock import DAY_MS
from satchel.find.kind import Kind
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Transaction

# The kinds of events, stored by their position, from 1.
KINDS = (
    "delivery",
    "refusal",
    "release",
    "expiry",
    "retraction",
    "acceptance",
    "confidence",
    "session_started",
    "session_ended",
    "hook_failed",
    "confirmation",
    "taken_back",
    "pinned",
    "unpinned",
    "run_ended",
    "forgotten",
    "progress",
    "recovery",
    "action",
    "extension",
    "idle",
)

DELIVERY, REFUSAL, RELEASE, EXPIRY, RETRACTION, ACCEPTANCE, CONFIDENCE, SESSION_STARTED = range(1, 9)
SESSION_ENDED, HOOK_FAILED, CONFIRMATION, TAKEN_BACK, PINNED, UNPINNED, RUN_ENDED, FORGOTTEN = range(9, 17)
# A commit or a test run that passed, as a hook saw it: ``details`` has ``what``, "commit" or "tests", and the
# ``subject`` of a commit. A command that passed after it had failed: ``details`` has its first words, ``command``. And
# what only a person may do, or what ends a protection: ``details`` has the action in words, ``what``. And that an
# agent went on which was at its prompt: ``details`` has since when it was there, ``began``.
PROGRESS, RECOVERY, ACTION, EXTENSION, IDLE = range(17, 22)

# The condition of the index ``events_drawn``, in SQL.
IS_DRAWN = f"kind IN ({REFUSAL}, {RELEASE}, {EXPIRY}, {PROGRESS}, {EXTENSION})"

KEPT_DAYS = 90


def record(
    transaction: Transaction,
    project_id: int,
    kind: int,
    now: int,
    *,
    session: int | None = None,
    agent: int | None = None,
    by: Actor | None = None,
    item: tuple[Kind, int] | None = None,
    details: Mapping[str, object] | None = None,
) -> None:
    """Record an event.

    ``by`` is the actor of a call, instead of ``session`` and ``agent``; ``details`` are plain values, stored as JSON.
    """
    if by is not None:
        session, agent = by.session, by.number
    if details is not None:
        import json  # imported here: few events have details

    transaction.add(
        "events",
        {
            "project_id": project_id,
            "session_id": session,
            "agent_id": agent,
            "kind": kind,
            "item_kind": None if item is None else item[0].number,
            "item_id": None if item is None else item[1],
            "details": None if details is None else json.dumps(details, ensure_ascii=False, separators=(",", ":")),
            "created_at": now,
        },
    )


def sweep(transaction: Transaction, project_id: int, now: int, most: int) -> int:
    """Delete up to ``most`` events older than :data:`KEPT_DAYS`, and return their number."""
    removed = transaction.all(
        """
        DELETE FROM events WHERE seq IN (
            SELECT seq FROM (
                SELECT seq, created_at FROM events WHERE project_id = :project ORDER BY seq LIMIT :most
            ) AS first WHERE created_at <= :before
        ) RETURNING seq
        """,
        {"project": project_id, "before": now - KEPT_DAYS * DAY_MS, "most": most},
    )
    if removed:
        # so that slow listeners notice that they missed events
        transaction.run(
            "UPDATE projects SET events_swept = :swept WHERE id = :project",
            {"project": project_id, "swept": max(seq for (seq,) in removed)},
        )
    return len(removed)
