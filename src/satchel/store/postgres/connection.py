"""A connection that sends statements in batches, each batch in one message, and prepares repeated ones.

psycopg's own pipeline sends each statement in a message, which takes several times as long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import compress, count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from psycopg import Connection, OperationalError, adapt
from psycopg import adapters as defaults
from psycopg.adapt import AdaptersMap, Buffer, Dumper, Loader, PyFormat
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, Format
from psycopg.types.numeric import Int8Dumper, NumericLoader
from psycopg.waiting import Ready, Wait

from satchel.store.transaction import LIST_MARK, Parameters, Row

if TYPE_CHECKING:
    from psycopg.abc import Transformer
    from psycopg.pq.abc import PGconn, PGresult

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
    """Return a statement and its parameters with its lists moved to parameters."""
    if LIST_MARK not in sql:
        return sql, parameters
    lists: dict[str, list[int] | list[bytes]] = {}

    def as_parameter(match: re.Match[str]) -> str:
        name = f"list{len(lists)}"
        texts = match[2].split(", ") if match[2] else []
        is_bytes = match[2].startswith("x'")
        lists[name] = [bytes.fromhex(text[2:-1]) for text in texts] if is_bytes else [int(text) for text in texts]
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
    """A connection to the database of a store.

    Attributes:
        version: the major version of the server.
        home: where it is put when it is idle.
    """

    version = 0
    home: object = None

    def __init__(self, pgconn: PGconn) -> None:
        super().__init__(pgconn)
        self._names: dict[_Key, bytes] = {}  # of prepared statements; empty after the first use
        self._numbers = count()

    def run_all(self, *statements: Statement, on_wait: Callable[[], None] | None = None) -> list[Result]:
        """Run statements in order, in one round trip, and return their results.

        None of them may depend on another's result. `on_wait` is called now and then until the results arrive.

        Raises:
            psycopg.Error: one has failed; those behind it were not run.
        """
        adapting = adapt.Transformer(self)
        # all of them before any is sent: one may have a value that cannot be sent
        messages = [_dump(adapting, *with_lists(*statement)) for statement in statements]
        pgconn = self.pgconn
        prepared: list[_Key] = []
        is_result: list[bool] = []  # of each answer; others are those to preparing
        pgconn.enter_pipeline_mode()
        try:
            for key, text, values, formats in messages:
                name = self._names.get(key)
                if name == b"":
                    name = self._names[key] = b"s%d" % next(self._numbers)
                    pgconn.send_prepare(name, text, key[1])
                    prepared.append(key)
                    is_result.append(False)
                elif name is None and len(self._names) < _MOST_KNOWN:
                    self._names[key] = b""
                if name:
                    pgconn.send_query_prepared(name, values, formats)
                else:
                    pgconn.send_query_params(text, values, key[1], formats)
                is_result.append(True)
            pgconn.pipeline_sync()
            answers = self.wait(_answers(pgconn, on_wait), _PAUSE_SECONDS if on_wait is None else _LOOK_SECONDS)
        finally:
            try:
                if pgconn.status == ConnStatus.OK:
                    pgconn.exit_pipeline_mode()
            except OperationalError:
                self.close()  # late answers must not be taken for those of other statements
        failed = next((answer for answer in answers if answer.status in _FAILED), None)
        if failed is not None or len(answers) < len(is_result):
            self._names.update(dict.fromkeys(prepared, b""))
            raise error_from_result(failed) if failed else OperationalError("the connection was lost")
        return [_result(adapting, answer) for answer in compress(answers, is_result)]


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
    """Send the rest of a batch, and return the server's answers once all arrived or the connection is lost."""
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
    """Loads the sums of whole numbers as integers, other numerics as floats."""

    def load(self, data: Buffer) -> Any:
        value = super().load(data)
        return int(value) if value == value.to_integral_value() else float(value)


class _Truth(Loader):
    """Loads booleans as 0 or 1."""

    def load(self, data: Buffer) -> int:
        return int(bytes(data) == b"t")


class _Bit(Dumper):
    """Sends booleans as 0 or 1, as the tables hold them."""

    oid = Int8Dumper.oid

    def dump(self, obj: Any) -> bytes:
        return b"1" if obj else b"0"


@cache
def adapters() -> AdaptersMap:
    """Return the conversions of values: numbers as SQLite returns them, whole ones as integers, booleans as 0 or 1.

    An int is always a bigint: with the type by its size, as psycopg's own default has it, one statement would be
    prepared once for each combination.
    """
    own = AdaptersMap(defaults)
    own.register_loader("numeric", _Whole)
    own.register_loader("bool", _Truth)
    own.register_dumper(bool, _Bit)
    own.register_dumper(int, Int8Dumper)
    return own
