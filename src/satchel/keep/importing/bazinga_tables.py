"""Tables of a bazinga database.

Tables and columns are taken from the schemas of github.com/mehdic/bazinga, versions 6 to 19, and from its data model,
whose names differ (``package_id`` and ``content_path`` for ``id`` and ``file_path``). Sessions and packages belong to
no project there; error patterns and strategies name theirs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from satchel.base.clock import parse_time
from satchel.base.errors import InvalidInput, NotFound
from satchel.base.text import fold
from satchel.keep.importing.tables import ForeignTables, Row
from satchel.keep.importing.values import Unreadable, described, number_of, optional_text, text_of
from satchel.keep.patterns.records import FIRST, LEAST, MOST
from satchel.store.foreign import ForeignDatabase, Value

_MARKS = {
    "context_packages": ("session_id",),
    "error_patterns": ("signature_json",),
    "strategies": ("strategy_id",),
    "consumption_scope": ("session_id",),
}
"""Column names that no other tool uses, Satchel included."""

_OWNED = {"error_patterns": "pattern_hash", "strategies": "strategy_id"}
_READ = frozenset(
    "sessions context_packages context_package_consumers error_patterns strategies consumption_scope "
    "orchestration_logs success_criteria schema_version".split()
)
_DATABASES = ("bazinga/bazinga.db", "bazinga.db")
_WHOLE_SESSION = "global"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def find_database(path: Path) -> Path:
    """Return the database file for a path to it or to its folder."""
    if not path.is_dir():
        return path
    for name in _DATABASES:
        if (path / name).is_file():
            return path / name
    raise NotFound(f"there is no {' and no '.join(_DATABASES)} in {path}", "Name the database file, or its project")


class BazingaTables(ForeignTables):
    """Tables of one bazinga database.

    Attributes:
        others: number of other projects in it.
        passed_over: number of log rows that are not reasoning.
    """

    def __init__(self, database: ForeignDatabase, where: str) -> None:
        super().__init__(database)
        self.others = 0
        self.passed_over = 0
        if not any(self.has(table, *columns) for table, columns in _MARKS.items()):
            raise self.not_of("bazinga", where, "context_packages, error_patterns or strategies as bazinga makes them")

    def projects(self) -> tuple[Mapping[str, str], Collection[Value]]:
        """Return the projects named by error patterns and strategies.

        With any, rows that name none are reported; without any, all rows belong to the importing project.
        """
        rows = [
            (table, self.row_name(key, number), project)
            for table, key in _OWNED.items()
            for number, project in self.all_rows(table, key, "project_id")
        ]
        projects = {project for _, _, project in rows if isinstance(project, str) and project.strip()}
        self.others = max(0, len(projects) - 1)
        for table, row, project in rows if projects else ():
            if project not in projects:
                self.trouble(table, row, "it belongs to no project")
        return {name: name for name in sorted(projects)}, projects

    @property
    def format(self) -> str:
        """Return bazinga's schema version, if the database records it."""
        versions = [number_of(version) for (version,) in self.all_rows("schema_version", "version")]
        recorded = [version for version in versions if version is not None]
        return f"bazinga, schema {max(recorded)}" if recorded else "bazinga"

    def not_taken(self) -> tuple[tuple[str, int], ...]:
        logs = (("orchestration_logs of interactions and events", self.passed_over),) if self.passed_over else ()
        read = _READ if self.has("orchestration_logs", "reasoning_phase") else _READ - {"orchestration_logs"}
        return (*self.not_among(read), *logs)


def key_of(value: Value, field: str) -> str:
    """Return an id as text; it is a number or a text there."""
    number = number_of(value)
    return text_of(value if number is None else number, field).strip()


def group_of(_: Row, group: Value, scope: Value = None) -> str | None:
    """Return the task group, or None for the whole session."""
    name = optional_text(group, "group_id") if scope != _WHOLE_SESSION else None
    return None if name is None or fold(name) == _WHOLE_SESSION else name.strip()


def moment_of(value: Value, field: str) -> int:
    """Return a time in milliseconds UTC; without an offset it is UTC, as SQLite writes it."""
    try:
        moment = parse_time(value, 0) if isinstance(value, str) and _DATE.match(value.strip()) else -1
    except InvalidInput:
        moment = -1
    if moment < 0:
        raise Unreadable(f"its {field} is {described(value)}, not a time in ISO 8601")
    return moment


def tenths_of(value: Value, _: str = "") -> tuple[int, str | None]:
    """Return a confidence of 0.0 to 1.0 in tenths, rounded half up and limited to 1 to 10."""
    if not isinstance(value, (int, float)):
        return FIRST, f"its confidence is {described(value)}; {FIRST} tenths here"
    # repr gives the shortest text of a float, so .15 rounds as a half
    exact = Decimal(repr(value)) * 10
    bounded = max(Decimal(LEAST), min(Decimal(MOST), exact))
    tenths = int(bounded.quantize(Decimal(1), rounding=ROUND_HALF_UP))
    return tenths, None if 0 <= value <= 1 else f"its confidence is {described(value)}; {tenths} tenths here"


def among(
    value: Value, field: str, choices: Collection[str], missing: str, other: str | None = None
) -> tuple[str, str | None]:
    """Return one of the choices, and the problem with the value, if any.

    ``missing`` replaces no value, ``other`` any unknown one.
    """
    name = missing if value is None or value == "" else fold(value) if isinstance(value, str) else ""
    if name in choices:
        return name, None
    replacement = missing if other is None else other
    return replacement, f"its {field} is {described(value)}; {replacement} here"


def count_of(
    value: Value, field: str, least: int, default: int | None = None, most: int = 2**31 - 1
) -> tuple[int, str | None]:
    """Return a count within limits, and the problem with the value, if any."""
    number = number_of(value)
    count = (default or least) if number is None or number < least else min(number, most)
    return count, None if count == number else f"its {field} is {described(value)}; {count} here"
