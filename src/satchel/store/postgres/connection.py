"""A connection that sends statements in batches, each batch in one message, and prepares repeated ones.

psycopg's own pipeline sends each statement in a message, which takes several times as long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import cache, lru_cache
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
_DONE = frozenset({ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK})
_FAILED = frozenset({ExecStatus.FATAL_ERROR, ExecStatus.BAD_RESPONSE})

_Key = tuple[str, tuple[int, ...]]
_Values = Sequence[Buffer | None]


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


class _Message(NamedTuple):
    """A statement as it goes over the wire.

    Attributes:
        key: its SQL, and the types of its parameters.
        name: of the prepared statement; empty if it is not prepared.
        is_new: whether it is prepared with this batch.
    """

    key: _Key
    text: bytes
    values: _Values
    formats: Sequence[Format]
    name: bytes
    is_new: bool


class StoreConnection(Connection[Row]):
    """A connection to the database of a store.

    Attributes:
        version: the major version of the server.
    """

    version = 0

    def __init__(self, pgconn: PGconn) -> None:
        super().__init__(pgconn)
        self._names: dict[_Key, bytes] = {}  # empty after the first use of a statement
        self._made = 0

    def run_all(self, *statements: Statement, on_wait: Callable[[], None] | None = None) -> list[Result]:
        """Run statements in order, in one round trip, and return their results.

        None of them may depend on another's result. `on_wait` is called now and then until the results arrive.

        Raises:
            psycopg.Error: one has failed; those behind it were not run.
        """
        adapting = adapt.Transformer(self)
        messages = [self._message(*one) for one in [_dump(adapting, *statement) for statement in statements]]
        pgconn = self.pgconn
        pgconn.enter_pipeline_mode()
        try:
            for one in messages:
                if one.is_new:
                    pgconn.send_prepare(one.name, one.text, one.key[1])
                if one.name:
                    pgconn.send_query_prepared(one.name, one.values, one.formats)
                else:
                    pgconn.send_query_params(one.text, one.values, one.key[1], one.formats)
            pgconn.pipeline_sync()
            answers = self.wait(_answers(pgconn, on_wait), _PAUSE_SECONDS if on_wait is None else _LOOK_SECONDS)
        finally:
            self._leave_pipeline()
        return self._read(adapting, messages, answers)

    def _message(self, key: _Key, text: bytes, values: _Values, formats: Sequence[Format]) -> _Message:
        """Return the message for a statement; the second time it is prepared."""
        name = self._names.get(key)
        is_new = name == b""
        if is_new:
            self._made += 1
            name = self._names[key] = b"s%d" % self._made
        elif name is None and len(self._names) < _MOST_KNOWN:
            self._names[key] = b""
        return _Message(key, text, values, formats, name or b"", is_new)

    def _leave_pipeline(self) -> None:
        try:
            if self.pgconn.status == ConnStatus.OK:
                self.pgconn.exit_pipeline_mode()
        except OperationalError:
            self.close()  # late answers must not be taken for those of other statements

    def _read(self, adapting: Transformer, messages: Sequence[_Message], answers: Iterable[PGresult]) -> list[Result]:
        """Return the results of a batch: one answer for each statement, and one for each that was prepared."""
        coming = iter(answers)
        failed: PGresult | None = None
        results: list[Result] = []
        for one in messages:
            for is_prepared in (True, False) if one.is_new else (False,):
                answer = next(coming, None)
                is_done = answer is not None and answer.status in _DONE
                if is_prepared and not is_done:
                    self._names[one.key] = b""
                if answer is not None and answer.status in _FAILED:
                    failed = failed or answer
                elif is_done and not is_prepared:
                    assert answer is not None
                    adapting.set_pgresult(answer)
                    results.append(
                        Result(
                            adapting.load_rows(0, answer.ntuples, tuple),
                            answer.command_tuples or 0,
                            (answer.command_status or b"").decode(),
                        )
                    )
        if failed is not None:
            raise error_from_result(failed)
        if len(results) < len(messages):
            raise OperationalError("the connection was lost before all answers came")
        return results


def _dump(
    adapting: Transformer, sql: str, parameters: Parameters | None
) -> tuple[_Key, bytes, _Values, Sequence[Format]]:
    text, names = numbered(sql)
    values_by_name = _NOTHING if parameters is None else parameters
    values = adapting.dump_sequence([values_by_name[name] for name in names], [PyFormat.AUTO] * len(names))
    return (sql, tuple(adapting.types or ())), text, values, adapting.formats or ()


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
