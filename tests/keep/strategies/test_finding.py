"""Which strategies a list shows, and in which order."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from satchel import InvalidInput, Satchel, StoreDamaged, Strategy
from satchel.base.clock import iso
from satchel.base.paging import KeptPage
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock


def insights(page: KeptPage[Strategy]) -> list[str]:
    return [strategy.insight for strategy in page]


# Each filter lets exactly one of two values through, so that in the grid, which holds every combination, one that is
# ignored doubles the result.
FILTERS: dict[str, Any] = {
    "query": "needle",
    "topic": "Offline  Sync",
    "lang": "Python",
    "framework": "DJANGO",
    "author": "ANN",
}
SIZES = (0, 1, 2, len(FILTERS) - 1, len(FILTERS))
SUBSETS = [set(chosen) for size in SIZES for chosen in itertools.combinations(FILTERS, size)]
"""Each alone, with each other, all but each, and all: conditions joined by AND have no more ways to hinder another."""


@pytest.fixture
def grid(satchel: Satchel) -> Satchel:
    """32 strategies: each combination of two words, topics, languages, frameworks and agents."""
    for word, topic, lang, framework, agent in itertools.product(
        ("a needle", "hay"), ("offline-sync", "caching"), ("python", "go"), ("django", "gin"), ("Ann", "Bob")
    ):
        satchel.strategies.save(topic, word, lang=lang, framework=framework, agent=agent)
    return satchel


def passes(strategy: Strategy, chosen: set[str]) -> bool:
    tests = {
        "query": "needle" in strategy.insight,
        "topic": strategy.topic == "offline-sync",
        "lang": strategy.lang == "python",
        "framework": strategy.framework == "django",
        "author": strategy.agent == "Ann",
    }
    return all(tests[name] for name in chosen)


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_filters_together_let_through_what_passes_all_of_them(grid: Satchel, order: str) -> None:
    everything = grid.strategies.find(order=order, limit=500)
    assert everything.total == 32
    for chosen in SUBSETS:
        page = grid.strategies.find(**{name: FILTERS[name] for name in chosen}, order=order, limit=500)
        expected = [one.id for one in everything if passes(one, chosen)]
        assert ([one.id for one in page], page.total) == (expected, len(expected))


@pytest.mark.parametrize("search", [None, "strategy"])
@pytest.mark.parametrize("field", ["lang", "framework"])
def test_a_strategy_without_a_language_or_framework_is_for_all(
    satchel: Satchel, field: str, search: str | None
) -> None:
    for value in ("one", "another", None):
        satchel.strategies.save("x", f"strategy for {value}", **{field: value})
    asked: dict[str, Any] = {"query": search, field: "ONE"}
    page = satchel.strategies.find(**asked)
    assert (set(insights(page)), page.total) == ({"strategy for one", "strategy for None"}, 2)
    assert insights(satchel.strategies.find(**{**asked, field: "unheard"})) == ["strategy for None"]
    assert satchel.strategies.find(query=search).total == 3


def test_what_helped_most_comes_first(satchel: Satchel, clock: ManualClock) -> None:
    plain, mixed, best, worst = (satchel.strategies.save("x", name) for name in ("plain", "mixed", "best", "worst"))
    for one, outcomes in ((mixed, (True, True, False)), (best, (True, True)), (worst, (False,))):
        for helped in outcomes:
            satchel.strategies.outcome(one.ref, helped)
    clock.advance(1)
    satchel.strategies.save("x", "newest")
    page = satchel.strategies.find()
    assert (insights(page), page.order) == (["best", "mixed", "newest", "plain", "worst"], "most helpful")
    assert plain.ref == page.items[3].ref


def test_an_order_asked_for_is_by_time_then_number(satchel: Satchel, clock: ManualClock) -> None:
    for name in "ab":
        satchel.strategies.save("x", name)
    clock.advance(-5_000)
    satchel.strategies.outcome(satchel.strategies.save("x", "earlier").ref, True)
    assert insights(satchel.strategies.find(order="asc")) == ["earlier", "a", "b"]
    assert insights(satchel.strategies.find(order="desc")) == ["b", "a", "earlier"]


def test_a_search_shows_the_best_match_first_with_its_score(satchel: Satchel) -> None:
    satchel.strategies.save("gateway", "the gateway is asked first")
    long = satchel.strategies.save(
        "y", "of very many words exactly one is gateway and all the others are something else"
    )
    satchel.strategies.outcome(long.ref, True)
    satchel.strategies.save("z", "nothing of the kind")
    page = satchel.strategies.find(query="gateway")
    assert ([one.topic for one in page], page.order, page.total) == (["gateway", "y"], "relevance", 2)
    first, second = (one.score for one in page)
    assert first is not None
    assert second is not None
    assert first > second > 0
    assert satchel.strategies.find(query="gateway", limit=1, offset=1).items == page.items[1:]
    assert satchel.strategies.find(query="gateway", limit=0).total == 2


def test_a_search_without_a_usable_word_says_so(satchel: Satchel) -> None:
    satchel.strategies.save("x", "y")
    page = satchel.strategies.find(query="?!")
    assert (page.total, page.notes) == (0, ("'?!' holds no word to search for",))


@pytest.mark.parametrize("search", [None, "x"])
@pytest.mark.parametrize(
    ("given", "note"),
    [
        ({"topic": "Cachin"}, "there is no topic 'cachin' yet; did you mean 'caching'?"),
        ({"topic": "quite other"}, "there is no topic 'quite-other' yet"),
        ({"author": "nobody"}, "nobody here is called 'nobody'; authors here: ann"),
    ],
)
def test_a_name_that_nothing_has_makes_the_page_empty_and_is_said(
    satchel: Satchel, given: dict[str, Any], note: str, search: str | None
) -> None:
    satchel.strategies.save("caching", "x", agent="ann")
    page = satchel.strategies.find(**given, query=search)
    assert (page.total, page.items, page.notes[0]) == (0, (), note)


@pytest.mark.parametrize("as_text", [True, False])
@pytest.mark.parametrize("search", [None, "approach"])
def test_since_shows_what_was_saved_or_tried_from_then_on(
    satchel: Satchel, clock: ManualClock, as_text: bool, search: str | None
) -> None:
    satchel.strategies.save("x", "approach a")
    tried = satchel.strategies.save("x", "approach b")
    moment = clock.advance(1_000)
    satchel.strategies.outcome(tried.ref, False)
    satchel.strategies.save("x", "approach c")
    page = satchel.strategies.find(since=iso(moment) if as_text else moment, order="asc", query=search)
    assert insights(page) == ["approach b", "approach c"]
    assert satchel.strategies.find(since=moment + 1, query=search).total == 0


def test_changes_after_a_cursor_come_in_their_order_without_a_gap(satchel: Satchel, clock: ManualClock) -> None:
    first = satchel.strategies.save("x", "a")
    cursor = satchel.strategies.find().cursor
    clock.advance(-10_000)  # a clock that went back changes nothing
    for name in "bc":
        satchel.strategies.save("x", name)
    satchel.strategies.outcome(first.ref, True)
    page = satchel.strategies.find(after_seq=cursor, limit=2)
    assert (insights(page), page.order, page.total, page.after_seq) == (["b", "c"], "seq", 3, cursor)
    rest = satchel.strategies.find(after_seq=page.cursor, limit=2)
    assert insights(rest) == ["a"]
    assert satchel.strategies.find(after_seq=rest.cursor).total == 0


def test_a_page_knows_its_total_and_what_comes_next(satchel: Satchel) -> None:
    for number in range(5):
        satchel.strategies.save("x", str(number))
    page = satchel.strategies.find(limit=2, offset=2)
    assert (insights(page), page.total, page.offset, page.limit, page.next_offset) == (["2", "1"], 5, 2, 2, 4)
    total = satchel.strategies.find(limit=0)
    assert (total.items, total.total) == ((), 5)


def test_twenty_are_shown_where_no_limit_is_given(satchel: Satchel) -> None:
    for number in range(21):
        satchel.strategies.save("x", str(number))
    assert len(satchel.strategies.find()) == 20


@in_one_test(
    ("given", "problem"),
    [
        ({"limit": -1}, "limit -1 is out of range"),
        ({"limit": 501}, "limit 501 is out of range"),
        ({"offset": 1.5}, "offset 1.5 is not a whole number"),
        ({"query": " "}, "query is empty"),
        ({"topic": ""}, "topic is empty"),
        ({"topic": "--"}, "topic '--' contains no word"),
        ({"lang": ""}, "lang is empty"),
        ({"framework": " "}, "framework is empty"),
        ({"author": ""}, "author is empty"),
        ({"since": "yesterday"}, "since 'yesterday' is not a time"),
        ({"after_seq": -1}, "after_seq -1 is out of range"),
        ({"after_seq": 1, "order": "asc"}, "after_seq reads changes in their order"),
        ({"order": "best"}, "unknown order 'best'. Valid: desc, asc"),
    ],
)
@pytest.mark.parametrize("is_empty", [True, False])
def test_a_filter_that_is_none_is_refused(
    satchel: Satchel, given: dict[str, Any], problem: str, is_empty: bool
) -> None:
    if not is_empty:
        satchel.strategies.save("x", "y")
    with pytest.raises(InvalidInput, match=problem):
        satchel.strategies.find(**given)


@pytest.mark.no_store
def test_before_the_first_write_there_is_nothing_and_reading_makes_nothing(satchel: Satchel, project: Path) -> None:
    page = satchel.strategies.find(topic="x", lang="go", author="ann", after_seq=0)
    assert (page.items, page.total, page.seq, page.after_seq) == ((), 0, 0, 0)
    assert page.notes == ("nothing was written for this project yet",)
    assert not satchel.workplace.engine.exists()
    assert not (project / ".satchel").exists()


def test_projects_are_apart(open_in: Callable[..., Satchel], project: Path) -> None:
    one, other = open_in(project, project="one"), open_in(project, project="other")
    for satchel, word in ((one, "alpha"), (other, "omega")):
        satchel.strategies.save("shared", word, lang="go", framework="gin", agent="ann")
    filters: list[dict[str, Any]] = [
        {},
        {"topic": "shared"},
        {"lang": "go"},
        {"framework": "gin"},
        {"author": "ann"},
        {"query": "alpha omega"},
    ]
    for given in filters:
        assert insights(one.strategies.find(**given)) == ["alpha"]
        assert insights(other.strategies.find(**given)) == ["omega"]


def test_an_index_that_names_what_is_gone_is_damage(satchel: Satchel) -> None:
    satchel.strategies.save("x", "gateway")
    with satchel.workplace.engine.write() as transaction:
        transaction.run("DELETE FROM strategies")
    with pytest.raises(StoreDamaged, match="satchel doctor --rebuild"):
        satchel.strategies.find(query="gateway")
