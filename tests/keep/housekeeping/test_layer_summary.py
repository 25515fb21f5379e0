from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from satchel import Satchel
from satchel.base.vocabulary import LAYERS
from satchel.keep.housekeeping.statistics import LayerCount

if TYPE_CHECKING:
    from conftest import ManualClock

HOUR = 3_600_000


def counts(satchel: Satchel) -> dict[str | None, tuple[int, int, int]]:
    return {
        row.layer: (row.active_decisions, row.recent_file_changes, row.active_constraints)
        for row in satchel.housekeeping.layer_summary().rows
    }


def test_each_count_is_of_its_own_and_what_has_no_layer_is_said(satchel: Satchel) -> None:
    for number in range(2):
        satchel.decisions.set(f"alpha{number}", number, layer="data", tags=["api", "security"], scopes=["x", "y"])
    for number in range(3):
        satchel.files.record(f"src/{number}.py", "modified", layer="data")
    for number in range(5):
        satchel.constraints.add(str(number), layer="data", tags=["api", "security"])
    satchel.decisions.set("beta", 1, layer="business")
    satchel.decisions.set("gamma", 1)
    satchel.files.record("src/x.py", "created")
    satchel.files.record("src/y.py", "created")
    satchel.constraints.add("none")
    assert counts(satchel) == {
        "presentation": (0, 0, 0),
        "business": (1, 0, 0),
        "data": (2, 3, 5),
        "infrastructure": (0, 0, 0),
        "cross-cutting": (0, 0, 0),
        None: (1, 2, 1),
    }


def test_only_what_is_active_counts(satchel: Satchel) -> None:
    satchel.decisions.set("alpha", 1, layer="data", status="draft")
    satchel.decisions.set("beta", 1, layer="data")
    satchel.decisions.set("beta", status="deprecated")
    satchel.corrections.retract(satchel.constraints.add("x", layer="data").ref)
    assert counts(satchel)["data"] == (0, 0, 0)
    satchel.decisions.set("alpha", status="active")
    assert counts(satchel)["data"] == (1, 0, 0)


def test_a_decision_counts_where_it_was_moved_to(satchel: Satchel) -> None:
    satchel.decisions.set("alpha", 1, layer="data")
    satchel.decisions.set("alpha", layer="business")
    assert (counts(satchel)["data"][0], counts(satchel)["business"][0]) == (0, 1)
    satchel.decisions.set("alpha", layer=None)
    assert (counts(satchel)["business"][0], counts(satchel)[None][0]) == (0, 1)


def test_file_changes_count_for_an_hour(satchel: Satchel, clock: ManualClock) -> None:
    satchel.files.record("src/a.py", "modified", layer="data")
    satchel.files.record("src/b.py", "modified")
    clock.advance(HOUR - 1)
    assert (counts(satchel)["data"][1], counts(satchel)[None][1]) == (1, 1)
    assert satchel.housekeeping.layer_summary().changes_since == clock.now - HOUR
    clock.advance(1)
    assert (counts(satchel)["data"][1], counts(satchel)[None][1]) == (0, 0)


def test_a_file_change_that_is_kept_for_an_hour_counts_until_it_expires(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    satchel = open_in(project, settings={"retention.file_changes_hours": 1})
    satchel.files.record("src/a.py", "modified", layer="data")
    for moment in (HOUR - 1, 1):
        clock.advance(moment)
        assert counts(satchel)["data"][1] == satchel.files.changes(limit=0).total


def test_layers_come_in_the_order_they_were_named(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, settings={"layers.open": True})
    satchel.constraints.add("x", layer="edge")
    rows = satchel.housekeeping.layer_summary().rows
    assert [row.layer for row in rows] == [*LAYERS, "edge", None]
    assert rows[-2] == LayerCount("edge", 0, 0, 1)


@pytest.mark.no_store
def test_a_project_without_anything_has_the_layers_that_every_project_has(satchel: Satchel, project: Path) -> None:
    summary = satchel.housekeeping.layer_summary()
    assert summary.rows == tuple(LayerCount(layer, 0, 0, 0) for layer in (*LAYERS, None))
    assert summary.seq == 0
    assert not satchel.workplace.engine.exists()
    assert not (project / ".satchel").exists()


def test_the_summary_knows_the_change_counter(satchel: Satchel) -> None:
    added = satchel.constraints.add("x")
    assert satchel.housekeeping.layer_summary().seq == added.seq


def test_projects_are_summed_up_apart(open_in: Callable[..., Satchel], project: Path) -> None:
    one, other = open_in(project, project="one"), open_in(project, project="other")
    one.housekeeping.initialise()
    other.decisions.set("alpha", 1, layer="data")
    other.decisions.set("beta", 1)
    other.files.record("src/a.py", "created", layer="data")
    other.files.record("src/b.py", "created")
    other.constraints.add("x", layer="data")
    other.constraints.add("y")
    assert set(counts(one).values()) == {(0, 0, 0)}
    assert (counts(other)["data"], counts(other)[None]) == ((1, 1, 1), (1, 1, 1))


def test_the_view_for_people_says_the_same(open_in: Callable[..., Satchel], project: Path) -> None:
    from satchel.base.clock import system_clock

    satchel = open_in(project, clock=system_clock)
    satchel.decisions.set("alpha", 1, layer="data")
    satchel.decisions.set("beta", 1)
    satchel.files.record("src/a.py", "created", layer="business")
    satchel.constraints.add("x", layer="data")
    with satchel.workplace.engine.read() as transaction:
        rows = transaction.all(
            "SELECT layer, active_decisions, recent_file_changes, active_constraints FROM layer_summary"
        )
    assert {row[0]: tuple(row[1:]) for row in rows} == counts(satchel)
