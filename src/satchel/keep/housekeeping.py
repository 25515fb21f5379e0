"""Housekeeping over everything kept: statistics, checks, backups, and forgetting one item for good."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from satchel.base.errors import NotFound, SatchelError
from satchel.base.paths import filesystem_kind
from satchel.find import index_sqlite as index
from satchel.keep import projects
from satchel.keep.entries import writing
from satchel.keep.entries.records import COLUMNS, ENTRY_TYPES, Entry, entry_number, entry_of
from satchel.keep.finding import index_problems
from satchel.keep.projects import Workplace
from satchel.store import backups, upkeep
from satchel.store.backups import Backup, Progress
from satchel.store.opening import ENGINE
from satchel.store.schema import SCHEMA_VERSION
from satchel.store.transaction import Transaction
from satchel.store.upkeep import Restored, Shrunk

_WAL_WARNING_BYTES = 128 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a project holds and what it costs.

    Attributes:
        project: its name, or None before the first write.
        seq: its change counter.
        entries: pairs of entry type and how many.
        superseded: how many of them were superseded.
        other_projects: how many more the store holds.
        size_bytes: of the database file and its WAL.
        bytes_per_entry: ``size_bytes`` over all entries of the store, or None without any.
    """

    file: Path
    project: str | None
    seq: int
    runs: int
    active_runs: int
    agents: int
    entries: tuple[tuple[str, int], ...]
    superseded: int
    other_projects: int
    size_bytes: int
    bytes_per_entry: int | None
    schema_version: int

    @property
    def total_entries(self) -> int:
        """Entries of all types."""
        return sum(count for _, count in self.entries)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was examined.

    Attributes:
        status: ok, warning or failed.
        detail: what was found; for anything but ok with what to do.
    """

    name: str
    status: str
    detail: str


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What forgetting an entry did, or would do.

    Attributes:
        entry: what was removed.
        still_in: backups and set-aside files that hold it still.
        unreadable: backups that could not be opened to look.
        wal_emptied: False when a reader of another process kept the WAL, so that its text may still lie in it.
        done: False for a preview.
    """

    entry: Entry
    still_in: tuple[Path, ...]
    unreadable: tuple[Path, ...]
    wal_emptied: bool
    done: bool


class Housekeeping:
    """What keeps a store in order."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace
        self._engine = workplace.engine

    def initialise(self) -> None:
        """Make the store and the project now rather than at the first write."""
        with self._engine.write() as transaction:
            projects.ensure(transaction, self._workplace, self._workplace.clock())

    def statistics(self) -> Statistics:
        """Count what the project holds."""
        with self._engine.read() as transaction:
            project = projects.find(transaction, self._workplace)
            number = project.id if project else None

            def count(sql: str) -> int:
                row = transaction.one(sql, {"project": number})
                return int(row[0]) if row else 0

            by_type: dict[int, int] = dict(
                transaction.all(
                    "SELECT type, count(*) FROM context WHERE project_id = :project GROUP BY type",
                    {"project": number},
                )
            )
            everything = count("SELECT count(*) FROM context")
            size = upkeep.stored_bytes(self._engine.file)
            return Statistics(
                file=self._engine.file,
                project=project.name if project else None,
                seq=project.seq if project else 0,
                runs=count("SELECT count(*) FROM runs WHERE project_id = :project"),
                active_runs=count("SELECT count(*) FROM runs WHERE project_id = :project AND status = 1"),
                agents=count("SELECT count(*) FROM agents WHERE project_id = :project"),
                entries=tuple((name, by_type[place]) for place, name in enumerate(ENTRY_TYPES, 1) if place in by_type),
                superseded=count(
                    "SELECT count(*) FROM context WHERE superseded_by IS NOT NULL AND project_id = :project"
                ),
                other_projects=count("SELECT count(*) FROM projects") - (project is not None),
                size_bytes=size,
                bytes_per_entry=round(size / everything) if everything else None,
                schema_version=count("SELECT max(version) FROM migrations"),
            )

    def backup(self, target: Path | None = None, progress: Progress | None = None) -> Backup:
        """Copy the store while it is in use; the copy is checked before it gets its name.

        Args:
            target: the file to make, which must not exist; None names one beside the store.
            progress: told about the pages copied.
        """
        return backups.back_up(self._engine.access, target, self._workplace.clock(), progress)

    def backups(self) -> list[Backup]:
        """Return the backups beside the store, the oldest first."""
        return backups.list_backups(self._engine.file)

    def restore(self, source: Path, progress: Progress | None = None) -> Restored:
        """Go back to a backup, after saving what is there; see :func:`satchel.store.upkeep.restore`."""
        return upkeep.restore(self._engine, source, progress)

    def compact(self) -> Shrunk:
        """Merge the search index and reclaim the space of what was deleted."""
        with self._engine.write() as transaction:
            index.optimize(transaction)
        return upkeep.shrink(self._engine)

    def forget(self, ref: str, *, preview: bool = False) -> Forgotten:
        """Remove one entry for good, as for a leaked secret: its row, its search text, and the space they took.

        Args:
            ref: its short id, such as ``e812``.
            preview: only say what would be removed.

        Raises:
            NotFound: the project has no such entry.
        """
        number = entry_number(ref)
        with self._engine.read() if preview else self._engine.write() as transaction:
            entry = self._load_entry(transaction, number)
            if not preview:
                project = projects.find(transaction, self._workplace)
                assert project is not None
                writing.delete(transaction, project.id, [number])
                index.optimize(transaction)
        emptied = not preview and upkeep.shrink(self._engine).wal_emptied
        still, unreadable = backups.copies_that_hold(
            self._engine.file, "SELECT 1 FROM context WHERE uid = :uid", {"uid": bytes.fromhex(entry.uid)}
        )
        return Forgotten(entry, still, unreadable, emptied, done=not preview)

    def doctor(self, warnings: tuple[str, ...] = ()) -> Iterator[Check]:
        """Examine the store, one check after the other; nothing is changed.

        Args:
            warnings: what loading the configuration complained about.
        """
        file = self._engine.file
        if warnings:
            yield Check("configuration", "warning", "; ".join(warnings))
        else:
            yield Check("configuration", "ok", "every value is valid")
        if not file.exists():
            yield Check("store", "warning", f"{file} does not exist yet; the first write makes it")
            return
        yield self._check_place(file)
        for name, examine in (
            ("store", self._check_version),
            ("file", self._check_file),
            ("index", self._check_index),
        ):
            check = _guarded(name, examine)
            yield check
            if check.status == "failed" and name != "index":
                break
        yield self._check_backups()

    def _load_entry(self, transaction: Transaction, number: int) -> Entry:
        project = projects.find(transaction, self._workplace)
        row = transaction.one(
            f"""
            SELECT {COLUMNS}, r.run_id FROM context c
            JOIN runs r ON r.id = c.run_id LEFT JOIN agents a ON a.id = c.agent_id
            WHERE c.id = :id AND c.project_id = :project
            """,
            {"id": number, "project": project.id if project else None},
        )
        if row is None:
            raise NotFound(f"there is no entry e{number} in this project", "Reading entries shows their ids")
        return entry_of(row, row[12])

    def _check_place(self, file: Path) -> Check:
        kind = filesystem_kind(file.parent)
        mode = stat.S_IMODE(file.stat().st_mode)
        if mode & 0o077:
            return Check("place", "warning", f"{file} has mode {mode:04o}: others can read it; run chmod 600 on it")
        writable = "" if os.access(file, os.W_OK) else ", cannot be written here"
        return Check("place", "ok", f"{file}{f' on {kind}' if kind else ''}, mode {mode:04o}{writable}")

    def _check_version(self) -> Check:
        with self._engine.read() as transaction:
            rows = transaction.all("SELECT max(version), (SELECT min_writer FROM store) FROM migrations")
        version, needed = rows[0]
        if needed > SCHEMA_VERSION:
            return Check(
                "store",
                "warning",
                f"schema {version} can be read but not written by this Satchel: upgrade it",
            )
        wal = Path(f"{self._engine.file}-wal")
        size = 0
        with suppress(FileNotFoundError):
            size = wal.stat().st_size
        if size > _WAL_WARNING_BYTES:
            return Check(
                "store",
                "warning",
                f"the WAL has grown to {size / 1e6:,.0f} MB: a reader may hold it; `satchel compact` empties it",
            )
        return Check("store", "ok", f"schema {version}, {ENGINE}")

    def _check_file(self) -> Check:
        found = upkeep.file_problems(self._engine)
        if found:
            # the index can be made anew from what is kept, so its damage is no reason to go back to a backup
            is_index = all(index.is_about_index(problem) for problem in found)
            remedy = "`satchel rebuild` makes the index anew" if is_index else "`satchel restore` goes back to a backup"
            return Check("file", "failed", f"{found[0]} ({len(found)} in all); {remedy}")
        return Check("file", "ok", "the full integrity check passed")

    def _check_index(self) -> Check:
        with self._engine.read() as transaction:
            found = index_problems(transaction)
        if found:
            return Check("index", "failed", f"{'; '.join(found)}; `satchel rebuild` makes it anew")
        return Check("index", "ok", "index, spine and tables agree")

    def _check_backups(self) -> Check:
        made = backups.list_backups(self._engine.file)
        if not made:
            return Check("backups", "warning", "there is none; `satchel backup` makes one")
        try:
            backups.verify(made[-1].file)
        except SatchelError as error:
            return Check("backups", "failed", f"the newest is not usable: {error.problem}")
        return Check("backups", "ok", f"{len(made)}, the newest {made[-1].file.name} passed its check")


def _guarded(name: str, examine: Callable[[], Check]) -> Check:
    try:
        return examine()
    except SatchelError as error:
        return Check(name, "failed", str(error))
