"""Rows in every table of a store, written below all rules, with values that are hard to move."""

from __future__ import annotations

from satchel.store.moving.rows import Table, tables
from satchel.store.transaction import Transaction

TEXT = "naïve 'quoted' \\. \\N \\x41\ttab \U0001f9f3 \u0627\r\n"
"""What a form of rows as text could take for something else."""

_FLAGS = frozenset(
    {"active", "automatic", "existed", "exclusive", "has_acted", "has_overflowed", "helped", "in_step", "is_chosen"}
    | {"is_key", "is_ours", "merged"}
)
_LATER = frozenset({"superseded_by", "reply_to", "predecessor_id"})
"""What points to a row that may come later in the same table."""


def write(transaction: Transaction) -> None:
    """Write rows 1 to 3 of every table, and let one table have given a number more."""
    transaction.run("PRAGMA defer_foreign_keys = on")
    for table in tables():
        places = ", ".join(f":c{place}" for place in range(len(table.columns)))
        for number in (1, 2, 3):
            values = {f"c{place}": _value(table, place, number) for place in range(len(table.columns))}
            transaction.run(f"INSERT INTO {table.name} ({table.column_list}) VALUES ({places})", values)
    gone = transaction.add(
        "tags", {"uid": b"\0", "seq": 9, "project_id": 1, "name": "gone", "folded": "gone", "created_at": 0}
    )
    transaction.run("DELETE FROM tags WHERE id = :id", {"id": gone})


def _value(table: Table, place: int, number: int) -> object:
    name, kind = table.columns[place], table.kinds[place]
    if name in {"content_path", "heir_id"} or name == ("value_number", "value_text")[number == 1]:
        return number if name == "heir_id" and number == 1 else None
    if name in _LATER:
        return 4 - number
    if kind is int:
        return number % 2 if name in _FLAGS else number
    return {str: f"{TEXT}{number}", bytes: b"\0\\x\xff'" + bytes([number]), float: -0.1 * number}[kind]
