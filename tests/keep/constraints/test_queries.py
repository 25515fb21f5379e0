from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from satchel import Constraint, InvalidInput, Satchel, StoreDamaged
from satchel.base.clock import iso
from satchel.base.paging import KeptPage
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock


def say_nothing(done: int, total: int) -> None:
    """Nobody watches the progress."""


def texts(page: KeptPage[Constraint]) -> list[str]:
    return [constraint.text for constraint in page]


# Each filter lets exactly one of two values through, so that in the grid, which holds every combination, one that is
# ignored doubles the result.
FILTERS: dict[str, Any] = {
    "query": "needle",
    "category": "Security",
    "priority": "high",
    "layer": "DATA",
    "tags": ["api"],
    "status": "inactive",
    "author": "ANN",
}
SIZES = (0, 1, 2, len(FILTERS) - 1, len(FILTERS))
SUBSETS = [set(chosen) for size in SIZES for chosen in itertools.combinations(FILTERS, size)]
"""Each alone, with each other, all but each, and all: conditions joined by AND have no more ways to hinder another."""


@pytest.fixture
def grid(satchel: Satchel) -> Satchel:
    """128 constraints: each combination of two words, categories, priorities, layers, tags, states and agents."""
    for word, category, priority, layer, tags, active, agent in itertools.product(
        ("a needle", "hay"),
        ("security", "house rules"),
        ("high", "medium"),
        ("data", None),
        (("api", "api-gateway"), ("api-gateway",)),
        (True, False),
        ("Ann", "Bob"),
    ):
        added = satchel.constraints.add(word, category=category, priority=priority, layer=layer, tags=tags, agent=agent)
        if not active:
            satchel.corrections.retract(added.ref, "old")
    return satchel


def passes(constraint: Constraint, chosen: set[str]) -> bool:
    tests = {
        "query": "needle" in constraint.text,
        "category": constraint.category == "security",
        "priority": constraint.priority == "high",
        "layer": constraint.layer == "data",
        "tags": "api" in constraint.tags,
        "status": not constraint.active,
        "author": constraint.agent == "Ann",
    }
    return all(tests[name] for name in chosen)


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_filters_together_let_through_what_passes_all_of_them(grid: Satchel, order: str) -> None:
    everything = grid.constraints.find(status="all", order=order, limit=500).items
    assert len(everything) == 128
    for chosen in SUBSETS:
        given = {"status": "all", **{name: FILTERS[name] for name in chosen}}
        page = grid.constraints.find(order=order, limit=500, **given)
        expected = [constraint.id for constraint in everything if passes(constraint, chosen)]
        assert [constraint.id for constraint in page] == expected, chosen
        assert page.total == len(expected) == 128 >> len(chosen)


def test_only_active_ones_are_read_unless_asked(grid: Satchel) -> None:
    assert grid.constraints.find(limit=0).total == 64
    assert all(constraint.active for constraint in grid.constraints.find(limit=500))


@pytest.mark.parametrize(("priority", "shown"), [("low", 4), ("medium", 3), ("high", 2), ("critical", 1)])
def test_a_priority_lets_through_itself_and_higher_ones(satchel: Satchel, priority: str, shown: int) -> None:
    for name in ("low", "medium", "high", "critical"):
        satchel.constraints.add(name, priority=name)
    page = satchel.constraints.find(priority=priority)
    assert texts(page) == ["critical", "high", "medium", "low"][:shown]


def test_without_an_order_the_highest_priority_comes_first_and_of_equals_the_newest(
    satchel: Satchel, clock: ManualClock
) -> None:
    for text, priority in (("a", "low"), ("b", "critical"), ("c", "medium"), ("d", "critical"), ("e", "critical")):
        satchel.constraints.add(text, priority=priority)
        if text != "d":  # d and e in the same millisecond
            clock.advance(1_000)
    page = satchel.constraints.find()
    assert (texts(page), page.order) == (["e", "d", "b", "c", "a"], "priority")


@pytest.mark.parametrize(("order", "shown", "name"), [("asc", "abcd", "oldest"), ("desc", "dcba", "newest")])
@pytest.mark.parametrize("search", [None, "rule"])
def test_an_order_by_time_wins_over_priority_and_relevance(
    satchel: Satchel, clock: ManualClock, order: str, shown: str, name: str, search: str | None
) -> None:
    for text, priority in (("a rule", "low"), ("b rule rule", "critical"), ("c rule", "high"), ("d rule", "low")):
        satchel.constraints.add(text, priority=priority)
        if text != "c rule":
            clock.advance(1_000)
    page = satchel.constraints.find(order=order, query=search)
    assert ("".join(text[0] for text in texts(page)), page.order) == (shown, name)


def test_a_search_without_an_order_is_by_relevance(satchel: Satchel) -> None:
    satchel.constraints.add("tokens tokens tokens", priority="low")
    satchel.constraints.add("tokens and a lot of other words that say little about anything", priority="critical")
    page = satchel.constraints.find(query="tokens")
    assert [text[:13] for text in texts(page)] == ["tokens tokens", "tokens and a "]
    assert page.order == "relevance"
    scores = [constraint.score or 0 for constraint in page]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > scores[1] > 0


@pytest.mark.parametrize("word", ["latency", "performance", "presentation", "observability"])
def test_text_category_layer_and_tags_are_all_searched(satchel: Satchel, word: str) -> None:
    wanted = satchel.constraints.add(
        "keep latency low", category="performance", layer="presentation", tags=["observability"]
    )
    satchel.constraints.add("something else", category="security", layer="data", tags=["api"])
    assert [constraint.id for constraint in satchel.constraints.find(query=word)] == [wanted.id]
    assert [result.ref for result in satchel.finding.search(word, kinds=["constraint"]).results] == [wanted.ref]


def test_a_search_pages_as_it_counts(satchel: Satchel) -> None:
    for number in range(7):
        satchel.constraints.add(f"needle {number}")
    satchel.entries.write("discovery", "needle")
    pages = [satchel.constraints.find(query="needle", limit=3, offset=offset) for offset in (0, 3, 6)]
    assert [len(page) for page in pages] == [3, 3, 1]
    assert {page.total for page in pages} == {7}
    assert len({constraint.id for page in pages for constraint in page}) == 7
    assert satchel.constraints.find(query="needle", limit=0).total == 7


def test_a_search_without_a_usable_word_says_so(satchel: Satchel) -> None:
    satchel.constraints.add("x")
    page = satchel.constraints.find(query="?!")
    assert (page.total, page.notes) == (0, ("'?!' holds no word to search for",))


@pytest.fixture
def tagged(satchel: Satchel) -> Satchel:
    for text, tags in (
        ("none", ()),
        ("api", ("api",)),
        ("gateway", ("api-gateway",)),
        ("both", ("API", "security")),
        ("three", ("api", "security", "testing")),
        ("security", ("security",)),
    ):
        satchel.constraints.add(text, tags=tags)
    return satchel


@in_one_test(
    ("tags", "match", "shown"),
    [
        (["api"], "any", {"api", "both", "three"}),
        (["api"], "all", {"api", "both", "three"}),
        (["api", "security"], "any", {"api", "both", "three", "security"}),
        (["api", "security"], "all", {"both", "three"}),
        (["api", "API ", "security"], "all", {"both", "three"}),
        (["api", "api"], "all", {"api", "both", "three"}),
        (["api", "security", "testing"], "all", {"three"}),
        (["ap"], "any", set()),
        (["api,security"], "any", set()),
        (["api", "unheard"], "any", {"api", "both", "three"}),
        (["api", "unheard"], "all", set()),
    ],
)
@in_one_test("search", [None, "none api gateway both three security"])
def test_tags_are_whole_names_and_any_or_all_of_them(
    tagged: Satchel, tags: list[str], match: str, shown: set[str], search: str | None
) -> None:
    page = tagged.constraints.find(tags=tags, match=match, query=search)
    assert (set(texts(page)), page.total) == (shown, len(shown))


def test_tags_match_any_where_nothing_is_said(tagged: Satchel) -> None:
    assert set(texts(tagged.constraints.find(tags=["testing", "api-gateway"]))) == {"three", "gateway"}


@pytest.mark.parametrize(
    ("given", "note"),
    [
        ({"tags": ["securty"]}, "there is no tag 'securty' yet; did you mean 'security'?"),
        ({"category": "nothing"}, "there is no category 'nothing' yet"),
        ({"author": "nobody"}, "nobody here is called 'nobody'; authors here: ann"),
        ({"author": "nobody", "query": "x"}, "nobody here is called 'nobody'; authors here: ann"),
    ],
)
def test_a_name_that_nothing_has_makes_the_page_empty_and_is_said(
    satchel: Satchel, given: dict[str, Any], note: str
) -> None:
    satchel.constraints.add("x", agent="ann", tags=["api"])
    page = satchel.constraints.find(**given)
    assert (page.total, page.items, page.notes[0]) == (0, (), note)


@pytest.mark.parametrize("as_text", [True, False])
@pytest.mark.parametrize("search", [None, "rule"])
def test_since_shows_what_was_added_or_deactivated_from_then_on(
    satchel: Satchel, clock: ManualClock, as_text: bool, search: str | None
) -> None:
    satchel.constraints.add("a rule")
    ended = satchel.constraints.add("b rule")
    moment = clock.advance(1_000)
    satchel.corrections.retract(ended.ref)
    satchel.constraints.add("c rule")
    clock.advance(1_000)
    satchel.constraints.add("d rule")
    since = iso(moment) if as_text else moment
    page = satchel.constraints.find(since=since, status="all", order="asc", query=search)
    assert texts(page) == ["b rule", "c rule", "d rule"]
    assert satchel.constraints.find(since=moment + 1, status="all", query=search).total == 1


def test_an_age_is_counted_from_now(satchel: Satchel, clock: ManualClock) -> None:
    satchel.constraints.add("old")
    clock.advance(2 * 3_600_000)
    satchel.constraints.add("new")
    assert texts(satchel.constraints.find(since="1h")) == ["new"]


def test_changes_after_a_cursor_come_in_their_order_without_a_gap(satchel: Satchel, clock: ManualClock) -> None:
    first = satchel.constraints.add("a", priority="low")
    cursor = satchel.constraints.find().cursor
    clock.advance(-10_000)  # a clock that went back changes nothing
    satchel.constraints.add("b", priority="critical")
    satchel.constraints.add("c", priority="low")
    satchel.corrections.retract(first.ref)
    page = satchel.constraints.find(after_seq=cursor, status="all", limit=2)
    assert (texts(page), page.order, page.total, page.after_seq) == (["b", "c"], "seq", 3, cursor)
    rest = satchel.constraints.find(after_seq=page.cursor, status="all", limit=2)
    assert texts(rest) == ["a"]
    assert satchel.constraints.find(after_seq=rest.cursor, status="all").total == 0


def test_a_page_knows_its_total_and_what_comes_next(satchel: Satchel) -> None:
    for number in range(5):
        satchel.constraints.add(str(number))
    page = satchel.constraints.find(limit=2, offset=2)
    assert (texts(page), page.total, page.offset, page.limit, page.next_offset) == (["2", "1"], 5, 2, 2, 4)
    assert satchel.constraints.find(limit=2, offset=4).next_offset is None
    total = satchel.constraints.find(limit=0)
    assert (total.items, total.total) == ((), 5)


def test_twenty_are_shown_where_no_limit_is_given(satchel: Satchel) -> None:
    for number in range(21):
        satchel.constraints.add(str(number))
    assert len(satchel.constraints.find()) == 20


BAD_FILTERS: list[tuple[dict[str, Any], str]] = [
    ({"category": ""}, "category is empty"),
    ({"priority": "urgent"}, "unknown priority 'urgent'. Valid: low, medium, high, critical"),
    ({"priority": ""}, "unknown priority"),
    ({"layer": "buisness"}, "unknown layer 'buisness'. Did you mean 'business'"),
    ({"layer": ""}, "layer is empty"),
    ({"tags": []}, "tags is empty"),
    ({"tags": "api"}, "tags is no list"),
    ({"tags": [""]}, r"tags\[0\] is empty"),
    ({"match": "some"}, "unknown match 'some'. Valid: any, all"),
    ({"status": "activ"}, "unknown status 'activ'. Did you mean 'active'"),
]


@pytest.mark.parametrize("is_empty", [True, False])
def test_a_filter_that_is_none_is_refused(satchel: Satchel, is_empty: bool) -> None:
    if not is_empty:
        satchel.constraints.add("x")
    for given, problem in BAD_FILTERS:
        with pytest.raises(InvalidInput, match=problem):
            satchel.constraints.find(**given)


@pytest.mark.no_store
def test_before_the_first_write_there_is_nothing_and_reading_makes_nothing(satchel: Satchel, project: Path) -> None:
    page = satchel.constraints.find(layer="data", tags=["api"], author="ann")
    assert (page.items, page.total, page.seq) == ((), 0, 0)
    assert page.notes == ("nothing was written for this project yet",)
    assert not satchel.workplace.engine.exists()
    assert not (project / ".satchel").exists()


def test_reading_changes_and_registers_nothing(satchel: Satchel) -> None:
    satchel.constraints.add("x")
    before = satchel.housekeeping.statistics()
    satchel.constraints.find(author="stranger", tags=["strange"], category="strange")
    after = satchel.housekeeping.statistics()
    assert (after.seq, after.agents) == (before.seq, before.agents)


def test_projects_are_apart(open_in: Callable[..., Satchel], project: Path) -> None:
    one, other = open_in(project, project="one"), open_in(project, project="other")
    one.constraints.add("alpha", tags=["shared"], category="shared")
    other.constraints.add("omega", tags=["shared"], category="shared")
    filters: list[dict[str, Any]] = [{}, {"tags": ["shared"]}, {"category": "shared"}, {"query": "alpha omega"}]
    for given in filters:
        assert texts(one.constraints.find(**given)) == ["alpha"]
        assert texts(other.constraints.find(**given)) == ["omega"]


def test_an_index_that_names_what_is_gone_is_reported(satchel: Satchel) -> None:
    satchel.constraints.add("x")
    with satchel.workplace.engine.write() as transaction:
        transaction.run("DELETE FROM constraints")
    with pytest.raises(StoreDamaged, match="lists an item that does not exist"):
        satchel.constraints.find(query="x")


def test_the_index_made_anew_knows_what_it_knew(satchel: Satchel) -> None:
    kept = satchel.constraints.add("needle", tags=["zeta"], layer="data", category="odd", agent="ann")
    ended = satchel.constraints.add("needle too")
    satchel.corrections.retract(ended.ref)
    with satchel.workplace.engine.write() as transaction:
        transaction.run("DELETE FROM documents")
    satchel.finding.rebuild(say_nothing)
    assert [constraint.id for constraint in satchel.constraints.find(query="zeta data odd")] == [kept.id]
    found = satchel.finding.search("needle", author="ann").results
    assert [(one.ref, one.status) for one in found] == [(kept.ref, "active")]
    assert [one.ref for one in satchel.finding.search("needle", status="superseded").results] == [ended.ref]
