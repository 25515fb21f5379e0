"""A database that holds a store: its connections, its settings, and whose turn it is at each project."""

from __future__ import annotations

import logging
import os
import selectors
import threading
import time
from contextlib import suppress
from hashlib import blake2b
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from satchel.base.clock import Clock
from satchel.base.errors import InvalidInput, Refused, SatchelError
from satchel.base.records import dataclass
from satchel.store import forks
from satchel.store.postgres import failures, types
from satchel.store.postgres.address import Address
from satchel.store.postgres.group import Turns
from satchel.store.postgres.transaction import Statement
from satchel.store.running import DEADLINE_SECONDS, Interruptible, Running
from satchel.store.transaction import Row

# a briefing, a search and an event stream at once, for each of a few callers; PostgreSQL's own default is 100 in all
MOST_CONNECTIONS = 20
# a body may compute between two statements; what takes longer holds up the whole project
_IDLE_SECONDS = 300
_CONNECT_SECONDS = 10
_OLDEST_VERSION = 14
MARK_BYTES = 8
MARKS_BYTES = 16 * MARK_BYTES
"""How much is kept of the marks of the last transactions, the newest first."""

LOCK_STORE = "SELECT pg_advisory_xact_lock(%(key)s)"
_MARKS_OF_STORE = "SELECT writes, marks FROM store"
_MARKS_OF_PROJECT = "SELECT writes, marks FROM projects WHERE name = %(name)s FOR UPDATE"
_LOST_SECONDS = 30.0
"""How long it is asked how a commit ended whose answer was lost: the server may still be starting again."""

_CHECK = """
    SELECT current_setting('server_version_num')::int, current_setting('fsync'), current_setting('synchronous_commit'),
        current_setting('server_encoding'), pg_is_in_recovery(), current_database()
"""

for _name in ("psycopg", "psycopg.pool"):
    # what went wrong is raised; without a handler the library's warnings would go to the terminal
    logging.getLogger(_name).addHandler(logging.NullHandler())


_LEFT_TO_THE_PARENT: list[ConnectionPool[Connection[Row]]] = []
"""Pools of a process that was forked: their last reference going away would end threads that are not here."""


@dataclass(frozen=True, slots=True)
class Server:
    """What is known of the server since a connection was made.

    Attributes:
        version: its major version.
        is_standby: whether it takes no writes.
        database: the name of the database.
    """

    version: int
    is_standby: bool
    database: str


class Shared:
    """A transaction that writes, with its connection, until it is committed.

    Attributes:
        project: by name; None works in the store as a whole.
        mark: by which the row of the project, or of the store, says whether the transaction was kept.
        number: how many transactions there had been with it.
        memo_version: the version of the memo when it began; None where it works in the store as a whole.
        forgot: whether any of it has changed what others may have looked up.
    """

    __slots__ = ("connection", "forgot", "mark", "memo_version", "number", "project")

    def __init__(self, connection: Connection[Row], project: str | None) -> None:
        self.connection = connection
        self.project = project
        self.mark = os.urandom(MARK_BYTES)
        self.number = 0
        self.memo_version: int | None = None
        self.forgot = False


class _Alone(threading.local):
    """What a thread has asked for, and done.

    Attributes:
        is_asked: whether its writes share a transaction with nobody.
        kept: how many of its transactions were kept.
    """

    is_asked = False
    kept = 0


class Database:
    """The connections to one store; engines of several projects share it. Safe to share between threads.

    Args:
        address: where it is.
        durability: ``full`` waits for the disk with every commit; ``relaxed`` may lose the last ones when the server
            fails.
        clock: what migrations are stamped with.
    """

    def __init__(self, address: Address, durability: str, clock: Clock) -> None:
        self.address = address
        self.location = address.shown
        self.clock = clock
        self.durability = durability
        self.running: Running[Interruptible] = Running(self.location)
        self.is_ready = False
        self.has_store = False
        self.commits = 0
        self.without_id: frozenset[str] = frozenset()
        self.lock = threading.RLock()
        self._pool: ConnectionPool[Connection[Row]] | None = None
        self._turns: dict[str | None, Turns[Shared]] = {}
        self._servers: WeakKeyDictionary[Connection[Row], Server] = WeakKeyDictionary()
        self.alone = _Alone()
        digest = blake2b(address.schema.encode(), digest_size=8, person=b"satchel").digest()
        self.lock_key = int.from_bytes(digest, "big", signed=True)
        forks.register(self)

    def reset_after_fork(self) -> None:
        """In a forked child: forget the parent's connections, which libpq leaves alone in another process."""
        self.lock = threading.RLock()
        if self._pool is not None:
            _LEFT_TO_THE_PARENT.append(self._pool)
        self._pool = None
        self._turns = {}
        self.running.start_afresh()

    def turns(self, project: str | None) -> Turns[Shared]:
        """Return whose turn it is at a project; None is the store as a whole."""
        return self._turns.setdefault(project, Turns())

    @property
    def role_shown(self) -> str:
        """The role that owns the store, for people."""
        return self.address.role or self.address.user or "the role that logs in"

    def settings(self, wait_ms: int | None = None) -> Statement:
        """Return the statement that sets what holds for one transaction; PgBouncer passes it to no other.

        Args:
            wait_ms: how long to wait for a lock; None leaves the server's own measure.
        """
        hurried = not self.running.is_unhurried(threading.get_ident())
        values = {
            "search_path": self.address.schema,
            "statement_timeout": str(round(DEADLINE_SECONDS * 1_000) if hurried else 0),
            "idle_in_transaction_session_timeout": str(_IDLE_SECONDS * 1_000),
            "jit": "off",
        }
        if self.address.role is not None:
            values = {"role": self.address.role, **values}
        if wait_ms is not None:
            values["lock_timeout"] = str(max(1, wait_ms))
            if self.durability != "full":
                values["synchronous_commit"] = "off"
        set_each = ", ".join(f"set_config('{name}', %({name})s, true)" for name in values)
        return f"SELECT {set_each}", values

    def connect(self) -> Connection[Row]:
        """Make a connection outside the pool, for what is done once.

        Raises:
            SatchelError: it cannot be made, or the server is set up so that a commit may be lost.
        """
        try:
            connection = psycopg.connect(**self._options())
        except psycopg.Error as error:
            raise self.explained_connecting(error) from None
        try:
            self._configure(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def server_of(self, connection: Connection[Row]) -> Server:
        """Return what is known of the server of a connection."""
        return self._servers[connection]

    def borrow(self, seconds: float) -> Connection[Row]:
        """Take a connection from the pool; the caller gives it back.

        Args:
            seconds: how long to wait for one.

        Raises:
            SatchelError: there is none, or none can be made.
        """
        until = time.monotonic() + seconds
        while True:
            pool = self._open_pool()
            try:
                connection = pool.getconn(timeout=max(0.1, until - time.monotonic()))
            except (PoolTimeout, PoolClosed):
                self.connect().close()  # says why where none can be made
                raise failures.no_connection(self.location) from None
            if _is_alive(connection):
                return connection
            self.give_back(connection, is_broken=True)

    def give_back(self, connection: Connection[Row], *, is_broken: bool = False) -> None:
        """Return a connection to the pool, after rolling back what is open; one that was lost is closed."""
        if is_broken:
            connection.close()
        elif not connection.closed and connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            with suppress(psycopg.Error):
                # not execute(): psycopg would go on to take for prepared what stood behind a failed statement
                connection.rollback()
        try:
            if self._pool is None:
                connection.close()
            else:
                self._pool.putconn(connection)
        except ValueError:  # it comes from a pool that was closed meanwhile
            connection.close()

    def how_it_ended(self, shared: Shared) -> bool | None:
        """Ask how a commit ended whose answer was lost.

        The locked row is asked, not pg_xact_status: a crash gives the number of a transaction that was lost to the next
        one, and a commit that still runs keeps the lock.

        Returns:
            Whether it was kept; None where nobody can say: no server answers, or too much was written since.
        """
        until = time.monotonic() + _LOST_SECONDS
        pause = threading.Event()
        while (seconds := until - time.monotonic()) > 0:
            try:
                with self.connect() as connection:
                    connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
                    connection.execute(*self.settings(round(seconds * 1_000)))
                    if shared.project is None:
                        connection.execute(LOCK_STORE, {"key": self.lock_key})
                        row = connection.execute(_MARKS_OF_STORE).fetchone()
                    else:
                        row = connection.execute(_MARKS_OF_PROJECT, {"name": shared.project}).fetchone()
            except (psycopg.Error, SatchelError):
                pause.wait(0.1)
                continue
            if row is None:
                return None
            number, marks = row
            if shared.mark in (marks[start : start + MARK_BYTES] for start in range(0, len(marks), MARK_BYTES)):
                return True
            # those that came since have pushed no mark out
            return False if number - shared.number < MARKS_BYTES // MARK_BYTES else None
        return None

    def close(self) -> None:
        """Close every connection that is idle; others when they come back."""
        with self.lock:
            pool, self._pool = self._pool, None
            self.is_ready = False
        if pool is not None:
            pool.close(timeout=1.0)

    def explained(self, error: psycopg.Error, *, interrupted: bool = False) -> BaseException:
        """Return what to raise instead of an error of the database: one of ours, or itself."""
        return failures.explain(error, self.location, interrupted=interrupted) or error

    def explained_connecting(self, error: psycopg.Error) -> SatchelError:
        """Return the error for a connection that could not be made."""
        return failures.explain_connecting(error, self.location)

    def _options(self) -> dict[str, Any]:
        try:
            given = conninfo_to_dict(self.address.url)
        except psycopg.Error:
            # the library's text repeats parts of the URL, which may be of the password
            raise InvalidInput(
                "the database URL is malformed: libpq does not take it", "Write special characters in it as %XX"
            ) from None
        options = {
            "connect_timeout": _CONNECT_SECONDS,
            "application_name": "satchel",
            "client_encoding": "UTF8",
            "keepalives_idle": 30,
            "tcp_user_timeout": 30_000,
            **given,
        }
        if self.address.password is not None:
            options["password"] = self.address.password
        return {**options, "autocommit": True, "prepare_threshold": 1, "context": types.adapters()}

    def _open_pool(self) -> ConnectionPool[Connection[Row]]:
        with self.lock:
            if self._pool is None:
                self._pool = ConnectionPool(
                    kwargs=self._options(),
                    min_size=1,
                    max_size=MOST_CONNECTIONS,
                    configure=self._configure,
                    open=True,
                    timeout=_CONNECT_SECONDS,
                    max_idle=300.0,
                    reconnect_timeout=_CONNECT_SECONDS,
                    num_workers=2,
                    name="satchel",
                )
            return self._pool

    def _configure(self, connection: Connection[Row]) -> None:
        """Refuse a server that may lose what it has confirmed, and what Satchel cannot work on."""
        connection.prepared_max = 1_000
        row = connection.execute(_CHECK).fetchone()
        assert row is not None
        number, fsync, commits, encoding, is_standby, database = row
        if fsync != "on":
            raise Refused(
                f"the server of {self.location} runs with fsync = {fsync}: a crash may destroy what it has confirmed",
                "Set fsync = on there",
            )
        if self.durability == "full" and commits not in {"on", "remote_apply"}:
            raise Refused(
                f"the server of {self.location} has synchronous_commit = {commits}: it confirms what it may lose",
                "Set it to on for the role or the database (ALTER ROLE ... SET synchronous_commit = on)",
            )
        if encoding != "UTF8":
            raise Refused(f"the database of {self.location} has the encoding {encoding}", "Create one with UTF8")
        if number // 10_000 < _OLDEST_VERSION:
            raise Refused(
                f"the server of {self.location} is PostgreSQL {number // 10_000}",
                f"Satchel needs {_OLDEST_VERSION} or newer",
            )
        self._servers[connection] = Server(number // 10_000, bool(is_standby), database)


def _is_alive(connection: Connection[Row]) -> bool:
    """Whether an idle connection was not closed by the server, as far as this side knows."""
    if connection.closed:
        return False
    try:
        if _is_readable(connection):
            connection.pgconn.consume_input()
            return connection.pgconn.status == psycopg.pq.ConnStatus.OK and not _is_readable(connection)
    except (psycopg.Error, OSError):
        return False
    return True


def _is_readable(connection: Connection[Row]) -> bool:
    # not select(), which knows no descriptor above 1,023
    with selectors.DefaultSelector() as selector:
        selector.register(connection.pgconn.socket, selectors.EVENT_READ)
        return bool(selector.select(0))
