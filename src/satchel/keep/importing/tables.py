"""The tables of another tool's database, and what is read of their rows: each field says of which columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from satchel.base.errors import Conflict, InvalidInput, StoreForeign, unknown_name
from satchel.base.records import dataclass, field
from satchel.keep.importing.values import Unreadable, arriving, described
from satchel.keep.moving.fields import Line
from satchel.keep.moving.records import Arriving, Trouble
from satchel.store.foreign import ForeignDatabase, Value

_MAX_NAMED = 12

Fields = dict[str, Any]
"""What was read of one row, by names."""


class ForeignTables(ABC):
    """The tables of one database of another tool.

    Attributes:
        project: the name of the project that is read, or None where the database has none.
        owner: what stands for it in the rows.
        troubles: what could not be read so far.
    """

    def __init__(self, database: ForeignDatabase) -> None:
        self._database = database
        self.project: str | None = None
        self.owner: Value = None
        self.troubles: list[Trouble] = []

    def name(self, table: str) -> str:
        """Return what a table is called in this database."""
        return table

    def row_name(self, column: str, value: Value) -> str:
        """Return what tells a row from others in a report."""
        return f"{column} {value if isinstance(value, (int, str)) else described(value)}"[:120]

    def has(self, table: str, *columns: str) -> bool:
        """Whether there is a table with all of these columns."""
        found = self._database.tables.get(self.name(table))
        return found is not None and set(columns) <= set(found)

    def everybodys(self, table: str, *columns: str) -> Iterator[tuple[Value, ...]]:
        """Return columns of all rows of a table; a column it lacks is None, a table it lacks is empty.

        Args:
            columns: names; of ``one|other`` the first that is there.
        """
        there = self._database.tables.get(self.name(table), ())
        chosen = [next((name for name in names.split("|") if name in there), None) for names in columns]
        asked = [name for name in chosen if name is not None]
        if not asked:
            return
        for row in self._database.rows(self.name(table), asked):
            values = iter(row)
            yield tuple(None if name is None else next(values) for name in chosen)

    def rows(self, table: str, *columns: str) -> Iterator[tuple[Value, ...]]:
        """Return the same of the project's rows, where rows name theirs and one was chosen."""
        is_owned = self.owner is not None and self.has(table, "project_id")
        for owner, *values in self.everybodys(table, "project_id", *columns):
            if not is_owned or owner == self.owner:
                yield tuple(values)

    @abstractmethod
    def projects(self) -> tuple[Mapping[Any, str], Collection[Value]]:
        """Return the names of the projects by what stands for them in rows, and what of that rows hold."""

    def choose_project(self, wanted: str | None) -> None:
        """Read only one project's rows from now on, where rows have one.

        Args:
            wanted: its name; None takes the only one that holds anything.

        Raises:
            Conflict: several projects hold something, and none was named.
            InvalidInput: there is no such project.
        """
        names, holding = self.projects()
        if not names:
            if wanted is not None:
                raise InvalidInput(
                    f"this database knows no projects, so none is called {wanted!r}",
                    "Leave the source project out",
                )
            return
        chosen = [
            owner for owner, name in sorted(names.items()) if (owner in holding if wanted is None else name == wanted)
        ]
        if not chosen and wanted is not None:
            raise unknown_name("source project", wanted, names.values())
        if len(chosen) > 1:
            raise Conflict(
                f"this database holds {len(chosen)} projects: {', '.join(names[owner] for owner in chosen)}",
                "Name the one to import with --source-project",
            )
        self.owner = chosen[0] if chosen else min(names)
        self.project = names[self.owner]

    def read(self, declared: Mapping[str, Reading], table: str, key: str) -> list[Fields]:
        """Read every row of a table; a row that cannot be read is reported and left out.

        Args:
            declared: what is read, by names, as :func:`column`, :func:`columns` and :func:`replaced` say it; in their
                order, so that the first that is refused is the reason.
            key: the column that tells rows apart.

        Returns:
            What was read of each, with what tells the row from others in a report as ``row``.
        """
        asked = [name for reading in declared.values() for name in reading.columns]
        said = key.partition("|")[0]
        found: list[Fields] = []
        for identifier, *values in self.rows(table, key, *asked):
            row = Row(self, table, self.row_name(said, identifier))
            left = iter(values)
            try:
                for name, reading in declared.items():
                    row.fields[name] = reading.read(row, *islice(left, len(reading.columns)))
            except Unreadable as error:
                self.trouble(table, row.name, str(error))
            else:
                for problem in row.problems:
                    self.trouble(table, row.name, problem, left_out=False)
                found.append({**row.fields, "row": row.name})
        return found

    def trouble(self, table: str, row: str, reason: str, *, left_out: bool = True) -> None:
        """Report what could not be read."""
        self.troubles.append(Trouble(self.name(table), row, reason, left_out))

    @property
    @abstractmethod
    def format(self) -> str:
        """Which version of the tool's schema it is, as far as can be told."""

    @abstractmethod
    def not_taken(self) -> tuple[tuple[str, int], ...]:
        """Return the tables with rows that nothing here corresponds to, and how many rows they have."""

    def arriving(
        self, source: Path, name: str, lines: Sequence[tuple[str, str, Line]], noted: Sequence[tuple[object, str]]
    ) -> Arriving:
        """Return what was read as lines that arrive; see :func:`satchel.keep.importing.values.arriving`."""
        return arriving(source, name, self.format, lines, self.troubles, noted, self.project, self.not_taken())

    def not_among(self, read: Collection[str]) -> tuple[tuple[str, int], ...]:
        """Return the tables with rows that are not read, and how many rows they have."""
        counted = ((name, self._database.count(name)) for name in self._database.tables if name not in read)
        return tuple((name, rows) for name, rows in counted if rows)

    def not_of(self, tool: str, where: str, has: str) -> StoreForeign:
        """Return the error for a database of something else.

        Args:
            has: what one of the tool has, for the remedy.
        """
        names = list(self._database.tables)
        listed = ", ".join(names[:_MAX_NAMED]) + (", ..." if len(names) > _MAX_NAMED else "")
        return StoreForeign(
            f"{where} is no {tool} database: it has {f'the tables {listed}' if names else 'no tables'}",
            f"One has {has}; nothing was imported",
        )


@dataclass(slots=True)
class Row:
    """One row while it is read.

    Attributes:
        name: what tells it from others in a report.
        fields: what was read of it so far.
        problems: what was wrong with values that were replaced or left out, to report once the row is taken.
    """

    tables: Any
    table: str
    name: str
    fields: Fields = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


class Reading(NamedTuple):
    """What is read of a row: of some columns, by a function of the row and their values."""

    columns: tuple[str, ...]
    read: Callable[..., object]


def columns(*names: str, read: Callable[..., object]) -> Reading:
    """Declare what is made of some columns.

    Args:
        names: of ``one|other`` the first that is there; none for what follows from what was read before.
        read: gets the :class:`Row` and the values; raises Unreadable for what is refused.
    """
    return Reading(names, read)


def column(name: str, read: Callable[[Value, str], object]) -> Reading:
    """Declare the value of one column.

    Args:
        name: of ``one|other`` the first that is there.
        read: gets the value and the first name, for a report; raises Unreadable for what is refused.
    """
    field_name = name.partition("|")[0]
    return Reading((name,), lambda _, value: read(value, field_name))


def optional(read: Callable[[Value, str], object]) -> Callable[[Value, str], object]:
    """Return what reads a value that may be missing, which is None then."""
    return lambda value, field_name: None if value is None else read(value, field_name)


def replaced(name: str, read: Callable[[Value, str], tuple[object, str | None]]) -> Reading:
    """Declare the value of one column, or what replaces it.

    Args:
        read: gets the value and its name; returns what to take, and what was wrong, if anything was, which is reported.
    """

    def one(row: Row, value: Value) -> object:
        got, problem = read(value, name)
        if problem is not None:
            row.problems.append(problem)
        return got

    return Reading((name,), one)
