"""What every list takes: a filter for all lists is declared here, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict

from satchel.base.clock import check_since
from satchel.base.records import NamedTuple

if TYPE_CHECKING:
    from satchel.keep.listing import Listing, View


class ListFilters(TypedDict, total=False):
    """What every list takes.

    Keys:
        query: words in any form, at most 64 KiB; without ``order`` the best matches come first.
        since: only what was created or changed at or after this time: ISO 8601, an age such as ``90m``, or
            milliseconds UTC.
        after_seq: only what changed after this number, in that order; ``page.cursor`` is the next one.
        order: desc or asc, by (created_at, id); None is what is usual for the kind, or relevance for a search.
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
    """A filter that every list has; the tools and commands of all lists take their parameter from it.

    Attributes:
        name: of the parameter.
        type: of the parameter.
        about: what agents read where the name does not say it.
        help: what people read of its option.
        metavar: what people give as its value.
        check: turns what was given, and the time now, into what is compared, or refuses it.
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
    # what never changes has one time, which its document has too
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
"""The filters of every list beside the query, the cursor, the order and the page."""
