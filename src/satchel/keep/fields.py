"""Fields of items, and the conversions between a column's value, the attribute of a record and JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from satchel.base.clock import DAY_MS, iso
from satchel.base.errors import InvalidInput, SatchelError, unknown_name
from satchel.base.paging import check_whole
from satchel.base.records import NamedTuple
from satchel.base.text import fold
from satchel.keep import names, paths
from satchel.keep.projects import Workplace
from satchel.keep.texts import check_content, check_short
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from satchel.keep.moving.reading import Reading

_MAX_NUMBER = 2**53
_MAX_COUNT = 2**31 - 1
_UID_BYTES = 16
_TIME_CHARS = len("2026-11-21T09:00:00.000Z")


class Checking(Protocol):
    workplace: Workplace
    notes: list[str]


Show = Callable[[Any], Any]
Read = Callable[[Any, "Reading", str], Any]
Check = Callable[[Any, Checking, str], Any]
# returns the number of a checked name of a project, which may be new now
Store = Callable[[Transaction, Workplace, int, str, int], int]


class Codec(NamedTuple):
    """Conversion between a column's value, the attribute of a record and the JSON in a line.

    Attributes:
        what: description for readers of the schema.
        show: returns the JSON for a column's non-null value; None uses the value itself.
        read: returns the column's value for JSON; raises InvalidInput.
        check: checks an argument of a service, without the store; returns the column's value, or a name for ``store``.
        store: returns the number of such a name.
        decode: returns a record's attribute for a column's non-null value; None uses the value itself.
        is_number: whether the column holds the id of a row that lines name; reading then reports changes itself.
        is_minor: whether an invalid optional value is dropped instead of the whole line.
    """

    what: str
    show: Show | None
    read: Read
    is_number: bool = False
    is_minor: bool = False
    check: Check | None = None
    store: Store | None = None
    decode: Show | None = None


def read_uid(value: object, name: str = "uid") -> bytes:
    try:
        uid = bytes.fromhex(value) if isinstance(value, str) else b""
    except ValueError:
        uid = b""
    if len(uid) != _UID_BYTES:
        raise InvalidInput(f"its {name} is {repr(value)[:60]}", "A uid is 32 hexadecimal digits")
    return uid


def _text(value: Any, reading: Checking, name: str) -> str:
    content = check_content(value, name, reading.workplace.max_content_bytes)
    reading.notes += content.notes
    return content.text


def _name(value: Any, _: Checking, name: str) -> str:
    return names.check_identifier(value, name)


def _folded(value: Any, _: Checking, name: str) -> str:
    return fold(names.check_identifier(value, name))


def _time(value: Any, reading: Reading, name: str) -> int:
    from datetime import UTC, datetime

    if not isinstance(value, str):
        raise InvalidInput(f"its {name} is {repr(value)[:60]}", "Times are ISO 8601, as in 2026-11-21T09:00:00.000Z")
    try:
        moment = datetime.fromisoformat(value)
        milliseconds = round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1_000)
    except (ValueError, OverflowError):
        raise InvalidInput(f"its {name} {value[:60]!r} is not a time", "Times are ISO 8601") from None
    if milliseconds > reading.now + DAY_MS and not reading.is_as_written:
        # it would head every list until then
        reading.notes.append(f"its {name} {value} is in the future: the time of the import was stored")
        reading.changed = True
        return reading.now
    # a time in this format round-trips unchanged
    if len(value) != _TIME_CHARS or value[-1] != "Z":
        reading.changed = True
    return milliseconds


def _born(value: Any, reading: Reading, name: str) -> int:
    # names created for this item get the item's age
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


def _run(value: Any, reading: Reading, _: str) -> int:
    return reading.run(value if isinstance(value, str) else names.check_identifier(value, "run_id"))


def _file_number(value: Any, reading: Reading, name: str) -> int:
    return names.ensure_file(reading.transaction, reading.project, reading.file(value, name), reading.at)


def _file(value: Any, reading: Reading, name: str) -> str | None:
    # a path outside the project belongs to another machine
    try:
        return reading.file(value, name)
    except SatchelError as error:
        reading.notes.append(f"{error.problem}; left out")
        return None


def _paths(value: Any, reading: Checking, name: str) -> str:
    return paths.text_of(paths.check_globs(value, reading.workplace, name))


EMPTY = "{}"  # the column of metadata without any


def metadata_in(text: str) -> dict[str, str | float]:
    if text == EMPTY:
        return {}
    import json

    try:
        values: dict[str, str | float] = json.loads(text)
    except ValueError:  # damaged
        return {"damaged": text}
    return values


def _metadata(value: Any, reading: Checking, name: str) -> str:
    from satchel.keep.texts import check_metadata  # imported here: readers do not check

    text, notes = check_metadata(value, name)
    reading.notes += notes
    return text


def _hex(value: Any, _: Reading, name: str) -> bytes:
    try:
        return bytes.fromhex(value)
    except (TypeError, ValueError):
        raise InvalidInput(f"its {name} is {repr(value)[:60]}", "It is hexadecimal digits") from None


TEXT = Codec("a text", None, _text, check=_text)
NAME = Codec("a name of at most 200 characters", None, _name, is_minor=True, check=_name)
TIME = Codec("a time, ISO 8601 UTC with milliseconds", iso, _time, is_number=True)
BORN = Codec("a time, ISO 8601 UTC with milliseconds", iso, _born, is_number=True)
WHOLE = Codec("a whole number", None, _whole)
COUNT = Codec("a whole number from 1", None, _count)
FLAG = Codec("true; absent is false", lambda value: True if value else None, _flag, decode=bool)
FOLDED = Codec("a name in lower case", None, _folded, is_minor=True, check=_folded)
AGENT = Codec(
    "an agent's name", None, lambda value, reading, name: reading.agent(value, name, acts=True), True, is_minor=True
)
ADDRESSEE = Codec("an agent's name", None, lambda value, reading, name: reading.agent(value, name, acts=False), True)
RUN = Codec("a run's name", None, _run, is_number=True)
LAYER = Codec(
    "a layer's name",
    None,
    lambda value, reading, name: reading.layer(names.check_identifier(value, name)),
    is_number=True,
    is_minor=True,
    check=_name,
    store=lambda *arguments: names.ensure_layer(*arguments)[0],
)
FILE = Codec("a path inside the project", None, _file)
FILE_NUMBER = Codec("a path inside the project", None, _file_number, is_number=True)
PATHS = Codec(
    "a list of globs relative to the project",
    lambda text: list(paths.globs_in(text)) or None,
    _paths,
    check=_paths,
    decode=paths.globs_in,
)
HEX = Codec("hexadecimal digits", bytes.hex, _hex)


METADATA = Codec(
    "an object of texts, numbers, true and false",
    lambda text: metadata_in(text) or None,
    _metadata,
    check=_metadata,
    decode=metadata_in,
)


def short(most: int, *, one_line: bool = False) -> Codec:
    def read(value: Any, reading: Checking, name: str) -> str:
        content = check_short(value, name, most, reading.workplace.max_content_bytes, one_line=one_line)
        reading.notes += content.notes
        return content.text

    return Codec(f"a text of at most {most} characters", None, read, check=read)


def of_table(table: str, what: str) -> Codec:
    return Codec(
        what,
        None,
        lambda value, reading, name: reading.row_id(table, value, name),
        is_number=True,
        check=_name,
        store=lambda transaction, _, project, name, now: names.ensure_name(transaction, table, project, name, now)[0],
    )


CATEGORY, TAG, SCOPE = (
    of_table(table, f"a {what}'s name")
    for table, what in (("categories", "category"), ("tags", "tag"), ("scopes", "scope"))
)


def one_of(choices: Sequence[str], what: str | None = None) -> Codec:
    def read(value: Any, _: Checking, name: str) -> int:
        if value not in choices:
            raise unknown_name(what or name, value, choices)
        return choices.index(value) + 1

    show = (None, *choices).__getitem__  # stored from 1
    return Codec(f"one of {', '.join(choices)}", show, read, check=read, decode=show)


def choice(values: Mapping[str, Any], decode: Show | None = None) -> Codec:
    """Return the codec of named values."""
    names_of = {value: name for name, value in values.items()}
    listed = ", ".join(values)

    def read(value: Any, _: Checking, name: str) -> Any:
        if not isinstance(value, str) or value not in values:
            raise InvalidInput(f"its {name} is {repr(value)[:60]}", f"Valid: {listed}")
        return values[value]

    return Codec(f"one of {listed}", names_of.get, read, decode=decode)


def link(table: str) -> Codec:
    """Return the codec of a link to another item; a link to a missing item is resolved when the item arrives."""

    def read(value: Any, reading: Reading, name: str) -> int | None:
        uid = read_uid(value, name)
        number = reading.number_of(table, value)
        if number is None:
            reading.links.append((name, uid))
        return number

    return Codec("the uid of another item", bytes.hex, read, is_number=True)


# how differing fields are merged: counters take the larger, start times the smaller, authors the known one, and soft
# fields the value of the side that changed last
MAX, MIN, FILL, SOFT = "max", "min", "fill", "soft"


class Field(NamedTuple):
    """A field of the lines of a kind.

    Attributes:
        name: its JSON name.
        codec: converts its values.
        column: the column it is stored in; None uses the name.
        sql: expression over the item's row ``i``; None uses the column.
        required: whether a line without it is left out.
        default: the value stored if a line lacks it.
        merge: one of :data:`MAX`, :data:`MIN`, :data:`FILL`, :data:`SOFT`; empty for content, which is compared as
            a whole.
        either: number of columns that ``sql`` selects; at most one of them is not null.
        attribute: the attribute of the record; None uses the name.
        selected: expression for that attribute; None uses ``sql``.
        is_own: whether a link to a missing item is stored as a link to the item itself: a replaced item stays
            replaced even if its replacement is missing.
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
    attribute: str | None = None
    selected: str | None = None

    @property
    def column_name(self) -> str:
        return self.column or self.name

    @property
    def expression(self) -> str:
        return self.sql or f"i.{self.column_name}"

    @property
    def selection(self) -> str:
        return self.selected or self.expression


def name_field(
    name: str,
    codec: Codec,
    table: str,
    column: str,
    name_column: str = "name",
    *,
    required: bool = False,
    merge: str = "",
    attribute: str | None = None,
) -> Field:
    """Return a field stored as the id of a named row, such as an agent."""
    sql = f"(SELECT n.{name_column} FROM {table} n WHERE n.id = i.{column})"
    return Field(name, codec, column, sql, required, merge=merge, attribute=attribute)


def link_field(name: str, table: str, column: str | None = None, *, merge: str = "", is_own: bool = False) -> Field:
    """Return a field that links to an item of a table by its uid."""
    column = column or name
    sql = f"(SELECT n.uid FROM {table} n WHERE n.id = i.{column})"
    return Field(name, link(table), column, sql, merge=merge, is_own=is_own, selected=f"i.{column}")


CREATED = Field("created_at", BORN, required=True)
BEGAN = Field("created_at", BORN, required=True, merge=MIN)
SESSION = link_field("session", "sessions", "session_id")
TASK, LOOP = Field("task_id", NAME), Field("loop_id", NAME)
AUTHOR = name_field("agent", AGENT, "agents", "agent_id", merge=FILL)
