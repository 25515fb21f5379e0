"""A store that another program writes to, whatever database it is in, and a table that takes no rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import apsw

from satchel import Satchel


@contextmanager
def held_by_another(satchel: Satchel) -> Iterator[None]:
    """Let a connection that is not of this Satchel have begun to write, until the block is left."""
    if satchel.workplace.engine.folder is None:
        from satchel.store.postgres.engine import PostgresEngine

        engine = satchel.workplace.engine
        assert isinstance(engine, PostgresEngine)
        with engine.database.connect() as connection:
            connection.run_all(("BEGIN", None), engine.database.settings(), ("SELECT 1 FROM projects FOR UPDATE", None))
            yield
        return
    with closing(apsw.Connection(str(satchel.place.file))) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@contextmanager
def refusing_rows(satchel: Satchel, table: str) -> Iterator[str]:
    """Let an empty table take no rows until the block is left, and hand out what the error says."""
    with satchel.workplace.engine.write() as transaction:
        # no whole number of eight bytes is so large
        transaction.run(f"CREATE INDEX refusing ON {table} (abs(id - id - 9223372036854775807 - 1))")
    yield "integer overflow|bigint out of range"
    with satchel.workplace.engine.write() as transaction:
        transaction.run("DROP INDEX refusing")
