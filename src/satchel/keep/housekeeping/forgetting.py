"""Forgetting one item for good, as for a leaked secret."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from satchel.base.errors import NotFound
from satchel.find import index_sqlite as index
from satchel.keep import projects
from satchel.keep.kinds import KINDS, read_ref
from satchel.keep.projects import Workplace
from satchel.store import backups, upkeep


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What forgetting an item did, or would do.

    Attributes:
        ref: its short id.
        kind: what it is, such as entry or decision.
        text: what could be searched of it.
        still_in: backups and set-aside files that hold it still.
        unreadable: backups that could not be opened to look.
        wal_emptied: False when a reader of another process kept the WAL, so that its text may still lie in it.
        done: False for a preview.
    """

    ref: str
    kind: str
    text: str
    still_in: tuple[Path, ...]
    unreadable: tuple[Path, ...]
    wal_emptied: bool
    done: bool


def forget(workplace: Workplace, ref: str, *, preview: bool) -> Forgotten:
    """Remove one item, as :meth:`satchel.keep.housekeeping.Housekeeping.forget` says."""
    kind, number = read_ref(ref)
    thing = KINDS[kind]
    engine = workplace.engine
    with engine.read() if preview else engine.write() as transaction:
        project = projects.find(transaction, workplace)
        row = transaction.one(
            f"SELECT uid FROM {kind.table} WHERE id = :id AND project_id = :project",
            {"id": number, "project": project.id if project else None},
        )
        if project is None or row is None:
            raise NotFound(f"there is no {thing.name} {kind.ref(number)} in this project", "Lists show the ids")
        text = thing.texts(transaction, [number])[number]
        if not preview:
            thing.delete(transaction, project.id, [number])
            index.optimize(transaction)
    emptied = not preview and upkeep.shrink(engine).wal_emptied
    still, unreadable = backups.copies_that_hold(engine.file, kind.table, row[0])
    return Forgotten(kind.ref(number), thing.name, text, still, unreadable, emptied, done=not preview)
