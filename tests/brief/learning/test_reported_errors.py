"""Which of the reported errors a success fixes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brief.learning.loops import ERROR, OTHER, only, pad, solutions, verdict
from satchel import Satchel

if TYPE_CHECKING:
    from conftest import ManualClock

DAY = 86_400_000


class TestWhichErrors:
    def test_every_error_of_the_loop_that_waits(self, dev: Satchel) -> None:
        dev.patterns.report(*OTHER, loop_id="L")
        dev.patterns.report("OSError", "disk full", loop_id="M")
        entry = pad(dev, 1, "call it by name", test_status="passing")
        assert [solutions(dev, ref) for ref in ("x1", "x2", "x3")] == [["call it by name"], ["call it by name"], []]
        assert entry.notes == (
            "x1 TypeError: y1 is stored as its fix (call it by name); if not, report_outcome id=y1 helped=false",
            "x2 KeyError: y2 is stored as its fix (call it by name); if not, report_outcome id=y2 helped=false",
        )

    def test_the_solution_begins_tentative_and_can_be_taken_back(self, dev: Satchel) -> None:
        pad(dev, 1, "call it by name", test_status="passing")
        fix = only(dev)
        assert (fix.confidence, fix.state, fix.confirmed, fix.agent) == (5, "active", 0, "dev")
        assert dev.patterns.outcome(fix.ref, helped=False).standing == "weak"

    def test_it_is_found_by_the_words_of_the_fix(self, dev: Satchel) -> None:
        pad(dev, 1, "use the zebra adapter", test_status="passing")
        assert [one.ref for one in dev.patterns.find(query="zebra")] == ["x1"]

    def test_none_twice(self, dev: Satchel) -> None:
        pad(dev, 1, "call it by name", test_status="passing")
        assert (pad(dev, 2, "rename it", test_status="passing").notes, verdict(dev).notes) == ((), ())
        assert solutions(dev) == ["call it by name"]

    def test_one_that_came_back_waits_again(self, dev: Satchel, clock: ManualClock) -> None:
        pad(dev, 1, "call it by name", test_status="passing")
        clock.advance(1_000)
        dev.patterns.report(*ERROR, loop_id="L")
        pad(dev, 2, "call it by name", "rename it", test_status="passing")
        assert sorted(solutions(dev)) == ["call it by name", "rename it"]

    def test_one_whose_fix_its_agent_has_told_is_left_alone(self, dev: Satchel) -> None:
        dev.patterns.solve("x1", "the real fix")
        assert pad(dev, 1, "call it by name", test_status="passing").notes == ()
        assert solutions(dev) == ["the real fix"]

    def test_what_a_success_left_unsaid_is_not_fixed_by_a_later_one(self, dev: Satchel, clock: ManualClock) -> None:
        pad(dev, 1, test_status="passing")
        clock.advance(1_000)
        pad(dev, 2, "write the docs", test_status="passing")
        assert solutions(dev) == []

    def test_but_if_it_was_met_again_since(self, dev: Satchel, clock: ManualClock) -> None:
        pad(dev, 1, test_status="passing")
        clock.advance(1_000)
        dev.patterns.report(*ERROR, loop_id="L")
        pad(dev, 2, "call it by name", test_status="passing")
        assert solutions(dev) == ["call it by name"]

    def test_an_expired_one_is_gone(self, dev: Satchel, clock: ManualClock) -> None:
        clock.advance(90 * DAY)
        assert pad(dev, 1, "call it by name", test_status="passing").notes == ()

    def test_of_many_some_are_named_and_the_rest_counted(self, dev: Satchel) -> None:
        for letter in "bcdefghi":
            dev.patterns.report("NameError", f"name {letter!r} is not defined", loop_id="L")
        told = pad(dev, 1, "import them", test_status="passing").notes
        assert len(told) == 6
        assert told[5] == "the same for 4 more errors of this loop"
        assert len(dev.patterns.find(query="import").items) == 9

    def test_of_many_left_unsaid_too(self, dev: Satchel) -> None:
        for letter in "bcdefghi":
            dev.patterns.report("NameError", f"name {letter!r} is not defined", loop_id="L")
        (note,) = pad(dev, 1, test_status="passing").notes
        assert "fix of x1, x2, x3, x4, x5 and 4 more: once it is fixed, report it" in note
