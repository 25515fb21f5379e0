"""Searches that mean nothing, and texts that would break a weaker search."""

from __future__ import annotations

from typing import Any

import pytest

from keep.finding.story import Story
from satchel import InvalidInput, NotFound, TooLarge
from satchel.find import search
from satchel.find.query import MAX_TERMS
from tables import in_one_test


@in_one_test(
    ("arguments", "problem", "remedy"),
    [
        (
            {"text": "a", "like": "e1"},
            "give either words to search for or an item in like",
            "Or neither, for what is newest",
        ),
        ({"text": ""}, "the search is empty", "Say what to look for"),
        ({"text": " \n\t"}, "the search is empty", "Say what to look for"),
        ({"text": "a", "syntax": "operator"}, "unknown syntax 'operator'", "Did you mean 'operators'?"),
        ({"text": "a", "status": "alive"}, "unknown status 'alive'", "Did you mean 'live'?"),
        ({"text": "a", "kinds": ["entri"]}, "unknown kind 'entri'", "Did you mean 'entry'?"),
        ({"text": "a", "kinds": []}, "kinds is no list of kinds", "Give at least one"),
        ({"text": "a", "kinds": "entry"}, "kinds is no list of kinds", "Give at least one"),
        ({"text": "a", "types": ["discoveri"]}, "unknown type 'discoveri'", "Did you mean 'discovery'?"),
        ({"text": "a", "types": []}, "types is no list of types", "Give at least one"),
        ({"text": "a", "types": "error"}, "types is no list of types", "Give at least one"),
        ({"text": "a", "limit": -1}, "limit -1 is out of range", "Give 0 to 500"),
        ({"text": "a", "limit": 501}, "limit 501 is out of range", "Give 0 to 500"),
        ({"text": "a", "limit": 2.5}, "limit 2.5 is not a whole number", "Give 0 to 500"),
        ({"text": "a", "offset": -1}, "offset -1 is out of range", "Give 0 to"),
        ({"text": "a", "offset": True}, "offset True is not a whole number", "Give 0 to"),
        ({"text": "a", "since": -1}, "since -1 is out of range", "Give 0 to"),
        ({"text": "a", "since": 2**63}, f"since {2**63} is out of range", "Give 0 to"),
        ({"text": "a", "since": "yesterday-ish"}, "'yesterday-ish'", ""),
        ({"text": "a", "author": ""}, "author", ""),
        ({"text": "a", "task_id": " "}, "task_id", ""),
        ({"text": "a", "loop_id": ""}, "loop_id", ""),
        ({"text": "a", "file": ""}, "file", ""),
        ({"text": "a", "file": "../outside"}, "outside", ""),
        ({"like": ""}, "'' is no item's id", "Give an id such as e812"),
        ({"like": "z5"}, "'z5' is no item's id", "Give an id such as e812"),
        ({"like": "e"}, "'e' is no item's id", "Give an id such as e812"),
        ({"like": "e" + "9" * 19}, "is no item's id", "Give an id such as e812"),
        ({"text": '"x', "syntax": "operators"}, "a quote is not closed, at character 1 of the query", "Natural"),
    ],
)
def test_what_is_wrong_is_said_with_a_way_out(
    story: Story, arguments: dict[str, Any], problem: str, remedy: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        story.page(**arguments)
    assert problem in refused.value.problem
    assert remedy in (refused.value.remedy or "")


def test_the_error_for_an_endless_id_is_short(story: Story) -> None:
    with pytest.raises(InvalidInput) as refused:
        story.page(like="x" * 65_000)
    assert len(refused.value.problem) < 200


@pytest.mark.parametrize(("arguments", "problem"), [({"like": "e999"}, "there is no e999"), ({"run_id": "r9"}, "r9")])
def test_what_is_not_there_is_not_found(story: Story, arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(NotFound, match=problem):
        story.page(None if "like" in arguments else "a", **arguments)


@in_one_test("text", ["?", "...", "🎒", "* ^ : -", "\ud800", "_", "\u200b", "'; --", "\0"])
@in_one_test("syntax", ["natural", "operators"])
def test_a_search_without_a_word_finds_nothing_and_says_so(story: Story, text: str, syntax: str) -> None:
    page = story.page(text, syntax=syntax)
    assert (page.results, page.total) == ((), 0)
    assert page.notes == (f"{text!r} holds no word to search for",)


@in_one_test(
    "text",
    [
        "x" * 65_000,
        "login " * 10_000,
        " ".join(f"word{number}" for number in range(7_000)),
        "the of and",
        "“" * 21_000,
    ],
)
def test_an_enormous_text_is_searched_like_any_other(story: Story, text: str) -> None:
    page = story.page(text)
    assert len(page.results) <= 20
    assert all(len(note) < 200 for note in page.notes)


def test_words_beyond_those_that_are_looked_for_are_said(story: Story) -> None:
    page = story.page("login " + " ".join(f"word{number}" for number in range(MAX_TERMS)))
    assert search.CUT in page.notes
    assert page.total


def test_a_text_of_more_than_64_kib_is_refused(story: Story) -> None:
    with pytest.raises(TooLarge, match=r"^the text to search for has .* the limit is 65,536"):
        story.page("aB" * 7_900_000)


@in_one_test(
    ("text", "keys"),
    [
        ("scope: p1", set()),
        ("p1 r1 k1", set()),
        ("text:", set()),
        ("parts: login", {"clock-skew", "expiry-asked"}),
        ("{text parts}: login", {"clock-skew", "expiry-asked"}),
        ("NEAR(login x)", {"clock-skew", "expiry-asked"}),
        ("login NOT sessions", {"clock-skew", "expiry-asked"}),
    ],
)
def test_no_text_reaches_the_scope_or_the_syntax_of_the_index(story: Story, text: str, keys: set[str]) -> None:
    results = story.page(text, limit=500).results
    assert {story.keys[one.ref] for one in results if not one.by_surroundings} == keys
