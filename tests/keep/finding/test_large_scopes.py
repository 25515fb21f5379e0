"""Searching where there is too much to score all of it."""

from __future__ import annotations

from typing import Any

import pytest

from satchel import NewEntry, Satchel
from satchel.find import scopes, scoring, search

BY_RARE = "only items with rare (the rarest words here) were ranked: a rarer word narrows it down"


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many documents each search handed to the scoring."""
    handed: list[int] = []

    def watched(matched: Any, *rest: Any) -> Any:
        handed.append(len(matched))
        return term_scores(matched, *rest)

    term_scores = scoring.term_scores
    monkeypatch.setattr(scoring, "term_scores", watched)
    return handed


@pytest.fixture
def crowded(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> Satchel:
    """200 entries that hold a common word, 5 of them a rare one, in a store that counts as large."""
    satchel.entries.write_many(
        [NewEntry("discovery", f"common {'rare' if number % 40 == 0 else 'usual'}") for number in range(200)]
    )
    monkeypatch.setattr(scopes, "SMALL", 50)
    monkeypatch.setattr(search, "CANDIDATES", 20)
    return satchel


def test_in_a_large_scope_the_rare_words_choose_and_this_is_said(crowded: Satchel, scored: list[int]) -> None:
    page = crowded.finding.search("common rare")
    assert (page.total, page.notes) == (5, (BY_RARE,))
    assert all("rare" in one.snippet.text for one in page.results)
    assert scored == [5]


@pytest.mark.parametrize(("candidates", "total"), [(22, 5), (23, 23)])
def test_words_choose_until_they_have_brought_enough(
    crowded: Satchel, monkeypatch: pytest.MonkeyPatch, candidates: int, total: int
) -> None:
    crowded.entries.write_many([NewEntry("discovery", "seldom text")] * 18)
    monkeypatch.setattr(search, "CANDIDATES", candidates)
    assert crowded.finding.search("rare seldom").total == total


def test_common_words_that_were_left_out_of_choosing_still_count_and_are_marked(crowded: Satchel) -> None:
    best = crowded.finding.search("common rare", explain=True).results[0]
    assert best.explanation is not None
    assert all(share.own > 0 for share in best.explanation.shares)
    assert [best.snippet.text[start:end] for start, end in best.snippet.marks] == ["common", "rare"]


@pytest.mark.parametrize(
    ("query", "syntax", "total", "note"),
    [
        ("common", "natural", 200, "the newest 20 are ranked, the others follow newest first"),
        ("comm*", "operators", 200, "the newest 20 are ranked, the others follow newest first"),
        (
            "common usual",
            "natural",
            20,
            "only the newest 20 items with common (the rarest words here) were ranked: a rarer word narrows it down",
        ),
    ],
)
def test_common_words_alone_never_score_everything_and_the_bound_is_said(
    crowded: Satchel, scored: list[int], query: str, syntax: str, total: int, note: str
) -> None:
    page = crowded.finding.search(query, syntax=syntax)
    assert scored == [20]
    assert (page.total, page.notes) == (total, (note,))
    assert all(int(one.ref[1:]) > 160 for one in page.results), "the newest"


def test_a_word_that_nothing_holds_does_not_choose(crowded: Satchel, scored: list[int]) -> None:
    results = crowded.finding.search("absent common rare", limit=500).results
    assert len([one for one in results if not one.by_surroundings]) == 5
    assert scored == [5]


def test_a_small_run_in_a_large_store_is_searched_whole(crowded: Satchel) -> None:
    crowded.runs.start("small")
    crowded.entries.write("discovery", "common text", run_id="small")
    crowded.entries.write("discovery", "common rare text", run_id="small")
    page = crowded.finding.search("common rare", run_id="small")
    assert (page.total, page.notes) == (2, ())


def test_reading_by_search_says_when_words_were_left_out_too(crowded: Satchel) -> None:
    page = crowded.entries.read(query="common rare", limit=500)
    assert (page.total, page.notes) == (5, (BY_RARE,))


def test_pages_reach_every_item_that_was_ranked(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scopes, "SMALL", 50)
    monkeypatch.setattr(search, "BEST", 20)
    satchel.entries.write_many([NewEntry("discovery", f"common usual text {number}") for number in range(90)])
    first = satchel.finding.search("common usual", limit=10)
    assert [one.ref for one in first.results] == [f"e{number}" for number in range(90, 80, -1)]
    in_part = ("only the best 20 items were ranked: a rarer word narrows it down",)
    assert (first.total, first.notes) in [(90, ()), (20, in_part)], "the index of PostgreSQL tells the best"
    for offset in (20, 60, 85):
        page = satchel.finding.search("common usual", limit=10, offset=offset)
        last = max(0, 80 - offset)
        assert [one.ref for one in page.results] == [f"e{number}" for number in range(90 - offset, last, -1)]
        assert (page.total, page.notes) == (90, ())


def test_pages_repeat_and_lose_nothing_where_the_best_are_read_first(
    satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scopes, "SMALL", 50)
    monkeypatch.setattr(search, "BEST", 20)
    # the index knows the length, not how often a word occurs
    notes = [
        f"common usual {'usual ' * (number * 7 % 5)}{'filler ' * (number * 5 % 11)}{number}" for number in range(80)
    ]
    satchel.entries.write_many([NewEntry("discovery", text) for text in notes])
    pages = [satchel.finding.search("common usual", limit=10, offset=offset).results for offset in range(0, 80, 10)]
    refs = [one.ref for page in pages for one in page]
    assert len(refs) == len(set(refs)) == 80


def test_a_list_by_time_has_the_newest_match_however_weak(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scopes, "SMALL", 50)
    monkeypatch.setattr(search, "BEST", 20)
    texts = [f"common usual {number}" for number in range(60)] + [f"common usual {'a b ' * 9}{at}" for at in range(30)]
    satchel.entries.write_many([NewEntry("discovery", text) for text in texts])
    page = satchel.entries.read(query="common usual", order="desc", limit=5)
    assert [entry.id for entry in page.entries] == [90, 89, 88, 87, 86]


@pytest.fixture
def one_word(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> Satchel:
    """30 live notes that hold one word (e6 to e35), five superseded ones, and only 20 are scored."""
    monkeypatch.setattr(search, "OF_ONE_TERM", 20)
    satchel.entries.write_many([NewEntry("discovery", f"common text {number}") for number in range(35)])
    for number in range(1, 6):
        satchel.corrections.retract(f"e{number}", reason="wrong")
    return satchel


def test_every_match_of_one_word_is_counted_and_reached_by_pages(one_word: Satchel, scored: list[int]) -> None:
    pages = [one_word.finding.search("common", offset=offset, limit=12) for offset in (0, 12, 24, 36)]
    assert {page.total for page in pages} == {30}
    assert set(scored) == {20}
    refs = [int(one.ref[1:]) for page in pages for one in page.results]
    assert sorted(refs) == list(range(6, 36))
    assert refs[20:] == list(range(15, 5, -1)), "those that are not ranked follow newest first"
    assert one_word.finding.search("common", limit=0).total == 30


def test_superseded_matches_come_last_on_the_last_page(one_word: Satchel) -> None:
    page = one_word.finding.search("common", status="all", limit=500)
    assert page.total == 35
    assert [one.ref for one in page.results][-5:] == ["e5", "e4", "e3", "e2", "e1"]


def test_a_list_by_time_sorts_every_match(one_word: Satchel) -> None:
    page = one_word.entries.read(query="common", order="asc", limit=3, status="all")
    assert ([one.id for one in page.items], page.total, page.notes) == ([1, 2, 3], 35, ())
    assert [one.id for one in one_word.entries.read(query="common", order="asc", offset=33).items] == []


def test_beyond_the_bound_more_match_and_the_bound_is_said(one_word: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "COUNTED", 25)
    page = one_word.finding.search("common", limit=5)
    assert (page.total, page.notes[-1]) == (26, "more match: the newest 25 are listed")
    assert one_word.finding.search("common", limit=0).total == 30
    oldest = one_word.entries.read(query="common", order="asc", limit=2)
    assert ([one.id for one in oldest.items], oldest.total) == ([6, 7], 26)
    assert oldest.notes == ("more match: the oldest 25 are listed",)
