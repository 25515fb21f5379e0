"""How a field of a line is made of a column, and read back: one codec for each sort of value."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from satchel.base.clock import iso
from satchel.base.errors import InvalidInput, SatchelError, unknown_name
from satchel.base.paging import check_whole
from satchel.base.records import dataclass
from satchel.base.text import fold, shortened
from satchel.keep import names, runs
from satchel.keep.messages.updates import storable_payload
from satchel.keep.strategies import updates as strategy_writing
from satchel.keep.texts import check_content, check_short, storable, to_json

if TYPE_CHECKING:
    from satchel.keep.moving.reading import Reading

_MAX_NUMBER = 2**53
_MAX_COUNT = 2**31 - 1
_UID_BYTES = 16
_TIME_CHARS = len("2026-11-21T09:00:00.000Z")


Line = dict[str, Any]
"""What stands in one line."""


def called(line: Line) -> str:
    """Say what the item of a line is called, for a report."""
    for name in ("key", "text", "content", "summary", "insight", "message", "name", "run", "file"):
        if isinstance(line.get(name), str):
            return shortened(line[name], 80)
    return str(line.get("kind"))


Show = Callable[[Any], Any]
Read = Callable[[Any, "Reading", str], Any]


@dataclass(frozen=True, slots=True)
class Codec:
    """How one sort of value stands in a line.

    Attributes:
        what: what a reader of the schema is told.
        show: returns what stands in a line for a column's value, which is not null; None for the value itself.
        read: returns the column's value for what stands in a line; raises InvalidInput.
        is_number: whether a column holds the number of what lines name; reading then says what it changed.
        is_minor: whether a value that is none is left out where it is not required, instead of the line.
    """

    what: str
    show: Show | None
    read: Read
    is_number: bool = False
    is_minor: bool = False


def read_uid(value: object, name: str = "uid") -> bytes:
    """Return the bytes of a uid.

    Raises:
        InvalidInput: it is not 32 hexadecimal digits.
    """
    try:
        uid = bytes.fromhex(value) if isinstance(value, str) else b""
    except ValueError:
        uid = b""
    if len(uid) != _UID_BYTES:
        raise InvalidInput(f"its {name} is {repr(value)[:60]}", "A uid is 32 hexadecimal digits")
    return uid


def _text(value: Any, reading: Reading, name: str) -> str:
    content = check_content(value, name, reading.workplace.max_content_bytes)
    reading.notes += content.notes
    return content.text


def _name(value: Any, _: Reading, name: str) -> str:
    return names.check_identifier(value, name)


def _folded(value: Any, _: Reading, name: str) -> str:
    return fold(names.check_identifier(value, name))


def _topic(value: Any, reading: Reading, _: str) -> str:
    topic = strategy_writing.check_topic(value)
    if topic != value:
        reading.notes.append(f"the topic is kept as {topic!r}")
    return topic


def _time(value: Any, reading: Reading, name: str) -> int:
    if not isinstance(value, str):
        raise InvalidInput(f"its {name} is {repr(value)[:60]}", "Times are ISO 8601, as in 2026-11-21T09:00:00.000Z")
    try:
        moment = datetime.fromisoformat(value)
        milliseconds = round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1_000)
    except (ValueError, OverflowError):
        raise InvalidInput(f"its {name} {value[:60]!r} is not a time", "Times are ISO 8601") from None
    # what has the form that is written here says the same when it is written anew
    if len(value) != _TIME_CHARS or value[-1] != "Z":
        reading.changed = True
    return milliseconds


def _born(value: Any, reading: Reading, name: str) -> int:
    """Read when an item was made: names that it brings are as old as it is."""
    reading.at = _time(value, reading, name)
    return reading.at


def _whole(value: Any, _: Reading, name: str) -> int:
    check_whole(name, value, _MAX_NUMBER)
    return int(value)


def _count(value: Any, _: Reading, name: str) -> int:
    check_whole(name, value, _MAX_COUNT, smallest=1)
    return int(value)


def _flag(value: Any, _: Reading, name: str) -> int:
    if not isinstance(value, bool):
        raise InvalidInput(f"its {name} is {repr(value)[:60]}", "It is true or false")
    return int(value)


def _agent(value: Any, reading: Reading, name: str) -> int:
    return reading.agent(value, name, acts=True)


def _addressee(value: Any, reading: Reading, name: str) -> int:
    return reading.agent(value, name, acts=False)


def _run(value: Any, reading: Reading, _: str) -> int:
    return reading.run(value if isinstance(value, str) else runs.check_run_id(value))


def _layer(value: Any, reading: Reading, name: str) -> int:
    return reading.layer(names.check_identifier(value, name))


def _file(value: Any, reading: Reading, name: str) -> str | None:
    """Read a path of the project; one out of it says something of another machine, and is left out."""
    try:
        return reading.file(value, name)
    except SatchelError as error:
        reading.notes.append(f"{error.problem}; left out")
        return None


def _file_number(value: Any, reading: Reading, name: str) -> int:
    return names.ensure_file(reading.transaction, reading.project, reading.file(value, name), reading.at)


def _hex(value: Any, _: Reading, name: str) -> bytes:
    try:
        return bytes.fromhex(value)
    except (TypeError, ValueError):
        raise InvalidInput(f"its {name} is {repr(value)[:60]}", "It is hexadecimal digits") from None


def _json(value: Any, reading: Reading, _: str) -> str | None:
    if isinstance(value, str):
        # a text that looks like JSON is a text
        cleaned = storable(value)
        reading.notes += cleaned.notes
        return to_json(cleaned.text)
    text, notes = storable_payload(value, reading.workplace.max_content_bytes)
    reading.notes += notes
    return text


TEXT = Codec("a text", None, _text)
NAME = Codec("a name of at most 200 characters", None, _name, is_minor=True)
TIME = Codec("a time, ISO 8601 UTC with milliseconds", iso, _time, is_number=True)
BORN = Codec("a time, ISO 8601 UTC with milliseconds", iso, _born, is_number=True)
WHOLE = Codec("a whole number", None, _whole)
COUNT = Codec("a whole number from 1", None, _count)
FLAG = Codec("true; absent is false", lambda value: True if value else None, _flag)
TOPIC = Codec("a topic, in lower case", None, _topic)
FOLDED = Codec("a name in lower case", None, _folded, is_minor=True)
AGENT = Codec("an agent's name", None, _agent, is_number=True, is_minor=True)
ADDRESSEE = Codec("an agent's name", None, _addressee, is_number=True)
RUN = Codec("a run's name", None, _run, is_number=True)
LAYER = Codec("a layer's name", None, _layer, is_number=True, is_minor=True)
FILE = Codec("a path inside the project", None, _file)
FILE_NUMBER = Codec("a path inside the project", None, _file_number, is_number=True)
HEX = Codec("hexadecimal digits", bytes.hex, _hex)
JSON = Codec("any JSON value", json.loads, _json)


def short(most: int, *, one_line: bool = False) -> Codec:
    """Return the codec of a text of at most so many characters; a longer one is shortened."""

    def read(value: Any, reading: Reading, name: str) -> str:
        kept = check_short(value, name, most, reading.workplace.max_content_bytes, one_line=one_line)
        reading.notes += kept.notes
        return kept.text

    return Codec(f"a text of at most {most} characters", None, read)


def of_table(table: str, what: str) -> Codec:
    """Return the codec of a name that a table of names holds."""
    return Codec(what, None, lambda value, reading, name: reading.named(table, value, name), is_number=True)


CATEGORY, TAG, SCOPE = (
    of_table(table, f"a {what}'s name")
    for table, what in (("categories", "category"), ("tags", "tag"), ("scopes", "scope"))
)


def one_of(choices: Sequence[str]) -> Codec:
    """Return the codec of an enumeration, whose numbers begin with 1."""

    def read(value: Any, _: Reading, name: str) -> int:
        if value not in choices:
            raise unknown_name(name, value, choices)
        return choices.index(value) + 1

    return Codec(f"one of {', '.join(choices)}", lambda number: choices[number - 1], read)


def link(table: str) -> Codec:
    """Return the codec of a link to another item; what is not here yet is linked once it is."""

    def read(value: Any, reading: Reading, name: str) -> int | None:
        uid = read_uid(value, name)
        number = reading.number_of(table, value)
        if number is None:
            reading.links.append((name, uid))
        return number

    return Codec("the uid of another item", bytes.hex, read, is_number=True)


MAX, MIN, FILL, SOFT = "max", "min", "fill", "soft"
"""How a field that differs is brought together: counters take the larger, beginnings the smaller, authors the one that
is known, and what may be either way is taken from the side that changed last."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of the lines of a kind.

    Attributes:
        name: what lines call it.
        codec: how its values stand there.
        column: the column that it is kept in; None takes the name.
        sql: what is read of the item's row ``i``; None takes the column.
        required: whether a line without it is left out.
        default: what is kept where a line lacks it.
        merge: one of :data:`MAX` and those beside it; empty for what an item says, which is judged as a whole.
        either: how many columns ``sql`` reads; at most one of them holds the value.
        is_own: whether a link to what is not here is kept as one to the item itself: what was replaced does not hold,
            whether what replaced it is here or not.
    """

    name: str
    codec: Codec
    column: str | None = None
    sql: str | None = None
    required: bool = False
    default: Any = None
    merge: str = ""
    is_own: bool = False
    either: int = 1

    @property
    def kept_in(self) -> str:
        """The column that it is kept in."""
        return self.column or self.name

    @property
    def read_from(self) -> str:
        """The SQL that reads it."""
        return self.sql or f"i.{self.kept_in}"


def named(
    name: str, codec: Codec, table: str, column: str, shown: str = "name", *, required: bool = False, merge: str = ""
) -> Field:
    """Return a field that is kept as the number of a named row.

    Args:
        table: where the named rows are.
        column: the column that holds the number.
        shown: the column of ``table`` that lines show.
    """
    sql = f"(SELECT n.{shown} FROM {table} n WHERE n.id = i.{column})"
    return Field(name, codec, column, sql, required, merge=merge)


def linked(name: str, table: str, column: str | None = None, *, merge: str = "", is_own: bool = False) -> Field:
    """Return a field that links to an item of a table by its uid."""
    column = column or name
    sql = f"(SELECT n.uid FROM {table} n WHERE n.id = i.{column})"
    return Field(name, link(table), column, sql, merge=merge, is_own=is_own)


Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Part:
    """A list inside the lines of a kind, of rows of another table.

    Attributes:
        name: what lines call it.
        table: where its rows are.
        owner: the column with the number of the item.
        fields: of each row; with one alone the list holds its values, else objects.
        is_own: whether it is what the item says, replaced with it; else it is what came to pass with the item, which is
            brought together from both sides.
        same: the columns that make two rows one.
        order: SQL for the order of rows.
        is_single: whether there is one at most, which stands in the line as an object.
        add: brings rows in where a plain insertion would not do; gets the item's number and row.
        parts: lists inside the rows.
    """

    name: str
    table: str
    owner: str
    fields: tuple[Field, ...]
    is_own: bool = False
    same: tuple[str, ...] = ()
    order: str = "i.id"
    is_single: bool = False
    add: Callable[[Reading, int, dict[str, Any], Rows], None] | None = None
    parts: tuple[Part, ...] = ()
