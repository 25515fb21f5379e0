"""Searching where there is too much to score all of it."""

from __future__ import annotations

from typing import Any

import pytest

from satchel import NewEntry, Satchel
from satchel.find import scopes, scoring, search


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
    assert (page.total, page.notes) == (5, (search.INCOMPLETE,))
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
    ("query", "syntax"), [("common", "natural"), ("common usual", "natural"), ("comm*", "operators")]
)
def test_a_common_word_alone_never_scans_everything(
    crowded: Satchel, scored: list[int], query: str, syntax: str
) -> None:
    page = crowded.finding.search(query, syntax=syntax)
    assert scored == [20]
    assert (page.total, page.notes) == (20, (search.INCOMPLETE,))
    assert {one.ref for one in page.results} == {f"e{number}" for number in range(181, 201)}, "the newest"


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
    assert (page.total, page.notes) == (5, (search.INCOMPLETE,))


def test_of_what_holds_the_only_word_the_newest_are_scored(
    satchel: Satchel, scored: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "OF_ONE_TERM", 20)
    satchel.entries.write_many([NewEntry("discovery", "common text")] * 30)
    page = satchel.finding.search("common")
    assert (page.total, page.notes, scored) == (20, (search.INCOMPLETE,), [20])
    assert {one.ref for one in page.results} == {f"e{number}" for number in range(11, 31)}
    assert satchel.finding.search("common text").total == 30
