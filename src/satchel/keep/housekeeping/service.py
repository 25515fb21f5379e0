"""What keeps a store in order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.base.errors import NotFound
from satchel.base.text import check_encodable
from satchel.find.index import index_of
from satchel.keep import past_conversations, projects
from satchel.keep.housekeeping import checks, clearing, counts, forgetting, packages, statistics, summaries, usefulness
from satchel.keep.housekeeping.checks import BeyondRepair, Check, Examination
from satchel.keep.housekeeping.clearing import Cleared
from satchel.keep.housekeeping.forgetting import Forgotten
from satchel.keep.housekeeping.statistics import Statistics
from satchel.keep.housekeeping.summaries import LayerSummary
from satchel.keep.housekeeping.usefulness import MemoryUse
from satchel.keep.indexing import index_all
from satchel.keep.projects import Workplace
from satchel.store.accepting import Accepted
from satchel.store.backups import Backup, Progress
from satchel.store.engine import Engine
from satchel.store.upkeep import Restored, Shrunk

if TYPE_CHECKING:
    from satchel.store.moving.copying import Moved


class Housekeeping:
    """What keeps a store in order."""

    def __init__(self, workplace: Workplace, examinations: tuple[Examination, ...] = ()) -> None:
        """Keep the store of a workplace in order.

        Args:
            examinations: what the doctor looks at besides, for layers above this one.
        """
        self._workplace = workplace
        self._engine = workplace.engine
        self._examinations = examinations

    def initialise(self, *, new: bool = False) -> Path | None:
        """Make the store and the project now rather than at the first write.

        Args:
            new: begin with an empty store where the last one is gone, empty or cannot be used.

        Returns:
            Where the file that cannot be used was set aside, if there was one.

        Raises:
            Conflict: ``new`` was asked for, and there is a store that can be used.
        """
        aside = self._engine.upkeep.make_room(self._is_usable) if new else None
        with projects.writing(self._workplace):
            return aside

    def _is_usable(self) -> bool:
        return not any(isinstance(check, BeyondRepair) for check in self.doctor())

    def statistics(self) -> Statistics:
        """Count what the project holds."""
        with projects.reading(self._workplace) as (transaction, project):
            engine = None if self._workplace.is_confined else self._engine
            return statistics.count_up(transaction, engine, project, self._workplace.clock())

    def memory_use(self) -> MemoryUse:
        """Count what became of what was briefed: confirmed, corrected, followed by success, or none of these."""
        with projects.reading(self._workplace) as (transaction, project):
            return usefulness.count(transaction, None if project is None else project.id, self._workplace.clock())

    def layer_summary(self) -> LayerSummary:
        """Count, layer by layer, the decisions and constraints that hold and the file changes of the last hour."""
        with projects.reading(self._workplace) as (transaction, project):
            return summaries.by_layer(transaction, project, self._workplace.clock())

    def backup(self, target: Path | None = None, progress: Progress | None = None) -> Backup:
        """Copy the store while it is in use; the copy is checked before it gets its name.

        Args:
            target: the file to make, which must not exist; None names one beside the store.
            progress: told about the pages copied.

        Raises:
            InvalidInput: the target is no path in UTF-8.
        """
        if target is not None:
            check_encodable(target, "target")
        with self._engine.read():
            pass  # what the store refuses to open is not copied either
        return self._engine.upkeep.back_up(target, self._workplace.clock(), index_all, progress)

    def backups(self) -> list[Backup]:
        """Return the backups of the store, the oldest first."""
        self._engine.check_files()
        return self._engine.upkeep.backups()

    def newest_backup(self) -> Backup:
        """Return the newest backup of the store that passes its check.

        Raises:
            NotFound: there is none, or the store is not listed, so that what lies beside it may be anyone's.
        """
        self._engine.check_files()
        upkeep = self._engine.upkeep
        is_mine = upkeep.knows_place()
        newest = upkeep.newest_backup() if is_mine else None
        if newest is not None:
            return newest
        raise NotFound(
            f"there is no usable backup of {self._engine.location}{'' if is_mine else ' that is known to be yours'}",
            "Name a copy that you have: `satchel restore PATH`, or begin with an empty store: `satchel init --new`",
        )

    def restore(self, source: Path, progress: Progress | None = None) -> Restored:
        """Go back to a backup: in the place of a store file, after saving it; in an empty schema of a database.

        Args:
            source: the backup.
            progress: told about what was copied.
        """
        return self._engine.upkeep.restore(source, index_all, progress)

    def move(self, target: Engine, progress: Progress) -> Moved:
        """Copy everything into another, empty store, of this database or another; see
        :func:`satchel.store.moving.copying.move`.

        Args:
            target: where to; an unfinished move of this store is brought to its end there.
            progress: told what was copied and compared.
        """
        from satchel.store.moving.copying import move  # 7 ms of every command that counts or clears

        self._engine.check_files()
        return move(self._engine, target, index_all, progress)

    def trust(self, owner: str | None = None, *, tree: bool = False) -> Accepted:
        """Put the store on the user's list of trusted stores; see :func:`satchel.store.accepting.accept`."""
        return self._engine.upkeep.accept(owner=owner, tree=tree)

    def compact(self) -> Shrunk:
        """Merge the search index, drop what only things that are gone needed, and reclaim the space of all that.

        That is deliveries of items, and contents of conversations.
        """
        with self._engine.without_deadline(), self._engine.write() as transaction:
            packages.remove_leftovers(transaction)
            past_conversations.remove_contents(transaction)
            index_of(transaction).optimize()
        return self._engine.upkeep.reclaim()

    def recount(self) -> None:
        """Make what is counted beforehand agree with the tables again, for every project of the store."""
        with self._engine.write() as transaction:
            counts.recount(transaction)

    def clear(
        self,
        messages_hours: int | None = None,
        file_changes_hours: int | None = None,
        dry_run: bool = True,
        *,
        conversations_days: int | None = None,
        progress: Progress | None = None,
    ) -> Cleared:
        """Remove old messages, file changes and conversations of the project, and claims and errors that have run out.

        Args:
            messages_hours: remove messages of that age and older, read or not; 0 removes every one up to now, at most
                87,600. With ``retention.skip_weekends`` the hours of weekends do not count. None removes what has
                outlived the configured retention, which was fixed for each message when it was written or read.
            file_changes_hours: the same for file changes.
            dry_run: only count what would be removed.
            conversations_days: the same for conversations that had no turn for so many days, at most 3,650. One that a
                call holds stays.
            progress: told how many items are gone, of about how many.

        Raises:
            InvalidInput: the hours or days are no whole number, or out of range.
        """
        return clearing.clear(
            self._workplace,
            messages_hours,
            file_changes_hours,
            conversations_days,
            dry_run=dry_run,
            progress=progress,
        )

    def forget(self, ref: str, *, dry_run: bool = False) -> Forgotten:
        """Remove one item for good, as for a leaked secret: its rows, its search text, and the space they took.

        Args:
            ref: its short id with its letter, such as ``e812``, or of one solution, such as ``y7``. A decision goes
                with its whole history, an error pattern with its solutions, and everything with the record of who was
                given it.
            dry_run: only say what would be removed.

        Raises:
            InvalidInput: it is no short id.
            NotFound: the project has no such item.
        """
        return forgetting.forget(self._workplace, ref, dry_run=dry_run)

    def whereabouts(self, found: str) -> Check:
        """Say who acts where by default, which store that is, how it was found and why it is trusted.

        Args:
            found: how it was found.
        """
        return checks.whereabouts(self._workplace, found)

    def doctor(self, warnings: tuple[str, ...] = ()) -> Iterator[Check]:
        """Examine the store, one check after the other; nothing is changed.

        Args:
            warnings: what loading the configuration complained about.
        """
        return checks.examine(self._engine, warnings, self._examinations)
