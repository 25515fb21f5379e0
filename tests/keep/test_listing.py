"""What every list has in common, asked of each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, get_type_hints

import pytest

from conftest import opened_once
from satchel import Satchel
from satchel.base import paging
from satchel.base.errors import InvalidInput, TooLarge
from satchel.base.paging import KeptPage
from satchel.find import scopes, search
from satchel.keep import constraints, listing, strategies
from satchel.keep.common_filters import ListFilters
from satchel.keep.decisions import kind as decisions
from satchel.keep.entries import kind as entries
from satchel.keep.files import kind as files
from satchel.keep.messages import queries as messages
from satchel.keep.packages import service as packages
from satchel.keep.patterns import kind as patterns
from tables import in_one_test

Find = Callable[..., KeptPage[Any]]

LISTS: dict[str, Callable[[Satchel], Find]] = {
    "constraints": lambda satchel: satchel.constraints.find,
    "decisions": lambda satchel: satchel.decisions.find,
    "entries": lambda satchel: satchel.entries.read,
    "errors": lambda satchel: satchel.patterns.find,
    "file changes": lambda satchel: satchel.files.changes,
    "messages": lambda satchel: lambda **given: satchel.messages.inbox(agent="reader", **given),
    "packages": lambda satchel: satchel.packages.find,
    "strategies": lambda satchel: satchel.strategies.find,
}
BY_AUTHOR = {kind: "sender" if kind == "messages" else "author" for kind in LISTS if kind != "errors"}
DECLARED = (
    (constraints.LISTING, constraints.ConstraintFilters),
    (decisions.LISTING, decisions.DecisionFilters),
    (entries.LISTING, entries.EntryFilters),
    (files.LISTING, files.ChangeFilters),
    (messages.LISTING, messages.MessageFilters),
    (packages.LISTING, packages.PackageFilters),
    (patterns.LISTING, patterns.ErrorFilters),
    (strategies.LISTING, strategies.StrategyFilters),
)


def fill(satchel: Satchel, number: int, **given: Any) -> None:
    """Keep one thing of every kind."""
    words = f"needle {number} common words"
    agent = given.get("agent", "ann")
    satchel.constraints.add(words, agent=agent)
    satchel.decisions.set(f"key{number}", words, agent=agent)
    satchel.entries.write("discovery", words, agent=agent)
    satchel.patterns.report("ValueError" if agent == "ann" else "OldError", f"{words} of {'x' * number}")
    satchel.files.record(f"src/{number}.py", "modified", description=words, agent=agent)
    satchel.messages.send(words, agent=agent)
    satchel.packages.save(words, content=words, agent=agent)
    satchel.strategies.save(f"topic {number}", words, agent=agent)


@pytest.fixture(scope="module")
def kept(request: pytest.FixtureRequest) -> Iterator[Satchel]:
    """One thing of every kind by old, then ten more of every kind by ann, and another run; it is only read."""
    with opened_once(request) as satchel:
        fill(satchel, 0, agent="old")
        for number in range(1, 11):
            fill(satchel, number)
        satchel.runs.start("other")
        yield satchel


@in_one_test("kind", LISTS)
def test_a_filter_acts_before_the_ranking_cuts_its_candidates(
    kept: Satchel, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scopes, "SMALL", 4)
    monkeypatch.setattr(search, "CANDIDATES", 4)
    narrowed = {"error_type": "OldError", "status": "all"} if kind == "errors" else {BY_AUTHOR[kind]: "old"}
    page = LISTS[kind](kept)(query="needle common", **narrowed)
    assert (page.total, len(page)) == (1, 1)


@in_one_test("kind", BY_AUTHOR)
@in_one_test("query", [None, "needle"])
def test_of_an_unknown_author_it_is_said_who_has_written(kept: Satchel, kind: str, query: str | None) -> None:
    page = LISTS[kind](kept)(**{BY_AUTHOR[kind]: "anna"}, query=query)
    said = "nobody here is called 'anna'; authors here: ann, old"
    shown = "from" if kind == "messages" else "author"
    total = LISTS[kind](kept)(query=query, limit=0).total
    assert (page.total, page.notes) == (
        0,
        (said, f"no match for {shown}=anna ({total} without that filter)"),
    )


def test_an_empty_list_says_which_filters_hide_how_many(kept: Satchel) -> None:
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"task_id": "T9"}, "no match for task_id=T9 ({} without that filter)"),
        ({"task_id": "T9", "since": "1h"}, "no match for task_id=T9, since=1h ({} without those filters)"),
        ({"run_id": "other"}, "no match for run_id=other ({} without that filter)"),
    )
    for given, told in cases:
        assert kept.entries.read(**given).notes == (told.format(kept.entries.read(limit=0).total),)


def test_many_are_counted_no_further_than_is_said_and_read_to_the_end(
    satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "COUNTED", 2)
    for number in range(6):
        satchel.entries.write("discovery", f"note {number}")
    pages = [satchel.entries.read(limit=2, offset=offset) for offset in (0, 2, 4)]
    assert [(page.total, page.next_offset) for page in pages] == [(3, 2), (5, 4), (6, None)]
    assert satchel.entries.read(limit=0).total == 6


def test_an_empty_list_that_no_filter_has_made_names_no_filter(kept: Satchel) -> None:
    assert kept.entries.read(query="nowhere").notes == ("nothing contains nowhere",)
    assert kept.entries.read(query="nowhere", task_id="T9").notes == ("nothing contains nowhere",)
    assert kept.entries.read(after_seq=10**6, task_id="T9").notes == ()


BAD_FILTERS: list[tuple[dict[str, Any], str]] = [
    ({"order": "newest"}, "unknown order 'newest'. Valid: desc, asc"),
    ({"query": " "}, "query is empty"),
    ({"after_seq": -1}, "after_seq -1 is out of range"),
    ({"after_seq": 1.0}, "after_seq 1.0 is not a whole number"),
    ({"after_seq": 1, "order": "asc"}, "after_seq reads changes in their order"),
    ({"after_seq": 1, "query": "x"}, "after_seq reads changes in their order"),
    ({"limit": -1}, "limit -1 is out of range"),
    ({"limit": 501}, "limit 501 is out of range"),
    ({"limit": 2.5}, "limit 2.5 is not a whole number"),
    ({"offset": -1}, "offset -1 is out of range"),
    ({"since": "soon"}, "since 'soon' is not a time"),
    ({"since": -1}, "since -1 is out of range"),
]


@pytest.mark.parametrize("is_empty", [True, False])
@in_one_test("kind", LISTS)
def test_what_contradicts_or_is_out_of_range_is_refused(satchel: Satchel, kind: str, is_empty: bool) -> None:
    if not is_empty:
        satchel.entries.write("discovery", "x")
    for given, problem in BAD_FILTERS:
        with pytest.raises(InvalidInput, match=problem):
            LISTS[kind](satchel)(**given)


@in_one_test("kind", BY_AUTHOR)
def test_an_empty_author_is_refused(satchel: Satchel, kind: str) -> None:
    with pytest.raises(InvalidInput, match="is empty"):
        LISTS[kind](satchel)(**{BY_AUTHOR[kind]: ""})


@in_one_test("kind", LISTS)
def test_a_query_of_more_than_64_kib_is_refused(satchel: Satchel, kind: str) -> None:
    with pytest.raises(TooLarge, match=r"^the text to search for has 65,537 bytes"):
        LISTS[kind](satchel)(query="x" * 65_537)


@in_one_test("kind", LISTS)
def test_a_filter_that_a_kind_does_not_have_is_a_mistake_of_the_caller(satchel: Satchel, kind: str) -> None:
    with pytest.raises(TypeError, match="takes no colour"):
        LISTS[kind](satchel)(colour="red")


@in_one_test(("declared", "typed"), DECLARED)
def test_what_is_declared_of_a_kind_is_what_its_list_takes(declared: listing.Listing[Any], typed: type) -> None:
    common = listing.RunFilters if declared.in_run else ListFilters
    assert get_type_hints(typed).keys() - get_type_hints(common).keys() == {one.name for one in declared.filters}
