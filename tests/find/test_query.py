from __future__ import annotations

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.find.query import MAX_TERMS, parse, words

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Where is the auth middleware?", ["auth", "middleware"]),
        ("foo-bar", ["foo", "bar"]),
        ("src/a.ts:42", ["src", "ts", "42"]),
        ("C++", ["c"]),
        ("parse_config", ["parse", "config"]),
        ('"half a quote', ["half", "quote"]),
        ("NEAR(x y, 2)", ["near", "x", "y", "2"]),
        ("auth Auth AUTH", ["auth"]),
        ("straße STRASSE", ["straße", "strasse"]),
        ("nai\u0308ve", ["nai\u0308ve"]),
    ],
)
def test_a_text_becomes_its_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_a_text_of_stop_words_alone_keeps_them() -> None:
    assert words("who are you?") == ["who", "are", "you"]


@pytest.mark.parametrize("text", ["", "?", "* ^ : -", "🎒🎒", "_", "\ud800", "\0"])
def test_a_text_without_a_letter_or_digit_has_nothing_to_look_for(text: str) -> None:
    assert parse(text).terms == ()


def test_the_number_of_terms_is_bounded() -> None:
    assert 1 <= len(parse(" ".join(f"w{number}" for number in range(10_000))).terms) <= MAX_TERMS


@settings(deadline=None, max_examples=200)
@given(ANY_TEXT)
def test_no_text_makes_an_expression_that_the_index_refuses(text: str) -> None:
    terms = parse(text).terms
    if not terms:
        return
    index = apsw.Connection(":memory:")
    index.execute('CREATE VIRTUAL TABLE t USING fts5 (text, tokenize = "porter unicode61 remove_diacritics 2")')
    expression = " OR ".join(term.match for term in terms)
    assert index.execute("SELECT count(*) FROM t WHERE t MATCH ?", (expression,)).get == 0
