"""Front matter: what is written is read back, YAML reads it alike, and what is wrong is said with its line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.keep.shared.front_matter import BrokenText, Literal, read, write
from tables import in_one_test

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(st.dictionaries(st.from_regex("[a-z_]{1,8}", fullmatch=True), st.one_of(_TEXTS, st.lists(_TEXTS, max_size=4))))
def test_what_is_written_is_read_back(fields: dict[str, str | list[str]]) -> None:
    """Any texts and lists come back, whatever quotation marks, commas, brackets and controls they hold."""
    values, places, lines = read(f"{write(fields)}\nbelow")
    assert values == fields
    assert list(places.values()) == list(range(2, len(fields) + 2))
    assert lines == len(fields) + 2


@in_one_test("text", ["true", "No", "null", "12", "1e5", "a: b", "a #b", "- a", "&a", "*a", "!t", "é", ""])
def test_what_yaml_would_take_for_something_else_is_quoted(text: str) -> None:
    """A text that YAML has another meaning for stands in JSON's quotation marks, which YAML reads as text."""
    assert write({"name": text}) == f"---\nname: {json.dumps(text, ensure_ascii=False)}\n---\n"


def test_numbers_times_and_flags_stand_as_they_are() -> None:
    """What is no text has no quotation marks, so that a viewer shows it as what it is."""
    assert write({"line": Literal("12"), "words": "two words"}) == "---\nline: 12\nwords: two words\n---\n"


def test_what_a_person_writes_is_read() -> None:
    """Single quotation marks, spaces, empty lines and comments of their own are understood."""
    text = "---\n\n# by hand\nkey:  'it''s'  \ntags: [ a b , 'c', \"d\" ]\nnone: []\n---\n"
    assert read(text)[0] == {"key": "it's", "tags": ["a b", "c", "d"], "none": []}


@in_one_test(
    ("text", "line", "problem"),
    [
        ("key: a\n", 1, "the first line is not ---"),
        ("---\nkey: a\n", 3, "has no end"),
        ("---\nkey\n---\n", 2, "not of the form name: value"),
        ("---\nkey:a\n---\n", 2, "not of the form name: value"),
        ("---\n  key: a\n---\n", 2, "not of the form name: value"),
        ("---\nkey: a\nkey: b\n---\n", 3, "occurs twice"),
        ('---\nkey: "a\n---\n', 2, "no text in quotation marks"),
        ("---\nkey: 'a'b'\n---\n", 2, "no text in quotation marks"),
        ("---\na: b\ntags: [a\n---\n", 3, "has no end on its line"),
        ("---\ntags: [a, [b]]\n---\n", 2, "not an item of a list"),
        ("---\nkey: |\n---\n", 2, "needs quotation marks"),
        ("---\nkey: &a b\n---\n", 2, "needs quotation marks"),
        ("---\nkey: {a: b}\n---\n", 2, "needs quotation marks"),
        ("---\nkey: a: b\n---\n", 2, "needs quotation marks"),
        ("---\nkey:\n---\n", 2, "not of the form name: value"),
    ],
)
def test_what_is_not_understood_is_said_with_its_line(text: str, line: int, problem: str) -> None:
    """Nothing is guessed: an error names the line."""
    with pytest.raises(BrokenText) as error:
        read(text)
    assert error.value.line == line
    assert problem in error.value.problem
