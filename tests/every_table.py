"""The tables of a store, whatever database it is in, but for those of the search index."""

from __future__ import annotations

from satchel.store.transaction import Row, Transaction

_TABLES = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'documents_fts*'",
    "postgresql": "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()",
}


def every_row(transaction: Transaction) -> dict[str, list[Row]]:
    """Return all rows of all tables, in no order, so that two moments can be compared."""
    tables = transaction.all(_TABLES[transaction.database])
    return {name: sorted(transaction.all(f"SELECT * FROM {name}"), key=repr) for (name,) in tables}
