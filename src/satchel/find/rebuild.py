"""Making the index anew from what is kept, in small steps, while others write."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from satchel.find import documents
from satchel.find import index_sqlite as index
from satchel.find.documents import Document, Kind
from satchel.store.sqlite import SqliteEngine, Transaction

Progress = Callable[[int, int], None]
Load = Callable[[Transaction, int, int], list[Document]]
"""Returns the items of a kind after a number, at most so many, in order."""

_PER_STEP = 200


def rebuild(engine: SqliteEngine, loaders: Iterable[tuple[Kind, Load]], progress: Progress) -> int:
    """Index every item again; each step is a transaction of its own, so writers wait for little.

    Searches find everything throughout: a text is replaced where it is, and only then are leftovers removed. Only an
    index whose structure is damaged is emptied first.

    Args:
        engine: the store.
        loaders: for each kind what loads its items.
        progress: told how many items are done, of how many.

    Returns:
        How many items were indexed.
    """
    done = 0
    with engine.write() as transaction:
        if not index.is_sound(transaction):
            index.empty(transaction)
    for kind, load in loaders:
        after = 0
        while True:
            with engine.write() as transaction:
                batch = load(transaction, after, _PER_STEP)
                for document in batch:
                    documents.renew(transaction, document)
                total = _total(transaction)
            if not batch:
                break
            after = batch[-1].item_id
            done += len(batch)
            progress(done, max(total, done))
        with engine.write() as transaction:
            documents.remove_leftovers(transaction, kind)
    return done


def _total(transaction: Transaction) -> int:
    row = transaction.one("SELECT count(*) FROM documents")
    return int(row[0]) if row else 0
