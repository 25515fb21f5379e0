"""Reading changes of files: every filter, order and page, and what means nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from keep.files.claims_shown import numbers
from satchel import InvalidInput, Satchel
from satchel.base.clock import iso
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock

# Each filter lets exactly one of two values of its field through, so that in the grid below, which holds every
# combination, a filter that is ignored doubles the result.
FILTERS: dict[str, Any] = {
    "file": "./src/a.py",
    "change": "created",
    "author": "ANN",
    "layer": "DATA",
    "query": "needle",
}
SIZES = (0, 1, 2, len(FILTERS) - 1, len(FILTERS))
SUBSETS = [set(chosen) for size in SIZES for chosen in itertools.combinations(FILTERS, size)]
"""Each alone, with each other, all but each, and all: conditions joined by AND have no more ways to hinder another."""


@pytest.fixture
def grid(satchel: Satchel) -> Satchel:
    """32 changes: each combination of two files, changes, agents, layers and words."""
    for file, change, agent, layer, word in itertools.product(
        ("src/a.py", "src/b.py"), ("created", "deleted"), ("Ann", "Bob"), ("data", "business"), ("needle", "hay")
    ):
        satchel.files.record(file, change, agent=agent, layer=layer, description=f"a {word} here")
    return satchel


@in_one_test("chosen", SUBSETS)
def test_every_filter_counts_alone_and_with_every_other(grid: Satchel, chosen: set[str]) -> None:
    page = grid.files.changes(**{name: FILTERS[name] for name in chosen}, limit=500)
    assert page.total == len(page.items) == 32 // 2 ** len(chosen)
    for change in page:
        assert "file" not in chosen or change.file == "src/a.py"
        assert "change" not in chosen or change.change == "created"
        assert "author" not in chosen or change.agent == "Ann"
        assert "layer" not in chosen or change.layer == "data"
        assert "query" not in chosen or "needle" in str(change.description)
        assert (change.score is not None) == ("query" in chosen)


@pytest.mark.parametrize("search", [None, "note"])
@pytest.mark.parametrize("folder", ["src/auth/", "src/auth/**", "./src/auth/"])
def test_a_folder_stands_for_everything_below_it_and_nothing_beside(
    satchel: Satchel, folder: str, search: str | None
) -> None:
    for file in (
        "src/auth/a.py",
        "src/auth/x/y/b.py",
        "src/auth.py",
        "src/auth2/c.py",
        "src/authz",
        "src/aut",
        "auth/d.py",
    ):
        satchel.files.record(file, "created", description="note")
    found = satchel.files.changes(file=folder, query=search, order="asc")
    assert [change.file for change in found] == ["src/auth/a.py", "src/auth/x/y/b.py"]
    assert satchel.files.changes(file=".", query=search).total == 7


def test_percent_and_underscore_in_a_folder_mean_themselves(satchel: Satchel) -> None:
    for file in ("a_b/x", "axb/x", "100%/x", "1000/x"):
        satchel.files.record(file, "created")
    assert [change.file for change in satchel.files.changes(file="a_b/")] == ["a_b/x"]
    assert [change.file for change in satchel.files.changes(file="100%/")] == ["100%/x"]


@pytest.mark.parametrize("search", [None, "note"])
def test_changes_since_a_time_include_that_very_moment(
    satchel: Satchel, clock: ManualClock, search: str | None
) -> None:
    for _ in range(3):
        satchel.files.record("a.py", "modified", description="note")
        clock.advance(60_000)
    middle = clock.now - 120_000
    for since in (middle, iso(middle), "2m"):
        assert satchel.files.changes(since=since, query=search).total == 2
    assert satchel.files.changes(since=middle + 1, query=search).total == 1


@pytest.mark.parametrize("search", [None, "note"])
def test_newest_first_even_when_the_clock_stands_still_or_goes_back(
    satchel: Satchel, clock: ManualClock, search: str | None
) -> None:
    made = []
    for step in (0, 0, -5, 10):
        clock.advance(step)
        made.append(satchel.files.record("a.py", "modified", description="note").id)
    newest_first = [made[3], made[1], made[0], made[2]]
    assert numbers(satchel.files.changes(order="desc", query=search)) == newest_first
    assert numbers(satchel.files.changes(order="asc", query=search)) == newest_first[::-1]
    if search is None:
        assert numbers(satchel.files.changes()) == newest_first


@pytest.mark.parametrize("search", [None, "note"])
def test_paging_covers_every_change_once(satchel: Satchel, search: str | None) -> None:
    for number in range(5):
        satchel.files.record("a.py", "modified", description="note " * (number + 1))
    seen: list[int] = []
    offset: int | None = 0
    while offset is not None:
        page = satchel.files.changes(limit=2, offset=offset, query=search)
        assert page.total == 5
        seen += numbers(page)
        offset = page.next_offset
    assert sorted(seen) == sorted(set(seen))
    assert len(seen) == 5


@pytest.mark.parametrize("search", [None, "note"])
def test_a_limit_of_0_gives_the_total_alone(satchel: Satchel, search: str | None) -> None:
    satchel.files.record("a.py", "modified", description="note")
    page = satchel.files.changes(limit=0, query=search)
    assert (page.items, page.total, page.limit) == ((), 1, 0)


def test_a_cursor_reads_what_came_after_it_and_loses_nothing(satchel: Satchel) -> None:
    cursor = satchel.files.changes().cursor
    made = [satchel.files.record(f"{number}.py", "created").id for number in range(5)]
    seen = []
    while page := satchel.files.changes(after_seq=cursor, limit=2):
        assert page.order == "seq"
        assert page.after_seq == cursor
        seen += numbers(page)
        cursor = page.cursor
    assert seen == made


@pytest.mark.parametrize(
    ("arguments", "order"),
    [({}, "newest"), ({"order": "asc"}, "oldest"), ({"query": "x"}, "relevance"), ({"after_seq": 0}, "seq")],
)
def test_a_page_says_how_it_is_ordered(satchel: Satchel, arguments: dict[str, Any], order: str) -> None:
    assert satchel.files.changes(**arguments).order == order
    satchel.files.record("a.py", "created")
    assert satchel.files.changes(**arguments).order == order


def test_the_best_match_comes_first_in_a_search_without_order(satchel: Satchel) -> None:
    best = satchel.files.record("session.py", "created", description="session session")
    satchel.files.record("b.py", "created", description="something longer about a session and other things")
    assert numbers(satchel.files.changes(query="session"))[0] == best.id


@pytest.mark.parametrize("word", ["src", "auth", "login", "form", "py", "authLogin", "login_form.py", "rotates"])
def test_a_change_is_found_by_the_parts_of_its_path_and_the_words_about_it(satchel: Satchel, word: str) -> None:
    kept = satchel.files.record("src/authLogin/login_form.py", "created", description="rotates the token")
    assert numbers(satchel.files.changes(query=word)) == [kept.id]
    found = satchel.finding.search(word).results
    assert [(one.ref, one.kind, one.type, one.file) for one in found] == [
        (kept.ref, "file_change", "created", "src/authLogin/login_form.py")
    ]


def test_a_search_without_a_word_says_so(satchel: Satchel) -> None:
    satchel.files.record("a.py", "created")
    page = satchel.files.changes(query="!?")
    assert (page.total, page.notes) == (0, ("'!?' holds no word to search for",))


@in_one_test(
    ("arguments", "problem"),
    [
        ({"file": "../x"}, "names no file"),
        ({"file": "src/*.py"}, "is a pattern"),
        ({"file": ""}, "file is empty"),
        ({"change": "delete"}, "Did you mean 'deleted'"),
        ({"author": ""}, "author is empty"),
        ({"layer": "dta"}, "Did you mean 'data'"),
        ({"layer": ""}, "layer is empty"),
        ({"since": "yesterday"}, "is not a time"),
        ({"after_seq": -1}, "after_seq -1 is out of range"),
        ({"after_seq": 1, "order": "asc"}, "after_seq reads changes in their order"),
        ({"after_seq": 1, "query": "x"}, "after_seq reads changes in their order"),
        ({"query": " "}, "query is empty"),
        ({"order": "up"}, "unknown order"),
        ({"limit": 501}, "limit 501 is out of range"),
        ({"limit": True}, "limit True is not a whole number"),
        ({"offset": -1}, "offset -1 is out of range"),
    ],
)
@pytest.mark.parametrize("is_empty", [True, False])
def test_a_filter_that_is_not_acceptable_is_refused(
    satchel: Satchel, arguments: dict[str, Any], problem: str, is_empty: bool
) -> None:
    if not is_empty:
        satchel.files.record("a.py", "created")
    with pytest.raises(InvalidInput) as refused:
        satchel.files.changes(**arguments)
    assert problem in str(refused.value)


def test_an_agent_that_nobody_is_makes_the_page_empty_and_is_said(satchel: Satchel) -> None:
    satchel.files.record("a.py", "created", agent="ann")
    page = satchel.files.changes(author="anna")
    assert (page.total, page.notes[0]) == (0, "nobody here is called 'anna'; authors here: ann")


@pytest.mark.no_store
def test_reading_before_the_first_write_makes_nothing(satchel: Satchel, project: Path) -> None:
    page = satchel.files.changes(layer="data", author="ann")
    assert (page.total, page.seq, page.notes) == (0, 0, ("nothing was written for this project yet",))
    assert not satchel.workplace.engine.exists()
    assert not (project / ".satchel").exists()


def test_another_project_in_the_store_sees_nothing_of_it(open_in: Callable[..., Satchel], project: Path) -> None:
    open_in(project, project="one").files.record("src/a.py", "created", agent="ann", description="note")
    other = open_in(project, project="two")
    other.files.record("src/a.py", "deleted", agent="ann", description="note")
    several: list[dict[str, Any]] = [{}, {"query": "note"}, {"file": "src/a.py"}, {"file": "src/"}, {"author": "ann"}]
    for filters in several:
        assert [change.change for change in other.files.changes(**filters)] == ["deleted"]
