"""A database that holds a store: its connections, its settings, and what its errors mean."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.generators import fetch_many
from psycopg.pq import TransactionStatus as Status

from satchel.base.errors import (
    Busy,
    InvalidInput,
    IoError,
    ReadOnly,
    Refused,
    SatchelError,
    StoreDamaged,
    StoreFull,
    StoreMissing,
    TimedOut,
    TooLarge,
    Unreachable,
)
from satchel.store import forks
from satchel.store.failures import busy, one_line
from satchel.store.postgres import Address
from satchel.store.postgres.transaction import ADAPTERS, StoreConnection
from satchel.store.running import DEADLINE_SECONDS, Interruptible, Running, timed_out

if TYPE_CHECKING:
    from satchel.store.postgres.engine import Writers


# a briefing, a search and an event stream at once, for each of a few callers; PostgreSQL's own default is 100 in all
MOST_CONNECTIONS = 20
# a transaction may compute between two statements; a longer pause would block the whole project
_IDLE_SECONDS = 300
_CONNECT_SECONDS = 10
# each prepared statement takes about 10 KB on the server; a connection with more is closed
_MOST_PREPARED = 1_000
_OLDEST_VERSION = 14
_CHECK = """
    SELECT current_setting('server_version_num')::int / 10000, current_setting('fsync'),
        current_setting('synchronous_commit'), current_setting('server_encoding')
"""

# errors are raised; without a handler the library's warnings would go to the terminal
logging.getLogger("psycopg").addHandler(logging.NullHandler())


class Database:
    """The connections to one store, shared by the engines of several projects. Safe to share between threads.

    With durability ``full`` every commit waits for the disk; ``relaxed`` may lose the last ones when the server fails.
    """

    def __init__(self, address: Address, durability: str) -> None:
        self.address = address
        self.location = address.label
        self.durability = durability
        self.running: Running[Interruptible] = Running(self.location)
        self.is_ready = False
        self.commits = 0
        self.sequences: dict[str, str] = {}
        self.reset_after_fork()
        forks.register(self)

    def reset_after_fork(self) -> None:
        """Drop the parent's connections in a forked child."""
        self.lock = threading.RLock()
        self._idle: list[StoreConnection] = []  # libpq closes no connection of another process
        self._free = threading.Semaphore(MOST_CONNECTIONS)
        self.writers: dict[str | None, Writers] = {}
        self.running.reset()

    def settings(self, wait_ms: int | None = None) -> tuple[str, dict[str, str]]:
        """Return the statement with the settings of one transaction; PgBouncer passes them to no other.

        `wait_ms` limits the wait for a lock.
        """
        hurried = not self.running.has_no_deadline(threading.get_ident())
        values = {
            "search_path": self.address.schema,
            "statement_timeout": str(round(DEADLINE_SECONDS * 1_000) if hurried else 0),
            "idle_in_transaction_session_timeout": str(_IDLE_SECONDS * 1_000),
            "jit": "off",
            # starting workers takes longer than any statement that reads an index
            "max_parallel_workers_per_gather": "0",
        }
        if self.address.role is not None:
            values = {"role": self.address.role, **values}
        if wait_ms is not None:
            values["lock_timeout"] = str(max(1, wait_ms))
            if self.durability != "full":
                values["synchronous_commit"] = "off"
        set_each = ", ".join(f"set_config('{name}', :{name}, true)" for name in values)
        return f"SELECT {set_each}", values

    def connect(self) -> StoreConnection:
        options: dict[str, Any] = {
            "connect_timeout": _CONNECT_SECONDS,
            "application_name": "satchel",
            "client_encoding": "UTF8",
            "keepalives_idle": 30,
            "tcp_user_timeout": 30_000,
        }
        connection = None
        try:
            options |= conninfo_to_dict(self.address.url)
            if self.address.password is not None:
                options["password"] = self.address.password
            options |= {"autocommit": True, "prepare_threshold": None, "context": ADAPTERS}
            connection = StoreConnection.connect(**options)
            self._configure(connection)
        except BaseException as error:
            if connection is not None:
                connection.close()
            if isinstance(error, psycopg.Error):
                raise explain_connecting(error, self.location) or error from None
            raise
        return connection

    def borrow(self, seconds: float) -> StoreConnection:
        """Take a connection; the caller gives it back."""
        if not self._free.acquire(timeout=max(0.1, seconds)):
            raise Busy(
                f"all {MOST_CONNECTIONS} connections of this process to {self.location} are in use",
                "Nothing was written; try again",
            )
        try:
            idle, connection = self._idle, None
            with suppress(IndexError):
                connection = idle.pop()
            if connection is None or not _is_alive(connection):
                connection = self.connect()
        except BaseException:
            self._free.release()
            raise
        connection.home = idle
        return connection

    @contextmanager
    def connection(self, seconds: float) -> Iterator[StoreConnection]:
        """Lend a connection, and explain what the database raises."""
        connection = self.borrow(seconds)
        try:
            with self.explaining():
                yield connection
        finally:
            self.give_back(connection)

    def give_back(self, connection: StoreConnection) -> None:
        """Take a connection back and roll back its open transaction; close a lost one.

        The next borrower, not a finished reader, waits for the answer to the rollback.
        """
        if connection.forks != forks.generation:
            return
        if not (connection.is_doubtful or connection.closed):
            with suppress(psycopg.Error):
                if connection.info.transaction_status == Status.INTRANS:
                    connection.pgconn.send_query(b"ROLLBACK")
                    connection.pgconn.flush()
                else:
                    # not execute(): psycopg would still count statements behind a failed one as prepared
                    connection.rollback()
        is_sound = connection.info.transaction_status in {Status.IDLE, Status.ACTIVE} and not connection.is_doubtful
        # one lent before a close() may belong to another store by now
        if is_sound and len(connection.names) < _MOST_PREPARED and connection.home is self._idle:
            self._idle.append(connection)
        else:
            connection.close()
        self._free.release()

    def close(self) -> None:
        idle, self._idle = self._idle, []
        while idle:
            idle.pop().close()
        self.is_ready = False

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Raise Satchel's errors instead of the database's, but for bugs in Satchel."""
        try:
            yield
        except psycopg.Error as error:
            explained = explain(error, self.location)
            if explained is None:
                raise
            raise explained from error

    def _configure(self, connection: StoreConnection) -> None:
        ((version, fsync, commits, encoding),) = connection.run_all((_CHECK, None))[0].rows
        may_lose = self.durability == "full" and commits not in {"on", "remote_apply"}
        for is_unfit, problem, remedy in (
            (fsync != "on", f"fsync = {fsync}: a crash may destroy confirmed writes", "Set fsync = on there"),
            (
                may_lose,
                f"synchronous_commit = {commits}: it may lose confirmed writes",
                "Set it to on for the role or the database (ALTER ROLE ... SET synchronous_commit = on)",
            ),
            (encoding != "UTF8", f"the encoding {encoding}", "Create a database with UTF8"),
            (version < _OLDEST_VERSION, f"version {version}", f"Satchel needs {_OLDEST_VERSION} or newer"),
        ):
            if is_unfit:
                raise Refused(f"the server of {self.location} has {problem}", remedy)


def _is_alive(connection: StoreConnection) -> bool:
    try:
        if connection.info.transaction_status == Status.ACTIVE:  # the answer to the last ROLLBACK is still to be read
            connection.wait(fetch_many(connection.pgconn))
        for _ in range(2):  # the server's farewell, and the end behind it
            connection.pgconn.consume_input()
        return connection.info.transaction_status == Status.IDLE
    except (psycopg.Error, OSError):
        return False


_NOTHING = "Nothing was written"
# tables that are there as long as the store is
_OF_EVERY_STORE = re.compile(r"\b(projects|store)\b")


def explain(error: psycopg.Error, location: str) -> SatchelError | None:
    """Translate an error of the database; None for a bug in Satchel, which should surface as it is."""
    match error:
        case errors.LockNotAvailable() | errors.DeadlockDetected():
            return busy(location, "others")
        case errors.UndefinedTable() if _OF_EVERY_STORE.search(error.diag.message_primary or ""):
            return StoreMissing(
                f"the store {location} is gone, though there was one; nothing was written",
                "A person has to decide: restore the schema from a backup, or restart the program with an empty store",
            )
        case errors.QueryCanceled():
            return timed_out(location)
        case errors.ReadOnlySqlTransaction():
            return ReadOnly(
                f"{location} cannot be written: the server is a standby, or the session is for reading",
                "Name the primary; `target_session_attrs=read-write` in the URL finds it among several hosts",
            )
        case errors.DiskFull() | errors.OutOfMemory():
            return StoreFull(f"the server of {location} has no room left", f"{_NOTHING}; free some space there")
        case errors.IoError():
            return IoError(f"the server of {location} reports a failing disk", "See its log; nothing was written")
        case errors.DataCorrupted() | errors.IndexCorrupted():
            return StoreDamaged(f"{location} is damaged ({one_line(error)})", "Restore the database from a backup")
        case errors.ProgramLimitExceeded():
            return TooLarge(f"{location} cannot store so long a name or path ({one_line(error)})", "Shorten it")
        case errors.InsufficientPrivilege():
            return Refused(
                f"the role may not do that in {location} ({one_line(error)})",
                "Grant the role what docs/postgresql.md lists, or use the one that owns the schema",
            )
        case errors.InvalidParameterValue() if 'role "' in str(error):
            return Refused(f"{location} has no such role ({one_line(error)})", "Check the role in the URL")
        case errors.InvalidSqlStatementName() | errors.DuplicatePreparedStatement():
            return Refused(
                f"the pooler in front of {location} does not keep prepared statements ({one_line(error)})",
                "PgBouncer does from 1.21 on, with max_prepared_statements above 0",
            )
        case psycopg.DataError() if error.sqlstate is None and "NUL" in str(error):
            return InvalidInput("a text contains the character NUL, which PostgreSQL cannot store", "Remove it")
        case errors.IdleInTransactionSessionTimeout():
            return TimedOut(f"a transaction on {location} stayed open too long", f"{_NOTHING}; ask for less at once")
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return Unreachable(
                f"{location} cannot be reached ({one_line(error)})",
                f"{_NOTHING}; check that the server runs, and the address",
            )
        case _:
            return None


def unknown_outcome(location: str) -> IoError:
    """Return the error for a commit whose answer was lost and whose outcome is unknown."""
    return IoError(
        f"the connection to {location} was lost in the middle of a commit, and the server does not know the outcome",
        "It is unknown whether the write was saved: read it back before you write it again",
    )


_REFUSED_LOGIN = ("password authentication failed", "no password supplied", "no pg_hba.conf entry", "fe_sendauth")
_FULL = ("too many clients", "too many connections", "remaining connection slots", "max_client_conn")


def explain_connecting(error: psycopg.Error, location: str) -> SatchelError | None:
    """Translate an error of connecting, for which libpq gives only the server's text and no code."""
    text = str(error)
    if isinstance(error, psycopg.ProgrammingError) and error.sqlstate is None:
        # the library's message repeats parts of the URL, maybe of the password
        return InvalidInput("the database URL is malformed: libpq rejects it", "Write special characters in it as %XX")
    if any(part in text for part in _FULL):
        return Busy(
            f"{location} has no connection left",
            f"{_NOTHING}; try again, or raise max_connections there, or put PgBouncer between",
        )
    if any(part in text for part in _REFUSED_LOGIN) or ('role "' in text and "does not exist" in text):
        return Refused(
            f"the server of {location} refuses the login ({one_line(error)})", "Check the user, and the password"
        )
    if 'database "' in text and "does not exist" in text:
        return InvalidInput(f"there is no database of {location}", "Create it, or check the name in the URL")
    return explain(error, location)
