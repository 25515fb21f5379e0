"""Connections and transactions on PostgreSQL: statements without a result are sent together with the next one."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import psycopg
from psycopg import Connection, OperationalError, adapt
from psycopg.adapt import AdaptersMap, Buffer, Loader, PyFormat
from psycopg.generators import send
from psycopg.pq import ConnStatus, ExecStatus, Format
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper, NumericLoader
from psycopg.waiting import Wait

from satchel.store import forks
from satchel.store.running import interruption
from satchel.store.transaction import LIST_MARK, Parameters, Row, RuleBroken, check_time, insertion

if TYPE_CHECKING:
    from psycopg.abc import PQGen, Transformer
    from psycopg.pq.abc import PGconn, PGresult

_CANCEL_SECONDS = 5.0

_SAVEPOINT = "SAVEPOINT satchel_part"
_RELEASE = f"RELEASE {_SAVEPOINT}"


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
        return next(iter(self.all()), None)


class PostgresTransaction:
    """A transaction on PostgreSQL; see :class:`satchel.store.transaction.Transaction`.

    Attributes:
        sequences: the sequence of the numbers of a table.
        project_id: the project whose row is locked, 0 for none, and `seq` the last number of its changes.
        is_ended: whether a statement was ended because the time was over, or a part failed, until it was rolled back.
        forgot: whether the commit empties the memo of every engine.
        is_shared: whether others work in the same transaction, so that nothing in it may be cancelled.
    """

    database: ClassVar[str] = "postgresql"

    def __init__(self, connection: StoreConnection, *begin: Statement) -> None:
        self.connection = connection
        self.memo: dict[tuple[Hashable, ...], Any] = {}
        self.sequences: Mapping[str, str] = {}
        self.project_id = self.seq = 0
        self.forgot = False
        self._waiting = [(one, AwaitedRows(self)) for one in begin]
        self._numbers: dict[str, AwaitedRows] = {}  # for new rows, by table
        self.begin_part()

    def begin_part(self, *, is_shared: bool = False) -> None:
        """Begin the part of another thread."""
        self.reads: dict[Hashable, Any] = {}
        self.is_out_of_time: Callable[[], bool] | None = None
        self.interrupted = self.is_ended = False
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
                self.connection.is_doubtful = True

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
        return awaited

    def execute(self, sql: str, parameters: Parameters | None = None) -> int:
        return self.ask(sql, parameters).get().changed

    def add(self, table: str, row: Parameters) -> int:
        """Insert one row and return its number, 0 if it has none."""
        if table in self.sequences:
            if not self._has_numbers(table):
                self.expect(**{table: 1})
            row = {"id": self._numbers[table].all().pop(0)[0], **row}
        self.run(insertion(table, tuple(row)), row)
        return int(row.get("id", 0))

    def expect(self, **rows: int) -> None:
        """Request, together with the next statement, the numbers for new rows of tables."""
        self._numbers.update({table: self._ask_numbers(table, count) for table, count in rows.items()})

    def next_seq(self, project_id: int, changes: int = 1, *, documents: int = 0) -> int:
        """Take the next numbers of a project's change counter and return the first.

        The counter of the project whose row is locked needs no query.
        """
        if documents and not self._has_numbers("documents"):
            self.expect(documents=documents)
        values = {"id": project_id, "documents": documents}
        counted = "documents = documents + :documents WHERE id = :id"
        if self.project_id != project_id:
            sql = f"UPDATE projects SET seq = seq + :n, {counted} RETURNING seq"
            ((last,),) = self.all(sql, {**values, "n": changes})
            return int(last) - changes + 1
        self.seq += changes
        # the number itself: changes rolled back to a savepoint were counted here all the same
        self.run(f"UPDATE projects SET seq = :seq, {counted}", {**values, "seq": self.seq})
        return self.seq - changes + 1

    def reserve(self, table: str, count: int) -> Sequence[int]:
        return [row[0] for row in self._ask_numbers(table, count).all()]

    def _has_numbers(self, table: str) -> bool:
        numbers = self._numbers.get(table)
        return numbers is not None and (not numbers.is_here or bool(numbers.all()))

    def _ask_numbers(self, table: str, count: int) -> AwaitedRows:
        sql = f"SELECT nextval('{self.sequences[table]}') FROM generate_series(1, :count)"
        return self.ask(sql, {"count": count})

    def many(self, sql: str, rows: Iterable[Parameters]) -> None:
        for row in rows:
            self.run(sql, row)

    def one(self, sql: str, parameters: Parameters | None = None) -> Row | None:
        return self.ask(sql, parameters).one()

    def all(self, sql: str, parameters: Parameters | None = None) -> list[Row]:
        return self.ask(sql, parameters).all()

    def ask(self, sql: str, parameters: Parameters | None = None) -> AwaitedRows:
        self._check()
        return self.later(sql, parameters)

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        try:
            with self.part():
                yield
        except (psycopg.IntegrityError, psycopg.DataError) as error:
            raise RuleBroken(str(error)) from error

    @contextmanager
    def part(self) -> Iterator[None]:
        """Roll back the block if it fails, and drop the memo, part of which may have been rolled back."""
        self.later(_SAVEPOINT)
        try:
            yield
            self.send()
        except BaseException:
            self.is_ended = True  # a rollback must not be ended
            self.memo.clear()
            self._numbers.clear()
            places = [place for place, (statement, _) in enumerate(self._waiting) if statement[0] == _SAVEPOINT]
            if places:
                # none of it was sent; earlier statements stay
                del self._waiting[places[-1] :]
            else:
                # the savepoints of inner parts that ended well go first: they have the same name
                self._waiting = [one for one in self._waiting if one[0][0] == _RELEASE]
                self.send((f"ROLLBACK TO {_SAVEPOINT}", None), (_RELEASE, None))
            self.is_ended = False
            raise
        self.later(_RELEASE)

    def send(self, *last: Statement) -> str | None:
        """Send the waiting statements, then `last`, and wait; return the server's last status, such as ``COMMIT``."""
        self.check_connection()
        waiting = [*self._waiting, *((one, AwaitedRows(self)) for one in last)]
        if not waiting:
            return None
        # a value that cannot be sent raises here, while all statements still wait
        messages = self.connection.messages_of(*(statement for statement, _ in waiting))
        self._waiting = []
        try:
            results = self.connection.exchange(messages, on_wait=self._end_in_time)
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

    def check_connection(self) -> None:
        """Refuse a connection of another process, and one on which a cancellation may still arrive."""
        if self.connection.forks != forks.generation:
            raise forks.refusal()
        if self.connection.is_doubtful:
            raise interruption()

    def _check(self) -> None:
        if self.interrupted:
            raise interruption()
        check_time(self)


# SQL with `:name` parameters, and their values
Statement = tuple[str, Parameters | None]

# how often to stop waiting for the server: to notice signals, and to call `on_wait`
_LOOK_SECONDS = 0.02
_FAILED = frozenset({ExecStatus.FATAL_ERROR, ExecStatus.BAD_RESPONSE})

_Key = tuple[str, tuple[int, ...]]
_Message = tuple[_Key, bytes, Sequence[Buffer | None], Sequence[Format]]

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

    return _TOKEN.sub(as_number, sql).encode(), tuple(names)


class Result(NamedTuple):
    """The rows of a statement, how many it changed or returned, and the server's status, such as ``COMMIT``."""

    rows: list[Row]
    changed: int
    status: str


class StoreConnection(Connection[Row]):
    """A connection to the database of a store.

    Attributes:
        home: where it was borrowed.
        forks: number of forks that had led to the process that opened it.
        names: the names of the statements that the server has prepared for it.
        is_doubtful: whether a cancellation may still reach the server, where it must end no statement of another
            transaction; then the connection must be closed.
    """

    home: list[StoreConnection] | None = None

    def __init__(self, pgconn: PGconn) -> None:
        super().__init__(pgconn)
        self.forks = forks.generation
        self.is_doubtful = False
        self.names: dict[_Key, bytes] = {}
        self._numbers = count()

    def run_all(self, *statements: Statement) -> list[Result]:
        """Run statements in order, in one round trip, and return their results; none may depend on another's."""
        return self.exchange(self.messages_of(*statements))

    def messages_of(self, *statements: Statement) -> list[_Message]:
        """Return statements as they are sent; raise DataError if one has a value that cannot be."""
        adapting = adapt.Transformer(self)
        return [_dump(adapting, *with_lists(*statement)) for statement in statements]

    def exchange(self, messages: Sequence[_Message], on_wait: Callable[[], None] = lambda: None) -> list[Result]:
        """Send messages in one round trip and return their results, until which `on_wait` is called now and then."""
        adapting = adapt.Transformer(self)
        pgconn = self.pgconn
        names: dict[_Key, bytes] = {}
        pgconn.enter_pipeline_mode()
        try:
            for key, text, values, formats in messages:
                name = self.names.get(key) or names.get(key)
                if name is None:
                    name = names[key] = b"s%d" % next(self._numbers)
                    pgconn.send_prepare(name, text, key[1])
                pgconn.send_query_prepared(name, values, formats)
            pgconn.pipeline_sync()
            answers = self.wait(_answers(pgconn, on_wait), _LOOK_SECONDS)
        finally:
            try:
                if pgconn.status == ConnStatus.OK:
                    pgconn.exit_pipeline_mode()
            except OperationalError:
                self.close()  # late answers must not be taken for those of other statements
        failed = next((answer for answer in answers if answer.status in _FAILED), None)
        if failed is not None or len(answers) < len(messages) + len(names):
            raise psycopg.errors.error_from_result(failed) if failed else OperationalError("the connection was lost")
        self.names |= names
        # the answer to preparing has no status
        return [_result(adapting, answer) for answer in answers if answer.command_status]


def _dump(adapting: Transformer, sql: str, parameters: Parameters | None) -> _Message:
    text, names = numbered(sql)
    by_name = parameters or {}
    values = adapting.dump_sequence([by_name[name] for name in names], [PyFormat.AUTO] * len(names))
    return (sql, tuple(adapting.types or ())), text, values, adapting.formats or ()


def _result(adapting: Transformer, answer: PGresult) -> Result:
    adapting.set_pgresult(answer)
    status = (answer.command_status or b"").decode()
    return Result(adapting.load_rows(0, answer.ntuples, tuple), answer.command_tuples or 0, status)


def _answers(pgconn: PGconn, on_wait: Callable[[], None]) -> PQGen[list[PGresult]]:
    yield from send(pgconn)
    answers: list[PGresult] = []
    while pgconn.status == ConnStatus.OK:
        while pgconn.is_busy():
            if (yield Wait.R):
                pgconn.consume_input()
            else:
                on_wait()
        answer = pgconn.get_result()
        if answer is not None and answer.status == ExecStatus.PIPELINE_SYNC:
            break
        answers += () if answer is None else (answer,)  # None is the end of one statement's answers
    return answers


class _Whole(NumericLoader):
    def load(self, data: Buffer) -> Any:
        value = super().load(data)
        return int(value) if value == value.to_integral_value() else float(value)


class _Truth(Loader):
    def load(self, data: Buffer) -> int:
        return int(bytes(data) == b"t")


# numbers are returned as SQLite returns them: whole ones as integers, booleans as 0 or 1. An int is always sent as a
# bigint: with the type by its size, as psycopg's own default has it, one statement would be prepared once for each
# combination
ADAPTERS: Final = AdaptersMap(psycopg.adapters)
ADAPTERS.register_loader("numeric", _Whole)
ADAPTERS.register_loader("bool", _Truth)
ADAPTERS.register_dumper(bool, Int8BinaryDumper)
ADAPTERS.register_dumper(int, Int8Dumper)
