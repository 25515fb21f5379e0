"""A database that holds a store: its connections, its settings, and the write turns of each project."""

from __future__ import annotations

import logging
import os
import selectors
import threading
import time
from collections import deque
from contextlib import suppress
from hashlib import blake2b
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.generators import fetch_many
from psycopg.pq import TransactionStatus as Status

from satchel.base.clock import Clock
from satchel.base.errors import Busy, InvalidInput, Refused, SatchelError
from satchel.store import forks
from satchel.store.postgres import failures
from satchel.store.postgres.address import Address
from satchel.store.postgres.connection import MOST_PREPARED, Statement, StoreConnection, adapters
from satchel.store.postgres.group import Turns
from satchel.store.postgres.transaction import Counter
from satchel.store.running import DEADLINE_SECONDS, Interruptible, Running

# a briefing, a search and an event stream at once, for each of a few callers; PostgreSQL's own default is 100 in all
MOST_CONNECTIONS = 20
# a transaction may compute between two statements; a longer pause would block the whole project
_IDLE_SECONDS = 300
_CONNECT_SECONDS = 10
_UNUSED_SECONDS = 300.0
_OLDEST_VERSION = 14
_LIMITS_TRANSACTIONS = 17
MARK_BYTES = 8
MARKS_BYTES = 16 * MARK_BYTES
"""How many bytes of marks of the last transactions are stored, the newest first."""

# a snapshot taken before the wait misses the claims of others in the meantime: REPEATABLE READ gave 161 claims for
# 40 paths
WRITE: Statement = ("BEGIN ISOLATION LEVEL READ COMMITTED", None)
LOCK_STORE = "SELECT pg_advisory_xact_lock(:key)"
_MARKS_OF_STORE = "SELECT writes, marks FROM store"
_MARKS_OF_PROJECT = "SELECT writes, marks FROM projects WHERE name = :name FOR UPDATE"
_LOST_SECONDS = 30.0
"""How long to ask for the outcome of a commit whose answer was lost: the server may be restarting."""

_CHECK = """
    SELECT current_setting('server_version_num')::int, current_setting('fsync'), current_setting('synchronous_commit'),
        current_setting('server_encoding')
"""

# errors are raised; without a handler the library's warnings would go to the terminal
logging.getLogger("psycopg").addHandler(logging.NullHandler())


class Shared:
    """A write transaction with its connection, shared by threads until it is committed.

    Attributes:
        project: by name; None works in the store as a whole.
        mark: marks the transaction in the row of the project, or of the store, to find out whether it was kept.
        number: number of transactions including it.
        memo_version: the version of the memo when it began; None if it works in the store as a whole.
        forgot: whether any of it has changed what others may have in their memo.
        counter: that of the project's changes; None if it works in the store as a whole.
    """

    __slots__ = ("connection", "counter", "forgot", "mark", "memo_version", "number", "project")

    def __init__(self, connection: StoreConnection, project: str | None) -> None:
        self.connection = connection
        self.project = project
        self.mark = os.urandom(MARK_BYTES)
        self.number = 0
        self.memo_version: int | None = None
        self.forgot = False
        self.counter: Counter | None = None


class _Alone(threading.local):
    """State of a thread.

    Attributes:
        is_requested: whether its writes share no transaction.
        committed: number of its committed transactions.
    """

    is_requested = False
    committed = 0


class Database:
    """The connections to one store, shared by the engines of several projects. Safe to share between threads.

    With durability ``full`` every commit waits for the disk; ``relaxed`` may lose the last ones when the server fails.
    """

    def __init__(self, address: Address, durability: str, clock: Clock) -> None:
        self.address = address
        self.location = address.label
        self.clock = clock
        self.durability = durability
        self.running: Running[Interruptible] = Running(self.location)
        self.is_ready = False
        self.has_store = False
        self.commits = 0
        self.sequences: dict[str, str] = {}
        self.lock = threading.RLock()
        self._idle_lock = threading.Lock()
        self._idle: deque[tuple[float, StoreConnection]] = deque()
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._in_use: dict[StoreConnection, threading.BoundedSemaphore] = {}
        self._turns: dict[str | None, Turns[Shared]] = {}
        self.alone = _Alone()
        digest = blake2b(address.schema.encode(), digest_size=8, person=b"satchel").digest()
        self.lock_key = int.from_bytes(digest, "big", signed=True)
        forks.register(self)

    def reset_after_fork(self) -> None:
        """Drop the parent's connections in a forked child."""
        self.lock = threading.RLock()
        self._idle_lock = threading.Lock()
        self._idle.clear()  # libpq closes no connection of another process
        self._in_use.clear()
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._turns = {}
        self.running.reset()

    def turns(self, project: str | None) -> Turns[Shared]:
        """Return the turns of a project; None is the store as a whole."""
        return self._turns.setdefault(project, Turns())

    @property
    def role_label(self) -> str:
        """The role that owns the store, for people."""
        return self.address.role or self.address.user or "the role that logs in"

    def settings(self, wait_ms: int | None = None, version: int = 0) -> tuple[str, dict[str, str]]:
        """Return the statement with the settings of one transaction; PgBouncer passes them to no other.

        `wait_ms` limits the wait for a lock. With the server's version the whole transaction is limited too: the server
        may not notice that it is idle, as psycopg sends one more message after several statements at once.
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
        if version >= _LIMITS_TRANSACTIONS and hurried:
            values["transaction_timeout"] = values["idle_in_transaction_session_timeout"]
        set_each = ", ".join(f"set_config('{name}', :{name}, true)" for name in values)
        return f"SELECT {set_each}", values

    def connect(self) -> StoreConnection:
        """Open a connection.

        Raises:
            SatchelError: it cannot be opened, or the server's settings may lose a commit.
        """
        connection = None
        try:
            connection = StoreConnection.connect(**self._options())
            self._configure(connection)
        except BaseException as error:
            if connection is not None:
                connection.close()
            if isinstance(error, psycopg.Error):
                raise self.explained_connecting(error) from None
            raise
        return connection

    def borrow(self, seconds: float) -> StoreConnection:
        """Take a connection; the caller gives it back.

        Raises:
            SatchelError: :data:`MOST_CONNECTIONS` stayed in use for so long, or none can be opened.
        """
        free = self._free
        if not free.acquire(timeout=max(0.1, seconds)):
            raise Busy(
                f"all {MOST_CONNECTIONS} connections of this process to {self.location} are in use",
                "Nothing was written; try again",
            )
        try:
            connection = self._idle_one() or self.connect()
        except BaseException:
            free.release()
            raise
        self._in_use[connection] = free
        return connection

    def _idle_one(self) -> StoreConnection | None:
        """Take the most recently used connection that is still open; close those unused for long."""
        with self._idle_lock:
            while self._idle and time.monotonic() - self._idle[0][0] > _UNUSED_SECONDS:
                self._idle.popleft()[1].close()
        with suppress(IndexError):
            while True:
                _, one = self._idle.pop()
                if _is_alive(one):
                    return one
                one.close()
        return None

    def give_back(self, connection: StoreConnection, *, is_broken: bool = False) -> None:
        """Take a connection back and roll back its open transaction; close a lost one.

        The next borrower, not a finished reader, waits for the answer to the rollback.
        """
        if not (is_broken or connection.closed):
            with suppress(psycopg.Error):
                if connection.info.transaction_status == Status.INTRANS:
                    connection.pgconn.send_query(b"ROLLBACK")
                    connection.pgconn.flush()
                else:
                    # not execute(): psycopg would still count statements behind a failed one as prepared
                    connection.rollback()
        free = self._in_use.pop(connection)
        is_sound = not is_broken and connection.info.transaction_status in {Status.IDLE, Status.ACTIVE}
        with self._idle_lock:
            # one lent before a close() may belong to another store by now
            if is_sound and free is self._free:
                self._idle.append((time.monotonic(), connection))
            else:
                connection.close()
        free.release()

    def was_kept(self, shared: Shared) -> bool | None:
        """Return whether a commit was kept whose answer was lost; None if that cannot be found out.

        It asks the locked row, not pg_xact_status: a crash gives the number of a lost transaction to the next one, and
        a commit that still runs keeps the lock. The outcome is unknown if no server responds, or too much was written
        since.
        """
        until = time.monotonic() + _LOST_SECONDS
        pause = threading.Event()
        while (seconds := until - time.monotonic()) > 0:
            try:
                with self.connect() as connection:
                    begin = (WRITE, self.settings(round(seconds * 1_000)))
                    if shared.project is None:
                        lock = (LOCK_STORE, {"key": self.lock_key})
                        *_, result = connection.run_all(*begin, lock, (_MARKS_OF_STORE, None))
                    else:
                        *_, result = connection.run_all(*begin, (_MARKS_OF_PROJECT, {"name": shared.project}))
            except (psycopg.Error, SatchelError):
                pause.wait(0.1)
                continue
            if not result.rows:
                return None
            ((number, marks),) = result.rows
            if shared.mark in (marks[start : start + MARK_BYTES] for start in range(0, len(marks), MARK_BYTES)):
                return True
            # those that came since have pushed no mark out
            return False if number - shared.number < MARKS_BYTES // MARK_BYTES else None
        return None

    def close(self) -> None:
        """Close every idle connection; others when they come back."""
        with self._idle_lock:
            self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
            while self._idle:
                self._idle.pop()[1].close()
        self.is_ready = False

    def explained(self, error: psycopg.Error, *, interrupted: bool = False) -> BaseException:
        """Return the error to raise instead of the database's: Satchel's, or the same one."""
        return failures.explain(error, self.location, interrupted=interrupted) or error

    def explained_connecting(self, error: psycopg.Error) -> SatchelError:
        return failures.explain_connecting(error, self.location)

    def _options(self) -> dict[str, Any]:
        try:
            from_url = conninfo_to_dict(self.address.url)
        except psycopg.Error:
            # the library's message repeats parts of the URL, maybe of the password
            raise InvalidInput(
                "the database URL is malformed: libpq rejects it", "Write special characters in it as %XX"
            ) from None
        options = {
            "connect_timeout": _CONNECT_SECONDS,
            "application_name": "satchel",
            "client_encoding": "UTF8",
            "keepalives_idle": 30,
            "tcp_user_timeout": 30_000,
            **from_url,
        }
        if self.address.password is not None:
            options["password"] = self.address.password
        return {**options, "autocommit": True, "prepare_threshold": 1, "context": adapters()}

    def _configure(self, connection: StoreConnection) -> None:
        """Refuse a server that may lose confirmed commits, or that Satchel cannot work with."""
        row = connection.execute(_CHECK).fetchone()
        assert row is not None
        number, fsync, commits, encoding = row
        version = number // 10_000
        if fsync != "on":
            raise Refused(
                f"the server of {self.location} runs with fsync = {fsync}: a crash may destroy confirmed writes",
                "Set fsync = on there",
            )
        if self.durability == "full" and commits not in {"on", "remote_apply"}:
            raise Refused(
                f"the server of {self.location} has synchronous_commit = {commits}: it may lose confirmed writes",
                "Set it to on for the role or the database (ALTER ROLE ... SET synchronous_commit = on)",
            )
        if encoding != "UTF8":
            raise Refused(f"the database of {self.location} has the encoding {encoding}", "Create one with UTF8")
        if version < _OLDEST_VERSION:
            raise Refused(
                f"the server of {self.location} is PostgreSQL {version}",
                f"Satchel needs {_OLDEST_VERSION} or newer",
            )
        connection.version = version
        connection.prepared_max = MOST_PREPARED


def _is_alive(connection: StoreConnection) -> bool:
    """Whether the server has not closed an idle connection, as far as this side knows."""
    if connection.closed:
        return False
    try:
        if connection.info.transaction_status == Status.ACTIVE:  # the answer to the last ROLLBACK is still to be read
            connection.wait(fetch_many(connection.pgconn))
        if connection.pgconn.transaction_status != Status.IDLE:
            return False
        if _is_readable(connection):
            connection.pgconn.consume_input()
            return connection.pgconn.status == psycopg.pq.ConnStatus.OK and not _is_readable(connection)
    except (psycopg.Error, OSError):
        return False
    return True


def _is_readable(connection: StoreConnection) -> bool:
    # not select(), which knows no descriptor above 1,023
    with selectors.DefaultSelector() as selector:
        selector.register(connection.pgconn.socket, selectors.EVENT_READ)
        return bool(selector.select(0))
