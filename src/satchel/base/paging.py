"""Paging: every list says its total and what comes next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, TypeVar

from satchel.base.errors import InvalidInput, unknown_name
from satchel.base.text import check_query

DEFAULT_LIMIT = 20
MAX_LIMIT = 500
_MAX_OFFSET = 2**53

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
        total: how many there are in all.
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
        return change_cursor(self, getattr(self.items[-1], "seq", 0) if self.items else 0)


class _Changes(Protocol):
    """A page of things that change."""

    @property
    def next_offset(self) -> int | None: ...
    @property
    def order(self) -> str: ...
    @property
    def after_seq(self) -> int | None: ...
    @property
    def limit(self) -> int: ...
    @property
    def total(self) -> int: ...
    @property
    def seq(self) -> int: ...


def change_cursor(page: _Changes, last_seq: int) -> int:
    """Return the cursor after a page whose last item has the given seq."""
    if page.order == "seq" and page.next_offset is not None:
        return last_seq
    if page.after_seq is not None and not page.limit and page.total:
        return page.after_seq
    return page.seq


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


@dataclass(frozen=True, slots=True)
class Reading:
    """What every list of things that change is asked for, checked; None means that it was not given.

    Attributes:
        search: words to find.
        since: the earliest time, in milliseconds UTC.
        after_seq: only what changed after this number, in that order.
        order: one of :data:`ORDERS`, by (created_at, id).
        limit: how many at most; 0 asks for the total alone.
        offset: how many to skip.
    """

    usual_order: ClassVar[str] = "newest"

    search: str | None
    since: int | None
    after_seq: int | None
    order: str | None
    limit: int
    offset: int

    @property
    def order_name(self) -> str:
        """How the page is ordered: seq, newest, oldest, relevance, or as is usual for the kind."""
        if self.after_seq is not None:
            return "seq"
        if self.order is not None:
            return "oldest" if self.order == "asc" else "newest"
        return self.usual_order if self.search is None else "relevance"


def check_reading(*, order: str | None, search: str | None, after_seq: int | None) -> None:
    """Refuse an order that there is none of, an empty search, and a cursor together with either.

    Raises:
        InvalidInput: one of them is not acceptable, or two contradict each other.
        TooLarge: the search is longer than 64 KiB.
    """
    if order is not None and order not in ORDERS:
        raise unknown_name("order", order, ORDERS)
    if after_seq is not None:
        check_whole("after_seq", after_seq, 2**53)
        if order is not None or search is not None:
            raise InvalidInput(
                "after_seq reads changes in their order", "Leave out order and search, or leave out after_seq"
            )
    if search is not None and not search.strip():
        raise InvalidInput("search is empty", "Say what to look for, or leave search out")
    if search is not None:
        check_query(search, "search")


def check_whole(field: str, value: object, largest: int, *, smallest: int = 0) -> None:
    """Refuse what is no whole number in a range.

    Raises:
        InvalidInput: the value is another type, or out of range.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInput(f"{field} {value!r} is not a whole number", f"Give {smallest} to {largest}")
    if not smallest <= value <= largest:
        raise InvalidInput(f"{field} {value} is out of range", f"Give {smallest} to {largest}")
