"""Looking for what resembles an item."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from keep.finding.story import Story
from satchel import NotFound, Satchel


def test_more_like_this_finds_what_shares_telling_words_and_not_the_item_itself(satchel: Satchel) -> None:
    this = satchel.entries.write("discovery", "zebra stripes confuse the horse fly, says a study of stripes")
    other = satchel.entries.write("discovery", "a coat with stripes keeps a horse fly away")
    satchel.entries.write("discovery", "the study of something else")
    satchel.entries.write("discovery", "unrelated")
    page = satchel.finding.search(like=this.ref)
    assert page.results[0].ref == other.ref
    assert this.ref not in [one.ref for one in page.results]
    assert page.total == len(page.results) == 2


def test_more_like_this_does_not_spend_its_words_on_those_that_nothing_else_holds(satchel: Satchel) -> None:
    alone = " ".join(f"zz{first}{second}" for first in "bcdfgh" for second in "bcdfgh")
    this = satchel.entries.write("discovery", f"{alone} horse")
    other = satchel.entries.write("discovery", "a horse")
    assert [one.ref for one in satchel.finding.search(like=this.ref).results] == [other.ref]


def test_more_like_this_takes_the_words_that_are_often_in_the_item(satchel: Satchel) -> None:
    fillers = [f"zz{first}{second}" for first in "bcdfgh" for second in "bcdfgh"]
    this = satchel.entries.write("discovery", f"{' '.join(fillers)} horse horse horse horse")
    satchel.entries.write("discovery", " ".join(fillers))
    other = satchel.entries.write("discovery", "a horse")
    assert other.ref in [one.ref for one in satchel.finding.search(like=this.ref).results]


def test_more_like_this_works_without_spaces_between_words(satchel: Satchel) -> None:
    this = satchel.entries.write("discovery", "全文検索エンジンを使う")
    other = satchel.entries.write("discovery", "検索エンジンの比較")
    satchel.entries.write("discovery", "料理の本")
    assert [one.ref for one in satchel.finding.search(like=this.ref).results] == [other.ref]


def test_more_like_this_keeps_to_the_filters(story: Story) -> None:
    ref = next(ref for ref, key in story.keys.items() if key == "author")
    assert story.found(like=ref)[0] == "author-too"
    assert "author-too" not in story.found(like=ref, author="Ann")
    assert story.found(like=f" {ref} ", run_id="r1", types=["error"]) == story.found(
        like=ref, run_id="r1", types=["error"]
    )


def test_more_like_this_leaves_out_what_shares_only_everyday_words(satchel: Satchel) -> None:
    this = satchel.entries.write("discovery", "check the test of the zebra again")
    other = satchel.entries.write("discovery", "a zebra")
    satchel.entries.write("discovery", "check the tests again")
    assert [one.ref for one in satchel.finding.search(like=this.ref).results] == [other.ref]


def test_an_item_that_shares_no_word_with_another_is_like_nothing_and_this_is_said(satchel: Satchel) -> None:
    this = satchel.entries.write("discovery", "solitary")
    page = satchel.finding.search(like=this.ref)
    assert (page.total, page.notes) == (0, ("no other item holds a telling word of e1",))


def test_an_item_of_another_project_is_not_found_by_its_id(open_in: Callable[..., Satchel], tmp_path: Path) -> None:
    mine, theirs = (open_in(tmp_path, db=tmp_path / "shared.db", project=name) for name in ("mine", "theirs"))
    mine.entries.write("discovery", "gamma")
    ref = theirs.entries.write("discovery", "gamma").ref
    with pytest.raises(NotFound, match="in this project"):
        mine.finding.search(like=ref)
