"""Runs that ended elsewhere, and are kept here for what belongs to them."""

from __future__ import annotations

from satchel.base.records import dataclass
from satchel.keep import runs
from satchel.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run that ended elsewhere.

    Attributes:
        uid: 16 bytes.
        status: completed or failed; of the run ``main`` active.
        created_at: milliseconds UTC; so for ``ended_at``, which is None where nobody knows.
    """

    uid: bytes
    run_id: str
    title: str | None
    status: str
    created_at: int
    ended_at: int | None


@dataclass(frozen=True, slots=True)
class KnownRun:
    """What has to be known of a run to say whether it is one that ended elsewhere."""

    number: int
    uid: bytes
    ended_at: int | None


def find(transaction: Transaction, project_id: int, name: str) -> KnownRun | None:
    """Return the run of a name, or None where the project has none."""
    row = transaction.one(
        "SELECT id, uid, ended_at FROM runs WHERE project_id = :project AND run_id = :name",
        {"project": project_id, "name": name},
    )
    return None if row is None else KnownRun(*row)


def upsert(transaction: Transaction, project_id: int, past: PastRun) -> int:
    """Keep a run that ended elsewhere, and return its number."""
    transaction.forget()
    return transaction.add(
        "runs",
        {
            "uid": past.uid,
            "seq": transaction.next_seq(project_id),
            "project_id": project_id,
            "run_id": past.run_id,
            "title": past.title,
            "status": runs.STATUSES.index(past.status) + 1,
            "created_at": past.created_at,
            "ended_at": past.ended_at,
        },
    )


def bring_up_to_date(transaction: Transaction, project_id: int, number: int, past: PastRun) -> None:
    """Record how a run that ended elsewhere ended, where it had not when it was brought in."""
    transaction.forget()
    transaction.run(
        """
        UPDATE runs SET title = :title, status = :status, ended_at = :ended, seq = :seq
        WHERE id = :id AND project_id = :project
        """,
        {
            "title": past.title,
            "status": runs.STATUSES.index(past.status) + 1,
            "ended": past.ended_at,
            "seq": transaction.next_seq(project_id),
            "id": number,
            "project": project_id,
        },
    )
