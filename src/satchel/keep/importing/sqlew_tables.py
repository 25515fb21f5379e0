"""The tables of a sqlew database under the names of whichever version made it, and the project that is read of it.

Names and columns by release, from the schemas of github.com/sin5ddd/mcp-sqlew at its tags and of sqlew-io/sqlew:

- 1.0: bare names (``decisions``), times in seconds, messages without a text.
- 1.1 to 3.6: master tables with ``m_``, the others with ``t_``; ``t_decision_context`` from 3.2 on; 3.6 gives messages
  a text and then gives messages up.
- 3.7 to 3.9: ``m_projects`` and ``project_id``; ``t_constraints.created_by`` becomes ``agent_id``; from 3.9 on a
  number stands in both value tables, with an empty text.
- 4: everything with ``v4_``, ``key_name`` for ``key``, no agents; the tables of 3.9 may stand beside, out of date.
- 5: ``m_`` and ``t_`` again, without agents, files and file changes; six statuses; a reason for a constraint.

The names of sqlew's own architecture document are read too: ``key_name``, ``is_active``, ``decision_tags.decision_id``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping

from satchel.base.errors import InvalidInput
from satchel.keep.importing.tables import ForeignTables, Reading, Row, columns
from satchel.keep.importing.values import Unreadable, described, number_of
from satchel.keep.names import check_identifier
from satchel.store.foreign import ForeignDatabase, Value

_MASTERS = frozenset(
    {"agents", "files", "context_keys", "constraint_categories", "layers", "tags", "scopes", "projects"}
)
_NAME_COLUMNS = {"context_keys": "key|key_name", "files": "path"}
"""What the column of the names is called where that is not ``name``."""

_UNCHECKED = frozenset({"files"})
"""Masters whose names need not be such as Satchel accepts."""

_OWNED = ("decisions", "decisions_numeric", "decision_history", "constraints", "file_changes")
"""What tells which projects hold anything."""

_READ = _MASTERS.union(
    _OWNED, ("decision_tags", "decision_scopes", "decision_context", "agent_messages", "constraint_tags")
)
_PREFIXES = (("v4_", "v4_"), ("m_", "t_"), ("", ""))
"""Of the master tables and of the others; where a migration left two sets, the first is the current one."""

_NEWEST_SECONDS = 253_402_300_799
"""The end of the year 9999."""


class SqlewTables(ForeignTables):
    """The tables of one sqlew database, by the names of version 1.0."""

    def __init__(self, database: ForeignDatabase, where: str) -> None:
        super().__init__(database)
        self._names: dict[str, dict[int, Value]] = {}
        self._reported: set[tuple[str, int]] = set()
        for masters, others in _PREFIXES:
            if f"{masters}context_keys" in database.tables and f"{others}decisions" in database.tables:
                self._masters, self._others = masters, others
                return
        raise self.not_of("sqlew", where, "decisions and context_keys, with or without a prefix")

    def name(self, table: str) -> str:
        """Return what a table is called in this database."""
        return (self._masters if table in _MASTERS else self._others) + table

    def name_of(self, masters: str, number: Value, field: str) -> str:
        """Return the name with a number of a master table; projects share their numbers, so those of all are there.

        Args:
            field: what the number is called in the row that needs it.

        Raises:
            Unreadable: there is none, or it is none that can be used.
        """
        names = self._names.get(masters)
        if names is None:
            rows = self.everybodys(masters, "id", _NAME_COLUMNS.get(masters, "name"))
            names = self._names[masters] = {known: name for known, name in rows if isinstance(known, int)}
        known = number_of(number)
        if known is None or known not in names:
            raise Unreadable(f"its {field} is {described(number)}, which {self.name(masters)} does not have")
        name, called = names[known], f"the name of {self.name(masters)} {known}"
        if not isinstance(name, str):
            raise Unreadable(f"{called} is {described(name)}")
        try:
            return name if masters in _UNCHECKED else check_identifier(name, called)
        except InvalidInput as error:
            raise Unreadable(error.problem) from error

    def known_name(self, masters: str, number: Value, field: str, table: str, row: str) -> str | None:
        """Return the same, or None for none; a number without a usable name is reported and counts as none.

        What is wrong with a name is reported once.

        Args:
            table: the table of the row that has the number.
            row: what tells it from others.
        """
        if number is None:
            return None
        try:
            return self.name_of(masters, number, field)
        except Unreadable as error:
            known = number_of(number)
            if known is None or known not in self._names[masters]:
                self.trouble(table, row, f"{error}; taken without", left_out=False)
            elif (masters, known) not in self._reported:
                self._reported.add((masters, known))
                self.trouble(masters, f"id {known}", f"{error}; left out where it is used", left_out=False)
            return None

    def linked(
        self, kind: str, what: str, owner_of: Callable[[int | None], int | None], owner: str = ""
    ) -> dict[int, list[str]]:
        """Return the names of one sort that are linked to the items of a kind, by what owns them.

        Args:
            what: ``tag`` or ``scope``.
            owner_of: returns what owns the names of an item's number, or None where there is no such item.
            owner: the column with the item's number; empty is that of its kind.
        """
        table = f"{kind}_{what}s"
        # rows that name no project may be those of another one
        is_ours = self.project is None or self.has(table, "project_id")
        found: dict[int, list[str]] = defaultdict(list)
        for number, name in self.rows(table, owner or f"{kind}_id", f"{what}_id"):
            row = f"{kind} {described(number)}"
            item = owner_of(number_of(number))
            if item is not None:
                known = self.known_name(f"{what}s", name, f"{what}_id", table, row)
                found[item] += [] if known is None else [known]
            elif is_ours:
                self.trouble(table, row, f"it belongs to no {kind}")
        return found

    def projects(self) -> tuple[Mapping[int, str], Collection[Value]]:
        """Return the projects by their numbers, and the numbers of those that hold anything."""
        names: dict[int, str] = {}
        if self.has("decisions", "project_id"):
            rows = self.everybodys("projects", "id", "name")
            names = {number: name for number, name in rows if isinstance(number, int) and isinstance(name, str)}
        if not names:
            return {}, ()
        holding = {row[0] for table in _OWNED for row in self.everybodys(table, "project_id")}
        for number in sorted(number for number in holding if isinstance(number, int) and number not in names):
            self.trouble("projects", f"id {number}", "rows belong to this project, which is not listed")
        return names, holding

    @property
    def project_id(self) -> int:
        """The number of the project that is read; 1, which an upgrade gives the first, where there are none."""
        return self.owner if isinstance(self.owner, int) else 1

    @property
    def format(self) -> str:
        """Which releases of sqlew write such tables."""
        if self._masters == "v4_":
            return "sqlew 4"
        if not self._masters:
            return "sqlew 1.0"
        if not self.has("agents"):
            return "sqlew 5"
        return "sqlew 3.7 to 3.9" if self.has("projects") else "sqlew 1.1 to 3.6"

    @property
    def has_older_set(self) -> bool:
        """Whether a migration left the tables of an older release beside these."""
        names = {f"{others}decisions" for _, others in _PREFIXES} - {self.name("decisions")}
        return not names.isdisjoint(self._database.tables)

    def not_taken(self) -> tuple[tuple[str, int], ...]:
        """Return the tables with rows that nothing here corresponds to, in no format, and how many rows they have."""
        return self.not_among({prefix + table for pair in _PREFIXES for prefix in pair for table in _READ})


def named(column_names: str, masters: str) -> Reading:
    """Declare the name that a number stands for, or None for none; one that stands for none is reported.

    Args:
        column_names: of ``one|other`` the first that is there.
        masters: the table of the names.
    """
    called = column_names.partition("|")[0]

    def name(row: Row, number: Value) -> object:
        return row.tables.known_name(masters, number, called, row.table, row.name)

    return columns(column_names, read=name)


def needed(column_name: str, masters: str, *, is_optional: bool = False) -> Reading:
    """Declare the name that a number stands for; one that stands for none is refused, and none where it is needed."""

    def name(row: Row, number: Value) -> object:
        return None if is_optional and number is None else row.tables.name_of(masters, number, column_name)

    return columns(column_name, read=name)


def time(column_names: str = "ts") -> Reading:
    """Declare the time of a row, in milliseconds UTC, which sqlew keeps in seconds."""
    return columns(column_names, read=_milliseconds)


def _milliseconds(_: Row, value: Value) -> int:
    seconds = number_of(value)
    if seconds is None or not 0 < seconds <= _NEWEST_SECONDS:
        raise Unreadable(f"its time is {described(value)}, not seconds since 1970")
    return seconds * 1_000
