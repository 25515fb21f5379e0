"""The full-text index of a store: what search and upkeep ask of it, whatever database the store is in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

# not where it is used: after a commit nothing is left to load, which could fail
from satchel.find.index_sqlite import SqliteIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from satchel.find.conditions import Condition, Term
    from satchel.find.documents import Document
    from satchel.find.scopes import Scope
    from satchel.find.scoring import Matched
    from satchel.store.transaction import Transaction


class Index(Protocol):
    """The full-text index, as one transaction sees it and changes it."""

    def insert(self, number: int, document: Document, *, is_new: bool = False) -> None:
        """Index the text of a document, in the place of what was indexed under its number.

        Args:
            is_new: whether nothing can be.
        """

    def delete(self, number: int, project_id: int) -> None:
        """Take one text out of the index."""

    def tokens(self, text: str) -> list[tuple[int, int, str]]:
        """Return the words of a text as the index keeps them, stemmed, each with its first and last byte in UTF-8."""

    def holds(self, number: int, project_id: int, text: str) -> bool:
        """Whether the index holds a text under a document's number: asked for the first words of the text."""

    def fingerprints(self) -> dict[int, int]:
        """Return for every document a number that stands for all that the index knows of it."""

    def fingerprint(self, document: Document) -> int:
        """Return the number that :meth:`fingerprints` gives for a document that is indexed as it should be."""

    def problems(self) -> list[str]:
        """Return where the index and the documents disagree; nothing when all is well."""

    def is_sound(self) -> bool:
        """Whether the index passes its own check of its structure."""

    def empty(self) -> None:
        """Take every text out of the index, as before it is rebuilt."""

    def remove_unknown(self) -> int:
        """Take out what is not in the documents, and return how many texts that was."""

    def pack(self) -> bool:
        """Bring some of what was written into the form that is searched, where that is put off.

        Returns:
            Whether there was any: then there may be more.
        """

    def optimize(self) -> None:
        """Leave nothing of a deleted text in the index."""


class ScopedIndex(Protocol):
    """The index of what a scope holds: its project, run, kinds and types. The other filters are for :meth:`matches`."""

    @property
    def population(self) -> int:
        """How many documents there are to choose from: those of the run where they are few, else the project's."""

    def counts(self, terms: Sequence[Term], most: int) -> list[int]:
        """Return how many documents hold each term, counted no further than so many."""

    def holding(self, terms: Sequence[Term], most: int) -> list[int]:
        """Return the documents that hold any of some terms, the newest first, at most so many."""

    def matches(
        self, terms: Sequence[Term], choosing: Sequence[Term], condition: Condition | None, most: int, *, newest: bool
    ) -> list[Matched]:
        """Return documents that match and pass every filter, with how often they hold each term, the newest first.

        Args:
            terms: one of these must be there, and each is counted.
            choosing: if any are given, one of these must be there too; few and rare ones spare the work on common ones.
            condition: what must be true of the document's words too.
            most: how many at most.
            newest: which of more than that: the newest, else the oldest.
        """


def index_of(transaction: Transaction) -> Index:
    """Return the index of the store that a transaction is of."""
    if transaction.database == "sqlite":
        return SqliteIndex(transaction)
    from satchel.find.index_postgres import PostgresIndex

    return PostgresIndex(transaction)


def scoped_index(transaction: Transaction, scope: Scope, population: int | None = None) -> ScopedIndex:
    """Return the index of what a scope holds.

    Args:
        population: how many documents the scope has; None counts those of the run or project.
    """
    # imported here: who only writes leaves the search alone
    if transaction.database == "sqlite":
        from satchel.find.index_sqlite_scoped import ScopedSqliteIndex

        return ScopedSqliteIndex(transaction, scope, population)
    from satchel.find.index_postgres_scoped import ScopedPostgresIndex

    return ScopedPostgresIndex(transaction, scope, population)
