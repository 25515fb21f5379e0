"""Files of entries: folders, and lines behind a file, where entries are written and where they are read."""

from __future__ import annotations

import pytest

from satchel import InvalidInput, Satchel


@pytest.fixture
def noted(satchel: Satchel) -> Satchel:
    """A Satchel with a note on a line, one on a file beside it, one on another folder, one on none."""
    satchel.entries.write("discovery", "the token is read here", file="src/auth/token.py:12")
    satchel.entries.write("discovery", "the token is made here", file="src/auth/make.py")
    satchel.entries.write("discovery", "a folder of another token", file="src/authors.py")
    satchel.entries.write("discovery", "the token is nowhere")
    return satchel


def test_a_line_behind_the_file_is_kept_as_the_line(noted: Satchel) -> None:
    entry = noted.entries.read(task_id=None, order="asc").entries[0]
    assert (entry.file, entry.line) == ("src/auth/token.py", 12)


def test_lines_behind_the_file_are_kept_from_the_first_to_the_last(satchel: Satchel) -> None:
    entry = satchel.entries.write("discovery", "x", file="a.py:12-20")
    assert (entry.file, entry.line, entry.last_line) == ("a.py", 12, 20)
    assert (satchel.entries.read(file="a.py:12-20").total, satchel.entries.read(file="a.py").total) == (1, 1)


@pytest.mark.parametrize(("file", "last"), [("a.py:12-12", None), ("a.py:12:3", None)])
def test_one_line_has_no_last(satchel: Satchel, file: str, last: int | None) -> None:
    entry = satchel.entries.write("discovery", "x", file=file)
    assert (entry.line, entry.last_line) == (12, last)


def test_lines_that_end_before_they_begin_are_refused(satchel: Satchel) -> None:
    with pytest.raises(InvalidInput, match=r"ends before it begins.*a\.py:12-20"):
        satchel.entries.write("discovery", "x", file="a.py:20-12")


def test_a_line_given_beside_it_wins(satchel: Satchel) -> None:
    entry = satchel.entries.write("discovery", "x", file="a.py:12", line=7)
    assert (entry.file, entry.line) == ("a.py", 7)


@pytest.mark.parametrize(
    ("file", "found"),
    [
        ("src/auth/token.py:12", {"e1"}),
        ("src/auth/token.py:99", {"e1"}),
        ("src/auth/", {"e1", "e2"}),
        ("src/auth/**", {"e1", "e2"}),
        ("src/", {"e1", "e2", "e3"}),
        ("src/auth", set()),
    ],
)
def test_lists_and_searches_take_places_and_folders(noted: Satchel, file: str, found: set[str]) -> None:
    assert {entry.ref for entry in noted.entries.read(file=file)} == found
    assert {entry.ref for entry in noted.entries.read(file=file, query="token")} == found
    assert {one.ref for one in noted.finding.search("token", file=file).results} == found


def test_a_place_that_leads_out_of_the_project_is_refused(satchel: Satchel) -> None:
    with pytest.raises(InvalidInput):
        satchel.entries.write("discovery", "x", file="../other.py:3")


def test_a_search_says_what_its_filters_hide(noted: Satchel) -> None:
    page = noted.finding.search("token", file="lib/", author=None)
    assert page.notes == ("no match for file=lib/** (4 without that filter)",)
