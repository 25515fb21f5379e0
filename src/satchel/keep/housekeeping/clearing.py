"""Deletion of old messages, file changes and conversations, of expired claims and error patterns, of single items."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from satchel.base.errors import NotFound, SatchelError
from satchel.base.file_checks import SHARED_FOLDER
from satchel.base.paging import check_whole
from satchel.base.paths import FOLDER_NAME
from satchel.base.records import dataclass, replace
from satchel.base.retention import DAY_HOURS
from satchel.find.index import index_of
from satchel.find.kind import Kind
from satchel.keep import events, expiry, jumps, kept, pins, projects
from satchel.keep.documents import states as documents
from satchel.keep.housekeeping.checks import delete_deliveries, delete_sightings
from satchel.keep.kind import ItemKind
from satchel.keep.kinds import KINDS, read_ref
from satchel.keep.moving import states
from satchel.keep.names import PERSONS
from satchel.keep.patterns import updates as pattern_writing
from satchel.keep.patterns.records import SOLUTION_LETTER, solution_number
from satchel.keep.projects import Project, Workplace
from satchel.keep.sessions.actors import acting, is_by_person, require_person
from satchel.store.backups import Progress
from satchel.store.engine import Engine
from satchel.store.transaction import Transaction, first_number
from satchel.store.upkeep import Shrunk

# Ten years.
MAX_HOURS = 87_600

MAX_DAYS = MAX_HOURS // DAY_HOURS

_PER_STEP = 500


@dataclass(frozen=True, slots=True)
class Cleared:
    """Result of clearing or its preview: the number of deleted items of each kind."""

    messages: int
    file_changes: int
    claims: int
    error_patterns: int
    conversations: int
    done: bool


@dataclass(frozen=True, slots=True)
class _Old:
    declaration: ItemKind[Any]  # loaded beforehand, since after a commit nothing may fail
    where: str
    values: Mapping[str, object]

    def count(self, transaction: Transaction) -> int:
        sql = f"SELECT count(*) FROM {self.declaration.table} t WHERE {self.where}"
        return first_number(transaction, sql, self.values)

    def numbers(self, transaction: Transaction, after: int) -> list[int]:
        rows = transaction.all(
            f"SELECT id FROM {self.declaration.table} t "
            f"WHERE {self.where} AND t.id > :after ORDER BY t.id LIMIT {_PER_STEP}",
            {**self.values, "after": after},
        )
        return [row[0] for row in rows]


# The condition for messages neither from nor to a person: only a person clears the others early.
_OF_AGENTS = f"COALESCE(t.from_agent_id, 0) NOT IN {PERSONS} AND COALESCE(t.to_agent_id, 0) NOT IN {PERSONS}"

_CLAIMS = "FROM file_claims WHERE project_id = :project AND expires_at <= :now"


def clear(
    workplace: Workplace,
    messages_hours: int | None,
    file_changes_hours: int | None,
    conversations_days: int | None,
    *,
    dry_run: bool,
    progress: Progress | None,
) -> Cleared:
    # many short transactions, so that other writers wait only briefly
    for field, hours in (("messages_hours", messages_hours), ("file_changes_hours", file_changes_hours)):
        if hours is not None:
            check_whole(field, hours, MAX_HOURS)
    if conversations_days is not None:
        check_whole("conversations_days", conversations_days, MAX_DAYS)
    engine = workplace.engine
    now = workplace.clock()
    with engine.read() as transaction:
        project = projects.find(transaction, workplace)
        if not project.id:
            return Cleared(0, 0, 0, 0, 0, done=not dry_run)
        now = jumps.believed(transaction, project.id, now)
        values = {"project": project.id, "now": now}
        messages = _old(Kind.MESSAGE, _before(workplace, messages_hours, now), project.id, now)
        if messages_hours is not None and not is_by_person(workplace, workplace.agent):
            messages = replace(messages, where=f"{messages.where} AND (t.expires_at <= :now OR {_OF_AGENTS})")
        changes = _old(Kind.FILE_CHANGE, _before(workplace, file_changes_hours, now), project.id, now)
        patterns = _old(Kind.ERROR_PATTERN, None, project.id, now)
        unused_since = _before(workplace, None if conversations_days is None else conversations_days * DAY_HOURS, now)
        threads = expiry.count_old_conversations(transaction, project.id, unused_since, now)
        olds = (messages, changes, patterns)
        counts = [old.count(transaction) for old in olds]
        claims = transaction.all(f"SELECT id {_CLAIMS}", values)
    if dry_run:
        return Cleared(counts[0], counts[1], len(claims), counts[2], threads, done=False)
    with engine.write() as transaction:
        released = transaction.execute(f"DELETE {_CLAIMS}", values)
    deleted: list[int] = []

    def report(more: int) -> None:
        if progress is not None:
            progress(sum(deleted) + more, max(sum(deleted) + more, sum(counts) + threads))

    for old in olds:
        deleted += [_remove(engine, project.id, old, report)]
    ended = _remove_conversations(workplace, project.id, unused_since, now, report)
    return Cleared(deleted[0], deleted[1], released, deleted[2], ended, done=True)


def _remove(engine: Engine, project_id: int, old: _Old, report: Callable[[int], None]) -> int:
    # a few hundred per transaction, so that other writers wait only briefly
    deleted = after = 0
    while True:
        with engine.write() as transaction:
            numbers = old.numbers(transaction, after)
            kept.delete(old.declaration, transaction, project_id, numbers)
        if not numbers:
            return deleted
        deleted, after = deleted + len(numbers), numbers[-1]
        report(deleted)


def _remove_conversations(
    workplace: Workplace, project_id: int, before: int | None, now: int, report: Callable[[int], None]
) -> int:
    # a few per transaction; a conversation taken up by a call in the meantime stays
    deleted = 0
    while True:
        with workplace.engine.write() as transaction:
            removed = expiry.remove_old_conversations(transaction, project_id, before, now)
        if not removed:
            return deleted
        deleted += removed
        report(deleted)


def _old(kind: Kind, before: int | None, project_id: int, now: int) -> _Old:
    condition = "t.expires_at <= :now" if before is None else "t.created_at <= :before"
    values = {"project": project_id, "before": before, "now": now}
    return _Old(KINDS[kind], f"t.project_id = :project AND {condition}", values)


def _before(workplace: Workplace, hours: int | None, now: int) -> int | None:
    if not hours:
        # on a weekend that does not count, an age of 0 hours would reach back to Friday
        return None if hours is None else now
    return workplace.retention.began_at(now, hours)


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Result of deleting an item permanently, or its preview.

    Attributes:
        still_in: backups, set-aside files and the shared file that still contain it.
        unreadable: backups that could not be opened.
        wal_emptied: False if the text may remain in the file, its WAL, or a database's tables.
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
    ref: str
    kind: str
    table: str
    uid: bytes
    text: str
    delete: Callable[[], None]


def forget(workplace: Workplace, ref: str, *, dry_run: bool) -> Forgotten:
    engine = workplace.engine
    if not dry_run:
        require_person(workplace, "forget items permanently")
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
        f"SELECT uid FROM {kind.table} WHERE id = :id AND project_id = :project", {"id": number, "project": project.id}
    )
    if row is None:
        raise NotFound(f"there is no {kind.noun} {kind.ref(number)} in this project", "Lists show the ids")

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
