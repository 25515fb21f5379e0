"""Which packages a list shows, in which order, and how many it says there are."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from satchel import InvalidInput, NotFound, Package, PackagePage, Satchel, StoreDamaged
from satchel.base.clock import iso
from satchel.find.kind import Kind
from satchel.keep import replacing

if TYPE_CHECKING:
    from conftest import ManualClock


def save(satchel: Satchel, summary: str = "x", **given: Any) -> Package:
    return satchel.packages.save(summary, **{"content": "y", **given})


def summaries(page: PackagePage) -> list[str]:
    return [package.summary for package in page]


# Each filter lets exactly one of two values through, so that in the grid, which holds every combination, one that is
# ignored doubles the result.
FILTERS: dict[str, Any] = {
    "query": "needle",
    "types": ["handoff"],
    "priority": "high",
    "task_id": "T1",
    "role": "QA_expert",
    "author": "ANN",
    "status": "superseded",
}
SIZES = (0, 1, 2, len(FILTERS) - 1, len(FILTERS))
SUBSETS = [set(chosen) for size in SIZES for chosen in itertools.combinations(FILTERS, size)]
"""Each alone, with each other, all but each, and all: conditions joined by AND have no more ways to hinder another."""


@pytest.fixture
def grid(satchel: Satchel) -> Satchel:
    """128 packages: each combination of two words, types, priorities, tasks, consumers, agents and states."""
    heir = save(satchel, "the heir", run_id=satchel.runs.start("r1").run_id)
    for word, kind, priority, task, role, agent, superseded in itertools.product(
        ("a needle", "hay"),
        ("handoff", "research"),
        ("critical", "medium"),
        ("T1", "T2"),
        ("qa_expert", "developer"),
        ("Ann", "Bob"),
        (True, False),
    ):
        saved = save(satchel, word, type=kind, priority=priority, task_id=task, consumers=[role], agent=agent)
        if superseded:
            # what superseded them is none of the grid
            with satchel.workplace.engine.write() as transaction:
                replacing.mark(transaction, 1, Kind.PACKAGE, [saved.id], heir.id)
    return satchel


def passes(package: Package, chosen: set[str]) -> bool:
    tests = {
        "query": "needle" in package.summary,
        "types": package.type == "handoff",
        "priority": package.priority == "critical",
        "task_id": package.task_id == "T1",
        "role": "qa_expert" in package.consumers,
        "author": package.agent == "Ann",
        "status": package.superseded_by is not None,
    }
    return all(tests[name] for name in chosen)


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_filters_together_let_through_what_passes_all_of_them(grid: Satchel, order: str) -> None:
    everything = [one for one in grid.packages.find(status="all", order="asc", limit=500) if one.summary != "the heir"]
    assert len(everything) == 128
    for chosen in SUBSETS:
        page = grid.packages.find(**{name: FILTERS[name] for name in chosen}, order=order, limit=500)
        # without the filter the live ones are shown
        shown_at_all = [one for one in everything if "status" in chosen or one.superseded_by is None]
        expected = [one.id for one in shown_at_all if passes(one, chosen)]
        shown = [one.id for one in page if one.summary != "the heir"]
        assert shown == (expected if order == "asc" else expected[::-1])
        assert page.total == len(page) == sum(count for _, count in page.by_priority)
        for priority, count in page.by_priority:
            assert count == sum(one.priority == priority for one in page)


def test_several_types_are_any_of_them(satchel: Satchel) -> None:
    for kind in ("research", "failures", "handoff"):
        save(satchel, kind, type=kind)
    assert set(summaries(satchel.packages.find(types=["failures", "handoff", "failures"]))) == {"failures", "handoff"}


def test_what_is_for_a_task_is_its_own_and_what_belongs_to_the_whole_run(satchel: Satchel) -> None:
    for task in ("T1", "T2", None):
        save(satchel, str(task), task_id=task)
    assert set(summaries(satchel.packages.find(task_id="T1"))) == {"T1", "None"}
    assert set(summaries(satchel.packages.find(task_id="T9", query="T1 T2 None"))) == {"None"}


def test_what_is_for_a_role_is_meant_for_it_or_for_any(satchel: Satchel) -> None:
    for name, roles in (
        ("qa", ["qa_expert"]),
        ("both", ["developer", "qa_expert"]),
        ("dev", ["developer"]),
        ("everybody", []),
    ):
        save(satchel, name, consumers=roles)
    for search in (None, "qa both dev everybody"):
        assert set(summaries(satchel.packages.find(role=" QA_Expert", query=search))) == {"qa", "both", "everybody"}


@pytest.mark.parametrize(
    ("priority", "shown"),
    [
        ("low", ["critical", "high", "medium", "low"]),
        ("medium", ["critical", "high", "medium"]),
        ("high", ["critical", "high"]),
        ("critical", ["critical"]),
    ],
)
def test_a_priority_lets_through_this_and_higher_ones_the_most_urgent_first(
    satchel: Satchel, priority: str, shown: list[str]
) -> None:
    for one in ("medium", "critical", "low", "high"):
        save(satchel, one, priority=one)
    page = satchel.packages.find(priority=priority)
    assert (summaries(page), page.order) == (shown, "priority")
    assert page.by_priority == tuple((name, 1) for name in shown)


@pytest.mark.parametrize(
    ("status", "shown"), [("live", {"new", "third"}), ("superseded", {"old"}), ("all", {"old", "new", "third"})]
)
@pytest.mark.parametrize("search", [None, "old new third"])
def test_live_packages_superseded_ones_or_all(
    satchel: Satchel, status: str, shown: set[str], search: str | None
) -> None:
    save(satchel, "new", supersedes=save(satchel, "old").ref)
    save(satchel, "third")
    page = satchel.packages.find(status=status, query=search)
    assert (set(summaries(page)), page.total) == (shown, len(shown))


def test_live_ones_are_shown_where_nothing_is_said(satchel: Satchel) -> None:
    save(satchel, "new", supersedes=save(satchel, "old").ref)
    assert summaries(satchel.packages.find()) == ["new"]


def test_equals_in_priority_and_time_come_newest_first(satchel: Satchel, clock: ManualClock) -> None:
    for name in "abc":
        save(satchel, name)
    clock.advance(-5_000)
    save(satchel, "earlier")
    save(satchel, "urgent", priority="high")
    assert summaries(satchel.packages.find()) == ["urgent", "c", "b", "a", "earlier"]
    assert summaries(satchel.packages.find(order="asc")) == ["earlier", "urgent", "a", "b", "c"]
    assert summaries(satchel.packages.find(order="desc")) == ["c", "b", "a", "urgent", "earlier"]


def test_a_search_shows_the_best_match_first_with_its_score(satchel: Satchel) -> None:
    save(satchel, "gateway", content="The gateway. The gateway! gateway")
    save(
        satchel,
        "a long story",
        content="in which one word of very many is gateway, and the others are not",
        priority="high",
    )
    save(satchel, "nothing", content="else")
    page = satchel.packages.find(query="gateway")
    assert (summaries(page), page.order, page.total) == (["gateway", "a long story"], "relevance", 2)
    scores = [one.score for one in page]
    assert None not in scores
    assert scores == sorted(scores, key=lambda score: -(score or 0))
    assert page.by_priority == (("high", 1), ("medium", 1))
    assert satchel.packages.find(query="gateway", limit=1, offset=1).items == page.items[1:]
    assert satchel.packages.find(query="gateway", limit=0).total == 2


def test_what_only_stands_beside_a_match_has_no_place_among_those_by_time(satchel: Satchel) -> None:
    for name in ("before", "the gateway signs requests", "after"):
        save(satchel, name, task_id="T1")
    question = "which requests are signed by the gateway?"
    assert satchel.packages.find(query=question).total == 3
    assert summaries(satchel.packages.find(query=question, order="asc")) == ["the gateway signs requests"]


def test_a_search_without_a_usable_word_says_so(satchel: Satchel) -> None:
    save(satchel)
    page = satchel.packages.find(query="?!")
    assert (page.total, page.notes, page.by_priority) == (0, ("'?!' holds no word to search for",), ())


def test_an_agent_that_nobody_is_makes_the_page_empty_and_is_said(satchel: Satchel) -> None:
    save(satchel, agent="ann")
    page = satchel.packages.find(author="nobody")
    assert (page.total, page.items, page.notes[0]) == (0, (), "nobody here is called 'nobody'; authors here: ann")


@pytest.mark.parametrize("as_text", [True, False])
@pytest.mark.parametrize("search", [None, "package"])
def test_since_shows_what_was_saved_or_changed_from_then_on(
    satchel: Satchel, clock: ManualClock, as_text: bool, search: str | None
) -> None:
    save(satchel, "a package")
    changed = save(satchel, "b package")
    moment = clock.advance(1_000)
    satchel.packages.set_priority(changed.ref, "low")
    save(satchel, "c package")
    since = iso(moment) if as_text else moment
    page = satchel.packages.find(since=since, order="asc", query=search)
    assert summaries(page) == ["b package", "c package"]
    assert satchel.packages.find(since=moment + 1, query=search).total == 0


def test_changes_after_a_cursor_come_in_their_order_without_a_gap(satchel: Satchel, clock: ManualClock) -> None:
    first = save(satchel, "a", priority="low")
    cursor = satchel.packages.find().cursor
    clock.advance(-10_000)  # a clock that went back changes nothing
    save(satchel, "b", priority="critical")
    save(satchel, "c", priority="low")
    satchel.packages.react(first.ref, "error")
    page = satchel.packages.find(after_seq=cursor, limit=2)
    assert (summaries(page), page.order, page.total, page.after_seq) == (["b", "c"], "seq", 3, cursor)
    rest = satchel.packages.find(after_seq=page.cursor, limit=2)
    assert summaries(rest) == ["a"]
    assert satchel.packages.find(after_seq=rest.cursor).total == 0


def test_a_page_knows_its_totals_and_what_comes_next(satchel: Satchel) -> None:
    for number in range(5):
        save(satchel, str(number), priority="high" if number == 0 else "medium")
    page = satchel.packages.find(limit=2, offset=2)
    assert (summaries(page), page.total, page.offset, page.limit, page.next_offset) == (["3", "2"], 5, 2, 2, 4)
    assert page.by_priority == (("high", 1), ("medium", 4))
    assert satchel.packages.find(limit=2, offset=4).next_offset is None
    total = satchel.packages.find(limit=0)
    assert (total.items, total.total, total.by_priority) == ((), 5, page.by_priority)


def test_twenty_are_shown_where_no_limit_is_given(satchel: Satchel) -> None:
    for number in range(21):
        save(satchel, str(number))
    assert len(satchel.packages.find()) == 20


BAD_FILTERS: list[tuple[dict[str, Any], str]] = [
    ({"types": []}, "types is no list"),
    ({"types": "research"}, "types is no list"),
    ({"types": ["reserch"]}, "unknown package type 'reserch'. Did you mean 'research'"),
    ({"priority": "urgent"}, "unknown priority 'urgent'"),
    ({"task_id": ""}, "task_id is empty"),
    ({"role": ""}, "role is empty"),
    ({"status": "old"}, "unknown status 'old'. Valid: live, superseded, all"),
    ({"run_id": ""}, "run_id is empty"),
]


@pytest.mark.parametrize("is_empty", [True, False])
def test_a_filter_that_is_none_is_refused(satchel: Satchel, is_empty: bool) -> None:
    if not is_empty:
        save(satchel)
    for given, problem in BAD_FILTERS:
        with pytest.raises(InvalidInput, match=problem):
            satchel.packages.find(**given)


def test_packages_of_another_run_are_not_shown(satchel: Satchel) -> None:
    for run in ("r1", "r2"):
        satchel.runs.start(run)
        save(satchel, f"gateway {run}", run_id=run)
    for run in ("r1", "r2"):
        for search in (None, "gateway"):
            page = satchel.packages.find(run_id=run, query=search)
            assert (summaries(page), page.run_id) == ([f"gateway {run}"], run)
    with pytest.raises(NotFound, match="there is no run 'r3'"):
        satchel.packages.find(run_id="r3")


def test_the_default_run_is_read_where_none_is_named(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, run="r1")
    for run in ("r1", "r2"):
        satchel.runs.start(run)
        save(satchel, run, run_id=run)
    assert summaries(satchel.packages.find()) == ["r1"]


@pytest.mark.parametrize("search", [None, "gateway"])
def test_without_a_choice_packages_of_all_runs_are_listed(satchel: Satchel, search: str | None) -> None:
    save(satchel, "gateway old", run_id=satchel.runs.start("r1").run_id)
    satchel.runs.end("r1")
    save(satchel, "gateway new")
    page = satchel.packages.find(query=search)
    assert {(one.run_id, one.summary) for one in page} == {("r1", "gateway old"), ("main", "gateway new")}
    assert (page.total, page.run_id, page.by_priority) == (2, None, (("medium", 2),))


@pytest.mark.no_store
def test_before_the_first_write_there_is_nothing_and_reading_makes_nothing(satchel: Satchel, project: Path) -> None:
    page = satchel.packages.find(task_id="T1", role="qa", author="ann", after_seq=0)
    assert (page.items, page.total, page.seq, page.after_seq) == ((), 0, 0, 0)
    assert page.notes == ("nothing was written for this project yet",)
    assert not satchel.workplace.engine.exists()
    assert not (project / ".satchel").exists()


def test_reading_changes_and_registers_nothing(satchel: Satchel) -> None:
    saved = save(satchel)
    before = satchel.housekeeping.statistics()
    satchel.packages.find(author="stranger", role="strange", task_id="strange")
    satchel.packages.read(saved.ref)
    after = satchel.housekeeping.statistics()
    assert (after.seq, after.agents) == (before.seq, before.agents)


def test_projects_are_apart(open_in: Callable[..., Satchel], project: Path) -> None:
    one, other = open_in(project, project="one"), open_in(project, project="other")
    for satchel, word in ((one, "alpha"), (other, "omega")):
        satchel.runs.start("shared")
        save(satchel, word, task_id="T1", consumers=["qa"])
    filters: list[dict[str, Any]] = [{}, {"task_id": "T1"}, {"role": "qa"}, {"query": "alpha omega"}]
    for given in filters:
        assert summaries(one.packages.find(**given)) == ["alpha"]
        assert summaries(other.packages.find(**given)) == ["omega"]


def test_an_index_that_names_what_is_gone_is_damage(satchel: Satchel) -> None:
    saved = save(satchel, "gateway")
    with satchel.workplace.engine.write() as transaction:
        transaction.run("DELETE FROM context_packages WHERE id = :id", {"id": saved.id})
    with pytest.raises(StoreDamaged, match="satchel doctor --rebuild"):
        satchel.packages.find(query="gateway")
