"""What counts as the success of a loop, and that what follows happens with it."""

from __future__ import annotations

from typing import Any

import pytest

from brief.learning.loops import pad, solutions, verdict
from held_stores import refusing_rows
from satchel import Satchel
from tables import in_one_test


class TestWhatCountsAsSuccess:
    @pytest.mark.parametrize("status", ["passing", "passed", "pass", "green", "ok", "success", " PASSING ", "Green"])
    def test_a_status_that_says_so(self, dev: Satchel, status: str) -> None:
        pad(dev, 1, "call it by name", test_status=status)
        assert solutions(dev) == ["call it by name"]

    @pytest.mark.parametrize("status", [None, "not run", "12 passed", "12 passed, 0 failed", "no failures", "unknown"])
    def test_done_without_a_failure(self, dev: Satchel, status: str | None) -> None:
        pad(dev, 1, "call it by name", done=True, **({} if status is None else {"test_status": status}))
        assert solutions(dev) == ["call it by name"]

    @in_one_test("status", ["failing", "failed", "FAIL", "red", "2 failed, 3 passed", "error", "not passing"])
    @in_one_test("done", [True, False])
    def test_a_failure_does_not_count_whatever_is_done(self, dev: Satchel, status: str, done: bool) -> None:
        entry = pad(dev, 1, "call it by name", done=done, test_status=status)
        assert (solutions(dev), entry.notes) == ([], ())

    @in_one_test("status", [None, "not run", "12 passed, 0 failed", "passing soon"])
    def test_an_open_end_does_not_count(self, dev: Satchel, status: str | None) -> None:
        pad(dev, 1, "call it by name", **({} if status is None else {"test_status": status}))
        pad(dev, 2, "call it by name", done=False, **({} if status is None else {"test_status": status}))
        assert solutions(dev) == []

    def test_a_verdict_that_passed_counts_for_its_loop(self, dev: Satchel) -> None:
        pad(dev, 1, "call it by name")
        verdict(dev)
        assert solutions(dev) == ["call it by name"]

    @pytest.mark.parametrize("given", [{"passed": False}, {"loop": None}, {"loop": "M"}])
    def test_one_that_failed_or_names_another_loop_does_not(self, dev: Satchel, given: dict[str, Any]) -> None:
        pad(dev, 1, "call it by name")
        assert (verdict(dev, **given).notes, solutions(dev)) == ((), [])

    @pytest.mark.parametrize("loop", [None, "M"])
    def test_a_scratchpad_of_another_loop_does_not(self, dev: Satchel, loop: str | None) -> None:
        assert (pad(dev, 1, "A", loop=loop, test_status="passing").notes, solutions(dev)) == ((), [])

    def test_a_loop_of_the_same_name_in_another_run_does_not(self, dev: Satchel) -> None:
        dev.runs.start("day")
        dev.entries.write("scratchpad", {"iteration": 1, "done": True, "attempted": ["A"]}, loop_id="L", run_id="day")
        assert solutions(dev) == []

    @pytest.mark.parametrize("kind", ["discovery", "error", "decision"])
    def test_a_note_does_not(self, dev: Satchel, kind: str) -> None:
        assert (dev.entries.write(kind, "passing", loop_id="L").notes, solutions(dev)) == ((), [])


def test_what_follows_happens_in_the_transaction_of_the_write(dev: Satchel) -> None:
    with refusing_rows(dev, "error_solutions") as said, pytest.raises(Exception, match=said):
        pad(dev, 1, "call it by name", test_status="passing")
    assert dev.entries.read().total == 0
