"""Service for maintaining a store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from satchel.base.errors import NotFound, SatchelError
from satchel.base.text import check_encodable
from satchel.find.index import index_of
from satchel.find.kind import KIND_OF
from satchel.keep import expiry, projects
from satchel.keep.housekeeping import checks, clearing, statistics, usage
from satchel.keep.housekeeping.checks import BeyondRepair, Examination
from satchel.keep.housekeeping.clearing import Cleared, Forgotten
from satchel.keep.housekeeping.statistics import LayerSummary, Statistics
from satchel.keep.housekeeping.usage import Activity, MemoryUse, NamesInUse
from satchel.keep.projects import Workplace
from satchel.keep.sessions.actors import record_action, require_person
from satchel.store.accepting import Accepted
from satchel.store.backups import Backup, Progress
from satchel.store.failures import REMAINS
from satchel.store.upkeep import Check, Restored, Shrunk


class Housekeeping:
    """Maintenance of a store."""

    def __init__(self, workplace: Workplace, examinations: tuple[Examination, ...] = ()) -> None:
        self._workplace = workplace
        self._engine = workplace.engine
        self._examinations = examinations

    def initialise(self, *, new: bool = False) -> Path | None:
        """Create the store and project now; ``new`` starts an empty one if the last is missing, empty or unusable."""
        aside = self._engine.upkeep.make_room(self._is_usable) if new else None
        with projects.writing(self._workplace):
            return aside

    def _is_usable(self) -> bool:
        return not any(isinstance(check, BeyondRepair) for check in self.doctor())

    def statistics(self) -> Statistics:
        with projects.reading(self._workplace) as (transaction, project):
            engine = None if self._workplace.is_confined else self._engine
            return statistics.count_up(transaction, engine, project, self._workplace.clock())

    def memory_use(self) -> MemoryUse:
        """Count how briefed items turned out: confirmed, corrected, followed by success, or none of these."""
        with projects.reading(self._workplace) as (transaction, project):
            return usage.count_uses(transaction, project.id, self._workplace.clock())

    def names_in_use(self, kind: str | None = None) -> NamesInUse:
        """Count the decisions and rules of each tag, scope, layer and category, or of the names of one kind."""
        with projects.reading(self._workplace) as (transaction, project):
            return usage.count_names(transaction, project, kind)

    def activity(self) -> Activity:
        """Count what each agent did in the last 7 days, by day: writes, file changes, messages, claims, solutions."""
        with projects.reading(self._workplace) as (transaction, project):
            return usage.count_activity(transaction, project, self._workplace.clock())

    def layer_summary(self) -> LayerSummary:
        """Count per layer the active decisions and constraints, and the file changes of the last hour."""
        with projects.reading(self._workplace) as (transaction, project):
            return statistics.by_layer(transaction, project, self._workplace.clock())

    def backup(self, target: Path | None = None, progress: Progress | None = None) -> Backup:
        """Copy the store while it is in use; the copy is checked before it gets its name.

        Raises Refused for a store in a database: see :meth:`dump_command`.
        """
        if target is not None:
            check_encodable(target, "target")
        with self._engine.read():
            pass  # a store that cannot be opened is not copied
        return self._engine.upkeep.back_up(target, self._workplace.clock(), progress)

    def dump_command(self, target: Path | None = None) -> str | None:
        """Return the shell command that backs up a store in a database; None for a file: see :meth:`backup`."""
        return self._engine.upkeep.dump_command(target)

    def load_command(self, source: Path | None = None) -> str | None:
        """Return the shell command that restores a store in a database; None for a file: see :meth:`restore`."""
        return self._engine.upkeep.load_command(source)

    def backups(self) -> list[Backup]:
        """Return the backups of the store, oldest first."""
        self._engine.check_files()
        return self._engine.upkeep.backups()

    def newest_backup(self) -> Backup:
        """Return the newest backup that passes its check."""
        self._engine.check_files()
        upkeep = self._engine.upkeep
        is_mine = upkeep.knows_place()
        newest = upkeep.newest_backup() if is_mine else None
        if newest is not None:
            return newest
        raise NotFound(
            f"there is no usable backup of {self._engine.location}{'' if is_mine else ' that is known to be yours'}",
            REMAINS,
        )

    def written_since(self, since: int) -> dict[str, int]:
        """Count the items of all projects that were written after a time, by what people call them."""
        with self._engine.read() as transaction:
            rows = transaction.all(
                "SELECT kind, count(*) FROM documents WHERE created_at > :since GROUP BY 1 ORDER BY 1", {"since": since}
            )
        return {KIND_OF[kind].noun: number for kind, number in rows}

    def restore(self, source: Path, progress: Progress | None = None) -> Restored:
        """Put a backup in the place of the store, after saving that.

        Raises Refused for a store in a database (see :meth:`load_command`), and to all but persons.
        """
        require_person(self._workplace, "restore a backup")
        restored = self._engine.upkeep.restore(source, progress)
        self.record_action("restored a backup")
        return restored

    def trust(self, owner: str | None = None, *, tree: bool = False) -> Accepted:
        """Add the store to the user's list of trusted stores; see :func:`satchel.store.accepting.accept`."""
        require_person(self._workplace, "trust a store")
        return self._engine.upkeep.accept(owner=owner, tree=tree)

    def record_action(self, what: str) -> None:
        """Record an action that only persons may do, or that ends a protection, if there is a project to record it."""
        with suppress(SatchelError):
            if not self._engine.exists():
                return
            with self._engine.write() as transaction:
                project = projects.find(transaction, self._workplace)
                if project.id:
                    record_action(transaction, self._workplace, project.id, what, self._workplace.clock())

    def compact(self) -> Shrunk:
        """Merge the search index, delete leftovers of deleted items and conversations, and reclaim the space."""
        with self._engine.without_deadline(), self._engine.write() as transaction:
            checks.delete_orphaned_deliveries(transaction)
            expiry.remove_contents(transaction)
            index_of(transaction).optimize()
        return self._engine.upkeep.reclaim()

    def recount(self) -> None:
        """Recalculate stored counts for every project of the store."""
        with self._engine.write() as transaction:
            checks.recount(transaction)

    def clear(
        self,
        messages_hours: int | None = None,
        file_changes_hours: int | None = None,
        dry_run: bool = True,
        *,
        conversations_days: int | None = None,
        progress: Progress | None = None,
    ) -> Cleared:
        """Delete old messages, file changes and conversations of the project, and expired claims and errors."""
        return clearing.clear(
            self._workplace, messages_hours, file_changes_hours, conversations_days, dry_run=dry_run, progress=progress
        )

    def forget(self, ref: str, *, dry_run: bool = False) -> Forgotten:
        """Delete one item permanently, such as a leaked secret: its rows, search text and space."""
        return clearing.forget(self._workplace, ref, dry_run=dry_run)

    def whereabouts(self, origin: str) -> Check:
        """Report the default identity, the store, how it was found (``origin``) and why it is trusted."""
        return checks.whereabouts(self._workplace, origin)

    def doctor(self, warnings: tuple[str, ...] = ()) -> Iterator[Check]:
        """Check the store without changing it. ``warnings`` are those of loading the configuration."""
        return checks.examine(self._engine, warnings, self._examinations)
