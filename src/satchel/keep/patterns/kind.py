"""Declaration of error patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.base.clock import DAY_MS
from satchel.find.kind import Kind
from satchel.keep import fields
from satchel.keep.fields import Field
from satchel.keep.kind import ItemKind
from satchel.keep.moving import solutions
from satchel.keep.patterns import updates
from satchel.keep.patterns.records import LEAST
from satchel.keep.patterns.signing import VERSION as SIGNED_BY

if TYPE_CHECKING:
    from satchel.keep.moving.reading import Reading


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
        fields.BEGAN,
        Field("hash", fields.NAME, "pattern_hash", required=True),
        Field("signed_by", fields.WHOLE, default=SIGNED_BY, merge=fields.SOFT),
        Field("error_type", fields.NAME, required=True, merge=fields.SOFT),
        Field("message", fields.TEXT, required=True, merge=fields.SOFT),
        Field("example", fields.TEXT, required=True, merge=fields.SOFT),
        Field("lang", fields.FOLDED, merge=fields.SOFT),
        Field("occurrences", fields.COUNT, default=1, merge=fields.MAX),
        Field("ttl_days", fields.COUNT, required=True, merge=fields.SOFT),
        Field("last_seen", fields.TIME, required=True, merge=fields.MAX),
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
    source=updates.DOCUMENTS,
    shown=updates.shown_texts,
    open=lambda transaction, reader, number: updates.load(transaction, reader.project_id, number, reader.now, LEAST),
)
