"""Re-signing of patterns signed by older rules; patterns that turn out to be the same error are merged."""

from __future__ import annotations

from satchel.base.text import fold
from satchel.keep.patterns import updates
from satchel.keep.patterns.records import ACTIVE, CONFIRMED, DEMOTED, FIRST, LEAST, MOST, TENTATIVE
from satchel.keep.patterns.signing import VERSION, signed
from satchel.store.transaction import Transaction

AT_ONCE = 20
"""Maximum number of patterns that one report re-signs, to bound its time."""


def resign(transaction: Transaction, project_id: int, error_type: str, now: int) -> bool:
    """Re-sign up to :data:`AT_ONCE` patterns of older rules, those of the given type first, and delete expired ones.

    Return whether there were any.
    """
    plain = error_type.rpartition(".")[2] or error_type
    length = len(plain)
    rows = transaction.all(
        f"""
        SELECT id, error_type, example, expires_at FROM error_patterns
        WHERE project_id = :project AND signed_by < {VERSION}
        ORDER BY CASE WHEN error_type = :type THEN 0
            WHEN length(error_type) >= {length}
                AND substr(error_type, length(error_type) - {length} + 1) = :plain THEN 1
            WHEN length(error_type) <= length(:type)
                AND substr(:type, length(:type) - length(error_type) + 1) = error_type THEN 1
            ELSE 2 END, id
        LIMIT {AT_ONCE}
        """,
        {"project": project_id, "type": error_type, "plain": plain},
    )
    changed: dict[int, None] = {}
    for number, kind, example, expires in rows:
        if expires <= now:
            updates.delete(transaction, project_id, [number])
            continue
        made = signed(kind, example)
        other = transaction.one(
            """
            SELECT id, expires_at FROM error_patterns
            WHERE project_id = :project AND pattern_hash = :hash AND id <> :id
            """,
            {"project": project_id, "hash": made.hash, "id": number},
        )
        if other is not None and other[1] <= now:
            updates.delete(transaction, project_id, [other[0]])
            other = None
        target = number
        if other is not None:
            target, duplicate = sorted((number, int(other[0])))
            merge(transaction, project_id, target, duplicate, now)
            changed.pop(duplicate, None)
            changed[target] = None
        transaction.run(
            f"""
            UPDATE error_patterns SET pattern_hash = :hash, message = :message, signed_by = {VERSION}
            WHERE id = :id AND project_id = :project
            """,
            {"hash": made.hash, "message": made.message, "id": target, "project": project_id},
        )
    for number in changed:
        updates.index(transaction, number, is_new=False)
    return bool(rows)


def merge(transaction: Transaction, project_id: int, target: int, duplicate: int, now: int) -> None:
    """Merge one pattern into another: add the counts, move the solutions.

    Equal solutions become the older one, with the confirmations and failures of both.
    """
    values: dict[str, object] = {"kept": target, "gone": duplicate, "project": project_id}
    transaction.run(
        """
        UPDATE error_patterns SET
            occurrences = occurrences + g.times, seq = :seq,
            lang = CASE WHEN g.spoken IS NULL OR g.spoken <> lang THEN NULL ELSE lang END,
            ttl_days = CASE WHEN g.days > ttl_days THEN g.days ELSE ttl_days END,
            last_seen = CASE WHEN g.seen > last_seen THEN g.seen ELSE last_seen END,
            expires_at = CASE WHEN g.ends > expires_at THEN g.ends ELSE expires_at END,
            created_at = CASE WHEN g.made < created_at THEN g.made ELSE created_at END
        FROM (
            SELECT occurrences AS times, lang AS spoken, ttl_days AS days, last_seen AS seen, expires_at AS ends,
                created_at AS made
            FROM error_patterns WHERE id = :gone AND project_id = :project
        ) AS g
        WHERE id = :kept AND project_id = :project
        """,
        {**values, "seq": transaction.next_seq(project_id)},
    )
    texts = "SELECT id, solution FROM error_solutions WHERE project_id = :project AND pattern_id = :pattern ORDER BY id"
    there: dict[str, int] = {
        fold(text): number for number, text in transaction.all(texts, {"project": project_id, "pattern": target})
    }
    for number, text in transaction.all(texts, {"project": project_id, "pattern": duplicate}):
        same = there.setdefault(fold(text), number)
        if same != number:
            _merge_solutions(transaction, project_id, same, number, now)
    transaction.run(
        "UPDATE error_solutions SET pattern_id = :kept WHERE pattern_id = :gone AND project_id = :project", values
    )
    transaction.run(
        "UPDATE error_reports SET pattern_id = :kept WHERE pattern_id = :gone AND project_id = :project", values
    )
    updates.delete(transaction, project_id, [duplicate])


def _merge_solutions(transaction: Transaction, project_id: int, target: int, duplicate: int, now: int) -> None:
    values: dict[str, object] = {"kept": target, "gone": duplicate, "project": project_id}
    # an agent's verdict on both counts once
    transaction.run(
        """
        INSERT INTO solution_confirmations (solution_id, agent_id, session_id, helped)
        SELECT :kept, agent_id, session_id, helped FROM solution_confirmations WHERE solution_id = :gone
        ON CONFLICT DO NOTHING
        """,
        values,
    )
    rows = {
        number: (tenths, confirmed, failed)
        for number, tenths, confirmed, failed in transaction.all(
            """
            SELECT id, confidence, confirmed, failed FROM error_solutions
            WHERE id IN (:kept, :gone) AND project_id = :project
            """,
            values,
        )
    }
    (tenths, confirmed, failed), (more, too, against) = rows[target], rows[duplicate]
    confidence = max(LEAST, min(MOST, tenths + more - FIRST))
    state = DEMOTED if confidence < TENTATIVE else CONFIRMED if confirmed + too else ACTIVE
    transaction.run(
        """
        UPDATE error_solutions SET confidence = :tenths, confirmed = :confirmed, failed = :failed, state = :state,
            seq = :seq, updated_at = :now
        WHERE id = :kept AND project_id = :project
        """,
        {
            **values,
            "tenths": confidence,
            "confirmed": confirmed + too,
            "failed": failed + against,
            "state": state,
            "seq": transaction.next_seq(project_id),
            "now": now,
        },
    )
    transaction.run(
        "UPDATE error_reports SET solution_id = :kept WHERE solution_id = :gone AND project_id = :project", values
    )
    transaction.run("DELETE FROM error_solutions WHERE id = :gone AND project_id = :project", values)
