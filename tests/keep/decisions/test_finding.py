"""Every filter of find, alone and with others."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from satchel import Decision, InvalidInput, Satchel
from satchel.base.clock import iso
from satchel.base.paging import KeptPage
from satchel.keep.decisions.records import NewDecision
from satchel.keep.decisions.service import Decisions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import ManualClock

START = 1_795_000_000_000


def keys(page: KeptPage[Decision]) -> list[str]:
    return [decision.key for decision in page]


FILTERS: dict[str, Any] = {
    "query": "needle",
    "status": "deprecated",
    "layer": "DATA",
    "tags": ["api"],
    "scopes": ["gateway"],
    "minimum": 5,
    "maximum": 5,
    "author": "ANN",
    "since": START + 1_000,
}
PASSES: dict[str, Callable[[Decision], bool]] = {
    "query": lambda one: "needle" in one.key,
    "status": lambda one: one.status == "deprecated",
    "layer": lambda one: one.layer == "data",
    "tags": lambda one: "api" in one.tags,
    "scopes": lambda one: "gateway" in one.scopes,
    "minimum": lambda one: not isinstance(one.value, str) and one.value >= 5,
    "maximum": lambda one: not isinstance(one.value, str) and one.value <= 5,
    "author": lambda one: one.agent == "Ann",
    "since": lambda one: one.updated_at >= START + 1_000,
}
SIZES = (0, 1, 2, len(FILTERS) - 1, len(FILTERS))
SUBSETS = [set(chosen) for size in SIZES for chosen in itertools.combinations(FILTERS, size)]
"""Each alone, with each other, all but each, and all: conditions joined by AND have no more ways to hinder another."""


@pytest.fixture
def grid(decisions: Decisions, clock: ManualClock) -> Decisions:
    """384 decisions: each combination of two words, states, layers, tags, scopes, agents, moments and three values."""
    number = 0
    for moment, agent in itertools.product((START, START + 1_000), ("Ann", "Bob")):
        clock.now = moment
        batch = []
        for word, status, layer, tags, scopes, value in itertools.product(
            ("needle", "hay"),
            ("active", "deprecated"),
            ("data", None),
            (("api", "api-gateway"), ("api-gateway",)),
            (("gateway", "gateway-two"), ("gateway-two",)),
            (1, 5, 10.5),
        ):
            number += 1
            batch.append(NewDecision(f"{word} {number}", value, tags=tags, scopes=scopes, layer=layer, status=status))
        decisions.set_many(batch, agent=agent)
    return decisions


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_filters_together_let_through_what_passes_all_of_them(grid: Decisions, order: str) -> None:
    everything = grid.find(order=order, limit=500).items
    assert len(everything) == 384
    for chosen in SUBSETS:
        page = grid.find(order=order, limit=500, **{name: FILTERS[name] for name in chosen})
        expected = [one.key for one in everything if all(PASSES[name](one) for name in chosen)]
        assert keys(page) == expected, chosen
        assert page.total == len(expected) > 0
        for name in chosen:
            others = [one for one in everything if all(PASSES[other](one) for other in chosen - {name})]
            assert len(expected) < len(others), f"{name} makes no difference in {chosen}"


@pytest.mark.parametrize("name", [name for name in FILTERS if name != "query"])
def test_a_cursor_goes_together_with_every_other_filter(grid: Decisions, name: str) -> None:
    everything = sorted(grid.find(limit=500), key=lambda one: one.seq)
    middle = everything[100].seq
    page = grid.find(after_seq=middle, limit=500, **{name: FILTERS[name]})
    assert keys(page) == [one.key for one in everything if one.seq > middle and PASSES[name](one)]
    assert 0 < page.total < 283


def test_decisions_of_every_status_are_found_where_none_is_asked_for(decisions: Decisions) -> None:
    for status in ("active", "deprecated", "draft"):
        decisions.set(status, 1, status=status)
    assert set(keys(decisions.find())) == {"active", "deprecated", "draft"}
    for status in ("active", "deprecated", "draft"):
        page = decisions.find(status=status)
        assert (keys(page), page.total) == ([status], 1)


@pytest.mark.parametrize(
    ("minimum", "maximum", "shown"),
    [
        (None, None, {"-2.5", "0", "5", "5.5", "text"}),
        (0, None, {"0", "5", "5.5"}),
        (0.0, 5, {"0", "5"}),
        (None, 0, {"-2.5", "0"}),
        (5.5, 5.5, {"5.5"}),
        (-3, -2, {"-2.5"}),
        (6, None, set()),
        (-1e308, 1e308, {"-2.5", "0", "5", "5.5"}),
        (-(10**300), 10**300, {"-2.5", "0", "5", "5.5"}),
    ],
)
@pytest.mark.parametrize("search", [None, "limit"])
def test_a_range_includes_its_ends_and_holds_no_texts(
    decisions: Decisions, minimum: float | None, maximum: float | None, shown: set[str], search: str | None
) -> None:
    for value in (-2.5, 0, 5, 5.5, "text"):
        decisions.set(f"limit {value}", value)
    page = decisions.find(minimum=minimum, maximum=maximum, query=search)
    assert ({key.split()[1] for key in keys(page)}, page.total) == (shown, len(shown))


@pytest.fixture
def tagged(decisions: Decisions) -> Decisions:
    for key, names in (
        ("none", ()),
        ("api", ("api",)),
        ("gateway", ("api-gateway",)),
        ("both", ("API", "security")),
        ("three", ("api", "security", "testing")),
        ("security", ("security",)),
    ):
        decisions.set(key, 1, tags=names, scopes=names)
    return decisions


@pytest.mark.parametrize(
    ("tags", "match", "shown"),
    [
        (["api"], "any", {"api", "both", "three"}),
        (["api"], "all", {"api", "both", "three"}),
        (["api", "security"], "any", {"api", "both", "three", "security"}),
        (["api", "security"], "all", {"both", "three"}),
        (["api", " API ", "security"], "all", {"both", "three"}),
        (["api", "api"], "all", {"api", "both", "three"}),
        (["api", "security", "testing"], "all", {"three"}),
        (["ap"], "any", set()),
        (["api,security"], "any", set()),
        (["%"], "any", set()),
        (["api", "unheard"], "any", {"api", "both", "three"}),
        (["api", "unheard"], "all", set()),
        (["testing", "api-gateway"], None, {"three", "gateway"}),
    ],
)
@pytest.mark.parametrize("search", [None, "none api gateway both three security"])
def test_tags_are_whole_names_and_any_or_all_of_them(
    tagged: Decisions, tags: list[str], match: str | None, shown: set[str], search: str | None
) -> None:
    given: dict[str, Any] = {} if match is None else {"match": match}
    page = tagged.find(tags=tags, query=search, **given)
    assert (set(keys(page)), page.total) == (shown, len(shown))


@pytest.mark.parametrize(
    ("scopes", "match", "shown"),
    [
        (["API"], "any", {"api", "both", "three"}),
        (["api", "security"], "any", {"api", "both", "three", "security"}),
        (["api", "security"], "all", {"both", "three"}),
        (["ap"], "any", set()),
        (["api", "unheard"], "any", {"api", "both", "three"}),
        (["api", "unheard"], "all", set()),
    ],
)
def test_scopes_are_whole_names_and_any_or_all_of_them(
    tagged: Decisions, scopes: list[str], match: str, shown: set[str]
) -> None:
    page = tagged.find(scopes=scopes, match=match)
    assert (set(keys(page)), page.total) == (shown, len(shown))


@pytest.mark.parametrize(
    ("tags", "match", "shown"),
    [
        (["auth"], "any", {"login", "owner"}),
        (["auth/login"], "any", {"login"}),
        (["auth", "web"], "all", {"login"}),
        (["auth", "web"], "any", {"login", "owner", "third"}),
        (["auth", "auth/login"], "all", {"login"}),
        (["authors", "authors/x"], "all", {"third"}),
        (["authors", "authors/x"], "any", {"third"}),
        (["aut"], "any", set()),
    ],
)
@pytest.mark.parametrize("search", [None, "login owner third"])
def test_a_tag_stands_for_those_below_it(
    decisions: Decisions, tags: list[str], match: str, shown: set[str], search: str | None
) -> None:
    for key, names in (("login", ("Auth/Login", "web")), ("owner", ("auth",)), ("third", ("web", "authors/x"))):
        decisions.set(key, 1, tags=names)
    page = decisions.find(tags=tags, match=match, query=search)
    assert (set(keys(page)), page.total) == (shown, len(shown))


def test_a_tag_that_a_decision_lost_no_longer_finds_it(tagged: Decisions) -> None:
    tagged.set("three", tags=["testing"], scopes=[])
    assert set(keys(tagged.find(tags=["api"]))) == {"api", "both"}
    assert set(keys(tagged.find(scopes=["api"]))) == {"api", "both"}
    assert keys(tagged.find(tags=["testing"])) == ["three"]


def test_a_decision_that_was_deprecated_is_found_under_its_tag_by_that_status(tagged: Decisions) -> None:
    tagged.set("both", status="deprecated")
    assert keys(tagged.find(tags=["api"], status="deprecated")) == ["both"]
    assert set(keys(tagged.find(tags=["api"], status="active"))) == {"api", "three"}
    assert keys(tagged.find(scopes=["security"], status="deprecated")) == ["both"]


def test_an_agent_is_the_one_who_set_it_last(decisions: Decisions) -> None:
    decisions.set("a", 1, agent="Ann")
    decisions.set("b", 1, agent="Ann")
    decisions.set("b", 2, agent="Bob")
    assert keys(decisions.find(author="ann")) == ["a"]
    assert keys(decisions.find(author="BOB")) == ["b"]


@pytest.mark.parametrize("as_text", [True, False])
@pytest.mark.parametrize("search", [None, "limit"])
def test_since_shows_what_was_set_or_changed_from_then_on(
    decisions: Decisions, clock: ManualClock, as_text: bool, search: str | None
) -> None:
    for key in ("limit a", "limit b"):
        decisions.set(key, 1)
    moment = clock.advance(1_000)
    decisions.set("limit b", 2)
    decisions.set("limit a", 1)
    decisions.set("limit c", 1)
    since = iso(moment) if as_text else moment
    page = decisions.find(since=since, query=search, order="asc")
    assert (keys(page), page.total) == (["limit b", "limit c"], 2)
    assert decisions.find(since=moment + 1, query=search).total == 0


def test_an_age_is_counted_from_now(decisions: Decisions, clock: ManualClock) -> None:
    decisions.set("old", 1)
    clock.advance(2 * 3_600_000)
    decisions.set("new", 1)
    assert keys(decisions.find(since="1h")) == ["new"]


@pytest.mark.parametrize(
    ("given", "note"),
    [
        ({"tags": ["securty"]}, "there is no tag 'securty'"),
        ({"scopes": ["nothing"]}, "there is no scope 'nothing'"),
        ({"author": "nobody"}, "nobody here is called 'nobody'; authors here: ann"),
        ({"author": "nobody", "query": "cache"}, "nobody here is called 'nobody'; authors here: ann"),
        ({"tags": ["api", "nothing"], "match": "all"}, "there is no tag 'nothing'"),
    ],
)
def test_a_name_that_nothing_has_makes_the_page_empty_and_is_said(
    decisions: Decisions, given: dict[str, Any], note: str
) -> None:
    decisions.set("cache", "redis", agent="ann", tags=["api"])
    page = decisions.find(**given)
    assert (page.total, page.items) == (0, ())
    assert page.notes[0].startswith(note)


def test_one_unknown_tag_of_several_is_said_beside_what_the_others_find(decisions: Decisions) -> None:
    decisions.set("cache", "redis", tags=["api"])
    page = decisions.find(tags=["api", "nothing"])
    assert keys(page) == ["cache"]
    assert page.notes[0].startswith("there is no tag 'nothing'")


BAD_FILTERS: list[tuple[dict[str, Any], str]] = [
    ({"status": "activ"}, "unknown status 'activ'. Did you mean 'active'.*Valid: active, deprecated, draft"),
    ({"status": ""}, "unknown status ''"),
    ({"layer": "buisness"}, "unknown layer 'buisness'. Did you mean 'business'"),
    ({"layer": ""}, "layer is empty"),
    ({"tags": []}, "tags is empty"),
    ({"tags": "api"}, "tags is no list"),
    ({"tags": [""]}, r"tags\[0\] is empty"),
    ({"tags": ["x" * 10_000]}, r"tags\[0\] has 10000 characters"),
    ({"scopes": []}, "scopes is empty"),
    ({"scopes": "gateway"}, "scopes is no list"),
    ({"match": "some"}, "unknown match 'some'. Valid: any, all"),
    ({"minimum": float("nan")}, "minimum nan is no number"),
    ({"minimum": True}, "minimum True is no number"),
    ({"minimum": "5"}, "minimum '5' is no number"),
    ({"maximum": float("inf")}, "maximum inf is no number"),
    ({"maximum": 10**400}, "maximum 1000.* is no number"),
    ({"minimum": 5, "maximum": 4}, "minimum 5 is above maximum 4"),
]


@pytest.mark.parametrize("is_empty", [True, False])
def test_a_filter_that_is_none_is_refused(decisions: Decisions, is_empty: bool) -> None:
    if not is_empty:
        decisions.set("cache", 1)
    for given, problem in BAD_FILTERS:
        with pytest.raises(InvalidInput, match=problem):
            decisions.find(**given)


@pytest.mark.no_store
def test_before_the_first_write_there_is_nothing_and_reading_makes_nothing(
    decisions: Decisions, satchel: Satchel, project: Path
) -> None:
    page = decisions.find(layer="data", tags=["api"], scopes=["gateway"], author="ann", query="cache")
    assert (page.items, page.total, page.seq) == ((), 0, 0)
    assert page.notes == ("nothing was written for this project yet",)
    assert not satchel.workplace.engine.exists()
    assert not (project / ".satchel").exists()


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_pages_by_two_tags_that_must_both_be_there_put_together_are_the_whole_list(
    decisions: Decisions, order: str
) -> None:
    for number in range(30):
        tags = [name for name, every in (("two", 2), ("three", 3), ("five", 5)) if number % every == 0]
        decisions.set(f"n {number}", number, tags=tags, status="draft" if number % 4 == 0 else "active")
    expected = sorted((number for number in range(30) if number % 6 == 0), reverse=order == "desc")
    pages = [
        decisions.find(tags=["two", "three"], match="all", order=order, limit=2, offset=offset)
        for offset in range(0, 6, 2)
    ]
    assert [one.value for page in pages for one in page] == expected
    assert {page.total for page in pages} == {5}
    drafts = decisions.find(tags=["two", "three"], match="all", status="draft")
    assert ({one.value for one in drafts}, drafts.total) == ({0, 12, 24}, 3)
    assert [one.value for one in decisions.find(tags=["two", "three", "five"], match="all")] == [0]
