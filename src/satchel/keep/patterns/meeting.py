"""Recording of errors: known ones are counted, new ones stored."""

from __future__ import annotations

import os
from collections.abc import Sequence

from satchel.base.clock import DAY_MS
from satchel.base.records import dataclass
from satchel.find import documents
from satchel.find.kind import Kind
from satchel.keep.patterns import resigning
from satchel.keep.patterns.preparing import Prepared
from satchel.keep.patterns.records import DEFAULT_TTL_DAYS
from satchel.keep.patterns.signing import VERSION
from satchel.store.transaction import Row, Transaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from satchel.keep.patterns.similar import Neighbour

_MEET = f"""
    UPDATE error_patterns
    SET occurrences = occurrences + :times, seq = :seq, lang = CASE WHEN :lang <> lang THEN NULL ELSE lang END,
        ttl_days = COALESCE(CAST(:ttl AS BIGINT), ttl_days),
        last_seen = CASE WHEN last_seen > :now THEN last_seen ELSE :now END,
        expires_at = CASE WHEN last_seen > :now THEN last_seen ELSE :now END
            + COALESCE(CAST(:ttl AS BIGINT), ttl_days) * {DAY_MS}
    WHERE project_id = :project AND pattern_hash = :hash
    RETURNING id, expires_at
"""
_WAITS = """
    SELECT 1 FROM error_reports r JOIN error_patterns p ON p.id = r.pattern_id
    WHERE p.project_id = :project AND p.pattern_hash = :hash AND r.solution_id IS NULL
        AND (r.agent_id = :agent OR (:agent IS NULL AND r.agent_id IS NULL AND r.session_id = :session))
"""


@dataclass(frozen=True, slots=True)
class Recorded:
    """Result of recording an error.

    Attributes:
        number: the number of its pattern.
        is_new: whether the pattern is new; it is not indexed yet then.
        by_names: whether it matched only without its quoted names, as an import stored it.
        words: those by which it was recognised, if its signature is another.
        near: known errors that share words with a new one.
    """

    number: int
    is_new: bool
    by_names: bool = False
    words: tuple[str, ...] = ()
    near: Sequence[Neighbour] = ()


def record(
    transaction: Transaction,
    project_id: int,
    new: Prepared,
    now: int,
    *,
    agent: int | None = None,
    session: int | None = None,
) -> Recorded:
    """Count a known error, even one that expired and is still here, and extend its life, or store a new one.

    A report that brings the solution its author was waiting for is not counted again. Patterns signed by older rules
    are first re-signed, a bounded number at a time.
    """
    seq = transaction.next_seq(project_id)
    values: dict[str, object] = {
        "seq": seq,
        "project": project_id,
        "lang": new.lang,
        "ttl": new.ttl_days,
        "now": now,
        "agent": agent,
        "session": session,
    }

    def find(signature: str) -> Row | None:
        bindings = {**values, "hash": signature}
        is_back = new.solution is not None and (agent, session) != (None, None)
        is_counted = not (is_back and transaction.one(_WAITS, bindings))
        return transaction.one(_MEET, {**bindings, "times": int(is_counted)})

    row = find(new.hash)
    if resigning.resign(transaction, project_id, new.error_type, now) and row is None:
        row = find(new.hash)
    elif row is not None:
        # re-signing may have merged another pattern with it, into the older of the two
        row = transaction.one(
            "SELECT id, expires_at FROM error_patterns WHERE project_id = :project AND pattern_hash = :hash",
            {"project": project_id, "hash": new.hash},
        )
    by_names = False
    if row is None and new.hash_elsewhere is not None:
        row = find(new.hash_elsewhere)
        by_names = row is not None
    words: tuple[str, ...] = ()
    near: list[Neighbour] = []
    if row is None:
        # imported here: a known error needs no search
        from satchel.keep.patterns import similar
        from satchel.keep.patterns.containing import Wording

        near = similar.neighbours(transaction, project_id, new.error_type, new.message, now)
        same = similar.same_in_words(near, Wording(new.error_type, new.example, new.message))
        if same is not None:
            row, words = find(same[0].hash), same[1]
    if row is not None:
        documents.set_expiry(transaction, Kind.ERROR_PATTERN, [(row[0], row[1])])
        return Recorded(int(row[0]), False, by_names, words)
    days = DEFAULT_TTL_DAYS if new.ttl_days is None else new.ttl_days
    number = transaction.add(
        "error_patterns",
        {
            "uid": os.urandom(16),
            "seq": seq,
            "project_id": project_id,
            "pattern_hash": new.hash,
            "signed_by": VERSION,
            "error_type": new.error_type,
            "message": new.message,
            "example": new.example,
            "lang": new.lang,
            "occurrences": 1,
            "ttl_days": days,
            "last_seen": now,
            "expires_at": now + days * DAY_MS,
            "created_at": now,
        },
    )
    return Recorded(number, True, near=near)
