"""Paging: every list has a total and a next offset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass

DEFAULT_LIMIT = 20
MAX_LIMIT = 500
_MAX_OFFSET = 2**53

# How far lists are counted, because counting a million notes takes longer than reading a page.
COUNTED = 10_000

# Orders by (created_at, id): the newest or the oldest first.
ORDERS = ("desc", "asc")

# Whether an item must have any or all of several names.
MATCHES = ("any", "all")

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Part of a list, counted in the same snapshot.

    Attributes:
        total: the size of the list. A total of one more than :data:`COUNTED`, or than the end of the page if that is
            higher, means that there are more; with ``limit=0`` the count is complete.
    """

    items: tuple[Item, ...]
    total: int
    offset: int
    limit: int

    @property
    def next_offset(self) -> int | None:
        """The offset of the next page, or None at the end or for an empty page."""
        return next_offset(self.offset, len(self.items), self.total)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True)
class KeptPage(Page[Item]):
    """Part of a list of stored items, with the cursor for later changes.

    Attributes:
        seq: the project's change counter in this snapshot.
        order: the order of the page; ``seq`` for changes after a cursor.
        notes: notes for the reader.
        after_seq: the cursor of the request, if any.
    """

    seq: int = 0
    order: str = "newest"
    notes: tuple[str, ...] = ()
    after_seq: int | None = None

    @property
    def cursor(self) -> int:
        """The ``after_seq`` that continues after this page without missing a change."""
        if self.order == "seq" and self.next_offset is not None:
            return int(getattr(self.items[-1], "seq", 0))
        if self.after_seq is not None and not self.limit and self.total:
            return self.after_seq
        return self.seq


def counted_to(offset: int, limit: int) -> int:
    """Return how far to count for a page with items."""
    return max(COUNTED, offset + limit) + 1


def next_offset(offset: int, count: int, total: int) -> int | None:
    """Return the offset after a page with ``count`` items; None at the end or after an empty page."""
    end = offset + count
    return end if count and end < total else None


def check_page(limit: int, offset: int) -> None:
    """Raise InvalidInput unless limit is 0 to 500 and offset 0 or more."""
    check_whole("limit", limit, MAX_LIMIT)
    check_whole("offset", offset, _MAX_OFFSET)


def check_whole(field: str, value: object, largest: int, *, smallest: int = 0) -> None:
    """Raise InvalidInput unless a value is a whole number in a range."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInput(f"{field} {value!r} is not a whole number", f"Give {smallest} to {largest}")
    if not smallest <= value <= largest:
        raise InvalidInput(f"{field} {value} is out of range", f"Give {smallest} to {largest}")
