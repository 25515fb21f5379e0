"""Registry of the kinds of searchable items.

A new kind is declared in one module, registered here, and numbered in :class:`satchel.find.kind.Kind`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from satchel.base.errors import InvalidInput, unknown_name
from satchel.find.kind import Kind
from satchel.keep import kept
from satchel.keep.kind import ItemKind
from satchel.keep.projects import Workplace
from satchel.store.transaction import Transaction, set_of

if TYPE_CHECKING:
    from satchel.find.meaning import Meaning
    from satchel.find.query import Query


_MODULES = {
    Kind.ENTRY: "entries.kind",
    Kind.DECISION: "decisions.kind",
    Kind.CONSTRAINT: "constraints",
    Kind.FILE_CHANGE: "files.kind",
    Kind.MESSAGE: "messages.kind",
    Kind.ERROR_PATTERN: "patterns.kind",
    Kind.PACKAGE: "packages.service",
    Kind.STRATEGY: "strategies",
}


@cache
def _declaration(kind: Kind) -> ItemKind[Any]:
    declaration = vars(import_module(f"satchel.keep.{_MODULES[kind]}"))[kind.name]
    assert isinstance(declaration, ItemKind)
    return declaration


class _Registry(Mapping[Kind, ItemKind[Any]]):
    """Declarations by kind; a module is loaded when its kind is first needed, so that a search loads what it shows."""

    def __getitem__(self, kind: Kind) -> ItemKind[Any]:
        return _declaration(kind)

    def __iter__(self) -> Iterator[Kind]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


KINDS = _Registry()  # all kinds in the order in which they are listed

IN_EXPORT_ORDER = (
    *(Kind.DECISION, Kind.CONSTRAINT, Kind.ENTRY, Kind.MESSAGE, Kind.FILE_CHANGE, Kind.PACKAGE),
    *(Kind.ERROR_PATTERN, Kind.STRATEGY),
)


def read_ref(ref: str) -> tuple[Kind, int]:
    """Parse the short id of an item of any kind; it needs its letter."""
    letters = {kind.letter: kind for kind in KINDS}
    kind, digits = letters.get(ref.strip()[:1]), ref.strip()[1:]
    if kind is None or not (digits.isascii() and digits.isdigit() and len(digits) < 19):
        raise InvalidInput(
            f"{ref[:80]!r} is no item's id", f"Give an id such as {next(iter(letters))}812; results show them"
        )
    return kind, int(digits)


def is_ref(text: str) -> bool:
    try:
        read_ref(text)
    except InvalidInput:
        return False
    return True


def check_kinds(kinds: Sequence[str] | None) -> tuple[Kind, ...]:
    if kinds is not None and (isinstance(kinds, str) or not kinds):
        raise InvalidInput("kinds is no list of kinds", 'Give at least one, as in ["entry"], or leave it out')
    by_name = {kind.name.lower(): kind for kind in KINDS}
    for name in kinds or ():
        if name not in by_name:
            raise unknown_name("kind", name, by_name)
    return tuple(by_name[name] for name in dict.fromkeys(kinds or ()))


def check_types(kinds: Sequence[Kind], types: Sequence[str] | None) -> tuple[tuple[Kind, int], ...]:
    if types is None:
        return ()
    if isinstance(types, str) or not types:
        raise InvalidInput("types is no list of types", 'Give at least one, as in ["discovery"], or leave it out')
    numbers = {
        (kind, name): (kind, number) for kind in kinds or KINDS for number, name in enumerate(KINDS[kind].types, 1)
    }
    valid = dict.fromkeys(name for _, name in numbers)
    for name in types:
        if name not in valid:
            raise unknown_name("type", name, valid)
    return tuple(number for (_, name), number in numbers.items() if name in types)


def texts_of(transaction: Transaction, documents: Sequence[int]) -> dict[int, str]:
    rows = transaction.all(f"SELECT id, kind, item_id FROM documents WHERE id IN {set_of(documents)}")
    texts: dict[int, str] = {}
    for kind in KINDS:
        items = {item: document for document, number, item in rows if number == kind.number}
        if items:
            texts |= {items[item]: text for item, text in kept.texts(KINDS[kind], transaction, list(items)).items()}
    return texts


def meaning_for(workplace: Workplace, query: Query) -> Meaning | None:
    """Return what ranks the matches of a query by their meaning, or None where that is off or of no use."""
    if workplace.meaning == "off" or not query.text:
        return None
    # imported here: hooks search without
    from satchel.find import meaning

    return meaning.of_store(workplace.meaning, workplace.engine.location, texts_of)
