"""Values from the rows of another tool's store, and stable identities of imported items."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from satchel.base.clock import iso, parse_time
from satchel.base.errors import Conflict, InvalidInput, StoreForeign, unknown_name
from satchel.base.records import dataclass, field
from satchel.base.text import fold
from satchel.base.vocabulary import MAIN_RUN
from satchel.keep.kind import Line
from satchel.keep.moving.records import Arriving, Trouble
from satchel.store.foreign import ForeignDatabase, Value


class Unreadable(Exception):
    """Raised when a row cannot be read; the text gives the reason."""


def identity(tool: str, *parts: object) -> bytes:
    """Return a stable uid for an imported item: equal parts give equal uids, from any copy at any time."""
    return blake2b(json.dumps([tool, *parts], ensure_ascii=False).encode(), digest_size=16).digest()


def note(tool: str, parts: tuple[object, ...], content: str, at: int, **more: str) -> Line:
    """Return the line of a note on the main run, a discovery by default. ``parts`` identify the note in the tool."""
    fields = {"type": "discovery", "content": content, "run": MAIN_RUN, "created_at": iso(at), **more}
    return {"kind": "entry", "uid": identity(tool, *parts).hex(), **fields}


def arriving(
    source: Path,
    name: str,
    tool_format: str,
    lines: Sequence[tuple[str, str, Line]],
    troubles: list[Trouble],
    noted: Sequence[tuple[object, str]],
    project: str | None = None,
    not_taken: Sequence[tuple[str, int]] = (),
) -> Arriving:
    """Return all lines of a source as input of an import. ``noted`` pairs each remark with whether it applies."""
    notes = [text for applies, text in noted if applies]
    return Arriving(source, name, tool_format, project, iter(lines), troubles, notes, list(not_taken), len(lines))


def number_of(value: Value) -> int | None:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) else None


def described(value: Value) -> str:
    if value is None:
        return "missing"
    return "no readable text" if isinstance(value, bytes) else repr(value)[:60]


def whole(value: Value, field: str, least: int = 0, most: int | None = None, default: int | None = None) -> int:
    """Return a whole number within limits; a missing one becomes ``default``, or is refused without a default."""
    if value is None and default is not None:
        return default
    number = number_of(value)
    if number is None or number < least or (most is not None and number > most):
        wanted = f"a whole number from {least}" if most is None else f"one of {least} to {most}"
        raise Unreadable(f"its {field} is {described(value)}, not {wanted}")
    return number


def text_of(value: Value, field: str) -> str:
    if isinstance(value, (int, float)):
        return str(value)
    if not isinstance(value, str):
        raise Unreadable(f"its {field} is {described(value)}")
    if not value.strip():
        raise Unreadable(f"its {field} is empty")
    return value


def key_of(value: Value, field: str) -> str:
    number = number_of(value)
    return text_of(value if number is None else number, field).strip()


def moment_of(value: Value, field: str) -> int:
    # without an offset it is UTC, as SQLite writes it
    try:
        moment = parse_time(value, 0) if isinstance(value, str) and _DATE.match(value.strip()) else -1
    except InvalidInput:
        moment = -1
    if moment < 0:
        raise Unreadable(f"its {field} is {described(value)}, not a time in ISO 8601")
    return moment


def moment_or_none(row: Row, value: Value, field: str, instead: str) -> int | None:
    try:
        return moment_of(value, field)
    except Unreadable as error:
        row.problems.append(f"{error}; {instead}")
        return None


def optional_text(value: Value, field: str) -> str | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    return text_of(value, field)


def among(
    value: Value, field: str, choices: Collection[str], missing: str, other: str | None = None
) -> tuple[str, str | None]:
    """Return one of the choices, and the problem with the value, if any; ``missing`` replaces no value."""
    name = missing if value is None or value == "" else fold(value) if isinstance(value, str) else ""
    if name in choices:
        return name, None
    replacement = missing if other is None else other
    return replacement, f"its {field} is {described(value)}; {replacement} here"


def count_of(
    value: Value, field: str, least: int, default: int | None = None, most: int = 2**31 - 1
) -> tuple[int, str | None]:
    number = number_of(value)
    count = (default or least) if number is None or number < least else min(number, most)
    return count, None if count == number else f"its {field} is {described(value)}; {count} here"


_MAX_NAMED = 12
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")

# the fields of one row, by name
Fields = dict[str, Any]


class ForeignTables(ABC):
    """Tables of a database of another tool; ``owner`` is the id of the selected project in their rows."""

    def __init__(self, database: ForeignDatabase) -> None:
        self._database = database
        self.project: str | None = None
        self.owner: Value = None
        self.troubles: list[Trouble] = []

    def name(self, table: str) -> str:
        return table

    def row_name(self, column: str, value: Value) -> str:
        return f"{column} {value if isinstance(value, (int, str)) else described(value)}"[:120]

    def has(self, table: str, *columns: str) -> bool:
        columns_there = self._database.tables.get(self.name(table))
        return columns_there is not None and set(columns) <= set(columns_there)

    def all_rows(self, table: str, *columns: str) -> Iterator[tuple[Value, ...]]:
        """Return columns of all rows of a table.

        ``one|other`` takes the first column that exists; missing columns are None, missing tables empty.
        """
        there = self._database.tables.get(self.name(table), ())
        selected = [next((name for name in names.split("|") if name in there), None) for names in columns]
        existing = [name for name in selected if name is not None]
        if not existing:
            return
        for row in self._database.rows(self.name(table), existing):
            values = iter(row)
            yield tuple(None if name is None else next(values) for name in selected)

    def rows(self, table: str, *columns: str) -> Iterator[tuple[Value, ...]]:
        is_owned = self.owner is not None and self.has(table, "project_id")
        for owner, *values in self.all_rows(table, "project_id", *columns):
            if not is_owned or owner == self.owner:
                yield tuple(values)

    @abstractmethod
    def projects(self) -> tuple[Mapping[Any, str], Collection[Value]]:
        """Return the project names by id, and the ids used by rows."""

    def choose_project(self, wanted: str | None) -> None:
        """Restrict reading to one project; None takes the only one with items."""
        names, holding = self.projects()
        if not names:
            if wanted is not None:
                raise InvalidInput(
                    f"this database has no projects, so none is called {wanted!r}", "Leave the source project out"
                )
            return
        candidates = [
            owner for owner, name in sorted(names.items()) if (owner in holding if wanted is None else name == wanted)
        ]
        if not candidates and wanted is not None:
            raise unknown_name("source project", wanted, names.values())
        if len(candidates) > 1:
            raise Conflict(
                f"this database holds {len(candidates)} projects: {', '.join(names[owner] for owner in candidates)}",
                "Name the one to import with --source-project",
            )
        self.owner = candidates[0] if candidates else min(names)
        self.project = names[self.owner]

    def read(self, declared: Mapping[str, Reading], table: str, key: str) -> list[Fields]:
        """Read every row of a table as declared, field by field; a row that cannot be read is reported and left out."""
        names = [name for reading in declared.values() for name in reading.columns]
        key_name = key.partition("|")[0]
        fields: list[Fields] = []
        for identifier, *values in self.rows(table, key, *names):
            row = Row(self, table, self.row_name(key_name, identifier))
            remaining = iter(values)
            try:
                for name, reading in declared.items():
                    row.fields[name] = reading.read(row, *islice(remaining, len(reading.columns)))
            except Unreadable as error:
                self.trouble(table, row.name, str(error))
            else:
                for problem in row.problems:
                    self.trouble(table, row.name, problem, left_out=False)
                fields.append({**row.fields, "row": row.name})
        return fields

    def trouble(self, table: str, row: str, reason: str, *, left_out: bool = True) -> None:
        self.troubles.append(Trouble(self.name(table), row, reason, left_out))

    @property
    @abstractmethod
    def format(self) -> str:
        """Return the tool's schema version, as far as it is known."""

    @abstractmethod
    def not_taken(self) -> tuple[tuple[str, int], ...]:
        pass

    def arriving(
        self, source: Path, name: str, lines: Sequence[tuple[str, str, Line]], noted: Sequence[tuple[object, str]]
    ) -> Arriving:
        return arriving(source, name, self.format, lines, self.troubles, noted, self.project, self.not_taken())

    def not_among(self, read: Collection[str]) -> tuple[tuple[str, int], ...]:
        counted = ((name, self._database.count(name)) for name in self._database.tables if name not in read)
        return tuple((name, rows) for name, rows in counted if rows)

    def not_of(self, tool: str, where: str, has: str) -> StoreForeign:
        names = list(self._database.tables)
        listed = ", ".join(names[:_MAX_NAMED]) + (", ..." if len(names) > _MAX_NAMED else "")
        return StoreForeign(
            f"{where} is no {tool} database: it has {f'the tables {listed}' if names else 'no tables'}",
            f"One has {has}; nothing was imported",
        )


@dataclass(slots=True)
class Row:
    """A row being read, with the fields so far, and problems that are reported once the row is imported."""

    tables: Any
    table: str
    name: str
    fields: Fields = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


class Reading(NamedTuple):
    """Declaration of a field: columns, and a function of the row and their values."""

    columns: tuple[str, ...]
    read: Callable[..., object]


def columns(*names: str, read: Callable[..., object]) -> Reading:
    """Declare a field of several columns; ``one|other`` takes the first that exists."""
    return Reading(names, read)


def column(name: str, read: Callable[[Value, str], object]) -> Reading:
    """Declare a field of one column; ``one|other`` takes the first that exists."""
    field_name = name.partition("|")[0]
    return Reading((name,), lambda _, value: read(value, field_name))


def optional(read: Callable[[Value, str], object]) -> Callable[[Value, str], object]:
    return lambda value, field_name: None if value is None else read(value, field_name)


def replaced(name: str, read: Callable[[Value, str], tuple[object, str | None]]) -> Reading:
    """Declare a field of one column; ``read`` returns the value or its replacement, and the problem, if any."""

    def one(row: Row, value: Value) -> object:
        got, problem = read(value, name)
        if problem is not None:
            row.problems.append(problem)
        return got

    return Reading((name,), one)
