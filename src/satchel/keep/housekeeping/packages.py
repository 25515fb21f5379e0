"""Deliveries of items that are gone, or are about to go: what was handed to whom means nothing without the item."""

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
    """Remove every record of who was given an item."""
    transaction.run(
        "DELETE FROM deliveries WHERE kind = :kind AND item_id = :item", {"kind": kind.number, "item": number}
    )


def forget_seen(transaction: Transaction, kind: Kind, number: int) -> None:
    """Remove every record of who has seen an item."""
    # the last condition is the one of the index
    transaction.run(
        "DELETE FROM seen WHERE kind = :kind AND item_id = :item AND item_id <> 0",
        {"kind": kind.number, "item": number},
    )


def remove_leftovers(transaction: Transaction) -> int:
    """Remove the deliveries of items that are gone, of every project of the store, and return how many those were.

    Whatever removes many items at once leaves them, since they are not looked up by their item.
    """
    return transaction.execute(f"DELETE FROM deliveries WHERE {_GONE}")


def count_deliveries(transaction: Transaction) -> tuple[int, int, int]:
    """Return how many deliveries the store records, how many of gone items, and how many of another project's."""
    row = transaction.one(
        f"""
        SELECT (SELECT count(*) FROM deliveries), (SELECT count(*) FROM deliveries WHERE {_GONE}),
            (SELECT count(*) FROM ({_OF_OTHERS}) AS others)
        """
    )
    assert row is not None
    return row[0], row[1], row[2]
