from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from satchel.base.errors import InvalidInput
from satchel.base.paging import KeptPage, Page, check_page, check_whole
from tables import in_one_test


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing that changed."""

    seq: int


NOTHING: tuple[Thing, ...] = ()


@in_one_test(("limit", "offset"), [(0, 0), (1, 0), (500, 10**9)])
def test_pages_within_the_bounds_are_accepted(limit: int, offset: int) -> None:
    check_page(limit, offset)


@in_one_test("limit", [-1, 501, 2.5, 2.0, "20", None, True, 10**30])
def test_a_limit_that_is_none_is_refused_by_name(limit: Any) -> None:
    with pytest.raises(InvalidInput, match=r"limit .*Give 0 to 500"):
        check_page(limit, 0)


@in_one_test("offset", [-1, 0.0, "0", None, False, 10**30])
def test_an_offset_that_is_none_is_refused_by_name(offset: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^offset "):
        check_page(20, offset)


def test_the_smallest_number_may_be_another_than_zero() -> None:
    check_whole("line", 1, 10, smallest=1)
    with pytest.raises(InvalidInput, match=r"line 0 is out of range. Give 1 to 10"):
        check_whole("line", 0, 10, smallest=1)


@in_one_test(
    ("items", "total", "offset", "following"),
    [
        (("a", "b"), 5, 0, 2),
        (("c", "d"), 5, 2, 4),
        (("e",), 5, 4, None),
        ((), 5, 0, None),
        ((), 5, 9, None),
        ((), 0, 0, None),
    ],
)
def test_a_page_says_what_comes_next(items: tuple[str, ...], total: int, offset: int, following: int | None) -> None:
    assert Page(items, total, offset, 2).next_offset == following


def test_a_page_can_be_walked_and_counted() -> None:
    page = Page(("a", "b"), 5, 0, 2)
    assert (list(page), len(page)) == (["a", "b"], 2)


@in_one_test(
    ("page", "cursor"),
    [
        (KeptPage((Thing(3), Thing(5)), 2, 0, 2, seq=9), 9),
        (KeptPage((Thing(5), Thing(3)), 7, 0, 2, seq=9), 9),
        (KeptPage((Thing(3), Thing(5)), 7, 0, 2, seq=9, order="seq", after_seq=2), 5),
        (KeptPage((Thing(3), Thing(5)), 7, 5, 2, seq=9, order="seq", after_seq=2), 9),
        (KeptPage(NOTHING, 0, 0, 2, seq=9, order="seq", after_seq=2), 9),
        (KeptPage(NOTHING, 7, 0, 0, seq=9, order="seq", after_seq=2), 2),
        (KeptPage(NOTHING, 0, 0, 0, seq=9, order="seq", after_seq=2), 9),
        (KeptPage(NOTHING, 7, 0, 0, seq=9), 9),
    ],
)
def test_the_cursor_of_a_page_loses_no_change(page: KeptPage[Thing], cursor: int) -> None:
    assert page.cursor == cursor


def test_a_page_of_what_is_kept_can_be_walked_as_any_other() -> None:
    page = KeptPage((Thing(3), Thing(5)), 7, 2, 2, seq=9)
    assert ([thing.seq for thing in page], len(page), page.next_offset) == ([3, 5], 2, 4)
