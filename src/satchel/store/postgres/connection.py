"""A connection that runs statements with ``:name`` parameters, several in one round trip."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeVar

from psycopg import Connection, RawCursor
from psycopg import adapters as defaults
from psycopg.abc import PQGen
from psycopg.adapt import AdaptersMap, Buffer, Dumper, Loader
from psycopg.types.numeric import Int8Dumper, NumericLoader
from psycopg.waiting import Ready, Wait

from satchel.store.transaction import LIST_MARK, Parameters, Row

Statement = tuple[str, Parameters | None]
"""SQL with ``:name`` parameters, and their values."""

# each prepared statement takes about 10 KB on the server
MOST_PREPARED = 1_000
_LOOK_SECONDS = 0.02
"""How often to call ``on_wait``."""

Answer = TypeVar("Answer")

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
    """Result of a statement.

    Attributes:
        rows: the returned rows.
        changed: number of rows changed or returned.
        status: the server's status, such as ``COMMIT``.
    """

    rows: list[Row]
    changed: int
    status: str


class StoreConnection(Connection[Row]):
    """A connection to the database of a store.

    Attributes:
        version: the major version of the server.
        on_wait: called now and then while a statement runs.
    """

    version = 0
    on_wait: Callable[[], None] | None = None

    def run_all(self, *statements: Statement, on_wait: Callable[[], None] | None = None) -> list[Result]:
        """Run statements in order, in one round trip, and return their results.

        None of them may depend on another's result. `on_wait` is called now and then until the results arrive.

        Raises:
            psycopg.Error: one has failed; those behind it were not run.
        """
        self.on_wait = on_wait
        try:
            if len(statements) == 1:
                cursors = [self._send(*statements[0])]
            else:
                with self.pipeline():
                    cursors = [self._send(*statement) for statement in statements]
        except BaseException:
            self._prepared.clear()  # psycopg counts statements behind a failed one as prepared
            raise
        finally:
            self.on_wait = None
        return [
            Result(cursor.fetchall() if cursor.description else [], max(0, cursor.rowcount), cursor.statusmessage or "")
            for cursor in cursors
        ]

    def _send(self, sql: str, parameters: Parameters | None) -> RawCursor[Row]:
        text, names = numbered(sql)
        cursor = RawCursor(self)
        cursor.execute(text, [parameters[name] for name in names] if parameters is not None else None)
        return cursor

    def wait(self, gen: PQGen[Answer], *args: Any, **kwargs: Any) -> Answer:
        if self.on_wait is None:
            return super().wait(gen, *args, **kwargs)
        return super().wait(_looking(gen, self.on_wait), _LOOK_SECONDS)


def _looking(gen: PQGen[Answer], on_wait: Callable[[], None]) -> Generator[Wait, Ready | int, Answer]:
    """Return a generator that does the same and calls a function whenever nothing has arrived for a while."""
    try:
        state = next(gen)
        while True:
            ready = yield state
            if not ready:
                on_wait()
            state = gen.send(ready)
    except StopIteration as ended:
        answer: Answer = ended.value
        return answer


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
