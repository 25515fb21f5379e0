"""Search documents: one narrow row for every searchable text, whatever kind of item it belongs to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from satchel.base.clock import DAY_MS
from satchel.base.records import dataclass
from satchel.find.kind import LIVE, SUPERSEDED, Kind
from satchel.store.damage import MARK
from satchel.store.transaction import Transaction, set_of

if TYPE_CHECKING:
    from satchel.find.index import Index
    from satchel.store.engine import Engine

Result = TypeVar("Result")


def _index_of(transaction: Transaction) -> Index:
    from satchel.find.index import index_of  # imported here: readers of lists do not need it

    return index_of(transaction)


@dataclass(frozen=True, slots=True)
class Document:
    """The search data of one item.

    Attributes:
        item_id: its number in the table of its kind.
        text: the searchable text; it is indexed, not stored here.
        type: the number of its type within the kind, or None.
        expires_at: when it disappears from search, in milliseconds UTC, or None.
    """

    kind: Kind
    item_id: int
    seq: int
    project_id: int
    run_id: int | None
    text: str
    created_at: int
    type: int | None = None
    agent_id: int | None = None
    task_id: str | None = None
    loop_id: str | None = None
    file: str | None = None
    status: int = LIVE
    expires_at: int | None = None


# the fields that are columns too
_STORED = (
    *("item_id", "seq", "project_id", "run_id", "type", "agent_id", "task_id", "loop_id", "file", "status"),
    *("created_at", "expires_at"),
)

_RENEW = f"""
    UPDATE documents SET segment = :segment, {", ".join(f"{name} = :{name}" for name in _STORED)}
    WHERE kind = :kind AND item_id = :item_id
    RETURNING id
"""


_COUNT = "UPDATE projects SET documents = documents + :n WHERE id = :project"


def add(transaction: Transaction, document: Document, *, counts: bool = False) -> None:
    """Index a new item; a new version is a removal and an addition.

    ``counts`` also updates the project's count, for callers that did not pass the item to ``Transaction.next_seq``.
    """
    _index_of(transaction).insert(_insert(transaction, _values(document), counts=counts), document)


def renew(transaction: Transaction, document: Document) -> None:
    """Bring the document and the index entry of an item up to date, whatever they held before."""
    # a damaged task, loop or file is never written back
    values = {
        name: None if isinstance(value, str) and MARK in value else value for name, value in _values(document).items()
    }
    row = transaction.one(_RENEW, values)
    _index_of(transaction).insert(row[0] if row else _insert(transaction, values, counts=True), document)


def _insert(transaction: Transaction, values: dict[str, object], *, counts: bool) -> int:
    number = transaction.add("documents", values)
    if counts:
        transaction.run(_COUNT, {"n": 1, "project": values["project_id"]})
    return number


def _values(document: Document) -> dict[str, object]:
    return {
        **{name: getattr(document, name) for name in _STORED},
        "kind": document.kind.number,
        "segment": segment_of(document.task_id, document.loop_id),
    }


def segment_of(task_id: str | None, loop_id: str | None) -> str | None:
    """Return what groups items within a run: their loop, else their task, else None."""
    if loop_id is not None:
        return f"l:{loop_id}"
    return None if task_id is None else f"t:{task_id}"


def remove(transaction: Transaction, kind: Kind, item_ids: Iterable[int]) -> None:
    index = _index_of(transaction)
    for item in item_ids:
        removed = transaction.all(
            "DELETE FROM documents WHERE kind = :kind AND item_id = :item RETURNING id, project_id",
            {"kind": kind.number, "item": item},
        )
        for number, project in removed:
            index.delete(number, project)
            transaction.run(_COUNT, {"n": -1, "project": project})


def remove_leftovers(transaction: Transaction, kind: Kind) -> None:
    """Remove documents and index entries of items that no longer exist."""
    transaction.run(
        # not NOT IN: PostgreSQL reads a million numbers again for each of a million documents
        f"DELETE FROM documents WHERE kind = :kind "
        f"AND NOT EXISTS (SELECT 1 FROM {kind.table} o WHERE o.id = documents.item_id)",
        {"kind": kind.number},
    )
    _index_of(transaction).remove_unknown()


_COUNTED = "SELECT count(*) FROM documents d WHERE d.project_id = projects.id"


def recount(transaction: Transaction) -> None:
    transaction.run(f"UPDATE projects SET documents = ({_COUNTED})")


def count_problems(transaction: Transaction) -> list[str]:
    """Return a message for each project whose recorded number of documents is wrong."""
    rows = transaction.all(f"SELECT name, documents, ({_COUNTED}) FROM projects WHERE documents <> ({_COUNTED})")
    return [f"project {name!r} has {actual} documents, not {recorded}" for name, recorded, actual in rows]


_COLUMNS = {
    "item_id": "id",
    "seq": "seq",
    "project_id": "project_id",
    "run_id": "NULL",
    "created_at": "created_at",
}


class Source:
    """The columns from which the documents of one kind are read."""

    def __init__(
        self,
        kind: Kind,
        texts: str,
        searchable: Callable[..., str],
        *,
        joined: str = "",
        also: Callable[[Transaction, Sequence[int]], Mapping[int, object]] | None = None,
        **columns: str,
    ) -> None:
        # `texts` are the columns of the table `i` that `searchable` turns into the text, `joined` is SQL
        # joined to it, `also` loads one more argument for `searchable` by item, and `columns` maps fields of
        # :class:`Document` to SQL
        self._kind = kind
        self._texts = texts
        self._searchable = searchable
        self._also = also
        self._table = f"{kind.table} i {joined}"
        self._columns = {**_COLUMNS, **columns}

    def insert(
        self, transaction: Transaction, row: Mapping[str, Any], text: str, **fields: object
    ) -> tuple[int, bytes, int]:
        """Insert an item with its document, and return its number, uid and seq.

        ``fields`` are those of the document that are no columns of the item.
        """
        uid, seq = os.urandom(16), transaction.next_seq(row["project_id"], documents=1)
        columns = {"uid": uid, "seq": seq, **row}
        number = transaction.add(self._kind.table, columns)
        add(transaction, self.document({"id": number, **columns}, text, **fields))
        return number, uid, seq

    def document(self, row: Mapping[str, Any], text: str, **fields: Any) -> Document:
        """Return the document of a new item from its columns and text."""
        from_row = {field: row[column] for field, column in self._columns.items() if column in row}
        return Document(self._kind, text=text, **{"run_id": None, **from_row, **fields})

    def texts(self, transaction: Transaction, numbers: Iterable[int]) -> dict[int, str]:
        """Return the searchable texts of items by number, without those that no longer exist."""
        rows = transaction.all(f"SELECT id, {self._texts} FROM {self._table} WHERE id IN {set_of(numbers)}")
        return self._searchable_texts(transaction, {number: texts for number, *texts in rows})

    def load(self, transaction: Transaction, after: int, most: int) -> list[Document]:
        """Return the documents of the next items after a number, in order."""
        fields = self._columns
        rows = transaction.all(
            f"SELECT {', '.join(fields.values())}, {self._texts} FROM {self._table} "
            "WHERE id > :after ORDER BY id LIMIT :most",
            {"after": after, "most": most},
        )
        count = len(fields)
        texts = self._searchable_texts(transaction, {row[0]: row[count:] for row in rows})
        return [Document(self._kind, text=texts[row[0]], **dict(zip(fields, row[:count], strict=True))) for row in rows]

    def _searchable_texts(self, transaction: Transaction, texts: Mapping[int, Sequence[Any]]) -> dict[int, str]:
        also = self._also(transaction, list(texts)) if self._also is not None and texts else {}
        return {
            number: self._searchable(*columns, *([also[number]] if number in also else []))
            for number, columns in texts.items()
        }


# SQL for the status of an item that another may supersede.
STATUS_BY_HEIR = f"CASE WHEN superseded_by IS NULL THEN {LIVE} ELSE {SUPERSEDED} END"


def set_status(transaction: Transaction, kind: Kind, items: Sequence[tuple[int, int]], status: int) -> None:
    """Set the status of items, given as pairs of the item and the seq of the change."""
    transaction.many(
        "UPDATE documents SET status = :status, seq = :seq WHERE kind = :kind AND item_id = :item",
        [{"status": status, "seq": seq, "kind": kind.number, "item": item} for item, seq in items],
    )


def set_expiry(transaction: Transaction, kind: Kind, items: Iterable[tuple[int, int]]) -> None:
    """Set when items expire, given as pairs of the item and the time in milliseconds UTC."""
    transaction.many(
        "UPDATE documents SET expires_at = :expires WHERE kind = :kind AND item_id = :item",
        [{"expires": expires, "kind": kind.number, "item": item} for item, expires in items],
    )


Progress = Callable[[int, int], None]
# Returns the next items of a kind after a number, up to a limit, in order.
Load = Callable[[Transaction, int, int], list[Document]]

_PER_STEP = 200


def rebuild(engine: Engine, loaders: Iterable[tuple[Kind, Load]], progress: Progress) -> int:
    """Index every item again and return how many there were.

    Each step is its own transaction, so writers wait briefly. Searches stay complete throughout: a text is replaced in
    place, and leftovers are removed afterwards. Only a structurally damaged index is emptied first.

    ``loaders`` load the items of each kind, and ``progress`` is called with the number of items done and the total.
    """
    with engine.without_deadline():
        return _rebuild(engine, loaders, progress)


def _rebuild(engine: Engine, loaders: Iterable[tuple[Kind, Load]], progress: Progress) -> int:
    done = 0
    with engine.write() as transaction:
        index = _index_of(transaction)
        if not index.is_sound():
            index.empty()
        # later writes index themselves, and following them might never end
        goals = [(kind, load, *_extent(transaction, kind)) for kind, load in loaders]
    total = sum(count for *_, count in goals)
    for kind, load, last, _ in goals:
        after = 0
        while after < last:
            with engine.write() as transaction:
                reached = _reached(transaction, kind, after)
                batch = load(transaction, after, _PER_STEP)
                for document in batch:
                    renew(transaction, document)
            if reached is None:
                break
            after = reached
            done += len(batch)
            progress(done, max(total, done))
        with engine.write() as transaction:
            remove_leftovers(transaction, kind)
    with engine.write() as transaction:
        recount(transaction)
    return done


def _reached(transaction: Transaction, kind: Kind, after: int) -> int | None:
    row = transaction.one(
        f"SELECT max(id) FROM (SELECT id FROM {kind.table} WHERE id > :after ORDER BY id LIMIT {_PER_STEP}) AS step",
        {"after": after},
    )
    return None if row is None else row[0]


def _extent(transaction: Transaction, kind: Kind) -> tuple[int, int]:
    row = transaction.one(f"SELECT coalesce(max(id), 0), count(*) FROM {kind.table}")
    return (int(row[0]), int(row[1])) if row else (0, 0)


_NEXT_EXPIRY = "SELECT min(expires_at) FROM documents WHERE project_id = :project AND expires_at > :now"
_MOST_CACHED = 100


def until_expiry(
    transaction: Transaction, project_id: int, now: int, key: object, look: Callable[[], Result]
) -> Result:
    """Return what a look at the documents of a project shows, cached until a commit, or until one expires."""
    looks: dict[object, tuple[int, int, Result]] = transaction.reads.setdefault(("documents", project_id), {})
    memo = looks.get(key)
    if memo is None or not memo[0] <= now < memo[1]:
        ((until,),) = transaction.all(_NEXT_EXPIRY, {"project": project_id, "now": now})
        if len(looks) >= _MOST_CACHED:
            looks.clear()
        memo = looks[key] = now, now + DAY_MS if until is None else until, look()
    return memo[2]
