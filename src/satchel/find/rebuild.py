"""Rebuilding the index from the stored items in small steps, while others write."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from satchel.find import documents
from satchel.find.documents import Document
from satchel.find.index import index_of
from satchel.find.kind import Kind
from satchel.store.engine import Engine
from satchel.store.transaction import Transaction

Progress = Callable[[int, int], None]
Load = Callable[[Transaction, int, int], list[Document]]
"""Returns the next items of a kind after a number, up to a limit, in order."""

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
        index = index_of(transaction)
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
                    documents.renew(transaction, document)
            if reached is None:
                break
            after = reached
            done += len(batch)
            progress(done, max(total, done))
        with engine.write() as transaction:
            documents.remove_leftovers(transaction, kind)
    with engine.write() as transaction:
        documents.recount(transaction)
    return done


def _reached(transaction: Transaction, kind: Kind, after: int) -> int | None:
    """Return the highest number in a step, including items that cannot be loaded, or None without items."""
    row = transaction.one(
        f"SELECT max(id) FROM (SELECT id FROM {kind.table} WHERE id > :after ORDER BY id LIMIT {_PER_STEP}) AS step",
        {"after": after},
    )
    return None if row is None else row[0]


def _extent(transaction: Transaction, kind: Kind) -> tuple[int, int]:
    """Return the highest number of a kind's items and how many there are."""
    row = transaction.one(f"SELECT coalesce(max(id), 0), count(*) FROM {kind.table}")
    return (int(row[0]), int(row[1])) if row else (0, 0)
