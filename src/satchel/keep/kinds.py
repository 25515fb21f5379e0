"""Registry of searchable kinds: what search, rebuild and deletion need.

A new kind is registered here, and numbered in :class:`satchel.find.kind.Kind`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass
from satchel.find import rebuild as rebuilding
from satchel.find.documents import Source
from satchel.find.kind import Kind
from satchel.keep import constraints, decisions, entries, packages
from satchel.keep.constraints import updates as constraint_writing
from satchel.keep.decisions import tables as decision_writing
from satchel.keep.entries import updates as entry_writing
from satchel.keep.files import changes as file_changes
from satchel.keep.files.records import CHANGES
from satchel.keep.messages import updates as message_writing
from satchel.keep.messages.records import MESSAGE_TYPES
from satchel.keep.packages import updates as package_writing
from satchel.keep.patterns import updates as pattern_writing
from satchel.keep.strategies import updates as strategy_writing
from satchel.store.transaction import Transaction, set_of

Texts = Callable[[Transaction, Sequence[int]], dict[int, str]]
"""Returns texts of items by number."""


@dataclass(frozen=True, slots=True)
class KindSpec:
    """Functions and names of one kind.

    Attributes:
        name: its name for people.
        types: the names of its types, numbered from 1.
        statuses: the names of its statuses, numbered from 1; only the first is live.
        texts: the searchable texts of items, by number.
        load: the items after a number, for the index.
        delete: deletes items by number, with dependents and documents.
        shown: the texts that a search shows, if not the searchable ones.
    """

    name: str
    types: tuple[str, ...]
    statuses: tuple[str, ...]
    texts: Texts
    load: rebuilding.Load
    delete: Callable[[Transaction, int, Sequence[int]], None]
    shown: Texts | None = None


class _Writing(Protocol):
    """A module that writes a kind read as a :class:`Source`."""

    DOCUMENTS: Source

    def delete(self, transaction: Transaction, project_id: int, numbers: Sequence[int]) -> None: ...


def _spec(
    name: str, types: tuple[str, ...], statuses: tuple[str, ...], writing: _Writing, shown: Texts | None = None
) -> KindSpec:
    return KindSpec(name, types, statuses, writing.DOCUMENTS.texts, writing.DOCUMENTS.load, writing.delete, shown)


_LIVE, _REPLACEABLE = ("live",), ("live", "superseded")

KINDS: dict[Kind, KindSpec] = {
    Kind.ENTRY: _spec("entry", entries.ENTRY_TYPES, _REPLACEABLE, entry_writing, entry_writing.SHOWN.texts),
    Kind.DECISION: KindSpec(
        "decision",
        (),
        decisions.STATUSES,
        decision_writing.searchable_texts,
        decision_writing.load_documents,
        decision_writing.delete,
    ),
    Kind.CONSTRAINT: _spec("constraint", (), constraints.STATUSES, constraint_writing, constraint_writing.shown_texts),
    Kind.FILE_CHANGE: _spec("file_change", CHANGES, _LIVE, file_changes),
    Kind.MESSAGE: _spec("message", MESSAGE_TYPES, _LIVE, message_writing),
    Kind.ERROR_PATTERN: KindSpec(
        "error_pattern",
        (),
        _LIVE,
        pattern_writing.searchable_texts,
        pattern_writing.load_documents,
        pattern_writing.delete,
        pattern_writing.shown_texts,
    ),
    Kind.PACKAGE: _spec("package", packages.TYPES, packages.STATUSES, package_writing),
    Kind.STRATEGY: _spec("strategy", (), _REPLACEABLE, strategy_writing),
}
KIND_OF = {kind.number: kind for kind in Kind}
"""Kinds by number."""


def read_ref(ref: str) -> tuple[Kind, int]:
    """Parse the short id of an item of any kind; it needs its letter."""
    letters = {kind.letter: kind for kind in KINDS}
    kind, digits = letters.get(ref.strip()[:1]), ref.strip()[1:]
    if kind is None or not (digits.isascii() and digits.isdigit() and len(digits) < 19):
        raise InvalidInput(
            f"{ref[:80]!r} is no item's id", f"Give an id such as {next(iter(letters))}812; results show them"
        )
    return kind, int(digits)


def texts_of(transaction: Transaction, documents: Sequence[int]) -> dict[int, str]:
    """Return the searchable texts of documents by number."""
    rows = transaction.all(f"SELECT id, kind, item_id FROM documents WHERE id IN {set_of(documents)}")
    texts: dict[int, str] = {}
    for kind, thing in KINDS.items():
        items = {item: document for document, number, item in rows if number == kind.number}
        if items:
            texts |= {items[item]: text for item, text in thing.texts(transaction, list(items)).items()}
    return texts
