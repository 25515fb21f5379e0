"""Recorded edits: rows, search documents and queries."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.base.errors import unknown_name
from satchel.base.records import NamedTuple
from satchel.find import documents
from satchel.find.kind import Kind
from satchel.keep import names, paths
from satchel.keep.files.places import Place
from satchel.keep.files.records import CHANGES, FileChange
from satchel.keep.projects import Workplace
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Row, Transaction, update_row

COLUMNS = """
    c.id, c.uid, c.seq, f.path, c.change, a.name, c.worktree, l.name, c.description, c.created_at, c.expires_at
"""
SOURCE = """
    file_changes c JOIN files f ON f.id = c.file_id
    LEFT JOIN agents a ON a.id = c.agent_id LEFT JOIN layers l ON l.id = c.layer_id
"""


def change_number(change: object) -> int:
    if change not in CHANGES:
        raise unknown_name("change", change, CHANGES)
    return CHANGES.index(change) + 1


class NewChange(NamedTuple):
    """A checked edit; its fields besides ``file`` are columns. ``worktree`` None is the main one."""

    file: str
    project_id: int
    change: int
    agent_id: int | None
    session_id: int | None
    worktree: str | None
    expires_at: int
    created_at: int
    layer_id: int | None = None
    description: str | None = None


def new_change(work: Workplace, project_id: int, actor: Actor, place: Place, change: str, now: int) -> NewChange:
    expires = work.retention.expires_at(now, work.retention.file_changes_hours)
    number = change_number(change)
    return NewChange(place.path, project_id, number, actor.number, actor.session, place.worktree, expires, now)


def insert(transaction: Transaction, new: NewChange) -> tuple[int, bytes, int]:
    """Insert an edit and its search document; return its number, uid and seq."""
    file, *columns = new
    number = names.ensure_file(transaction, new.project_id, file, new.created_at)
    row = {"file_id": number, **dict(zip(new._fields[1:], columns, strict=True))}
    return DOCUMENTS.insert(transaction, row, _searchable(file, new.description), file=file)


def record(
    transaction: Transaction,
    work: Workplace,
    project_id: int,
    actor: Actor,
    place: Place,
    change: str,
    description: str | None,
    now: int,
    layer: tuple[int, str] | None = None,
) -> FileChange:
    number, name = layer or (None, None)
    new = new_change(work, project_id, actor, place, change, now)
    new = new._replace(layer_id=number, description=description)
    item, uid, seq = insert(transaction, new)
    return FileChange(
        *(item, uid.hex(), seq, place.path, change, actor.name, place.worktree, name, description),
        created_at=now,
        expires_at=new.expires_at,
    )


def renew(transaction: Transaction, new: NewChange, since: int) -> bool:
    """Update the agent's last edit of the file instead, if it is newer than ``since`` and has no description; return
    whether there is one.
    """
    condition, values = is_about(new.file)
    row = transaction.one(
        f"""
        SELECT c.id FROM file_changes c
        WHERE {condition} AND c.created_at > :since AND c.agent_id IS NOT DISTINCT FROM :agent_id
            AND c.session_id IS NOT DISTINCT FROM :session_id AND c.worktree IS NOT DISTINCT FROM :worktree
            AND c.description IS NULL AND (c.change = :change OR c.change = 1 AND :change = 2)
        ORDER BY c.created_at DESC, c.id DESC LIMIT 1
        """,
        {**new._asdict(), **values, "project": new.project_id, "since": since},
    )
    if row is None:
        return False
    seq = transaction.next_seq(new.project_id)
    update_row(transaction, "file_changes", row[0], created_at=new.created_at, expires_at=new.expires_at, seq=seq)
    documents.set_expiry(transaction, Kind.FILE_CHANGE, [(row[0], new.expires_at)])
    return True


def is_about(file: str | None) -> tuple[str, dict[str, object]]:
    """Return the SQL condition, with parameters, that a change concerns a file or a folder; None is any file."""
    if file is None:
        return "c.project_id = :project", {}
    of_project = "SELECT id FROM files WHERE project_id = :project"
    if not paths.is_folder(file):
        return f"c.file_id = ({of_project} AND path = :path)", {"path": file}
    condition, values = paths.inside(file, "path")
    # the plus keeps the planner from the index by file: a folder may hold most of the files there are
    return f"c.project_id = :project AND +c.file_id IN ({of_project} AND {condition})", values


def change_of(row: Row, score: float | None = None) -> FileChange:
    number, uid, seq, file, change, agent, worktree, layer, description, created, expires = row[:11]
    kind = CHANGES[change - 1]
    return FileChange(number, uid.hex(), seq, file, kind, agent, worktree, layer, description, created, expires, score)


def load(transaction: Transaction, project_id: int, number: int, now: int) -> FileChange | None:
    """Return a change, or None if it does not exist or has expired."""
    row = transaction.one(
        f"SELECT {COLUMNS} FROM {SOURCE} WHERE c.project_id = :project AND c.id = :id AND c.expires_at > :now",
        {"project": project_id, "id": number, "now": now},
    )
    return None if row is None else change_of(row)


def by_others(
    transaction: Transaction, project_id: int, agent_id: int | None, file: str, after: int, now: int, most: int
) -> tuple[FileChange, ...]:
    """Return up to ``most`` changes by others to a file or folder after a time, newest first, in any worktree.

    Changes before the agent's last change of the same file are left out: it has seen them.
    """
    condition, values = is_about(file)
    rows = transaction.all(
        f"""
        SELECT {COLUMNS} FROM {SOURCE}
        WHERE {condition} AND c.created_at > :after AND c.expires_at > :now
            AND (CAST(:agent AS INTEGER) IS NULL OR c.agent_id IS DISTINCT FROM :agent)
            AND NOT EXISTS (
                SELECT 1 FROM file_changes o
                WHERE o.project_id = c.project_id AND o.file_id = c.file_id AND o.agent_id = :agent
                    AND o.worktree IS NOT DISTINCT FROM c.worktree AND o.created_at > c.created_at
            )
        ORDER BY c.created_at DESC, c.id DESC LIMIT :most
        """,
        {**values, "project": project_id, "agent": agent_id, "after": after, "now": now, "most": most},
    )
    return tuple(map(change_of, rows))


_MOST_UNSEEN = 20


def unseen_of(
    transaction: Transaction, project_id: int, actor: Actor, claimed_at: Mapping[str, int], now: int
) -> tuple[FileChange, ...]:
    """Return others' changes of files since they were claimed that are new to an agent, oldest first."""
    from satchel.keep import deliveries  # imported here: only a release asks

    is_delivered, values = deliveries.was_delivered(project_id, actor, Kind.FILE_CHANGE, "c.id")
    names = {f"file{number}": path for number, path in enumerate(claimed_at)}
    rows = transaction.all(
        f"""
        SELECT {COLUMNS} FROM {SOURCE}
        WHERE c.project_id = :project AND f.path IN ({", ".join(f":{name}" for name in names)})
            AND c.created_at > :after AND c.expires_at > :now AND c.agent_id IS DISTINCT FROM :own
            AND (CAST(:its AS INTEGER) IS NULL OR c.session_id IS DISTINCT FROM :its) AND NOT {is_delivered}
        ORDER BY c.id LIMIT {_MOST_UNSEEN}
        """,
        {
            **values,
            **names,
            "project": project_id,
            "after": min(claimed_at.values()),
            "now": now,
            "own": actor.number,
            "its": actor.session,
        },
    )
    return tuple(one for one in map(change_of, rows) if one.created_at > claimed_at[one.file])


def last_recorded(transaction: Transaction, project_id: int, file: str, worktree: str | None) -> int | None:
    condition, values = is_about(file)
    row = transaction.one(
        f"SELECT max(c.created_at) FROM file_changes c WHERE {condition} AND c.worktree IS NOT DISTINCT FROM :worktree",
        {**values, "project": project_id, "worktree": worktree},
    )
    return None if row is None else row[0]


def _searchable(file: str, description: str | None) -> str:
    return file if description is None else f"{file}\n{description}"


DOCUMENTS = documents.Source(
    Kind.FILE_CHANGE,
    "path, description",
    _searchable,
    joined="JOIN (SELECT id AS file_id, path FROM files) AS paths USING (file_id)",
    type="change",
    agent_id="agent_id",
    file="path",
    expires_at="expires_at",
)
