"""Consistency of stored counts and copies with the tables they are derived from."""

from __future__ import annotations

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


def count_problems(transaction: Transaction) -> list[str]:
    """Return the differences between counts or copies and the decisions of the store."""
    problems: list[str] = []
    for what, (table, _, _) in _JUNCTIONS.items():
        row = transaction.one(
            f"SELECT count(*) FROM {table} j JOIN decisions d ON d.id = j.decision_id WHERE {_DIFFERS}"
        )
        if row and row[0]:
            problems.append(f"{row[0]} {what} of decisions stand under another status or time")
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
