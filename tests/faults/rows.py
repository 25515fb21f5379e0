"""Rows that every store has a place for, written and read below all rules."""

from __future__ import annotations

import os

from satchel.store.engine import Engine
from satchel.store.transaction import Transaction

INSERT = "INSERT INTO projects (uid, name, created_at) VALUES (:uid, :name, :created_at)"
"""A row to write, with the parameters of :func:`row`."""


def row(name: str) -> dict[str, object]:
    """Return the parameters of one row."""
    return {"uid": os.urandom(16), "name": name, "created_at": 0}


def add(engine: Engine, name: str) -> None:
    """Write one row in a transaction of its own."""
    with engine.write() as transaction:
        transaction.run(INSERT, row(name))


def names(engine: Engine) -> list[str]:
    """Return the names of all rows in the order they were written."""
    with engine.read() as transaction:
        return names_in(transaction)


def names_in(transaction: Transaction) -> list[str]:
    """Return the names of all rows that a transaction sees."""
    return [name for (name,) in transaction.all("SELECT name FROM projects ORDER BY id")]
