"""Delivery and reading records of deleted items."""

from __future__ import annotations

from satchel.find.kind import Kind
from satchel.store.transaction import Transaction

_GONE = " OR ".join(
    f"(kind = {kind.number} AND NOT EXISTS (SELECT 1 FROM {kind.table} o WHERE o.id = deliveries.item_id))"
    for kind in Kind
)
_OF_OTHERS = " UNION ALL ".join(
    f"SELECT 1 FROM deliveries d JOIN windows w ON w.id = d.window_id JOIN {kind.table} t ON t.id = d.item_id "
    f"WHERE d.kind = {kind.number} AND t.project_id <> w.project_id"
    for kind in Kind
)


def forget_deliveries(transaction: Transaction, kind: Kind, number: int) -> None:
    """Delete all delivery records of an item."""
    transaction.run(
        "DELETE FROM deliveries WHERE kind = :kind AND item_id = :item", {"kind": kind.number, "item": number}
    )


def forget_seen(transaction: Transaction, kind: Kind, number: int) -> None:
    """Delete all reading records of an item."""
    # the last condition is that of the index
    transaction.run(
        "DELETE FROM seen WHERE kind = :kind AND item_id = :item AND item_id <> 0",
        {"kind": kind.number, "item": number},
    )


def remove_leftovers(transaction: Transaction) -> int:
    """Delete the delivery records of deleted items in all projects, and return their number.

    Bulk deletions leave them behind, since they are not looked up by item.
    """
    return transaction.execute(f"DELETE FROM deliveries WHERE {_GONE}")


def count_deliveries(transaction: Transaction) -> tuple[int, int, int]:
    """Return the numbers of all delivery records, of deleted items' ones, and of those of another project."""
    row = transaction.one(
        f"""
        SELECT (SELECT count(*) FROM deliveries), (SELECT count(*) FROM deliveries WHERE {_GONE}),
            (SELECT count(*) FROM ({_OF_OTHERS}) AS others)
        """
    )
    assert row is not None
    return row[0], row[1], row[2]
