"""The tables of a bazinga database, the project that is read of it, and the values in its rows.

Tables and columns from the schemas of github.com/mehdic/bazinga, versions 6 to 19, and from its data model, whose names
differ (``package_id`` and ``content_path`` for ``id`` and ``file_path``); what a version lacks is simply not there.
Sessions and packages belong to no project there; error patterns and strategies name theirs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from satchel.base.errors import NotFound
from satchel.keep.importing.tables import ForeignTables
from satchel.keep.importing.values import Unreadable, described, number_of
from satchel.keep.patterns.preparing import MAX_TTL_DAYS
from satchel.keep.patterns.records import DEFAULT_TTL_DAYS, FIRST, LEAST, MOST
from satchel.store.foreign import ForeignDatabase, Value

_MARKS = {
    "context_packages": ("session_id",),
    "error_patterns": ("signature_json",),
    "strategies": ("strategy_id",),
    "consumption_scope": ("session_id",),
}
"""What no other tool calls its columns, ours included."""

_OWNED = ("error_patterns", "strategies")
_READ = frozenset(
    "sessions context_packages context_package_consumers error_patterns strategies consumption_scope "
    "orchestration_logs success_criteria schema_version".split()
)
_DATABASES = ("bazinga/bazinga.db", "bazinga.db")
_WHOLE_SESSION = "global"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def find_database(path: Path) -> Path:
    """Return the database file that a path names, or that is in a folder.

    Raises:
        NotFound: the folder has none.
    """
    if not path.is_dir():
        return path
    for name in _DATABASES:
        if (path / name).is_file():
            return path / name
    raise NotFound(f"there is no {' and no '.join(_DATABASES)} in {path}", "Name the database file, or its project")


class BazingaTables(ForeignTables):
    """The tables of one bazinga database.

    Attributes:
        others: how many more projects it has than the one that is read.
        passed_over: how many rows of logs are no reasoning.
    """

    tells_projects = "names"

    def __init__(self, database: ForeignDatabase, where: str) -> None:
        super().__init__(database)
        self.others = 0
        self.passed_over = 0
        if not any(self.has(table, *columns) for table, columns in _MARKS.items()):
            raise self.not_of("bazinga", where, "context_packages, error_patterns or strategies as bazinga makes them")

    def row_name(self, column: str, value: Value) -> str:
        """Return what tells a row from others in a report."""
        return f"{column} {value if isinstance(value, (int, str)) else described(value)}"[:120]

    def is_owned(self, table: str) -> bool:
        """Whether the rows of a table name their project."""
        return table in _OWNED

    def projects(self) -> tuple[Mapping[str, str], Collection[Value]]:
        """Return the projects that error patterns and strategies name; with none, all belong to the one who takes them.

        Where there is any, rows that name none are reported.
        """
        held: set[str] = set()
        without: list[tuple[str, str]] = []
        for table, key in zip(_OWNED, ("pattern_hash", "strategy_id"), strict=True):
            for number, project in self.everybodys(table, key, "project_id"):
                if isinstance(project, str) and project.strip():
                    held.add(project)
                else:
                    without.append((table, self.row_name(key, number)))
        if held:
            self.others = len(held) - 1
            for table, row in without:
                self.trouble(table, row, "it belongs to no project")
        return {name: name for name in sorted(held)}, held

    @property
    def format(self) -> str:
        """Which schema of bazinga it is, as far as the database says."""
        versions = [number_of(version) for (version,) in self.everybodys("schema_version", "version")]
        known = [version for version in versions if version is not None]
        return f"bazinga, schema {max(known)}" if known else "bazinga"

    def not_taken(self) -> tuple[tuple[str, int], ...]:
        """Return the tables with rows that nothing here corresponds to, and how many rows they have."""
        logs = (("orchestration_logs of interactions and events", self.passed_over),) if self.passed_over else ()
        read = _READ if self.has("orchestration_logs", "reasoning_phase") else _READ - {"orchestration_logs"}
        return (*self.not_among(read), *logs)


def key_of(value: Value, field: str) -> str:
    """Return an id as text, whether it is a number or a text there.

    Raises:
        Unreadable: it is neither.
    """
    number = number_of(value)
    if number is not None:
        return str(number)
    if not isinstance(value, str) or not value.strip():
        raise Unreadable(f"its {field} is {described(value)}")
    return value.strip()


def group_of(group: Value, scope: Value = None) -> str | None:
    """Return the task group, None for what belongs to the whole session.

    Raises:
        Unreadable: it is no text.
    """
    if group is None or scope == _WHOLE_SESSION:
        return None
    if not isinstance(group, str):
        raise Unreadable(f"its group_id is {described(group)}")
    name = group.strip()
    return None if not name or name.lower() == _WHOLE_SESSION else name


def moment_of(value: Value, field: str) -> int:
    """Return a time in milliseconds UTC; without an offset it is UTC, as SQLite writes it.

    Raises:
        Unreadable: it is no ISO 8601 text, or before 1970.
    """
    if isinstance(value, str) and _DATE.match(value.strip()):
        try:
            moment = datetime.fromisoformat(value.strip())
        except ValueError:
            moment = None
        if moment is not None:
            aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
            milliseconds = round(aware.timestamp() * 1_000)
            if milliseconds >= 0:
                return milliseconds
    raise Unreadable(f"its {field} is {described(value)}, no time in ISO 8601")


def tenths_of(value: Value) -> tuple[int, str | None]:
    """Return a confidence of 0.0 to 1.0 in tenths, rounded half up and bounded to 1 to 10.

    Returns:
        The tenths, and what was wrong with the value, if anything was.
    """
    if not isinstance(value, (int, float)):
        return FIRST, f"its confidence is {described(value)}; {FIRST} tenths here"
    # repr is the shortest text of a float, so .15 is a half and .29999 nearly 3
    exact = Decimal(repr(value)) * 10
    bounded = max(Decimal(LEAST), min(Decimal(MOST), exact))
    tenths = int(bounded.quantize(Decimal(1), rounding=ROUND_HALF_UP))
    return tenths, None if 0 <= value <= 1 else f"its confidence is {described(value)}; {tenths} tenths here"


def days_of(value: Value) -> tuple[int, str | None]:
    """Return how many days an error is kept, and what was wrong with the value, if anything was."""
    days = number_of(value)
    if days is None or days < 1:
        return DEFAULT_TTL_DAYS, f"its ttl_days is {described(value)}; {DEFAULT_TTL_DAYS} here"
    if days > MAX_TTL_DAYS:
        return MAX_TTL_DAYS, f"its ttl_days is {days}; {MAX_TTL_DAYS} here"
    return days, None


def count_of(value: Value, least: int, field: str) -> tuple[int, str | None]:
    """Return a count, and what was wrong with the value, if anything was."""
    number = number_of(value)
    if number is None or number < least:
        return least, f"its {field} is {described(value)}; {least} here"
    return number, None
