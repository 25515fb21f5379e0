"""A statement that runs for too long is ended; upkeep may take as long as it needs."""

from __future__ import annotations

import pytest

from faults.rows import add, names
from satchel.base.errors import Interrupted, TimedOut
from satchel.store import sqlite_transaction
from store.opened import OpenEngine

_ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {most}) SELECT max(i) FROM n"


def test_a_statement_that_does_not_end_is_ended_and_nothing_is_written(
    open_engine: OpenEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_engine()
    add(engine, "before")
    monkeypatch.setattr(sqlite_transaction, "DEADLINE_SECONDS", 0.0)
    with pytest.raises(TimedOut, match="Nothing was written"), engine.write() as transaction:  # noqa: PT012
        transaction.run("UPDATE projects SET name = 'after'")
        transaction.all(_ENDLESS.format(most=10**12))
    with pytest.raises(TimedOut), engine.read() as transaction:
        transaction.all(_ENDLESS.format(most=10**12))
    assert names(engine) == ["before"]


def test_upkeep_has_no_deadline(open_engine: OpenEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = open_engine()
    add(engine, "before")
    monkeypatch.setattr(sqlite_transaction, "DEADLINE_SECONDS", 0.0)
    with engine.without_deadline(), engine.read() as transaction:
        assert transaction.all(_ENDLESS.format(most=200_000)) == [(200_000,)]


def test_a_statement_is_interrupted_while_it_runs(open_engine: OpenEngine) -> None:
    engine = open_engine()
    add(engine, "before")
    interrupt = engine.interrupter()
    with pytest.raises(Interrupted), engine.read() as transaction:  # noqa: PT012
        transaction.connection.create_scalar_function("ring", lambda *_: interrupt())
        transaction.all(f"SELECT ring() UNION ALL SELECT * FROM ({_ENDLESS.format(most=1_000_000)})")
        pytest.fail("the statement ran to its end")
