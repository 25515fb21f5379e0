"""Declaration of error patterns."""

from __future__ import annotations

from typing import Any

from satchel.base.clock import DAY_MS
from satchel.find.kind import Kind
from satchel.keep.kind import BEGAN, COUNT, FOLDED, MAX, NAME, SOFT, TEXT, TIME, WHOLE, Field, ItemKind
from satchel.keep.moving import solutions
from satchel.keep.moving.reading import Reading
from satchel.keep.patterns import updates
from satchel.keep.patterns.records import LEAST
from satchel.keep.patterns.signing import VERSION as SIGNED_BY


def _pattern_derived(reading: Reading, row: dict[str, Any]) -> None:
    row["expires_at"] = reading.now + row["ttl_days"] * DAY_MS


def _live_on(reading: Reading, number: int) -> None:
    reading.transaction.run(
        f"UPDATE error_patterns SET expires_at = :now + ttl_days * {DAY_MS} "
        f"WHERE id = :id AND expires_at < :now + ttl_days * {DAY_MS}",
        {"now": reading.now, "id": number},
    )


ERROR_PATTERN: ItemKind[Any] = ItemKind(
    "an error with its solutions and their confirmations",
    (
        BEGAN,
        Field("hash", NAME, "pattern_hash", required=True),
        Field("signed_by", WHOLE, default=SIGNED_BY, merge=SOFT),
        Field("error_type", NAME, required=True, merge=SOFT),
        Field("message", TEXT, required=True, merge=SOFT),
        Field("example", TEXT, required=True, merge=SOFT),
        Field("lang", FOLDED, merge=SOFT),
        Field("occurrences", COUNT, default=1, merge=MAX),
        Field("ttl_days", COUNT, required=True, merge=SOFT),
        Field("last_seen", TIME, required=True, merge=MAX),
    ),
    (
        solutions.SOLUTIONS,
        solutions.OCCURRENCES,
    ),
    key=("pattern_hash", "hash"),
    documents=Kind.ERROR_PATTERN,
    expires=True,
    derive=_pattern_derived,
    renew=_live_on,
    rank=("last_seen",),
    texts=updates.searchable_texts,
    load_documents=updates.load_documents,
    delete=updates.delete,
    shown=updates.shown_texts,
    open=lambda transaction, reader, number: updates.load(transaction, reader.project_id, number, reader.now, LEAST),
)
