"""Registry of the kinds of searchable items.

A new kind is declared in a module of its own, registered here, and numbered in :class:`satchel.find.kind.Kind`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from satchel.base.errors import InvalidInput
from satchel.find.kind import Kind
from satchel.keep import kept
from satchel.keep.constraints import CONSTRAINT
from satchel.keep.decisions.kind import DECISION
from satchel.keep.entries.kind import ENTRY
from satchel.keep.files.kind import FILE_CHANGE
from satchel.keep.kind import ItemKind
from satchel.keep.messages.kind import MESSAGE
from satchel.keep.packages.kind import PACKAGE
from satchel.keep.patterns.kind import ERROR_PATTERN
from satchel.keep.strategies import STRATEGY
from satchel.store.transaction import Transaction, set_of

KINDS: dict[Kind, ItemKind[Any]] = {
    one.kind: one for one in (ENTRY, DECISION, CONSTRAINT, FILE_CHANGE, MESSAGE, ERROR_PATTERN, PACKAGE, STRATEGY)
}
"""All kinds in the order in which they are listed."""

IN_EXPORT_ORDER = (DECISION, CONSTRAINT, ENTRY, MESSAGE, FILE_CHANGE, PACKAGE, ERROR_PATTERN, STRATEGY)

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
            texts |= {items[item]: text for item, text in kept.texts(thing, transaction, list(items)).items()}
    return texts
