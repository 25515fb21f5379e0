"""The tables of a bazinga database, the project that is read of it, and the values in its rows.

Tables and columns from the schemas of github.com/mehdic/bazinga, versions 6 to 19, and from its data model, whose names
differ (``package_id`` and ``content_path`` for ``id`` and ``file_path``); what a version lacks is simply not there.
Sessions and packages belong to no project there; error patterns and strategies name theirs.
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
"""What no other tool calls its columns, ours included."""

_OWNED = {"error_patterns": "pattern_hash", "strategies": "strategy_id"}
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

    def __init__(self, database: ForeignDatabase, where: str) -> None:
        super().__init__(database)
        self.others = 0
        self.passed_over = 0
        if not any(self.has(table, *columns) for table, columns in _MARKS.items()):
            raise self.not_of("bazinga", where, "context_packages, error_patterns or strategies as bazinga makes them")

    def projects(self) -> tuple[Mapping[str, str], Collection[Value]]:
        """Return the projects that error patterns and strategies name; with none, all belong to the one who takes them.

        Where there is any, rows that name none are reported.
        """
        rows = [
            (table, self.row_name(key, number), project)
            for table, key in _OWNED.items()
            for number, project in self.everybodys(table, key, "project_id")
        ]
        held = {project for _, _, project in rows if isinstance(project, str) and project.strip()}
        self.others = max(0, len(held) - 1)
        for table, row, project in rows if held else ():
            if project not in held:
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
    return text_of(value if number is None else number, field).strip()


def group_of(_: Row, group: Value, scope: Value = None) -> str | None:
    """Return the task group, None for what belongs to the whole session.

    Raises:
        Unreadable: it is no text.
    """
    name = optional_text(group, "group_id") if scope != _WHOLE_SESSION else None
    return None if name is None or fold(name) == _WHOLE_SESSION else name.strip()


def moment_of(value: Value, field: str) -> int:
    """Return a time in milliseconds UTC; without an offset it is UTC, as SQLite writes it.

    Raises:
        Unreadable: it is no ISO 8601 text, or before 1970.
    """
    try:
        moment = parse_time(value, 0) if isinstance(value, str) and _DATE.match(value.strip()) else -1
    except InvalidInput:
        moment = -1
    if moment < 0:
        raise Unreadable(f"its {field} is {described(value)}, no time in ISO 8601")
    return moment


def tenths_of(value: Value, _: str = "") -> tuple[int, str | None]:
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


def among(
    value: Value, field: str, choices: Collection[str], missing: str, other: str | None = None
) -> tuple[str, str | None]:
    """Return a name of some, and what was wrong with the value, if anything was.

    Args:
        missing: what none stands for; ``other``: what replaces any other name, None is the same.
    """
    given = missing if value is None or value == "" else fold(value) if isinstance(value, str) else ""
    if given in choices:
        return given, None
    kept = missing if other is None else other
    return kept, f"its {field} is {described(value)}; {kept} here"


def count_of(
    value: Value, field: str, least: int, default: int | None = None, most: int = 2**31 - 1
) -> tuple[int, str | None]:
    """Return a count within limits, and what was wrong with the value, if anything was.

    Args:
        default: what replaces one that is none or too small; None is ``least``.
    """
    number = number_of(value)
    count = (default or least) if number is None or number < least else min(number, most)
    return count, None if count == number else f"its {field} is {described(value)}; {count} here"
