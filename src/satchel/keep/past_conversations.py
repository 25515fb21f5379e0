"""Deletion of conversations that nobody continues, with contents only they need."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.store.transaction import Transaction, set_of

MOST = 5
"""Maximum number of conversations deleted by one sweep."""

GOES_ON = "(expires_at > :now OR lease_until > :now)"
"""Condition for unexpired conversations; one held by a call does not expire."""

FREE = "(lease_until IS NULL OR lease_until <= :now)"
"""Condition for conversations that no call holds."""

_OVER = f"expires_at <= :now AND {FREE}"


def sweep(transaction: Transaction, project_id: int, by: int, now: int) -> int:
    """Delete conversations of a project that had expired by a time and that no call holds; return their number."""
    rows = transaction.all(
        f"SELECT id FROM conversations WHERE project_id = :project AND expires_at <= :by AND {FREE} "
        "ORDER BY expires_at, id LIMIT :most",
        {"project": project_id, "by": by, "now": now, "most": MOST},
    )
    return remove(transaction, [row[0] for row in rows], project_id)


def count_old(transaction: Transaction, project_id: int, before: int | None, now: int) -> int:
    """Count a project's conversations without a turn after ``before`` that no call holds; None counts expired ones."""
    row = transaction.one(f"SELECT count(*) FROM conversations WHERE {_old(before)}", _values(project_id, before, now))
    return int(row[0]) if row else 0


def remove_old(transaction: Transaction, project_id: int, before: int | None, now: int) -> int:
    """Delete some conversations counted by :func:`count_old`, and return their number; 0 once all are deleted."""
    rows = transaction.all(
        f"SELECT id FROM conversations WHERE {_old(before)} ORDER BY id LIMIT {MOST}",
        _values(project_id, before, now),
    )
    return remove(transaction, [row[0] for row in rows], project_id)


def remove(transaction: Transaction, numbers: Sequence[int], project_id: int) -> int:
    """Delete conversations with their turns, files and unshared contents.

    Vector stores made for them stay recorded until deleted at their provider.
    """
    if not numbers:
        return 0
    deleted = transaction.execute(f"DELETE FROM conversations WHERE id IN {set_of(numbers)}")
    remove_contents(transaction, project_id)
    return deleted


def remove_contents(transaction: Transaction, project_id: int | None = None) -> int:
    """Delete contents that no conversation of their project refers to, and return their number; None covers all
    projects.
    """
    # NOT IN over pairs would be much slower
    return transaction.execute(
        """
        DELETE FROM blobs WHERE id IN (
            SELECT id FROM blobs WHERE CAST(:project AS BIGINT) IS NULL OR project_id = :project
            EXCEPT
            SELECT b.id FROM conversation_files f
            JOIN conversation_folders d ON d.id = f.folder_id JOIN conversations c ON c.id = d.conversation_id
            JOIN blobs b ON b.project_id = c.project_id AND b.digest = f.digest
        )
        """,
        {"project": project_id},
    )


def _old(before: int | None) -> str:
    aged = _OVER if before is None else f"turns > 0 AND updated_at <= :before AND {FREE}"
    return f"project_id = :project AND {aged}"


def _values(project_id: int, before: int | None, now: int) -> dict[str, object]:
    return {"project": project_id, "before": before, "now": now}
