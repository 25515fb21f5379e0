from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples import examples
from satchel.find.query import parse
from satchel.find.snippets import Snipper, Snippet
from tables import in_one_test

Cut = Callable[..., Snippet]


@pytest.fixture
def cut() -> Cut:
    """Cut a snippet from a text for a query; every term is equally rare unless told."""

    def one(query: str, text: str, syntax: str = "natural", idf: float | tuple[float, ...] = 1.0) -> Snippet:
        terms = parse(query, syntax).terms
        return Snipper(terms, idf if isinstance(idf, tuple) else (idf,) * len(terms)).cut(text)

    return one


def marked(snippet: Snippet) -> list[str]:
    return [snippet.text[start:end] for start, end in snippet.marks]


@in_one_test(
    ("query", "text", "matched"),
    [
        ("token", "the Token and the tokens", ["Token", "tokens"]),
        ("configuration", "we configure it", ["configure"]),
        ("cafe", "the Café is open", ["Café"]),
        ("config", "call parseConfig here", ["parseConfig"]),
        ("configuring", "call parseConfiguration here", ["parseConfiguration"]),
        ("parseConfig", "call parse_config here", ["parse", "config"]),
        ("parseconfig", "call parse_config here", ["parse", "config"]),
        ("maxtermcount", "so MAX_TERM_COUNT, not TERM_COUNT", ["MAX", "TERM", "COUNT"]),
        ("parse_config", "call parseConfig here", ["parseConfig"]),
        ("8", "utf8 it is", ["utf8"]),
        ("漢字", "この漢字は難しい", ["漢字"]),
        ("字", "この漢字は難しい", ["字"]),
        ("全文検索", "速い全文検索と、検索だけ", ["全文検索", "検索"]),
        ("API", "検索APIを使う", ["API"]),
        ("検索", "検索APIを使う", ["検索"]),
        ("C", "the C++ extension", ["C"]),
        ("Straße", "die STRASSE, die Straße", ["Straße"]),
        ("naïve", "a nai\u0308ve way", ["nai\u0308ve"]),
        ("nothing", "of the kind", []),
    ],
)
def test_what_matched_is_marked(cut: Cut, query: str, text: str, matched: list[str]) -> None:
    snippet = cut(query, text)
    assert marked(snippet) == matched
    assert snippet.text == text


@in_one_test(
    ("query", "text", "matched"),
    [
        ("conf*", "the config of confetti and a con", ["config", "confetti"]),
        ("conf*", "call parseConfig", ["parseConfig"]),
        ("configuring*", "it was configured", ["configured"]),
        ("auth -token", "auth without a token", ["auth"]),
        ("auth -tok*", "auth without a token", ["auth"]),
    ],
)
def test_operators_mark_prefixes_and_never_what_is_excluded(
    cut: Cut, query: str, text: str, matched: list[str]
) -> None:
    assert marked(cut(query, text, "operators")) == matched


def test_a_short_text_is_shown_whole_without_an_ellipsis(cut: Cut) -> None:
    assert cut("two", "one two three").text == "one two three"


def test_a_long_text_is_cut_around_the_match_with_ellipses(cut: Cut) -> None:
    snippet = cut("needle", "hay " * 500 + "the needle here " + "straw " * 500)
    assert marked(snippet) == ["needle"]
    assert snippet.text.startswith("…hay")
    assert snippet.text.endswith("straw…")
    assert len(snippet.text) < 250


@in_one_test("place", [39_990, 40_000, 60_000, 250_000])
def test_the_first_match_is_shown_however_deep_in_a_text_it_is(cut: Cut, place: int) -> None:
    snippet = cut("needle", "hay " * (place // 4) + "needle in here " + "hay " * 20_000)
    assert marked(snippet) == ["needle"]
    assert snippet.text.startswith("…")
    assert snippet.text.endswith("…")


def test_a_text_without_a_match_shows_its_beginning(cut: Cut) -> None:
    snippet = cut("needle", "first words " + "hay " * 30_000)
    assert (snippet.marks, snippet.text[:11]) == ((), "first words")
    assert snippet.text.endswith("…")


def test_the_window_with_the_most_different_terms_is_shown(cut: Cut) -> None:
    text = "alpha alpha alpha " + "hay " * 100 + "alpha beside beta " + "hay " * 100
    assert set(marked(cut("alpha beta", text))) == {"alpha", "beta"}


def test_the_rarer_term_decides_which_window_is_shown(cut: Cut) -> None:
    text = "common " + "hay " * 100 + "rare " + "hay " * 100
    assert marked(cut("common rare", text, idf=(1.0, 5.0))) == ["rare"]
    assert marked(cut("common rare", text, idf=(5.0, 1.0))) == ["common"]


def test_of_equal_windows_the_first_is_shown(cut: Cut) -> None:
    assert cut("needle", "needle first " + "hay " * 100 + "needle last").text.startswith("needle first")


def test_everything_is_on_one_line(cut: Cut) -> None:
    snippet = cut("two", "one\n\ttwo\nthree\u2028four\u2029five")
    assert snippet.text == "one  two three four five"
    assert marked(snippet) == ["two"]


@in_one_test("text", ["x" * 100_000, "needle" * 20_000, "漢" * 50_000, "🎒" * 50_000, "é" * 50_000])
def test_one_endless_word_is_cut_to_a_readable_length(cut: Cut, text: str) -> None:
    snippet = cut("needle 漢", text)
    assert 0 < len(snippet.text) <= 402
    assert snippet.text.endswith("…")


def test_a_text_full_of_matches_is_cut_in_steps_in_proportion_to_its_length(cut: Cut) -> None:
    # comparing every match with every other would take minutes: the suite's limit on a test's time would end it
    snippet = cut("needle", "needle " * 40_000)
    assert marked(snippet)[0] == "needle"


@settings(deadline=None, max_examples=examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text("aB2_.-\n\0", min_size=1, max_size=6), min_size=20, max_size=60).map(" ".join))
def test_a_text_of_ascii_begins_as_any_other(cut: Cut, text: str) -> None:
    # a text of other scripts, and a query without a match, are cut by the words of the index
    alone, beside = cut("", text), cut("needle", text)
    assert (alone.text, alone.marks) == (beside.text, beside.marks)


@settings(deadline=None, max_examples=examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(st.sampled_from("aB2_ .\n漢字かé\u0308🎒-"), max_size=200), st.sampled_from(["a", "aB", "漢字", "b a_b 字"])
)
def test_marks_are_in_order_inside_the_snippet_and_never_overlap(cut: Cut, text: str, query: str) -> None:
    snippet = cut(query, text)
    places = [place for mark in snippet.marks for place in mark]
    assert places == sorted(places)
    assert all(start < end for start, end in snippet.marks)
    assert not places or places[-1] <= len(snippet.text)
    assert "\n" not in snippet.text
    plain = snippet.text.strip("…")
    assert plain in text.replace("\n", " ")
