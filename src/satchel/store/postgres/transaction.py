"""Connections and transactions on PostgreSQL: statements without a result are sent together with the next one."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import psycopg
from psycopg import Connection, OperationalError, adapt
from psycopg import adapters as defaults
from psycopg.adapt import AdaptersMap, Buffer, Loader, PyFormat
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, Format
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper, NumericLoader
from psycopg.waiting import Ready, Wait

from satchel.base.errors import Interrupted
from satchel.store import forks
from satchel.store.transaction import LIST_MARK, Parameters, Row, RuleBroken, check_time, insertion

if TYPE_CHECKING:
    from queue import LifoQueue

    from psycopg.abc import Transformer
    from psycopg.pq.abc import PGconn, PGresult

# the answers to more would fill the socket while statements are still being sent
_MOST_WAITING = 500

_CANCEL_SECONDS = 5.0


class AwaitedRows:
    """The result of a statement once it was sent."""

    __slots__ = ("_transaction", "result")

    def __init__(self, transaction: PostgresTransaction) -> None:
        self._transaction = transaction
        self.result: Result | None = None

    @property
    def is_here(self) -> bool:
        return self.result is not None

    def get(self) -> Result:
        if self.result is None:
            self._transaction.send()
        assert self.result is not None
        return self.result

    def all(self) -> list[Row]:
        return self.get().rows

    def one(self) -> Row | None:
        rows = self.get().rows
        return rows[0] if rows else None


class PostgresTransaction:
    """A transaction on PostgreSQL; see :class:`satchel.store.transaction.Transaction`.

    Attributes:
        sequences: the sequence of the numbers of a table.
        project_id: the project whose row is locked, 0 for none, and `seq` the last number of its changes.
        is_ended: whether a statement was ended because the time was over; then the transaction can only be rolled back
            to a savepoint.
        forgot: whether the commit empties the memo of every engine.
        is_doubtful: whether a sent cancellation may still reach the connection, which must be closed.
        is_shared: whether others work in the same transaction, so that nothing in it may be cancelled.
    """

    database: ClassVar[str] = "postgresql"

    def __init__(self, connection: StoreConnection, *begin: Statement) -> None:
        self.connection = connection
        self.memo: dict[tuple[Hashable, ...], Any] = {}
        self.sequences: Mapping[str, str] = {}
        self.project_id = self.seq = 0
        self.forgot = False
        self.forks = forks.generation
        self._waiting = [(one, AwaitedRows(self)) for one in begin]
        self._numbers: dict[str, AwaitedRows] = {}  # for new rows, by table
        self.begin_part()

    def begin_part(self, *, is_shared: bool = False) -> None:
        """Begin the part of another thread."""
        self.reads: dict[Hashable, Any] = {}
        self.is_out_of_time: Callable[[], bool] | None = None
        self.interrupted = self.is_ended = self.is_doubtful = False
        self.is_shared = is_shared

    @property
    def is_sent(self) -> bool:
        return not self._waiting

    def cancel(self) -> None:
        """End the running statement, unless others work in the same transaction."""
        if not self.is_shared:
            try:
                self.connection.cancel_safe(timeout=_CANCEL_SECONDS)
            except psycopg.Error:
                # it may still reach the server, and must not end a statement of another transaction
                self.is_doubtful = True

    def forget(self, kind: str | None = None) -> None:  # noqa: ARG002 -- other engines know one version of all
        """Drop the memo, here and in every other engine."""
        self.memo.clear()
        self.forgot = True

    def run(self, sql: str, parameters: Parameters | None = None) -> None:
        self.ask(sql, parameters)

    def later(self, sql: str, parameters: Parameters | None = None) -> AwaitedRows:
        """Send a statement together with the next one, even if the transaction was interrupted."""
        awaited = AwaitedRows(self)
        self._waiting.append(((sql, parameters), awaited))
        if len(self._waiting) >= _MOST_WAITING:
            self.send()
        return awaited

    def execute(self, sql: str, parameters: Parameters | None = None) -> int:
        return self.ask(sql, parameters).get().changed

    def add(self, table: str, row: Parameters) -> int:
        """Insert one row and return its number, 0 if it has none."""
        if table not in self.sequences:
            self.run(insertion(table, tuple(row)), row)
            return 0
        numbers = self._numbers[table].all() if table in self._numbers else []
        if numbers:
            numbered = {"id": numbers.pop(0)[0], **row}
            self.run(insertion(table, tuple(numbered)), numbered)
            return int(numbered["id"])
        ((number,),) = self.all(f"{insertion(table, tuple(row))} RETURNING id", row)
        return int(number)

    def expect(self, **rows: int) -> None:
        """Request, together with the next statement, the numbers for new rows of tables."""
        self._numbers.update({table: self._ask_numbers(table, count) for table, count in rows.items()})

    def next_seq(self, project_id: int, changes: int = 1, *, documents: int = 0) -> int:
        """Take the next numbers of a project's change counter and return the first.

        The counter of the project whose row is locked needs no query.
        """
        numbers = self._numbers.get("documents")
        if documents and (numbers is None or (numbers.is_here and not numbers.all())):
            self.expect(documents=documents)
        values = {"id": project_id, "documents": documents}
        counted = "documents = documents + :documents WHERE id = :id"
        if self.project_id != project_id:
            row = self.one(f"UPDATE projects SET seq = seq + :n, {counted} RETURNING seq", {**values, "n": changes})
            assert row is not None
            return int(row[0]) - changes + 1
        self.seq += changes
        # the number itself: changes rolled back to a savepoint were counted here all the same
        self.run(f"UPDATE projects SET seq = :seq, {counted}", {**values, "seq": self.seq})
        return self.seq - changes + 1

    def insert_many(self, table: str, rows: Sequence[Parameters]) -> None:
        if rows:
            self.many(insertion(table, tuple(rows[0])), rows)

    def reserve(self, table: str, count: int) -> Sequence[int]:
        return [row[0] for row in self._ask_numbers(table, count).all()]

    def _ask_numbers(self, table: str, count: int) -> AwaitedRows:
        sql = f"SELECT nextval('{self.sequences[table]}') FROM generate_series(1, :count)"
        return self.ask(sql, {"count": count})

    def many(self, sql: str, rows: Iterable[Parameters]) -> None:
        self._check()
        for row in rows:
            self.later(sql, row)

    def one(self, sql: str, parameters: Parameters | None = None) -> Row | None:
        return self.ask(sql, parameters).one()

    def all(self, sql: str, parameters: Parameters | None = None) -> list[Row]:
        return self.ask(sql, parameters).all()

    def ask(self, sql: str, parameters: Parameters | None = None) -> AwaitedRows:
        self._check()
        return self.later(sql, parameters)

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        self.later("SAVEPOINT satchel_part")
        try:
            yield
            release: Statement = ("RELEASE SAVEPOINT satchel_part", None)
            if self._waiting:
                self.send(release)
            else:
                self.later(*release)
        except BaseException as error:
            self.roll_back_to("satchel_part")
            if isinstance(error, (psycopg.IntegrityError, psycopg.DataError)):
                raise RuleBroken(str(error)) from error
            raise

    def roll_back_to(self, savepoint: str) -> None:
        """Roll back to a savepoint and drop the memo, part of which may have been rolled back."""
        self.memo.clear()
        self._numbers.clear()
        begin = (f"SAVEPOINT {savepoint}", None)
        places = [place for place, (statement, _) in enumerate(self._waiting) if statement == begin]
        if places:
            # none of it was sent; earlier statements stay
            del self._waiting[places[-1] :]
            return
        self._waiting.clear()
        self.is_ended = True  # a rollback must not be ended
        self.send((f"ROLLBACK TO SAVEPOINT {savepoint}", None), (f"RELEASE SAVEPOINT {savepoint}", None))
        self.is_ended = False

    def send(self, *last: Statement) -> str | None:
        """Send the waiting statements, then `last`, and wait; return the server's last status, such as ``COMMIT``."""
        waiting = [*self._waiting, *((one, AwaitedRows(self)) for one in last)]
        self._waiting = []
        if not waiting:
            return None
        try:
            results = self.connection.run_all(
                *(statement for statement, _ in waiting),
                on_wait=None if self.is_out_of_time is None else self._end_in_time,
            )
        except psycopg.errors.QueryCanceled:
            self._check()
            raise
        for (_, awaited), result in zip(waiting, results, strict=True):
            awaited.result = result
        return results[-1].status

    def _end_in_time(self) -> None:
        if self.is_out_of_time is not None and not self.is_ended and self.is_out_of_time():
            self.is_ended = True
            self.cancel()

    def _check(self) -> None:
        if self.forks != forks.generation:
            raise forks.refusal()
        if self.interrupted:
            raise Interrupted("the call was interrupted", "Nothing of it was written")
        check_time(self)


Statement = tuple[str, Parameters | None]
"""SQL with ``:name`` parameters, and their values."""

# each prepared statement takes about 10 KB on the server
_MOST_KNOWN = 1_000
# how often to stop waiting for the server: to notice signals, and to call `on_wait`
_PAUSE_SECONDS, _LOOK_SECONDS = 0.1, 0.02
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_FAILED = frozenset({ExecStatus.FATAL_ERROR, ExecStatus.BAD_RESPONSE})

_Key = tuple[str, tuple[int, ...]]

# first everything that is not a parameter: literals, quoted names, comments, casts
_TOKEN = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|::)|:([A-Za-z_]\w*)""", re.DOTALL)

_LIST = re.compile(rf"\b(NOT )?IN \({re.escape(LIST_MARK)}([^)]*)\)")


def with_lists(sql: str, parameters: Parameters | None) -> tuple[str, Parameters | None]:
    if LIST_MARK not in sql:
        return sql, parameters
    lists: dict[str, str] = {}

    def as_parameter(match: re.Match[str]) -> str:
        name = f"list{len(lists)}"
        # the text of an array: numbers as they are, x'0f' as "\\x0f"; its type is that of the column
        lists[name] = "{" + match[2].replace("x'", '"\\\\x').replace("'", '"') + "}"
        return f"{'<> ALL' if match[1] else '= ANY'} (:{name})"

    return _LIST.sub(as_parameter, sql), {**(parameters or {}), **lists}


@lru_cache(maxsize=2_000)
def numbered(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """Return a statement with numbers for its ``:name`` parameters, and the names in the order of the numbers."""
    names: dict[str, int] = {}

    def as_number(match: re.Match[str]) -> str:
        name: str | None = match[2]
        return match[1] if name is None else f"${names.setdefault(name, len(names) + 1)}"

    text = _TOKEN.sub(as_number, sql).encode()
    return text, tuple(names)


class Result(NamedTuple):
    """The rows of a statement, how many it changed or returned, and the server's status, such as ``COMMIT``."""

    rows: list[Row]
    changed: int
    status: str


class StoreConnection(Connection[Row]):
    """A connection to the database of a store."""

    home: LifoQueue[StoreConnection | None] | None = None

    def __init__(self, pgconn: PGconn) -> None:
        super().__init__(pgconn)
        self._names: dict[_Key, bytes] = {}  # of prepared statements
        self._numbers = count()

    def run_all(self, *statements: Statement, on_wait: Callable[[], None] | None = None) -> list[Result]:
        """Run statements in order, in one round trip, and return their results.

        None of them may depend on another's result. `on_wait` is called now and then until the results arrive.
        """
        adapting = adapt.Transformer(self)
        # all of them before any is sent: one may have a value that cannot be sent
        messages = [_dump(adapting, *with_lists(*statement)) for statement in statements]
        pgconn = self.pgconn
        prepared: list[_Key] = []
        pgconn.enter_pipeline_mode()
        try:
            for key, text, values, formats in messages:
                if key not in self._names:
                    if len(self._names) >= _MOST_KNOWN:
                        pgconn.send_query_params(text, values, key[1], formats)
                        continue
                    self._names[key] = b"s%d" % next(self._numbers)
                    pgconn.send_prepare(self._names[key], text, key[1])
                    prepared.append(key)
                pgconn.send_query_prepared(self._names[key], values, formats)
            pgconn.pipeline_sync()
            answers = self.wait(_answers(pgconn, on_wait), _PAUSE_SECONDS if on_wait is None else _LOOK_SECONDS)
        finally:
            try:
                if pgconn.status == ConnStatus.OK:
                    pgconn.exit_pipeline_mode()
            except OperationalError:
                self.close()  # late answers must not be taken for those of other statements
        failed = next((answer for answer in answers if answer.status in _FAILED), None)
        if failed is not None or len(answers) < len(messages) + len(prepared):
            for key in prepared:
                del self._names[key]
            raise error_from_result(failed) if failed else OperationalError("the connection was lost")
        # the answer to preparing has no status
        return [_result(adapting, answer) for answer in answers if answer.command_status]


def _dump(
    adapting: Transformer, sql: str, parameters: Parameters | None
) -> tuple[_Key, bytes, Sequence[Buffer | None], Sequence[Format]]:
    text, names = numbered(sql)
    values_by_name = _NOTHING if parameters is None else parameters
    values = adapting.dump_sequence([values_by_name[name] for name in names], [PyFormat.AUTO] * len(names))
    return (sql, tuple(adapting.types or ())), text, values, adapting.formats or ()


def _result(adapting: Transformer, answer: PGresult) -> Result:
    adapting.set_pgresult(answer)
    status = (answer.command_status or b"").decode()
    return Result(adapting.load_rows(0, answer.ntuples, tuple), answer.command_tuples or 0, status)


def _answers(pgconn: PGconn, on_wait: Callable[[], None] | None) -> Generator[Wait, Ready | int, list[PGresult]]:
    answers: list[PGresult] = []
    is_sent = pgconn.flush() == 0
    while True:
        while pgconn.status == ConnStatus.OK and not pgconn.is_busy():
            answer = pgconn.get_result()
            if answer is None:
                continue  # the end of one statement's answers
            if answer.status == ExecStatus.PIPELINE_SYNC:
                return answers
            answers.append(answer)
        if pgconn.status != ConnStatus.OK:
            return answers
        ready = yield Wait.R if is_sent else Wait.RW
        if not ready and on_wait is not None:
            on_wait()
        if ready & Ready.R:
            pgconn.consume_input()
        is_sent = is_sent or pgconn.flush() == 0


class _Whole(NumericLoader):
    def load(self, data: Buffer) -> Any:
        value = super().load(data)
        return int(value) if value == value.to_integral_value() else float(value)


class _Truth(Loader):
    def load(self, data: Buffer) -> int:
        return int(bytes(data) == b"t")


@cache
def adapters() -> AdaptersMap:
    """Return the conversions of values: numbers as SQLite returns them, whole ones as integers, booleans as 0 or 1.

    An int is always a bigint: with the type by its size, as psycopg's own default has it, one statement would be
    prepared once for each combination.
    """
    own = AdaptersMap(defaults)
    own.register_loader("numeric", _Whole)
    own.register_loader("bool", _Truth)
    own.register_dumper(bool, Int8BinaryDumper)
    own.register_dumper(int, Int8Dumper)
    return own
