"""Reading a bazinga database into records, whichever version made it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from satchel.keep.importing.bazinga_records import (
    BazingaStore,
    ForeignDelivery,
    ForeignPackage,
    ForeignPattern,
    ForeignRun,
    ForeignStrategy,
)
from satchel.keep.importing.bazinga_tables import (
    KINDS,
    BazingaTables,
    count_of,
    days_of,
    group_of,
    key_of,
    moment_of,
    row_name,
    tenths_of,
)
from satchel.keep.importing.values import Unreadable, described, number_of, optional_text, text_of
from satchel.keep.texts import parse_json
from satchel.store.foreign import Value, opened_foreign

_ACTIVE, _COMPLETED = "active", "completed"
_STATUSES = (_ACTIVE, _COMPLETED, "failed")

Read = TypeVar("Read")


def read_bazinga(file: Path, source_project: str | None = None) -> BazingaStore:
    """Read everything of one project of a bazinga database that can be read.

    Args:
        file: the database file.
        source_project: the ``project_id`` there; None takes the only one.

    Returns:
        What was read, and what could not be.

    Raises:
        NotFound, StoreForeign, StoreDamaged, Refused, Busy: the file cannot be read, or is no bazinga database.
        Conflict: it holds several projects, and none was named.
        InvalidInput: it holds no such project.
    """
    with opened_foreign(file) as database:
        tables = BazingaTables(database, str(file))
        tables.choose_project(source_project)
        reader = _Reader(tables)
        packages = reader.packages()
        deliveries = reader.deliveries()
        runs = reader.runs(packages, deliveries)
        patterns, strategies = reader.patterns(), reader.strategies()
        return BazingaStore(
            format=tables.format,
            project=tables.project,
            kinds=tuple(KINDS),
            rows=tuple(reader.rows[table] for table in KINDS.values()),
            tables=tuple(KINDS.values()),
            troubles=tuple(tables.troubles),
            notes=_notes(tables, runs, packages),
            not_taken=tables.not_taken(),
            runs=runs,
            packages=packages,
            patterns=patterns,
            strategies=strategies,
            deliveries=deliveries,
        )


def _notes(
    tables: BazingaTables, runs: tuple[ForeignRun, ...], packages: tuple[ForeignPackage, ...]
) -> tuple[str, ...]:
    active = sum(run.status == _ACTIVE for run in runs)
    unlisted = sum(not run.is_listed for run in runs)
    silent = sum(package.summary is None for package in packages)
    noted = (
        (active, f"sessions that were active there, and are completed here, where nobody works in them: {active}"),
        (unlisted, f"sessions that only packages name, so that little is known of them: {unlisted}"),
        (silent, f"packages without a summary, which are called by their files: {silent}"),
        (
            tables.others and (runs or packages),
            "sessions and packages name no project there, so those of all projects came along",
        ),
    )
    return tuple(note for applies, note in noted if applies)


class _Reader:
    """Reads the tables one after the other.

    Attributes:
        rows: how many rows each table has, readable or not.
    """

    def __init__(self, tables: BazingaTables) -> None:
        self._tables = tables
        self.rows = dict.fromkeys(KINDS.values(), 0)

    def _each(
        self, table: str, key: str, columns: Iterable[str], read: Callable[[str, tuple[Value, ...]], Read]
    ) -> list[Read]:
        """Read every row of a table; one that cannot be read is reported and left out.

        Args:
            key: the column that tells rows apart; the first one that ``read`` gets.
        """
        found: list[Read] = []
        for values in self._tables.rows(table, key, *columns):
            self.rows[table] += 1
            row = row_name(key.split("|", maxsplit=1)[0], values[0])
            try:
                found.append(read(row, values))
            except Unreadable as error:
                self._tables.trouble(table, row, str(error))
        return found

    def _said(self, table: str, row: str, *problems: str | None) -> None:
        """Report what was wrong with values that were replaced."""
        for problem in problems:
            if problem is not None:
                self._tables.trouble(table, row, problem, left_out=False)

    def _seen(self, table: str, row: str, created: Value, seen: Value) -> tuple[int, int]:
        """Return when something was made and last seen; one of them is enough."""
        try:
            last = moment_of(seen, "last_seen")
        except Unreadable as error:
            first = moment_of(created, "created_at")
            self._said(table, row, f"{error}; taken as when it was made")
            return first, first
        try:
            return min(moment_of(created, "created_at"), last), last
        except Unreadable as error:
            self._said(table, row, f"{error}; taken as when it was last seen")
            return last, last

    def packages(self) -> tuple[ForeignPackage, ...]:
        """Return the packages, the oldest first."""
        consumers = self._consumers()
        columns = (
            "session_id",
            "group_id",
            "scope",
            "content_path|file_path",
            "package_type",
            "priority",
            "summary",
            "producer_agent",
            "supersedes_id",
            "created_at",
        )

        def read(row: str, values: tuple[Value, ...]) -> ForeignPackage:
            number, session, group, scope, path, kind, priority, summary, producer, replaced, created = values
            known = key_of(number, "id")
            return ForeignPackage(
                row=row,
                id=known,
                session=text_of(session, "session_id").strip(),
                group=group_of(group, scope),
                path=text_of(path, "path"),
                type=optional_text(kind, "package_type"),
                priority=optional_text(priority, "priority"),
                summary=optional_text(summary, "summary"),
                producer=optional_text(producer, "producer_agent"),
                consumers=tuple(consumers.pop(known, ())),
                supersedes=None if replaced is None else key_of(replaced, "supersedes_id"),
                created_at=moment_of(created, "created_at"),
            )

        found = self._each("context_packages", "id|package_id", columns, read)
        return tuple(sorted(found, key=lambda one: (one.created_at, len(one.id), one.id)))

    def _consumers(self) -> dict[str, list[str]]:
        """Return the roles that packages are meant for, by the ids of the packages."""
        table = "context_package_consumers"
        ids = {number for (number,) in self._tables.rows("context_packages", "id|package_id")}
        found: dict[str, list[str]] = defaultdict(list)
        for package, role in self._tables.rows(table, "package_id", "agent_type"):
            row = row_name("package_id", package)
            try:
                if package not in ids:
                    raise Unreadable("it belongs to no package")
                found[key_of(package, "package_id")].append(text_of(role, "agent_type"))
            except Unreadable as error:
                self._tables.trouble(table, row, str(error))
        return found

    def runs(
        self, packages: tuple[ForeignPackage, ...], deliveries: tuple[ForeignDelivery, ...]
    ) -> tuple[ForeignRun, ...]:
        """Return the sessions, the oldest first, with those that only packages and deliveries name."""

        def read(row: str, values: tuple[Value, ...]) -> ForeignRun:
            session, requirements, status, started, ended, created = values
            name = _ACTIVE if status is None else status
            begun = moment_of(created if started is None else started, "start_time")
            wrong = None
            if name not in _STATUSES:
                name, wrong = _COMPLETED, f"its status is {described(status)}; {_COMPLETED} here"
            try:
                over = None if ended is None else max(begun, moment_of(ended, "end_time"))
            except Unreadable as error:
                over = None
                self._said("sessions", row, f"{error}; left out")
            self._said("sessions", row, wrong)
            return ForeignRun(
                row=row,
                session=text_of(session, "session_id").strip(),
                requirements=optional_text(requirements, "original_requirements"),
                status=str(name),
                is_listed=True,
                created_at=begun,
                ended_at=over,
            )

        columns = ("original_requirements", "status", "start_time", "end_time", "created_at")
        found = self._each("sessions", "session_id", columns, read)
        listed = {str(session).strip() for (session,) in self._tables.rows("sessions", "session_id")}
        first: dict[str, int] = {}
        times = [(one.session, one.created_at) for one in packages]
        for session, at in (*times, *((one.session, one.consumed_at) for one in deliveries)):
            if session not in listed:
                first[session] = min(at, first.get(session, at))
        self.rows["sessions"] += len(first)
        found += [
            ForeignRun(row_name("session_id", session), session, None, _COMPLETED, False, at, None)
            for session, at in first.items()
        ]
        return tuple(sorted(found, key=lambda one: (one.created_at, one.session)))

    def patterns(self) -> tuple[ForeignPattern, ...]:
        """Return the error patterns, the oldest first."""
        table = "error_patterns"

        def read(row: str, values: tuple[Value, ...]) -> ForeignPattern:
            key, signature, solution, confidence, occurrences, lang, seen, created, days = values
            said = _signature(signature)
            tenths, wrong_confidence = tenths_of(confidence)
            kept_days, wrong_days = days_of(days)
            counted, wrong_count = count_of(occurrences, 1, "occurrences")
            first, last = self._seen(table, row, created, seen)
            found = ForeignPattern(
                row=row,
                hash=text_of(key, "pattern_hash"),
                error_type=_text_in(said, "error_type"),
                message=_text_in(said, "message_pattern"),
                stack=_texts_in(said, "stack_pattern"),
                solution=optional_text(solution, "solution"),
                tenths=tenths,
                occurrences=counted,
                lang=optional_text(lang, "lang"),
                ttl_days=kept_days,
                last_seen=last,
                created_at=first,
            )
            self._said(table, row, wrong_confidence, wrong_days, wrong_count)
            return found

        columns = (
            "signature_json",
            "solution",
            "confidence",
            "occurrences",
            "lang",
            "last_seen",
            "created_at",
            "ttl_days",
        )
        found = self._each(table, "pattern_hash", columns, read)
        return tuple(sorted(found, key=lambda one: (one.created_at, one.hash)))

    def strategies(self) -> tuple[ForeignStrategy, ...]:
        """Return the strategies, the oldest first."""
        table = "strategies"

        def read(row: str, values: tuple[Value, ...]) -> ForeignStrategy:
            number, topic, insight, helpfulness, lang, framework, seen, created = values
            helped, wrong = count_of(helpfulness, 0, "helpfulness")
            first, last = self._seen(table, row, created, seen)
            found = ForeignStrategy(
                row=row,
                id=key_of(number, "strategy_id"),
                topic=text_of(topic, "topic"),
                insight=text_of(insight, "insight"),
                helpfulness=helped,
                lang=optional_text(lang, "lang"),
                framework=optional_text(framework, "framework"),
                last_seen=last,
                created_at=first,
            )
            self._said(table, row, wrong)
            return found

        columns = ("topic", "insight", "helpfulness", "lang", "framework", "last_seen", "created_at")
        found = self._each(table, "strategy_id", columns, read)
        return tuple(sorted(found, key=lambda one: (one.created_at, one.id)))

    def deliveries(self) -> tuple[ForeignDelivery, ...]:
        """Return who consumed what, the oldest first."""

        def read(row: str, values: tuple[Value, ...]) -> ForeignDelivery:
            _, session, group, role, iteration, package, consumed = values
            number = number_of(iteration)
            if number is None or number < 0:
                raise Unreadable(f"its iteration is {described(iteration)}, not a whole number from 0")
            return ForeignDelivery(
                row=row,
                session=text_of(session, "session_id").strip(),
                group=group_of(group),
                role=text_of(role, "agent_type"),
                iteration=number,
                package=key_of(package, "package_id"),
                consumed_at=moment_of(consumed, "consumed_at"),
            )

        columns = ("session_id", "group_id", "agent_type", "iteration", "package_id", "consumed_at")
        found = self._each("consumption_scope", "scope_id", columns, read)
        return tuple(sorted(found, key=lambda one: one.consumed_at))


def _signature(value: Value) -> Mapping[str, object]:
    """Return the object that a signature is.

    Raises:
        Unreadable: it is no JSON, or none of an object.
    """
    text = text_of(value, "signature_json")
    try:
        said = parse_json(text)
    except (ValueError, RecursionError):
        raise Unreadable("its signature_json is no JSON") from None
    if not isinstance(said, dict):
        raise Unreadable("its signature_json is no JSON object")
    return said


def _text_in(said: Mapping[str, object], field: str) -> str:
    value = said.get(field)
    if not isinstance(value, str) or not value.strip():
        raise Unreadable(f"its signature_json has no {field}")
    return value


def _texts_in(said: Mapping[str, object], field: str) -> tuple[str, ...]:
    """Return a list of texts, or one text as a list; anything else only ranks nothing, so it is none."""
    value = said.get(field)
    if isinstance(value, str):
        return (value,) if value.strip() else ()
    return tuple(one for one in value if isinstance(one, str) and one.strip()) if isinstance(value, list) else ()
