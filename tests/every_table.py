"""The tables of a store, whatever database it is in, but for those of the search index."""

from __future__ import annotations

from satchel.store.engine import Engine
from satchel.store.transaction import Row, Transaction

_TABLES = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'documents_fts*'",
    "postgresql": "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()",
}
_COLUMNS = {
    "sqlite": "SELECT name FROM pragma_table_info(:table) ORDER BY cid",
    "postgresql": """
        SELECT column_name FROM information_schema.columns
        WHERE table_schema = current_schema() AND table_name = :table
            AND column_name NOT IN ('memo_version', 'writes', 'marks') ORDER BY ordinal_position
    """,
}
"""Without those that PostgreSQL alone has, which every transaction changes."""
_OF_NO_PROJECT = {"store", "migrations"}


def columns_of(transaction: Transaction, table: str) -> list[str]:
    """Return the columns of a table, in their order."""
    return [name for (name,) in transaction.all(_COLUMNS[transaction.database], {"table": table})]


def is_untouched(engine: Engine) -> bool:
    """Whether nothing was ever kept: there is no store, or one of PostgreSQL that an earlier test has made."""
    if not engine.exists():
        return True
    with engine.read() as transaction:
        rows = every_row(transaction)
        return transaction.database == "postgresql" and not any(rows[table] for table in rows.keys() - _OF_NO_PROJECT)


def every_row(transaction: Transaction) -> dict[str, list[Row]]:
    """Return all rows of all tables, in no order, so that two moments can be compared."""
    found = {}
    for (table,) in transaction.all(_TABLES[transaction.database]):
        columns = ", ".join(f'"{name}"' for name in columns_of(transaction, table))
        found[table] = sorted(transaction.all(f"SELECT {columns} FROM {table}"), key=repr)
    return found
