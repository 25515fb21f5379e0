"""Tables of a sqlew database, by the names of the version that created it, and selection of a project.

Names and columns by release, from the schemas of github.com/sin5ddd/mcp-sqlew at its tags and of sqlew-io/sqlew:

- 1.0: bare names (``decisions``), times in seconds, messages without a text.
- 1.1 to 3.6: master tables with ``m_``, the others with ``t_``; ``t_decision_context`` from 3.2 on; 3.6 adds a text
  to messages and then drops messages.
- 3.7 to 3.9: ``m_projects`` and ``project_id``; ``t_constraints.created_by`` becomes ``agent_id``; from 3.9 on a
  number is in both value tables, with an empty text.
- 4: everything with ``v4_``, ``key_name`` for ``key``, no agents; outdated tables of 3.9 may remain.
- 5: ``m_`` and ``t_`` again, without agents, files and file changes; six statuses; a reason for a constraint.

The names of sqlew's own architecture document are read too: ``key_name``, ``is_active``, ``decision_tags.decision_id``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping

from satchel.base.errors import InvalidInput
from satchel.keep.importing.tables import ForeignTables, Reading, Row, Unreadable, columns, described, number_of
from satchel.keep.names import check_identifier
from satchel.store.foreign import ForeignDatabase, Value

_MASTERS = frozenset(
    {"agents", "files", "context_keys", "constraint_categories", "layers", "tags", "scopes", "projects"}
)

# name columns that are not called `name`
_NAME_COLUMNS = {"context_keys": "key|key_name", "files": "path"}

# master tables whose names are not checked
_UNCHECKED = frozenset({"files"})

# tables that show which projects have items
_OWNED = ("decisions", "decisions_numeric", "decision_history", "constraints", "file_changes")

_READ = _MASTERS.union(
    _OWNED, ("decision_tags", "decision_scopes", "decision_context", "agent_messages", "constraint_tags")
)

# prefixes of master and other tables; after a migration left two sets, the first one is current
_PREFIXES = (("v4_", "v4_"), ("m_", "t_"), ("", ""))

# the end of the year 9999
_NEWEST_SECONDS = 253_402_300_799


class SqlewTables(ForeignTables):
    """Tables of a sqlew database, by their names in version 1.0."""

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
        return (self._masters if table in _MASTERS else self._others) + table

    def name_of(self, masters: str, number: Value, field: str) -> str:
        """Return the name for a number of a master table. Projects share their numbers, so all of them are loaded."""
        names = self._names.get(masters)
        if names is None:
            rows = self.all_rows(masters, "id", _NAME_COLUMNS.get(masters, "name"))
            names = self._names[masters] = {id_number: name for id_number, name in rows if isinstance(id_number, int)}
        id_number = number_of(number)
        if id_number is None or id_number not in names:
            raise Unreadable(f"its {field} is {described(number)}, which {self.name(masters)} does not have")
        name, called = names[id_number], f"the name of {self.name(masters)} {id_number}"
        if not isinstance(name, str):
            raise Unreadable(f"{called} is {described(name)}")
        try:
            return name if masters in _UNCHECKED else check_identifier(name, called)
        except InvalidInput as error:
            raise Unreadable(error.problem) from error

    def known_name(self, masters: str, number: Value, field: str, table: str, row: str) -> str | None:
        """Return the name for a number, or None; an unusable name is reported once."""
        if number is None:
            return None
        try:
            return self.name_of(masters, number, field)
        except Unreadable as error:
            id_number = number_of(number)
            if id_number is None or id_number not in self._names[masters]:
                self.trouble(table, row, f"{error}; taken without", left_out=False)
            elif (masters, id_number) not in self._reported:
                self._reported.add((masters, id_number))
                self.trouble(masters, f"id {id_number}", f"{error}; left out where it is used", left_out=False)
            return None

    def linked(
        self, kind: str, what: str, owner_of: Callable[[int | None], int | None], owner: str = ""
    ) -> dict[int, list[str]]:
        """Return the tags or scopes (``what``) linked to items of a kind, by the owner that ``owner_of`` returns."""
        table = f"{kind}_{what}s"
        # rows without a project may belong to another one
        is_ours = self.project is None or self.has(table, "project_id")
        by_owner: dict[int, list[str]] = defaultdict(list)
        for number, name in self.rows(table, owner or f"{kind}_id", f"{what}_id"):
            row = f"{kind} {described(number)}"
            item = owner_of(number_of(number))
            if item is not None:
                usable = self.known_name(f"{what}s", name, f"{what}_id", table, row)
                by_owner[item] += [] if usable is None else [usable]
            elif is_ours:
                self.trouble(table, row, f"it belongs to no {kind}")
        return by_owner

    def projects(self) -> tuple[Mapping[int, str], Collection[Value]]:
        names: dict[int, str] = {}
        if self.has("decisions", "project_id"):
            rows = self.all_rows("projects", "id", "name")
            names = {number: name for number, name in rows if isinstance(number, int) and isinstance(name, str)}
        if not names:
            return {}, ()
        holding = {row[0] for table in _OWNED for row in self.all_rows(table, "project_id")}
        for number in sorted(number for number in holding if isinstance(number, int) and number not in names):
            self.trouble("projects", f"id {number}", "rows belong to this project, which is not listed")
        return names, holding

    @property
    def project_id(self) -> int:
        # without projects it is 1, as an upgrade numbers the first one
        return self.owner if isinstance(self.owner, int) else 1

    @property
    def format(self) -> str:
        if self._masters == "v4_":
            return "sqlew 4"
        if not self._masters:
            return "sqlew 1.0"
        if not self.has("agents"):
            return "sqlew 5"
        return "sqlew 3.7 to 3.9" if self.has("projects") else "sqlew 1.1 to 3.6"

    @property
    def has_older_set(self) -> bool:
        # left by a migration
        names = {f"{others}decisions" for _, others in _PREFIXES} - {self.name("decisions")}
        return not names.isdisjoint(self._database.tables)

    def not_taken(self) -> tuple[tuple[str, int], ...]:
        return self.not_among({prefix + table for pair in _PREFIXES for prefix in pair for table in _READ})


def optional_name(column_names: str, masters: str) -> Reading:
    """Declare the optional name for a number of a master table; an unusable one is reported."""
    called = column_names.partition("|")[0]

    def name(row: Row, number: Value) -> object:
        return row.tables.known_name(masters, number, called, row.table, row.name)

    return columns(column_names, read=name)


def required_name(column_name: str, masters: str, *, is_optional: bool = False) -> Reading:
    def name(row: Row, number: Value) -> object:
        return None if is_optional and number is None else row.tables.name_of(masters, number, column_name)

    return columns(column_name, read=name)


def time(column_names: str = "ts") -> Reading:
    """Declare the time of a row, stored by sqlew in seconds, in milliseconds UTC."""
    return columns(column_names, read=_milliseconds)


def _milliseconds(_: Row, value: Value) -> int:
    seconds = number_of(value)
    if seconds is None or not 0 < seconds <= _NEWEST_SECONDS:
        raise Unreadable(f"its time is {described(value)}, not seconds since 1970")
    return seconds * 1_000
