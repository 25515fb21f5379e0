"""Rows of the ledger's tables, written below all rules."""

from __future__ import annotations

import os

from satchel.store.transaction import Transaction


def insert(transaction: Transaction, table: str, **values: object) -> int:
    """Insert a row below all rules, and return its number."""
    return transaction.add(table, values)


def add(transaction: Transaction, table: str, **values: object) -> int:
    """Insert a row of a table of kept things."""
    defaults: dict[str, object] = {"uid": os.urandom(16), "seq": 1, "created_at": 0}
    if table == "projects":
        del defaults["seq"]
    return insert(transaction, table, **{**defaults, **values})


def named(transaction: Transaction, table: str, project: int, name: str) -> int:
    """Insert a tag, scope, category, layer or agent."""
    return add(transaction, table, project_id=project, name=name, folded=name.casefold())


def decision(transaction: Transaction, key: str, **values: object) -> int:
    """Insert a decision of project 1, unless the values say otherwise."""
    defaults: dict[str, object] = {
        "project_id": 1,
        "key": key,
        "value_text": None if "value_number" in values else "v",
        "version": "1.0.0",
        "revision": 1,
        "status": 1,
        "updated_at": 0,
    }
    return add(transaction, "decisions", **{**defaults, **values})


def constraint(transaction: Transaction, text: str, category: int, **values: object) -> int:
    """Insert a constraint of project 1."""
    return add(
        transaction, "constraints", **{"project_id": 1, "text": text, "category_id": category, "priority": 2, **values}
    )


def message(transaction: Transaction, **values: object) -> int:
    """Insert an unread message of project 1."""
    defaults = {"project_id": 1, "type": 4, "priority": 2, "message": "m", "expires_at": 2**50, "read_expires_at": 0}
    return add(transaction, "agent_messages", **{**defaults, **values})


def mark_read(transaction: Transaction, agent: int, number: int) -> None:
    """Insert that an agent has read a message."""
    insert(transaction, "message_reads", agent_id=agent, message_id=number, read_at=1, expires_at=2**50)


def change(transaction: Transaction, file: int, **values: object) -> int:
    """Insert a change of a file of project 1."""
    return add(
        transaction, "file_changes", **{"project_id": 1, "file_id": file, "change": 2, "expires_at": 2**50, **values}
    )
