"""Recorded edits: kept, read with every filter in one snapshot, and found."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from satchel.base.clock import check_since
from satchel.base.errors import unknown_name
from satchel.base.paging import Reading, check_page, check_reading
from satchel.find import documents
from satchel.find.documents import Document
from satchel.find.kind import Kind
from satchel.keep import names
from satchel.keep.files import paths
from satchel.keep.files.records import CHANGES, FileChange
from satchel.keep.projects import Workplace, next_seq
from satchel.store.transaction import Row, Transaction

_COLUMNS = """
    c.id, c.uid, c.seq, f.path, c.change, a.name, c.worktree, l.name, c.description, c.created_at, c.expires_at
"""
_JOINED = """
    file_changes c JOIN files f ON f.id = c.file_id
    LEFT JOIN agents a ON a.id = c.agent_id LEFT JOIN layers l ON l.id = c.layer_id
"""


def change_number(change: object) -> int:
    """Return the number of a change.

    Raises:
        InvalidInput: there is no such change; the valid ones are listed.
    """
    if change not in CHANGES:
        raise unknown_name("change", change, CHANGES)
    return CHANGES.index(change) + 1


@dataclass(frozen=True, slots=True)
class NewChange:
    """An edit that passed every check and is ready to be stored as it is.

    Attributes:
        file: canonical.
        worktree: the linked worktree it was made in; None is the main one.
        created_at, expires_at: milliseconds UTC.
        uid: 16 bytes; None takes random ones.
    """

    project_id: int
    file: str
    change: int
    agent_id: int | None
    worktree: str | None
    layer_id: int | None
    description: str | None
    created_at: int
    expires_at: int
    uid: bytes | None = None


def insert(transaction: Transaction, new: NewChange) -> tuple[int, bytes, int]:
    """Store an edit with its document, and return its number, uid and seq."""
    uid = new.uid or os.urandom(16)
    file = names.ensure_file(transaction, new.project_id, new.file, new.created_at)
    seq = next_seq(transaction, new.project_id)
    number = transaction.insert(
        """
        INSERT INTO file_changes
            (uid, seq, project_id, file_id, agent_id, worktree, change, layer_id, description, expires_at, created_at)
        VALUES
            (:uid, :seq, :project, :file, :agent, :worktree, :change, :layer, :description, :expires, :created)
        """,
        {
            "uid": uid,
            "seq": seq,
            "project": new.project_id,
            "file": file,
            "agent": new.agent_id,
            "worktree": new.worktree,
            "change": new.change,
            "layer": new.layer_id,
            "description": new.description,
            "expires": new.expires_at,
            "created": new.created_at,
        },
    )
    documents.add(
        transaction,
        _document(
            number,
            seq,
            new.project_id,
            new.file,
            new.description,
            new.created_at,
            new.change,
            new.agent_id,
            new.expires_at,
        ),
    )
    return number, uid, seq


@dataclass(frozen=True, slots=True)
class Filter(Reading):
    """What to read, checked. None means that a filter was not given."""

    file: str | None
    change: int | None
    agent: str | None
    layer: str | None
    now: int


def check_filter(
    workplace: Workplace,
    *,
    file: str | None,
    change: str | None,
    agent: str | None,
    layer: str | None,
    since: str | int | None,
    after_seq: int | None,
    search: str | None,
    order: str | None,
    limit: int,
    offset: int,
) -> Filter:
    """Check every filter at the edge.

    Raises:
        InvalidInput: a filter is empty, unknown, out of range, or two contradict each other.
    """
    check_reading(order=order, search=search, after_seq=after_seq)
    check_page(limit, offset)
    now = workplace.clock()
    return Filter(
        file=None if file is None else paths.check_path(file, workplace.files_root, "file"),
        change=None if change is None else change_number(change),
        agent=None if agent is None else names.check_identifier(agent, "agent"),
        layer=None if layer is None else names.check_identifier(layer, "layer"),
        since=check_since(since, now),
        after_seq=after_seq,
        search=search,
        order=order,
        limit=limit,
        offset=offset,
        now=now,
    )


def read(
    transaction: Transaction, project_id: int, chosen: Filter
) -> tuple[tuple[FileChange, ...], int, tuple[str, ...]]:
    """Return the page, the total and notes for the reader; what has expired is not there.

    Raises:
        InvalidInput: there is no such layer.
    """
    agent = names.find_agent(transaction, project_id, chosen.agent)
    layer = names.find_layer(transaction, project_id, chosen.layer)
    if agent == -1:
        return (), 0, (f"no agent is called {chosen.agent!r} here",)
    where, values = _conditions(project_id, chosen, agent, layer)
    if chosen.search is not None:
        return _search(transaction, project_id, chosen, chosen.search, agent, where, values)
    row = transaction.one(f"SELECT count(*) FROM file_changes c WHERE {where}", values)
    total = int(row[0]) if row else 0
    if not chosen.limit:
        return (), total, ()
    rows = transaction.all(
        f"SELECT {_COLUMNS} FROM {_JOINED} WHERE {where} ORDER BY {_order(chosen)} LIMIT :limit OFFSET :offset",
        {**values, "limit": chosen.limit, "offset": chosen.offset},
    )
    return tuple(map(_change, rows)), total, ()


def _search(
    transaction: Transaction,
    project_id: int,
    chosen: Filter,
    text: str,
    agent: int | None,
    where: str,
    values: dict[str, object],
) -> tuple[tuple[FileChange, ...], int, tuple[str, ...]]:
    # whoever records or claims never searches
    from satchel.find import search
    from satchel.find.query import parse

    query = parse(text)
    if not query.terms:
        return (), 0, (f"{text.strip()[:80]!r} holds no word to search for",)
    # what the index can tell is asked of it already, or the candidates of a large store would be others
    is_one_file = chosen.file is not None and not paths.is_folder(chosen.file)
    ranking = search.rank(
        transaction,
        query,
        search.Scope(
            project_id,
            kinds=(Kind.FILE_CHANGE,),
            types=() if chosen.change is None else ((Kind.FILE_CHANGE, chosen.change),),
            agent_id=agent,
            file=chosen.file if is_one_file else None,
            since=chosen.since,
            status="all",
            now=chosen.now,
        ),
    )
    scores = {hit.document: hit.score for hit in ranking.hits}
    by_time = "" if chosen.order is None else f"ORDER BY {_order(chosen)}"
    found = transaction.all(
        f"""
        SELECT d.id, {where} FROM documents d LEFT JOIN file_changes c ON c.id = d.item_id
        WHERE d.id IN ({", ".join(map(str, scores))}) {by_time}
        """,
        values,
    )
    passes: dict[int, int | None] = dict(found)
    if len(passes) < len(scores) or None in passes.values():
        raise search.disagreement()
    ordered = [document for document in (passes if by_time else scores) if passes[document]]
    page = ordered[chosen.offset : chosen.offset + chosen.limit]
    rows = transaction.all(
        f"SELECT {_COLUMNS}, d.id FROM {_JOINED} JOIN documents d ON d.item_id = c.id "
        f"WHERE d.id IN ({', '.join(map(str, page))})"
    )
    changes = {row[-1]: _change(row, round(scores[row[-1]], 4)) for row in rows}
    return tuple(changes[document] for document in page if document in changes), len(ordered), ranking.notes


def _conditions(project_id: int, chosen: Filter, agent: int | None, layer: int | None) -> tuple[str, dict[str, object]]:
    """Return the WHERE clause without the search, and its values."""
    about, bounds = _is_about(chosen.file)
    parts = [about, "c.expires_at > :now"]
    values: dict[str, object] = {"project": project_id, "now": chosen.now, **bounds}
    compared = (
        ("change", "=", chosen.change),
        ("agent_id", "=", agent),
        ("layer_id", "=", layer),
        ("created_at", ">=", chosen.since),
        ("seq", ">", chosen.after_seq),
    )
    for column, sign, value in compared:
        if value is not None:
            parts.append(f"c.{column} {sign} :{column}")
            values[column] = value
    return " AND ".join(parts), values


def _is_about(file: str | None) -> tuple[str, dict[str, object]]:
    """Return the condition that a change of a project is about a file, or one in a folder, and its values."""
    if file is None:
        return "c.project_id = :project", {}
    of_project = "SELECT id FROM files WHERE project_id = :project"
    if not paths.is_folder(file):
        return f"c.file_id = ({of_project} AND path = :path)", {"path": file}
    condition, values = paths.inside(file, "path")
    # the plus keeps the planner from the index by file: a folder may hold most of the files there are
    return f"c.project_id = :project AND +c.file_id IN ({of_project} AND {condition})", values


def _order(chosen: Filter) -> str:
    if chosen.after_seq is not None:
        return "c.seq"
    direction = "ASC" if chosen.order == "asc" else "DESC"
    return f"c.created_at {direction}, c.id {direction}"


def _change(row: Row, score: float | None = None) -> FileChange:
    number, uid, seq, file, change, agent, worktree, layer, description, created, expires = row[:11]
    kind = CHANGES[change - 1]
    return FileChange(number, uid.hex(), seq, file, kind, agent, worktree, layer, description, created, expires, score)


def by_others(
    transaction: Transaction,
    project_id: int,
    agent_id: int | None,
    file: str,
    worktree: str | None,
    after: int,
    now: int,
    most: int,
) -> tuple[tuple[FileChange, ...], int | None]:
    """Return the newest changes of a file, or in a folder, that an agent did not make.

    Args:
        agent_id: the agent; None exempts nobody.
        worktree: the one to look at for the time.
        after: only what was made later than this, in milliseconds UTC.
        most: how many at most.

    Returns:
        The changes in any worktree, and the time of the last one in that worktree; None without any.
    """
    condition, values = _is_about(file)
    rows = transaction.all(
        f"""
        SELECT {_COLUMNS}, max(c.created_at) FILTER (WHERE c.worktree IS NOT DISTINCT FROM :worktree) OVER ()
        FROM {_JOINED}
        WHERE {condition} AND c.created_at > :after AND c.expires_at > :now
            AND (CAST(:agent AS INTEGER) IS NULL OR c.agent_id IS DISTINCT FROM :agent)
        ORDER BY c.created_at DESC, c.id DESC LIMIT :most
        """,
        {
            **values,
            "project": project_id,
            "agent": agent_id,
            "worktree": worktree,
            "after": after,
            "now": now,
            "most": most,
        },
    )
    return tuple(_change(row) for row in rows), rows[0][-1] if rows else None


_SEARCHABLE = "f.path, c.description FROM file_changes c JOIN files f ON f.id = c.file_id"


def searchable_texts(transaction: Transaction, numbers: Sequence[int]) -> dict[int, str]:
    """Return what can be searched of changes, by their numbers; those that are gone are left out."""
    rows = transaction.all(f"SELECT c.id, {_SEARCHABLE} WHERE c.id IN ({', '.join(map(str, numbers))})")
    return {number: _searchable(file, description) for number, file, description in rows}


def load_documents(transaction: Transaction, after: int, most: int) -> list[Document]:
    """Return what the search documents should know of the changes after a number, at most so many, in order."""
    rows = transaction.all(
        f"""
        SELECT c.id, c.seq, c.project_id, c.created_at, c.change, c.agent_id, c.expires_at, {_SEARCHABLE}
        WHERE c.id > :after ORDER BY c.id LIMIT :most
        """,
        {"after": after, "most": most},
    )
    return [
        _document(number, seq, project, file, description, created, change, agent, expires)
        for number, seq, project, created, change, agent, expires, file, description in rows
    ]


def delete(transaction: Transaction, project_id: int, numbers: Sequence[int]) -> None:
    """Remove changes with their documents."""
    transaction.execute(
        f"DELETE FROM file_changes WHERE project_id = :project AND id IN ({', '.join(map(str, numbers))})",
        {"project": project_id},
    )
    documents.remove(transaction, Kind.FILE_CHANGE, numbers)


def _document(
    number: int,
    seq: int,
    project_id: int,
    file: str,
    description: str | None,
    created: int,
    change: int,
    agent: int | None,
    expires: int,
) -> Document:
    return Document(
        Kind.FILE_CHANGE,
        number,
        seq,
        project_id,
        None,
        _searchable(file, description),
        created,
        type=change,
        agent_id=agent,
        file=file,
        expires_at=expires,
    )


def _searchable(file: str, description: str | None) -> str:
    return file if description is None else f"{file}\n{description}"
