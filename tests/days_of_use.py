"""Days of use: what has expired is deleted only after one that is vouched for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from satchel import Satchel
    from satchel.store.transaction import Transaction


def vouch(transaction: Transaction, at: int) -> None:
    """Record that every project of a store was used at a time, and again a day later."""
    transaction.run(
        "UPDATE projects SET latest_at = :at, day_at = :at, vouched_at = :at, vouched_seq = seq", {"at": at}
    )


def vouch_in(satchel: Satchel, at: int) -> None:
    with satchel.workplace.engine.write() as transaction:
        vouch(transaction, at)
