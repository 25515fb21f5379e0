"""The full-text index of a store, independent of the database that the store is in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

# imported at the top, so that nothing that could fail is loaded after a commit
from satchel.find.index_sqlite import SqliteIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from satchel.find.documents import Document
    from satchel.find.scopes import Condition, Scope, Term
    from satchel.find.scoring import Matches
    from satchel.store.transaction import Row, Transaction


class Index(Protocol):
    """The full-text index within one transaction."""

    def insert(self, number: int, document: Document) -> None:
        """Index the text of a document, replacing any indexed under its number."""

    def delete(self, number: int, project_id: int) -> None: ...

    def fingerprints(self, documents: Sequence[int] | None = None) -> dict[int, int]:
        """Return for every document, or for these, a hash of all its index entries."""

    def fingerprint(self, document: Document) -> int:
        """Return the hash that a correctly indexed document has in :meth:`fingerprints`."""

    def mismatches(self) -> tuple[list[Row], list[Row]]:
        """Return the documents that are not indexed, and the indexed ones that are not stored, each by its number."""

    def is_sound(self) -> bool:
        """Return whether the index passes its structural check."""

    def empty(self) -> None:
        """Delete the whole index before a rebuild."""

    def remove_unknown(self) -> None:
        """Delete entries without a document."""

    def optimize(self) -> None:
        """Purge deleted text from the index."""


class ScopedIndex(Protocol):
    """The index of one project, run, set of kinds or types; the other filters apply in :meth:`matches` only."""

    # Whether it may read the best matches alone.
    may_read_best: bool

    @property
    def population(self) -> int:
        """The number of candidates: the documents of the run if they are few, else of the project."""

    def counts(self, terms: Sequence[Term], most: int) -> list[int]:
        """Return how many documents contain each term, up to a limit."""

    def documents(self, condition: Condition, most: int, *, newest: bool = True, filtered: bool = False) -> list[int]:
        """Return the newest or oldest documents that meet a condition, and every filter if ``filtered``."""

    def matches(
        self, terms: Sequence[Term], choosing: Sequence[Term], condition: Condition | None, most: int, *, newest: bool
    ) -> Matches:
        """Return documents that match and pass every filter, with term counts, the newest first.

        A match contains one of the terms, and one of ``choosing`` if any are given: a few rare ones that avoid reading
        the postings of common terms. It also meets the condition. If more than ``most`` match, the newest or oldest are
        returned; of these an index may read only the best, which contain most of the terms.
        """


def index_of(transaction: Transaction) -> Index:
    if transaction.database == "sqlite":
        return SqliteIndex(transaction)
    from satchel.find.index_postgres import PostgresIndex

    return PostgresIndex(transaction)


def mismatch_problems(transaction: Transaction) -> list[str]:
    """Return messages about mismatches between the index and the documents."""
    mismatches = zip(("not indexed", "indexed without an item"), index_of(transaction).mismatches(), strict=True)
    return [f"{len(rows)} documents are {text}, the first is {min(rows)[0]}" for text, rows in mismatches if rows]


def scoped_index(
    transaction: Transaction, scope: Scope, population: int | None = None, best: int | None = None
) -> ScopedIndex:
    """Return the index of a scope; without a population its documents are counted.

    Of many matches the ``best`` are enough; None reads them all.
    """
    # imported here so that a program that only writes does not load the search
    if transaction.database == "sqlite":
        from satchel.find.index_sqlite_scoped import ScopedSqliteIndex

        return ScopedSqliteIndex(transaction, scope, population)
    from satchel.find.index_postgres import ScopedPostgresIndex

    return ScopedPostgresIndex(transaction, scope, population, best)
