from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from satchel import InvalidInput, NewEntry, Satchel
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock


def contents(satchel: Satchel, **options: Any) -> list[str]:
    return [entry.content for entry in satchel.entries.read(order="asc", status="all", limit=500, **options)]


def test_the_newest_of_each_type_and_loop_are_kept(satchel: Satchel) -> None:
    for number in range(3):
        for kind in ("discovery", "error"):
            for loop in ("A", "B", None):
                satchel.entries.write(kind, f"{kind} {loop} {number}", loop_id=loop)
    result = satchel.entries.prune(keep=2)
    assert (result.removed, result.total, result.done) == ((("discovery", 3), ("error", 3)), 6, True)
    assert all(text[-1] in "12" for text in contents(satchel))
    assert len(contents(satchel)) == 12


def test_a_chatty_loop_does_not_evict_what_another_wrote(satchel: Satchel) -> None:
    satchel.entries.write("scratchpad", {"iteration": 1}, loop_id="quiet")
    for number in range(5):
        satchel.entries.write("scratchpad", {"iteration": number}, loop_id="chatty")
    satchel.entries.prune(keep=1)
    assert contents(satchel, loop_id="quiet") == ['{"iteration":1}']
    assert contents(satchel, loop_id="chatty") == ['{"iteration":4}']


def test_tasks_do_not_divide_a_loop(satchel: Satchel) -> None:
    for number in range(4):
        satchel.entries.write("discovery", str(number), loop_id="L", task_id=f"T{number}")
    satchel.entries.prune(keep=2)
    assert contents(satchel) == ["2", "3"]


def test_the_newest_is_told_by_time_and_then_by_id(satchel: Satchel, clock: ManualClock) -> None:
    satchel.entries.write("discovery", "later")
    clock.advance(-10)
    for text in ("a", "b"):
        satchel.entries.write("discovery", text)
    satchel.entries.prune(keep=2)
    assert contents(satchel) == ["b", "later"]


def test_a_live_analysis_is_kept_though_newer_ones_of_its_loop_are_many(satchel: Satchel, clock: ManualClock) -> None:
    for number in range(3):
        satchel.entries.write("codebase_analysis", {"summary": f"s{number}"})
        clock.advance(-1_000)  # so that the live one is the oldest
    assert satchel.entries.prune(keep=1).removed == (("codebase_analysis", 1),)
    assert contents(satchel, types=["codebase_analysis"]) == ['{"summary":"s2"}', '{"summary":"s0"}']
    assert [entry.content for entry in satchel.entries.read()] == ['{"summary":"s2"}']


def test_the_current_review_is_kept_whole(satchel: Satchel) -> None:
    for text in "abc":
        satchel.entries.write("review_issue", {"description": text})
    satchel.entries.write("review_verdict", {"passed": False, "summary": "s"})
    satchel.entries.write("review_issue", {"description": "open"})
    assert satchel.entries.prune(keep=1).total == 0
    assert len(contents(satchel)) == 5


def test_reviews_that_were_superseded_are_pruned(satchel: Satchel) -> None:
    for text in "abc":
        satchel.entries.write("review_issue", {"description": text})
        satchel.entries.write("review_verdict", {"passed": False, "summary": text})
    assert satchel.entries.prune(keep=1).removed == (("review_issue", 2), ("review_verdict", 2))
    assert contents(satchel) == ['{"description":"c"}', '{"passed":false,"summary":"c"}']


def test_pruning_the_middle_of_a_chain_leaves_no_reference_to_what_is_gone(
    satchel: Satchel, clock: ManualClock
) -> None:
    for text, back in (("old", 0), ("middle", -5_000), ("live", 10_000)):
        clock.advance(back)
        satchel.entries.write("codebase_analysis", {"summary": text})
    satchel.entries.prune(keep=2)
    live = satchel.entries.read().entries[0]
    old = satchel.entries.read(status="superseded").entries
    assert [(entry.content, entry.superseded_by) for entry in old] == [('{"summary":"old"}', live.id)]


def test_a_preview_says_the_same_and_changes_nothing(satchel: Satchel) -> None:
    for number in range(4):
        satchel.entries.write("discovery", str(number))
    seq = satchel.housekeeping.statistics().seq
    dry_run = satchel.entries.prune(keep=1, dry_run=True)
    assert (dry_run.removed, dry_run.done) == ((("discovery", 3),), False)
    assert contents(satchel) == ["0", "1", "2", "3"]
    assert satchel.housekeeping.statistics().seq == seq
    assert satchel.entries.prune(keep=1).removed == dry_run.removed


def test_what_was_pruned_is_not_found_any_more(satchel: Satchel) -> None:
    for text in ("alpha", "beta"):
        satchel.entries.write("discovery", text)
    satchel.entries.prune(keep=1)
    assert satchel.entries.read(query="alpha", status="all").total == 0
    assert satchel.entries.read(query="beta").total == 1


def test_only_the_run_is_pruned(satchel: Satchel) -> None:
    for run in ("r1", "r2"):
        satchel.runs.start(run)
        for number in range(3):
            satchel.entries.write("discovery", str(number), run_id=run)
    assert satchel.entries.prune(keep=1, run_id="r1").run_id == "r1"
    assert len(contents(satchel, run_id="r1")) == 1
    assert len(contents(satchel, run_id="r2")) == 3


def test_five_hundred_are_kept_unless_told_otherwise(satchel: Satchel) -> None:
    satchel.entries.write_many([NewEntry("discovery", "x")] * 500)
    satchel.entries.write("discovery", "y")
    assert satchel.entries.prune().total == 1


@in_one_test("keep", [0, -1, 1_000_001, 2.5, True, "3"])
def test_a_number_to_keep_that_is_none_is_refused(satchel: Satchel, keep: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^keep .*Give 1 to 1000000"):
        satchel.entries.prune(keep=keep)


@pytest.mark.parametrize("dry_run", [False, True])
def test_pruning_without_a_choice_prunes_main(satchel: Satchel, dry_run: bool) -> None:
    result = satchel.entries.prune(dry_run=dry_run)
    assert (result.run_id, result.total, result.done) == ("main", 0, not dry_run)
    satchel.runs.start("one")
    for run_id in ("one", "main"):
        for text in "abc":
            satchel.entries.write("discovery", text, run_id=run_id)
    result = satchel.entries.prune(keep=1, dry_run=dry_run)
    assert (result.run_id, result.removed) == ("main", (("discovery", 2),))
    assert satchel.entries.read(run_id="main").total == (3 if dry_run else 1)
    assert satchel.entries.read(run_id="one").total == 3


def test_the_limit_on_write_never_takes_the_current_review(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, settings={"context.max_per_loop": 1})
    for text in "abc":
        satchel.entries.write("review_issue", {"description": text})
    assert len(contents(satchel)) == 3
    satchel.entries.write("review_verdict", {"passed": False, "summary": "one"})
    satchel.entries.write("review_verdict", {"passed": True, "summary": "two"})
    assert [entry.content for entry in satchel.entries.read()] == ['{"passed":true,"summary":"two"}']
    assert satchel.entries.read(status="all", types=["review_verdict"]).total == 1


def test_a_run_with_a_limit_is_pruned_by_it(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project)
    for number in range(4):
        satchel.entries.write("discovery", f"fact {number}")
    assert satchel.entries.prune().total == 0
    limited = open_in(project, environ={"SATCHEL_CONTEXT_MAX_PER_LOOP": "3"})
    assert limited.entries.prune().total == 1
