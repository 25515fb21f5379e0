"""The tables of another tool's database, and what is read of their rows: each field says of which columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from satchel.base.errors import Conflict, InvalidInput, StoreForeign, unknown_name
from satchel.keep.importing.values import Unreadable
from satchel.keep.moving.records import Trouble
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
        tells_projects: what such a database does with its projects, for an error.
    """

    tells_projects: ClassVar[str]

    def __init__(self, database: ForeignDatabase) -> None:
        self._database = database
        self.project: str | None = None
        self.owner: Value = None
        self.troubles: list[Trouble] = []

    def name(self, table: str) -> str:
        """Return what a table is called in this database."""
        return table

    @abstractmethod
    def row_name(self, column: str, value: Value) -> str:
        """Return what tells a row from others in a report."""

    @abstractmethod
    def is_owned(self, table: str) -> bool:
        """Whether the rows of a table name their project."""

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
        """Return the same of the project's rows, where rows have one."""
        if not self.is_owned(table):
            yield from self.everybodys(table, *columns)
            return
        for owner, *values in self.everybodys(table, "project_id", *columns):
            if self.owner is None or owner == self.owner:
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
                    f"this database {self.tells_projects} no projects, so none is called {wanted!r}",
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
        placed: list[tuple[str, Callable[..., object], slice]] = []
        asked: list[str] = []
        for name, reading in declared.items():
            placed.append((name, reading.read, slice(len(asked), len(asked) + len(reading.columns))))
            asked += reading.columns
        said = key.partition("|")[0]
        found: list[Fields] = []
        for identifier, *values in self.rows(table, key, *asked):
            row = Row(self, table, self.row_name(said, identifier))
            try:
                for name, read, place in placed:
                    row.fields[name] = read(row, *values[place])
            except Unreadable as error:
                self.trouble(table, row.name, str(error))
            else:
                found.append({**row.fields, "row": row.name})
        return found

    def trouble(self, table: str, row: str, reason: str, *, left_out: bool = True) -> None:
        """Report what could not be read."""
        self.troubles.append(Trouble(self.name(table), row, reason, left_out))

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


class Row:
    """One row while it is read.

    Attributes:
        name: what tells it from others in a report.
        fields: what was read of it so far.
    """

    def __init__(self, tables: Any, table: str, name: str) -> None:
        self.tables = tables
        self.table = table
        self.name = name
        self.fields: Fields = {}

    def said(self, problem: str) -> None:
        """Report what was wrong with a value that was replaced or left out."""
        self.tables.trouble(self.table, self.name, problem, left_out=False)


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


def column(name: str, read: Callable[[Value, str], object], called: str | None = None) -> Reading:
    """Declare the value of one column.

    Args:
        name: of ``one|other`` the first that is there.
        read: gets the value and what a report calls it; raises Unreadable for what is refused.
        called: what a report calls it; None is the first name.
    """
    field_name = called or name.partition("|")[0]
    return Reading((name,), lambda _, value: read(value, field_name))


def replaced(name: str, read: Callable[[Value], tuple[object, str | None]]) -> Reading:
    """Declare the value of one column, or what replaces it.

    Args:
        read: returns what to take, and what was wrong with the value, if anything was, which is reported.
    """

    def one(row: Row, value: Value) -> object:
        got, problem = read(value)
        if problem is not None:
            row.said(problem)
        return got

    return Reading((name,), one)
