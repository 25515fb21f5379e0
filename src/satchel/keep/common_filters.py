"""Filters of every list, declared only here: docs/decisions/0024 names the lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from satchel.base.clock import check_since
from satchel.base.records import NamedTuple, TypedDict


class CommonFilters(TypedDict, total=False):
    """Filters of every list.

    Keys:
        since: only items created or changed since this time: ISO 8601, an age such as ``90m``, or milliseconds UTC.
    """

    since: str | int | None


class ListFilters(CommonFilters, total=False):
    """Filters of every list of items that change.

    Keys:
        query: words in any form, at most 64 KiB; without ``order`` the best matches come first.
        after_seq: only items changed after this number, in that order; ``page.cursor`` is the next one.
        order: desc or asc, by (created_at, id); None is the kind's default, or relevance for a search.
        limit: 0 to 500; 0 gives the total alone.
        offset: how many to skip.
    """

    query: str | None
    after_seq: int | None
    order: str | None
    limit: int
    offset: int


class CommonFilter(NamedTuple):
    """A filter of every list, with the parameter for tools and commands.

    Attributes:
        about: description for agents, if the name does not suffice.
        condition: returns SQL for the expressions of an item's times; the checked argument has the filter's name.
        keeps: returns whether an item with these times passes, for lists that are not read by SQL.
        in_scope: whether a search's scope has a field of this name, for items with a single time.
    """

    name: str
    type: object
    about: str
    help: str
    metavar: str | None
    check: Callable[[Any, int], Any]
    condition: Callable[[Sequence[str]], str]
    keeps: Callable[[Sequence[int | None], Any], bool]
    in_scope: bool = False


# the filters of every list
COMMON = (
    CommonFilter(
        *("since", str, "As 2d, 3h or ISO 8601", "ISO 8601, or an age such as 90m or 2d.", "TIME"),
        check_since,
        lambda times: f"({' OR '.join(f'{time} >= :since' for time in times)})",
        lambda times, since: any(time is not None and time >= since for time in times),
        in_scope=True,
    ),
)


class CheckedFilters(NamedTuple):
    """The common filters of a request, with their checked values by name."""

    values: dict[str, Any]

    def where(self, *times: str) -> str:
        """Return SQL to append to a condition, given the expressions of an item's times."""
        return "".join(f" AND {one.condition(times)}" for one in COMMON if one.name in self.values)

    def keeps(self, *times: int | None) -> bool:
        return all(one.keeps(times, self.values[one.name]) for one in COMMON if one.name in self.values)


def check_common(arguments: Mapping[str, Any], now: int) -> CheckedFilters:
    """Check the common filters among a list's arguments."""
    return CheckedFilters(
        {one.name: one.check(arguments[one.name], now) for one in COMMON if arguments.get(one.name) is not None}
    )
