"""Maintenance of a store in a PostgreSQL schema; the server as a whole is maintained by its operator."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import psycopg

from satchel.base.errors import Conflict, ReadOnly, Refused
from satchel.store.backups import Backup, Progress
from satchel.store.opening import Access
from satchel.store.postgres.schema import INDEX_TABLES, NUMBERED
from satchel.store.schema import MIGRATIONS
from satchel.store.sqlite import SqliteEngine
from satchel.store.upkeep import Finding, Restored, Shrunk, Upkeep

if TYPE_CHECKING:
    from satchel.base.clock import Clock
    from satchel.store.postgres.engine import PostgresEngine
    from satchel.store.postgres.transaction import StoreConnection
    from satchel.store.transaction import Row

_PAUSE: Final = 0.02

_OUT_OF_REACH: Final = (
    "PostgreSQL keeps deleted content in its write-ahead log for a time, and standbys, archives and dumps keep theirs: "
    "ask the operator"
)

_IN_SCHEMA = "relnamespace = to_regnamespace(:schema)"
_SIZE = f"SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class WHERE {_IN_SCHEMA} AND relkind = 'r'"
_SETTINGS = """
    SELECT current_setting('fsync'), current_setting('synchronous_commit'), current_setting('full_page_writes'),
        current_setting('data_checksums'), current_setting('autovacuum'), pg_is_in_recovery()
"""
_OPEN = "SELECT virtualtransaction FROM pg_locks WHERE locktype = 'virtualxid' AND pid <> pg_backend_pid()"
"""The open transactions of every role: rows that they may see cannot be removed. Every role may list them."""

_OTHERS_TABLES = f"""
    SELECT count(*) FROM pg_class WHERE {_IN_SCHEMA} AND relkind = 'r' AND NOT pg_has_role(relowner, 'USAGE')
"""
_LINE = """
    SELECT current_setting('server_version'), current_user, inet_server_addr() IS NOT NULL,
        coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false)
"""
_RELATIONS = f"SELECT relname, relkind::text FROM pg_class WHERE {_IN_SCHEMA} AND relkind IN ('r', 'p', 'f', 'v', 'm')"
_INDEXES = f"""
    SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE {_IN_SCHEMA}
"""
_FOREIGN_KEYS = f"""
    SELECT c.relname, count(*) FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
    WHERE {_IN_SCHEMA} AND k.contype = 'f' AND k.convalidated GROUP BY 1
"""
_TRIGGERS = f"""
    SELECT 'trigger ' || t.tgname || ' on ' || c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE {_IN_SCHEMA} AND NOT t.tgisinternal
    UNION ALL
    SELECT 'rule ' || r.rulename || ' on ' || c.relname FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
    WHERE {_IN_SCHEMA} AND r.rulename <> '_RETURN'
    ORDER BY 1
"""
_OBJECT = re.compile(r"\s*(?:CREATE (?:UNIQUE )?(TABLE|INDEX|VIEW)|DROP (?:TABLE|INDEX)) (\w+)")


class PostgresUpkeep(Upkeep):
    """Maintenance of one schema."""

    soundness = ("database", "indexes are valid, numbers are ahead of every row; PostgreSQL's pg_amcheck reads pages")

    def __init__(self, engine: PostgresEngine) -> None:
        super().__init__(engine.location)
        self._engine = engine
        self._address = engine.database.address
        self._schema = {"schema": self._address.schema}

    @property
    def version(self) -> str:
        return f"PostgreSQL {self._rows('SHOW server_version')[0][0]}"

    def recovery_hint(self) -> str:
        return "go back to a dump (`satchel restore FILE` prints the command) or to the archive of the server"

    def size(self) -> int:
        """Return the size of the tables and their indexes in bytes."""
        return int(self._rows(_SIZE)[0][0]) if self._engine.exists() else 0

    def reclaim(self) -> Shrunk:
        """Rewrite every table without deleted rows; others wait for the table that is being rewritten.

        Rows that an open transaction anywhere in the cluster may see stay, so those transactions are waited for first.
        A plain VACUUM leaves bytes of deleted rows in the files; it is used if a lock is not available.
        """
        database, before = self._engine.database, self.size()
        if self._engine.read_only:
            raise ReadOnly(f"{self._location} was opened for reading only", "Open it without --read-only to compact it")
        if self._rows(_OTHERS_TABLES) != [(0,)]:
            raise Refused(
                f"only the role that owns the tables of {self._location} may rewrite them",
                "Deleted content stays in their files until that one runs `satchel clear --compact`",
            )
        is_whole = True
        with database.connect() as connection, database.explaining():
            if database.address.role is not None:
                connection.execute(f'SET ROLE "{database.address.role}"')
            connection.execute("SET statement_timeout = 0")
            connection.execute(f"SET lock_timeout = {max(1, self._engine.wait_ms)}")
            are_done = _older_are_done(connection, self._engine.wait_ms)
            for name, kind in self._rows(_RELATIONS):
                if kind == "r":
                    is_whole = _vacuum(connection, f'"{self._schema["schema"]}"."{name}"', is_whole)
        return Shrunk(before, self.size(), is_whole and are_done, _OUT_OF_REACH)

    def make_room(self, is_usable: Callable[[], bool]) -> Path | None:
        """Allow the next write to create a store, if the schema is empty."""
        if not self._engine.exists():
            return None
        if is_usable():
            raise Conflict(f"{self._location} can be used as it is", "`satchel doctor` examines it")
        raise Conflict(
            f"{self._location} cannot be used, and a schema is not set aside", "Name another schema, as in ?schema=NAME"
        )

    def back_up(
        self,
        target: Path | None,
        now: int,  # noqa: ARG002 -- pg_dump makes the backup
        progress: Progress | None = None,  # noqa: ARG002 -- as above
    ) -> Backup:
        raise Refused(f"{self._location} is not copied by Satchel", f"Run {self.dump_command(target)}")

    def restore(
        self,
        source: Path,
        progress: Progress | None = None,  # noqa: ARG002 -- pg_restore restores
    ) -> Restored:
        raise Refused(f"{self._location} is not restored by Satchel", f"Run {self.load_command(source)}")

    def dump_command(self, target: Path | None) -> str:
        options = ["--schema", self._address.schema, "--format", "custom", "--file", self._dump(target)]
        return self._command("pg_dump", *options)

    def load_command(self, source: Path | None) -> str:
        return self._command("pg_restore", "--exit-on-error", "--single-transaction", self._dump(source))

    def _dump(self, file: Path | None) -> str:
        return f"{self._address.schema}.dump" if file is None else str(file)

    def _command(self, program: str, *options: str) -> str:
        role = () if self._address.role is None else ("--role", self._address.role)
        return shlex.join([program, "--dbname", self._address.public_url, *role, *options])

    @contextmanager
    def temporary_copy(self, clock: Clock) -> Iterator[PostgresEngine | SqliteEngine]:
        """Yield an engine whose writes are rolled back; others wait for them, as for any write of the project."""
        if not self._engine.exists():
            with (
                TemporaryDirectory(prefix="satchel-") as folder,
                closing(SqliteEngine(Access(Path(folder) / "preview.db", "relaxed"), clock=clock)) as engine,
            ):
                yield engine
            return
        with self._engine.rolled_back() as engine:
            yield engine

    def trust_reason(self) -> str:
        return "its address was given"

    def check_place(self) -> Finding:
        if not self._engine.exists():
            return Finding("store", "warning", f"{self._location} holds no store yet; the first write makes it")
        version, role, is_remote, is_encrypted = self._rows(_LINE)[0]
        if is_remote and not is_encrypted:
            return Finding(
                "place",
                "warning",
                f"{self._location}: the connection is not encrypted: add sslmode=verify-full",
            )
        way = "encrypted" if is_encrypted else "on this machine"
        return Finding("place", "ok", f"{self._location}, PostgreSQL {version} as {role}, {way}")

    def check_surroundings(self) -> list[Finding]:
        """Check the server's settings that durability depends on."""
        fsync, commits, whole_pages, checksums, vacuum, is_standby = self._rows(_SETTINGS)[0]
        missing = []
        if whole_pages != "on":
            missing.append("full_page_writes is off: a crash may leave half of a page")
        if commits == "local":
            missing.append("synchronous_commit is local: a failover may lose what was confirmed")
        if checksums != "on":
            missing.append("data checksums are off: a failing disk is noticed late (pg_checksums --enable)")
        if vacuum != "on":
            missing.append("autovacuum is off: run `satchel clear --compact` now and then")
        settings = f"fsync = {fsync}, synchronous_commit = {commits}{', on a standby' if is_standby else ''}"
        return [
            Finding("settings", "warning" if missing else "ok", "; ".join([settings, *missing])),
            Finding("deleted", "ok", _OUT_OF_REACH),
        ]

    def problems(self) -> list[str]:
        """Return the indexes that are not valid, and the tables that would give a number again."""
        with self._engine.read() as transaction:
            problems = [
                f"index {name} is not valid: REINDEX builds it"
                for name, is_valid in transaction.all(_INDEXES, self._schema)
                if not is_valid
            ]
            for table, column, sequence in transaction.all(NUMBERED, self._schema):
                ((last, highest),) = transaction.all(
                    f"SELECT (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {sequence}), "
                    f'(SELECT coalesce(max("{column}"), 0) FROM {table})'
                )
                if highest > last:
                    problems.append(f"the sequence of {table} is at {last}, and a row has {highest}")
        return problems

    def schema_problems(self) -> list[str]:
        """Return unknown objects, and missing tables, indexes and keys."""
        kinds, keys = _expected()
        with self._engine.read() as transaction:
            relations = {name for name, _ in transaction.all(_RELATIONS, self._schema)}
            indexes = {name for name, _ in transaction.all(_INDEXES, self._schema)}
            pointing: dict[str, int] = dict(transaction.all(_FOREIGN_KEYS, self._schema))
            added = [name for (name,) in transaction.all(_TRIGGERS, self._schema)]
        missing = sorted(kinds.keys() - relations - indexes)
        return [
            *(f"table {name} is not Satchel's" for name in sorted(relations - kinds.keys())),
            *(f"{name} is not Satchel's" for name in added),
            *(f"{kinds[name].lower()} {name} is missing" for name in missing),
            *(f"a foreign key of {name} is missing" for name in sorted(keys) if pointing.get(name, 0) < keys[name]),
        ]

    def _rows(self, sql: str) -> list[Row]:
        with self._engine.read() as transaction:
            return transaction.all(sql, self._schema if ":schema" in sql else None)


@cache
def _expected() -> tuple[dict[str, str], dict[str, int]]:
    kinds: dict[str, str] = {}
    keys: dict[str, int] = {}
    for statement in (*(one for migration in MIGRATIONS for one in migration.statements), *INDEX_TABLES):
        match = _OBJECT.match(statement)
        if match is not None and match[1] is None:
            kinds.pop(match[2], None)
        elif match is not None:
            kinds[match[2]] = match[1]
            keys[match[2]] = statement.count(" REFERENCES ")
    return kinds, keys


def _older_are_done(connection: StoreConnection, wait_ms: int) -> bool:
    deadline = time.monotonic() + wait_ms / 1_000
    remaining = set(connection.execute(_OPEN).fetchall())
    while remaining and time.monotonic() < deadline:
        time.sleep(_PAUSE)
        remaining &= set(connection.execute(_OPEN).fetchall())
    return not remaining


def _vacuum(connection: StoreConnection, table: str, is_whole: bool) -> bool:
    if is_whole:
        try:
            connection.execute(f"VACUUM (FULL, ANALYZE) {table}")
        except psycopg.errors.LockNotAvailable:
            is_whole = False
    if not is_whole:
        connection.execute(f"VACUUM (ANALYZE) {table}")
    return is_whole
