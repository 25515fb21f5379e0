"""Deletion of old messages, file changes and conversations, and of expired claims and error patterns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from satchel.base.paging import check_whole
from satchel.base.records import dataclass, replace
from satchel.base.retention import DAY_HOURS
from satchel.find.kind import Kind
from satchel.keep import expiry, jumps, kept, projects
from satchel.keep.kind import ItemKind
from satchel.keep.kinds import KINDS
from satchel.keep.names import PERSONS
from satchel.keep.projects import Workplace
from satchel.keep.sessions.actors import is_by_person
from satchel.store.backups import Progress
from satchel.store.engine import Engine
from satchel.store.transaction import Transaction

MAX_HOURS = 87_600
"""Ten years."""

MAX_DAYS = MAX_HOURS // DAY_HOURS

_PER_STEP = 500


@dataclass(frozen=True, slots=True)
class Cleared:
    """Result of clearing or its preview.

    Attributes:
        messages: number deleted; ``file_changes`` likewise.
        claims: number of expired ones; ``error_patterns`` likewise, with their solutions.
        conversations: number deleted, with their turns.
        done: False for a preview.
    """

    messages: int
    file_changes: int
    claims: int
    error_patterns: int
    conversations: int
    done: bool


@dataclass(frozen=True, slots=True)
class _Old:
    """Condition for the old items of a kind.

    Attributes:
        declaration: loaded beforehand, since after a commit nothing may fail.
        where: SQL on the kind's table ``t``.
        values: its parameters.
    """

    kind: Kind
    declaration: ItemKind[Any]
    where: str
    values: Mapping[str, object]

    def count(self, transaction: Transaction) -> int:
        row = transaction.one(f"SELECT count(*) FROM {self.kind.table} t WHERE {self.where}", self.values)
        return int(row[0]) if row else 0

    def numbers(self, transaction: Transaction, after: int) -> list[int]:
        rows = transaction.all(
            f"SELECT id FROM {self.kind.table} t WHERE {self.where} AND t.id > :after ORDER BY t.id LIMIT {_PER_STEP}",
            {**self.values, "after": after},
        )
        return [row[0] for row in rows]


_OF_AGENTS = f"COALESCE(t.from_agent_id, 0) NOT IN {PERSONS} AND COALESCE(t.to_agent_id, 0) NOT IN {PERSONS}"
"""The condition for messages neither from nor to a person: only a person clears the others early."""

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
    """Delete old items in many short transactions; see :meth:`satchel.keep.housekeeping.Housekeeping.clear`."""
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
        old_counts = messages.count(transaction), changes.count(transaction), patterns.count(transaction)
        claims = transaction.all(f"SELECT id {_CLAIMS}", values)
    if dry_run:
        return Cleared(old_counts[0], old_counts[1], len(claims), old_counts[2], threads, done=False)
    with engine.write() as transaction:
        released = transaction.execute(f"DELETE {_CLAIMS}", values)

    def report(deleted: int) -> None:
        if progress is not None:
            progress(deleted, max(deleted, sum(old_counts) + threads))

    messages_deleted = _remove(engine, project.id, messages, report)
    changed = _remove(engine, project.id, changes, lambda deleted: report(messages_deleted + deleted))
    over = _remove(engine, project.id, patterns, lambda deleted: report(messages_deleted + changed + deleted))
    ended = _remove_conversations(
        workplace, project.id, unused_since, now, lambda deleted: report(messages_deleted + changed + over + deleted)
    )
    return Cleared(messages_deleted, changed, released, over, ended, done=True)


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
    return _Old(kind, KINDS[kind], f"t.project_id = :project AND {condition}", values)


def _before(workplace: Workplace, hours: int | None, now: int) -> int | None:
    if not hours:
        # on a weekend that does not count, an age of 0 hours would reach back to Friday
        return None if hours is None else now
    return workplace.retention.began_at(now, hours)
