"""Whether a strategy helped is counted, and no count is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from satchel import InvalidInput, NotFound, ReadOnly, Satchel
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock


@pytest.mark.parametrize(("helped", "counts"), [(True, (1, 0)), (False, (0, 1))])
def test_an_outcome_is_counted_and_renews_when_it_was_seen(
    satchel: Satchel, clock: ManualClock, helped: bool, counts: tuple[int, int]
) -> None:
    saved = satchel.strategies.save("x", "y")
    now = clock.advance(1_000)
    counted = satchel.strategies.outcome(saved.ref, helped)
    assert (counted.helped, counted.not_helped) == counts
    assert (counted.last_seen, counted.created_at, counted.seq) == (now, saved.created_at, saved.seq + 1)
    assert satchel.strategies.find().items == (counted,)


def test_the_spine_learns_of_the_change(satchel: Satchel) -> None:
    counted = satchel.strategies.outcome(satchel.strategies.save("x", "y").ref, True)
    with satchel.workplace.engine.read() as transaction:
        assert transaction.all("SELECT seq, status FROM documents") == [(counted.seq, 1)]


def test_only_the_one_named_is_counted(satchel: Satchel) -> None:
    first, second = satchel.strategies.save("x", "y"), satchel.strategies.save("x", "z")
    satchel.strategies.outcome(second.id, True)
    assert [(one.id, one.helped) for one in satchel.strategies.find(order="asc")] == [(first.id, 0), (second.id, 1)]


def test_outcomes_at_once_lose_no_count(open_in: Callable[..., Satchel], project: Path) -> None:
    ref = open_in(project).strategies.save("x", "y").ref
    start = threading.Barrier(6)
    many = [open_in(project) for _ in range(3)]

    def report(satchel: Satchel, helped: bool) -> None:
        start.wait()
        for _ in range(20):
            satchel.strategies.outcome(ref, helped)

    threads = [threading.Thread(target=report, args=(one, helped)) for one in many for helped in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (counted,) = many[0].strategies.find().items
    assert (counted.helped, counted.not_helped) == (60, 60)


@in_one_test("helped", [None, 1, 0, "yes", "false"])
def test_what_is_neither_true_nor_false_is_refused(satchel: Satchel, helped: Any) -> None:
    saved = satchel.strategies.save("x", "y")
    with pytest.raises(InvalidInput, match="is neither true nor false"):
        satchel.strategies.outcome(saved.ref, helped)
    assert satchel.strategies.find().seq == saved.seq


@in_one_test("ref", ["p1", "", None, True, "s1.5"])
def test_what_is_no_id_is_refused(satchel: Satchel, ref: Any) -> None:
    satchel.strategies.save("x", "y")
    with pytest.raises(InvalidInput, match="is no id of a strategy"):
        satchel.strategies.outcome(ref, True)


def test_an_unknown_strategy_is_said_and_nothing_changes(satchel: Satchel) -> None:
    with pytest.raises(NotFound, match="there is no strategy s1 in this project"):
        satchel.strategies.outcome("s1", True)
    saved = satchel.strategies.save("x", "y")
    with pytest.raises(NotFound, match="there is no strategy s9 in this project"):
        satchel.strategies.outcome("s9", True)
    assert satchel.strategies.find().seq == saved.seq


def test_a_strategy_of_another_project_is_not_counted(open_in: Callable[..., Satchel], project: Path) -> None:
    one, other = open_in(project, project="one"), open_in(project, project="other")
    theirs = other.strategies.save("x", "y")
    one.strategies.save("x", "y")
    with pytest.raises(NotFound):
        one.strategies.outcome(theirs.ref, True)
    assert other.strategies.find().items == (theirs,)


def test_a_reader_cannot_report(open_in: Callable[..., Satchel], project: Path) -> None:
    saved = open_in(project).strategies.save("x", "y")
    with pytest.raises(ReadOnly):
        open_in(project, read_only=True).strategies.outcome(saved.ref, True)


def test_an_agent_counts_once_for_each_verdict_and_the_author_never(satchel: Satchel) -> None:
    ref = satchel.strategies.save("x", "y", agent="ann").ref
    for agent in ("ann", "ben", "ben", "cleo"):
        judged = satchel.strategies.outcome(ref, True, agent=agent)
    assert (judged.helped, judged.notes) == (2, ())
    assert satchel.strategies.outcome(ref, True, agent="ben").notes == (
        f"ben already reported that {ref} helped: that counts once",
    )
    assert satchel.strategies.outcome(ref, True, agent="ann").notes == (
        f"ann wrote {ref}: only another agent's word counts",
    )
    assert satchel.strategies.outcome(ref, False, agent="ben").not_helped == 1
    assert satchel.strategies.outcome(ref, False, agent="ann").not_helped == 2
