"""Consistency of derived rows: counts and copies of decisions, and deliveries of deleted items."""

from __future__ import annotations

from satchel.find.kind import Kind
from satchel.store.transaction import Transaction

_JUNCTIONS = {"tags": ("decision_tags", "tag_id", 2), "scopes": ("decision_scopes", "scope_id", 3)}
"""Per kind of name: the junction table, its column, and the dimension in ``decision_counts``."""

_COUNTED = " UNION ALL ".join(
    (
        "SELECT project_id, 0 AS dimension, 0 AS name_id, status, count(*) AS decisions "
        "FROM decisions GROUP BY project_id, status",
        "SELECT project_id, 1, COALESCE(layer_id, 0), status, count(*) "
        "FROM decisions GROUP BY project_id, layer_id, status",
        *(
            f"SELECT d.project_id, {dimension}, j.{column}, d.status, count(*) "
            f"FROM {table} j JOIN decisions d ON d.id = j.decision_id GROUP BY d.project_id, j.{column}, d.status"
            for table, column, dimension in _JUNCTIONS.values()
        ),
    )
)
_DIFFERS = "(j.status <> d.status OR j.created_at <> d.created_at)"
_ORPHANED = " OR ".join(
    f"(kind = {kind.number} AND NOT EXISTS (SELECT 1 FROM {kind.table} o WHERE o.id = deliveries.item_id))"
    for kind in Kind
)
_OF_OTHERS = " UNION ALL ".join(
    f"SELECT 1 FROM deliveries d JOIN windows w ON w.id = d.window_id JOIN {kind.table} t ON t.id = d.item_id "
    f"WHERE d.kind = {kind.number} AND t.project_id <> w.project_id"
    for kind in Kind
)


def count_problems(transaction: Transaction) -> list[str]:
    """Return the differences between decisions and their counts or copies."""
    problems: list[str] = []
    for what, (table, _, _) in _JUNCTIONS.items():
        row = transaction.one(
            f"SELECT count(*) FROM {table} j JOIN decisions d ON d.id = j.decision_id WHERE {_DIFFERS}"
        )
        if row and row[0]:
            problems.append(f"{row[0]} {what} of decisions have the wrong status or time")
    # a count of zero may be a row or missing
    row = transaction.one(
        f"""
        SELECT count(*) FROM (
            SELECT 1 FROM ({_COUNTED} UNION ALL
                SELECT project_id, dimension, name_id, status, -decisions FROM decision_counts) AS both_sides
            GROUP BY project_id, dimension, name_id, status HAVING sum(decisions) <> 0
        ) AS differing
        """
    )
    if row and row[0]:
        problems.append(f"{row[0]} counts of decisions are wrong")
    return problems


def recount(transaction: Transaction) -> None:
    """Recalculate counts and copies from the decisions of the store."""
    for table, column, _ in _JUNCTIONS.values():
        transaction.run(
            f"""
            INSERT INTO {table} ({column}, status, created_at, decision_id)
            SELECT DISTINCT j.{column}, d.status, d.created_at, d.id
            FROM {table} j JOIN decisions d ON d.id = j.decision_id WHERE {_DIFFERS} ON CONFLICT DO NOTHING
            """
        )
        transaction.run(
            f"""
            DELETE FROM {table} AS j
            WHERE EXISTS (SELECT 1 FROM decisions d WHERE d.id = j.decision_id AND {_DIFFERS})
            """
        )
    transaction.run("DELETE FROM decision_counts")
    transaction.run(f"INSERT INTO decision_counts (project_id, dimension, name_id, status, decisions) {_COUNTED}")


def delete_deliveries(transaction: Transaction, kind: Kind, number: int) -> None:
    transaction.run(
        "DELETE FROM deliveries WHERE kind = :kind AND item_id = :item", {"kind": kind.number, "item": number}
    )


def delete_sightings(transaction: Transaction, kind: Kind, number: int) -> None:
    # the last condition is that of the index
    transaction.run(
        "DELETE FROM seen WHERE kind = :kind AND item_id = :item AND item_id <> 0",
        {"kind": kind.number, "item": number},
    )


def delete_orphaned_deliveries(transaction: Transaction) -> int:
    """Delete the delivery records of deleted items in all projects, and return their number.

    Bulk deletions leave them behind, since they are not looked up by item.
    """
    return transaction.execute(f"DELETE FROM deliveries WHERE {_ORPHANED}")


def count_deliveries(transaction: Transaction) -> tuple[int, int, int]:
    """Return the numbers of all delivery records, those of deleted items, and those of another project's items."""
    row = transaction.one(
        f"""
        SELECT (SELECT count(*) FROM deliveries), (SELECT count(*) FROM deliveries WHERE {_ORPHANED}),
            (SELECT count(*) FROM ({_OF_OTHERS}) AS others)
        """
    )
    assert row is not None
    return row[0], row[1], row[2]
