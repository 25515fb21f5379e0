"""The split of new files: priority, then the smallest, then by path; nothing moves and nothing is in two parts."""

from __future__ import annotations

import random

import pytest

from satchel.consult.planning import check_partition, give_back, place_new
from satchel.consult.prompts import NewFile
from satchel.consult.records import Content, FileState, Overflow, Stat
from tables import in_one_test


def new(path: str, tokens: int) -> NewFile:
    return NewFile(path, Content("", b"", Stat(0, 0)), tokens, tokens + 1)


def names(files: list[NewFile]) -> str:
    return "".join(file.path for file in files)


def test_the_smallest_come_first_and_paths_break_ties_whatever_the_order_given() -> None:
    files = [new("a", 30), new("b", 10), new("c", 20), new("d", 10), new("e", 20)]
    random.Random(5).shuffle(files)
    inline, overflow = place_new(files, (), 11 + 11 + 21)
    assert (names(inline), names(overflow)) == ("bdc", "ea")


def test_priority_comes_before_size() -> None:
    inline, overflow = place_new([new("a", 30), new("b", 10), new("c", 20)], {"a"}, 31 + 11)
    assert (names(inline), names(overflow)) == ("ab", "c")


def test_a_priority_file_larger_than_the_budget_does_not_keep_others_out() -> None:
    inline, overflow = place_new([new("a", 300), new("b", 10), new("c", 20)], {"a"}, 40)
    assert (names(inline), names(overflow)) == ("bc", "a")


def test_a_file_fits_exactly_with_what_is_around_it() -> None:
    assert names(place_new([new("a", 10)], (), 11)[0]) == "a"
    assert names(place_new([new("a", 10)], (), 10)[0]) == ""


def test_what_was_chosen_last_is_given_back_until_enough_is_free() -> None:
    inline, overflow = place_new([new("a", 10), new("b", 20), new("c", 30)], (), 100)
    give_back(inline, overflow, 32)
    assert (names(inline), names(overflow)) == ("a", "cb")
    give_back(inline, overflow, 1_000)
    assert inline == []


INLINE = FileState("a", 1, 1, b"x", 10, 1, None)
OVERFLOW = INLINE._replace(why=Overflow.NO_ROOM)


def test_each_part_alone_is_accepted_and_the_prompt_s_is_returned() -> None:
    assert check_partition({"a": INLINE}, {"a": INLINE}, ["a"], [], []) == [INLINE]
    assert check_partition({}, {"a": OVERFLOW}, ["a"], ["a"], []) == []
    assert check_partition({}, {}, ["a"], [], ["a"]) == []
    assert check_partition({"a": INLINE}, {"a": INLINE._replace(digest=None)}, ["a"], [], ["a"]) == []


@in_one_test(
    ("before", "after", "searchable", "held_back", "said"),
    [
        ({"a": INLINE}, {"a": OVERFLOW}, ["a"], [], "a file moved"),
        ({}, {"a": INLINE}, ["a"], [], "in two parts"),
        ({}, {"a": INLINE}, [], ["a"], "in two parts"),
        ({}, {}, [], [], "in no part"),
        ({}, {"a": OVERFLOW}, [], [], "in no part"),
        ({}, {"a": OVERFLOW}, ["a"], ["a"], "both held back and searchable"),
    ],
)
def test_anything_else_is_a_fault(
    before: dict[str, FileState], after: dict[str, FileState], searchable: list[str], held_back: list[str], said: str
) -> None:
    with pytest.raises(AssertionError, match=said):
        check_partition(before, after, ["a"], searchable, held_back)
