"""Calls from elsewhere that were kept: who lost the answer of one asks by its key whether it was."""

from __future__ import annotations

from satchel.base.clock import DAY_MS
from satchel.store.transaction import Transaction

KEPT_MS = 7 * DAY_MS
"""So long a caller that lost an answer may ask."""

_SWEPT_AT_ONCE = 20


def keep(transaction: Transaction, call: bytes, now: int) -> bool:
    """Record in the transaction that keeps it that a call was kept; a few old ones are forgotten.

    Args:
        call: its key.
        now: milliseconds UTC.

    Returns:
        Whether it was not kept before.
    """
    is_new = transaction.execute(
        "INSERT INTO kept_calls (call, kept_at) VALUES (:call, :now) ON CONFLICT DO NOTHING", {"call": call, "now": now}
    )
    transaction.run(
        "DELETE FROM kept_calls WHERE call IN (SELECT call FROM kept_calls WHERE kept_at < :before LIMIT :most)",
        {"before": now - KEPT_MS, "most": _SWEPT_AT_ONCE},
    )
    return bool(is_new)


def is_kept(transaction: Transaction, call: bytes) -> bool:
    """Whether a call was kept."""
    return transaction.one("SELECT 1 FROM kept_calls WHERE call = :call", {"call": call}) is not None
