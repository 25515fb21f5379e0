"""Reading a bazinga database into records, whichever version made it."""

from __future__ import annotations

from collections import defaultdict
from operator import attrgetter
from pathlib import Path

from satchel.keep.importing.bazinga_records import (
    ACTIVE,
    COMPLETED,
    BazingaStore,
    ForeignDelivery,
    ForeignPackage,
    ForeignPattern,
    ForeignRun,
    ForeignStrategy,
)
from satchel.keep.importing.bazinga_tables import KINDS, BazingaTables, key_of
from satchel.keep.importing.values import Unreadable, text_of
from satchel.store.foreign import opened_foreign


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
        consumers = _consumers(tables)
        packages = tables.read(
            ForeignPackage, "context_packages", "id|package_id", lambda number: consumers.pop(number, ())
        )
        packages.sort(key=lambda one: (one.created_at, len(one.id), one.id))
        deliveries = tables.read(ForeignDelivery, "consumption_scope", "scope_id")
        deliveries.sort(key=attrgetter("consumed_at"))
        runs = tables.read(ForeignRun, "sessions", "session_id")
        unlisted = _unlisted(tables, packages, deliveries)
        patterns = tables.read(ForeignPattern, "error_patterns", "pattern_hash")
        strategies = tables.read(ForeignStrategy, "strategies", "strategy_id")
        tables.counted["sessions"] += len(unlisted)
        return BazingaStore(
            format=tables.format,
            project=tables.project,
            kinds=tuple(KINDS),
            rows=tuple(tables.counted[table] for table in KINDS.values()),
            tables=tuple(KINDS.values()),
            troubles=tuple(tables.troubles),
            notes=_notes(tables, [*runs, *unlisted], packages),
            not_taken=tables.not_taken(),
            runs=tuple(sorted([*runs, *unlisted], key=attrgetter("created_at", "session"))),
            packages=tuple(packages),
            patterns=tuple(sorted(patterns, key=attrgetter("created_at", "hash"))),
            strategies=tuple(sorted(strategies, key=attrgetter("created_at", "id"))),
            deliveries=tuple(deliveries),
        )


def _notes(tables: BazingaTables, runs: list[ForeignRun], packages: list[ForeignPackage]) -> tuple[str, ...]:
    active = sum(run.status == ACTIVE for run in runs)
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


def _consumers(tables: BazingaTables) -> dict[str, list[str]]:
    """Return the roles that packages are meant for, by the ids of the packages."""
    table = "context_package_consumers"
    ids = {number for (number,) in tables.rows("context_packages", "id|package_id")}
    found: dict[str, list[str]] = defaultdict(list)
    for package, role in tables.rows(table, "package_id", "agent_type"):
        try:
            if package not in ids:
                raise Unreadable("it belongs to no package")
            found[key_of(package, "package_id")].append(text_of(role, "agent_type"))
        except Unreadable as error:
            tables.trouble(table, tables.row_name("package_id", package), str(error))
    return found


def _unlisted(
    tables: BazingaTables, packages: list[ForeignPackage], deliveries: list[ForeignDelivery]
) -> list[ForeignRun]:
    """Return the sessions that only packages and deliveries name."""
    listed = {str(session).strip() for (session,) in tables.rows("sessions", "session_id")}
    first: dict[str, int] = {}
    times = [(one.session, one.created_at) for one in packages]
    for session, at in (*times, *((one.session, one.consumed_at) for one in deliveries)):
        if session not in listed:
            first[session] = min(at, first.get(session, at))
    return [
        ForeignRun(
            row=tables.row_name("session_id", session),
            created_at=at,
            ended_at=None,
            status=COMPLETED,
            session=session,
            requirements=None,
            is_listed=False,
        )
        for session, at in first.items()
    ]
