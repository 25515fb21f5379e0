"""Error patterns that had a life elsewhere: what they bring along of it, when they are imported."""

from __future__ import annotations

from satchel.base.clock import DAY_MS
from satchel.base.records import dataclass
from satchel.keep.patterns.records import ACTIVE, CONFIRMED, DEMOTED, FIRST
from satchel.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Seen:
    """How often and when an error was met elsewhere; times in milliseconds UTC."""

    occurrences: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class PastSolution:
    """A solution as it stood elsewhere.

    Attributes:
        tenths: its confidence.
        created_at: milliseconds UTC; so for ``updated_at``.
    """

    text: str
    tenths: int
    created_at: int
    updated_at: int

    @property
    def state(self) -> int:
        """What it is at that confidence: it rises by what confirmed it, and falls by what did not help."""
        if self.tenths == FIRST:
            return ACTIVE
        return CONFIRMED if self.tenths > FIRST else DEMOTED


def set_seen(transaction: Transaction, project_id: int, number: int, seen: Seen, uid: bytes) -> None:
    """Give a pattern that was kept just now its past; how long it is kept does not change."""
    transaction.run(
        """
        UPDATE error_patterns SET uid = :uid, occurrences = :times, created_at = :first, last_seen = :last
        WHERE id = :id AND project_id = :project
        """,
        {**_values(project_id, number, seen), "uid": uid},
    )


def add_seen(transaction: Transaction, project_id: int, number: int, seen: Seen) -> None:
    """Add to a pattern how often it was met elsewhere too."""
    transaction.run(
        """
        UPDATE error_patterns
        SET occurrences = occurrences + :times, seq = :seq,
            created_at = CASE WHEN created_at < :first THEN created_at ELSE :first END,
            last_seen = CASE WHEN last_seen > :last THEN last_seen ELSE :last END
        WHERE id = :id AND project_id = :project
        """,
        {**_values(project_id, number, seen), "seq": transaction.next_seq(project_id)},
    )


def renew(
    transaction: Transaction, project_id: int, number: int, occurrences: int, last: int, now: int, days: int | None
) -> None:
    """Record that a pattern was met again elsewhere; its life counts from now.

    Args:
        occurrences: how often it was met there in all.
        last: when, in milliseconds UTC; so for ``now``.
        days: how long it is kept; None keeps what was said before.
    """
    transaction.run(
        f"""
        UPDATE error_patterns
        SET occurrences = CASE WHEN occurrences > :times THEN occurrences ELSE :times END, seq = :seq,
            last_seen = CASE WHEN last_seen > :last THEN last_seen ELSE :last END,
            expires_at = CASE WHEN expires_at > :now + COALESCE(CAST(:days AS BIGINT), ttl_days) * {DAY_MS}
                THEN expires_at ELSE :now + COALESCE(CAST(:days AS BIGINT), ttl_days) * {DAY_MS} END
        WHERE id = :id AND project_id = :project
        """,
        {
            "times": occurrences,
            "seq": transaction.next_seq(project_id),
            "last": last,
            "now": now,
            "days": days,
            "id": number,
            "project": project_id,
        },
    )


def set_solution(transaction: Transaction, project_id: int, number: int, past: PastSolution, uid: bytes | None) -> None:
    """Give a solution the text, confidence and times that it has elsewhere.

    Args:
        uid: 16 bytes; None keeps its own.
    """
    transaction.run(
        """
        UPDATE error_solutions
        SET uid = COALESCE(:uid, uid), seq = :seq, solution = :text, confidence = :tenths, state = :state,
            created_at = :created, updated_at = :updated
        WHERE id = :id AND project_id = :project
        """,
        {
            "uid": uid,
            "seq": transaction.next_seq(project_id),
            "text": past.text,
            "tenths": past.tenths,
            "state": past.state,
            "created": past.created_at,
            "updated": past.updated_at,
            "id": number,
            "project": project_id,
        },
    )


def _values(project_id: int, number: int, seen: Seen) -> dict[str, object]:
    return {
        "times": seen.occurrences,
        "first": seen.first,
        "last": seen.last,
        "id": number,
        "project": project_id,
    }
