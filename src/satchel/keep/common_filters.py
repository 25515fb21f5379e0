"""Filters of every list, declared only here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict

from satchel.base.clock import check_since
from satchel.base.records import NamedTuple

if TYPE_CHECKING:
    from satchel.keep.listing import Listing, View


class ListFilters(TypedDict, total=False):
    """Filters of every list.

    Keys:
        query: words in any form, at most 64 KiB; without ``order`` the best matches come first.
        since: only items created or changed since this time: ISO 8601, an age such as ``90m``, or milliseconds UTC.
        after_seq: only items changed after this number, in that order; ``page.cursor`` is the next one.
        order: desc or asc, by (created_at, id); None is the kind's default, or relevance for a search.
        limit: 0 to 500; 0 gives the total alone.
        offset: how many to skip.
    """

    query: str | None
    since: str | int | None
    after_seq: int | None
    order: str | None
    limit: int
    offset: int


class CommonFilter(NamedTuple):
    """A filter of every list, with the parameter for tools and commands.

    Attributes:
        name: the parameter's name.
        type: the parameter's type.
        about: description for agents, if the name does not suffice.
        help: description of its option for people.
        metavar: the option's value in help texts.
        check: converts an argument, given the current time, or refuses it.
        apply: adds the conditions.
    """

    name: str
    type: object
    about: str
    help: str
    metavar: str | None
    check: Callable[[Any, int], Any]
    apply: Callable[[View, Listing[Any], Any], None]


def _changed_since(view: View, listing: Listing[Any], since: int) -> None:
    later = " OR ".join(f"{listing.alias}.{column} >= :since" for column in listing.changed)
    view.values["since"] = since
    # unchanging items have a single time, which is in their documents too
    view.where(f"({later})", **({"since": since} if listing.changed == ("created_at",) else {}))


COMMON = (
    CommonFilter(
        *(
            "since",
            str,
            "As 2d, 3h or ISO 8601",
            "ISO 8601, or an age such as 90m or 2d.",
            "TIME",
        ),
        check_since,
        _changed_since,
    ),
)
"""The filters of every list, besides query, cursor, order and page."""
