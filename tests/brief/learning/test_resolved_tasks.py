"""What becomes of the packages of a task that passed its review."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from brief.learning.loops import pad, verdict
from satchel import Satchel

if TYPE_CHECKING:
    from conftest import ManualClock


class TestPackagesOfAResolvedTask:
    @pytest.mark.parametrize("kind", ["failures", "investigation"])
    def test_those_on_failures_fall_to_low(self, satchel: Satchel, clock: ManualClock, kind: str) -> None:
        for priority in ("critical", "low", "high"):
            satchel.packages.save("x", content="y", type=kind, priority=priority, task_id="T")
        now = clock.advance(1_000)
        entry = verdict(satchel, task_id="T")
        packages = satchel.packages.find(order="asc").items
        assert entry.notes == ("task T is resolved: p1, p3 fell to low",)
        assert [one.priority for one in packages] == ["low"] * 3
        assert [one.updated_at == now for one in packages] == [True, False, True]

    @pytest.mark.parametrize(
        "given",
        [
            {"type": "research", "task_id": "T"},
            {"type": "handoff", "task_id": "T"},
            {"type": "decisions", "task_id": "T"},
            {"type": "failures", "task_id": "U"},
            {"type": "failures"},
        ],
    )
    def test_others_stay(self, satchel: Satchel, given: dict[str, Any]) -> None:
        satchel.packages.save("x", content="y", priority="high", **given)
        assert verdict(satchel, task_id="T").notes == ()
        assert satchel.packages.find().items[0].priority == "high"

    @pytest.mark.parametrize("given", [{"passed": False, "task_id": "T"}, {"passed": True}])
    def test_a_verdict_that_failed_or_names_no_task_changes_none(self, satchel: Satchel, given: dict[str, Any]) -> None:
        satchel.packages.save("x", content="y", type="failures", priority="high", task_id="T")
        verdict(satchel, **given)
        assert satchel.packages.find().items[0].priority == "high"

    def test_those_of_another_run_and_superseded_ones_stay(self, satchel: Satchel) -> None:
        for run in ("one", "two"):
            satchel.runs.start(run)
            satchel.packages.save("x", content="y", type="failures", priority="high", task_id="T", run_id=run)
        satchel.packages.save("z", content="y", task_id="T", supersedes="p2", run_id="two")
        assert verdict(satchel, task_id="T", run_id="two").notes == ()
        assert [one.priority for one in satchel.packages.find(run_id="one", status="all")] == ["high"]

    def test_what_the_verdict_teaches_is_said_beside_it(self, dev: Satchel) -> None:
        dev.packages.save("x", content="y", type="failures", task_id="T")
        pad(dev, 1, "call it by name")
        notes = verdict(dev, task_id="T").notes
        assert [note.split(":")[0] for note in notes] == ["x1 TypeError", "task T is resolved"]
