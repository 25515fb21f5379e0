"""Paging: every list says its total and what comes next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass

DEFAULT_LIMIT = 20
MAX_LIMIT = 500
_MAX_OFFSET = 2**53

COUNTED = 10_000
"""A page of a list is counted so far: to count a million notes takes 39 ms, and to read 20 of them 0.2 ms."""

ORDERS = ("desc", "asc")
"""How a list can be ordered by (created_at, id): the newest or the oldest first."""

MATCHES = ("any", "all")
"""Of several names that are asked for, one or each must be there."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Part of a list, counted in the same snapshot.

    Attributes:
        items: the part.
        total: how many there are in all. It may end one above :data:`COUNTED`, or above what the page reaches where
            that is more, and then stands for more; with ``limit=0`` all are counted.
        offset: how many were skipped.
        limit: how many were asked for at most.
    """

    items: tuple[Item, ...]
    total: int
    offset: int
    limit: int

    @property
    def next_offset(self) -> int | None:
        """The offset of the next page, or None at the end or for a page of no items."""
        return next_offset(self.offset, len(self.items), self.total)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True)
class KeptPage(Page[Item]):
    """Part of a list of things that change, with what it takes to learn of later changes.

    Attributes:
        seq: the project's change counter in this snapshot.
        order: how the page is ordered; ``seq`` for what changed after a cursor.
        notes: what the reader should know.
        after_seq: the cursor that was asked for, if any.
    """

    seq: int = 0
    order: str = "newest"
    notes: tuple[str, ...] = ()
    after_seq: int | None = None

    @property
    def cursor(self) -> int:
        """What to pass as ``after_seq`` to read what changes after this page, losing nothing in between."""
        if self.order == "seq" and self.next_offset is not None:
            return int(getattr(self.items[-1], "seq", 0))
        if self.after_seq is not None and not self.limit and self.total:
            return self.after_seq
        return self.seq


def counted_to(offset: int, limit: int) -> int:
    """Return how far a page that shows something is counted."""
    return max(COUNTED, offset + limit) + 1


def next_offset(offset: int, shown: int, total: int) -> int | None:
    """Return the offset of the page after one that shows so many items; None at the end, or where it shows none."""
    reached = offset + shown
    return reached if shown and reached < total else None


def check_page(limit: int, offset: int) -> None:
    """Refuse what is no page.

    Raises:
        InvalidInput: limit is not 0 to 500, or offset not 0 or more, or one is no whole number.
    """
    check_whole("limit", limit, MAX_LIMIT)
    check_whole("offset", offset, _MAX_OFFSET)


def check_whole(field: str, value: object, largest: int, *, smallest: int = 0) -> None:
    """Refuse what is no whole number in a range.

    Raises:
        InvalidInput: the value is another type, or out of range.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInput(f"{field} {value!r} is not a whole number", f"Give {smallest} to {largest}")
    if not smallest <= value <= largest:
        raise InvalidInput(f"{field} {value} is out of range", f"Give {smallest} to {largest}")
