"""Rows that a project has, written and read below all rules."""

from __future__ import annotations

import os

from satchel.store.postgres.engine import PostgresEngine
from satchel.store.transaction import Transaction

_NUMBER = "UPDATE projects SET seq = seq + 1 WHERE name = :name RETURNING seq, id"
_INSERT = """
    INSERT INTO tags (uid, seq, project_id, name, folded, created_at)
    VALUES (:uid, :seq, :project, :note, :note, 0)
"""
_NOTES = "SELECT t.name FROM tags t JOIN projects p ON p.id = t.project_id WHERE p.name = :name ORDER BY t.seq"


def note(transaction: Transaction, project: str, text: str) -> int:
    """Write a note with the next number of a project, which is returned."""
    row = transaction.one(_NUMBER, {"name": project})
    assert row is not None
    seq, number = row
    transaction.run(_INSERT, {"uid": os.urandom(16), "seq": seq, "project": number, "note": text})
    return int(seq)


def write_note(engine: PostgresEngine, text: str) -> int:
    """Write a note in a transaction of its own, in the project of the engine."""
    assert engine.project is not None
    with engine.write() as transaction:
        return note(transaction, engine.project, text)


def notes(engine: PostgresEngine) -> list[str]:
    """Return the notes of the engine's project by their numbers."""
    with engine.read() as transaction:
        return [text for (text,) in transaction.all(_NOTES, {"name": engine.project})]
