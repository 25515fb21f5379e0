"""Permanent deletion of one item, such as a leaked secret."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from satchel.base.errors import NotFound, SatchelError
from satchel.base.file_checks import SHARED_FOLDER
from satchel.base.paths import FOLDER_NAME
from satchel.base.records import dataclass
from satchel.find.index import index_of
from satchel.keep import events, kept, pins, projects
from satchel.keep.documents import states as documents
from satchel.keep.housekeeping.derived import delete_deliveries, delete_sightings
from satchel.keep.kinds import KINDS, read_ref
from satchel.keep.moving import states
from satchel.keep.patterns import updates as pattern_writing
from satchel.keep.patterns.records import SOLUTION_LETTER, solution_number
from satchel.keep.projects import Project, Workplace
from satchel.keep.sessions.actors import acting, require_person
from satchel.store.engine import Engine
from satchel.store.transaction import Transaction
from satchel.store.upkeep import Shrunk


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Result of deleting an item permanently, or its preview.

    Attributes:
        ref: its short id.
        kind: such as entry, decision or solution.
        text: its searchable text.
        still_in: backups, set-aside files and the shared file that still contain it.
        unreadable: backups that could not be opened.
        wal_emptied: False if the space could not be reclaimed, or another process still reads old data, so that the
            text may remain in the file, its WAL, or a database's tables.
        done: False for a preview.
        out_of_reach: places that Satchel cannot inspect and that may contain the text, or None.
    """

    ref: str
    kind: str
    text: str
    still_in: tuple[Path, ...]
    unreadable: tuple[Path, ...]
    wal_emptied: bool
    done: bool
    out_of_reach: str | None = None


@dataclass(frozen=True, slots=True)
class _Leaving:
    """An item about to be deleted.

    Attributes:
        delete: deletes it with its dependents.
    """

    ref: str
    kind: str
    table: str
    uid: bytes
    text: str
    delete: Callable[[], None]


def forget(workplace: Workplace, ref: str, *, dry_run: bool) -> Forgotten:
    """Delete one item; see :meth:`satchel.keep.housekeeping.Housekeeping.forget`."""
    engine = workplace.engine
    if not dry_run:
        require_person(workplace, "forget items for good")
    find = _solution if ref.strip().startswith(SOLUTION_LETTER) else _item
    if not dry_run:
        engine.upkeep.sweep()
    with engine.without_deadline(), engine.read() if dry_run else engine.write() as transaction:
        project = projects.find(transaction, workplace)
        leaving = find(transaction, project, ref)
        shared = _shared_file(transaction, workplace, project, leaving.uid)
        if not dry_run:
            leaving.delete()
            now = workplace.clock()
            actor = acting(transaction, workplace, project.id, workplace.agent, now)
            item = None if leaving.kind == "solution" else read_ref(leaving.ref)
            details = {"ref": leaving.ref} if item is None else None
            events.record(transaction, project.id, events.FORGOTTEN, now, by=actor, item=item, details=details)
            index_of(transaction).optimize()
    shrunk = None if dry_run else _shrink(engine)
    still, unreadable = engine.upkeep.copies_with(leaving.table, leaving.uid)
    still = (*still, *shared)
    return Forgotten(
        leaving.ref,
        leaving.kind,
        leaving.text,
        still,
        unreadable,
        wal_emptied=shrunk is not None and shrunk.wal_emptied,
        done=not dry_run,
        out_of_reach=None if shrunk is None else shrunk.out_of_reach,
    )


def _shared_file(transaction: Transaction, workplace: Workplace, project: Project, uid: bytes) -> tuple[Path, ...]:
    # git has a copy of it too
    row = transaction.one(
        "SELECT file FROM shared_texts WHERE project_id = :project AND uid = :uid AND file IS NOT NULL",
        {"project": project.id, "uid": uid},
    )
    if row is None or workplace.files_root is None:
        return ()
    file = Path(workplace.files_root) / FOLDER_NAME / SHARED_FOLDER / row[0]
    return (file,) if file.exists() else ()


def _shrink(engine: Engine) -> Shrunk | None:
    # a failure here, returned as None, does not restore the item
    try:
        return engine.upkeep.reclaim()
    except SatchelError:
        return None


def _item(transaction: Transaction, project: Project, ref: str) -> _Leaving:
    kind, number = read_ref(ref)
    thing = KINDS[kind]
    row = transaction.one(
        f"SELECT uid FROM {kind.table} WHERE id = :id AND project_id = :project",
        {"id": number, "project": project.id},
    )
    if row is None:
        raise NotFound(f"there is no {thing.name} {kind.ref(number)} in this project", "Lists show the ids")

    def delete() -> None:
        kept.delete(thing, transaction, project.id, [number])
        # by number too: a damaged text does not hold the words by which it was recorded
        transaction.run(
            "DELETE FROM likenesses WHERE project_id = :project AND kind = :kind AND item_id = :id",
            {"project": project.id, "kind": kind.number, "id": number},
        )
        delete_deliveries(transaction, kind, number)
        delete_sightings(transaction, kind, number)
        pins.forget(transaction, project.id, kind, number)
        documents.forget(transaction, project.id, kind, number)
        states.forget(transaction, project.id, row[0])

    text = kept.texts(thing, transaction, [number]).get(number, "")
    return _Leaving(kind.ref(number), thing.name, kind.table, row[0], text, delete)


def _solution(transaction: Transaction, project: Project, ref: str) -> _Leaving:
    number = solution_number(ref)
    solution = pattern_writing.load_solution(transaction, project.id, number)
    return _Leaving(
        solution.ref,
        "solution",
        "error_solutions",
        bytes.fromhex(solution.uid),
        solution.text,
        lambda: pattern_writing.delete_solution(transaction, project.id, solution),
    )
