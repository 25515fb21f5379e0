"""Delimiters that occur in nothing they delimit, and paths that stay on their line."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from satchel.consult.prompts import choose_mark, fenced, listed_name, quoted
from tables import in_one_test


def test_the_same_contents_give_the_same_mark() -> None:
    assert choose_mark([b"a", b"b"], ["x"]) == choose_mark([b"a", b"b"], ["y"])


def test_other_contents_give_another_mark() -> None:
    assert len({choose_mark(seeds, []) for seeds in ([], [b"a"], [b"b"], [b"a", b"b"])}) == 4


def test_a_mark_that_occurs_is_lengthened_until_it_does_not() -> None:
    mark = choose_mark([b"a"], [])
    longer = choose_mark([b"a"], [f"before {mark} after"])
    assert longer.startswith(mark)
    texts = [
        "nothing",
        f"{longer}0 {longer}1 {longer}2 {longer}3 {longer}4 {longer}5",
        f"{mark[:-1]} {longer}789",
        mark,
    ]
    longest = choose_mark([b"a"], [*texts, f"{longer}6"])
    assert longest.startswith(longer)
    assert not any(longest in text for text in texts)


@given(st.lists(st.text(alphabet="0123456789", max_size=300)))
def test_a_mark_occurs_in_no_text(texts: list[str]) -> None:
    mark = choose_mark([], [])
    hostile = [*texts, *(mark + text for text in texts)]
    assert not any(choose_mark([], hostile) in text for text in hostile)


def test_a_body_stands_between_two_lines_as_it_is() -> None:
    assert fenced("file", "123", "a\r\nb\n", path="a.py") == '<file-123 path="a.py">\na\r\nb\n</file-123>\n'


def test_a_body_without_a_newline_at_its_end_is_marked() -> None:
    assert fenced("file", "1", "a", path="x") == '<file-1 path="x" newline="none">\na\n</file-1>\n'
    assert fenced("file", "1", "a\r", path="x") == '<file-1 path="x" newline="none">\na\r\n</file-1>\n'
    assert fenced("file", "1", "", path="x") == '<file-1 path="x">\n</file-1>\n'
    assert fenced("file", "1", "\n", path="x") == '<file-1 path="x">\n\n</file-1>\n'


@given(st.text(alphabet=st.characters(), max_size=20))
def test_a_quoted_path_stays_on_its_line_and_reads_back(path: str) -> None:
    assert quoted(path).isprintable()
    assert json.loads(quoted(path)) == path


@in_one_test("path", ["a b", "a,b", "a:", '"a"', "<file>", "a\\b", "a\nb", "\udc80", "a\u202eb"])
def test_a_path_that_could_be_misread_in_a_list_is_quoted(path: str) -> None:
    assert listed_name(path) == quoted(path)


@in_one_test("path", ["src/a.py", "über/x-1_2.tsx", "(a)[b]@c+d~"])
def test_an_ordinary_path_is_not_quoted(path: str) -> None:
    assert listed_name(path) == path
