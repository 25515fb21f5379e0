"""What is kept as the fix when a loop succeeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brief.learning.loops import ERROR, OTHER, only, pad, solutions, verdict
from satchel import Satchel

if TYPE_CHECKING:
    from conftest import ManualClock


UNSAID = "no scratchpad names the fix of x1: once it is fixed, report it with report_outcome (id and solution)"


class TestWhatTheFixIs:
    def test_what_no_earlier_scratchpad_lists(self, dev: Satchel) -> None:
        pad(dev, 1, "add a check", test_status="failing")
        pad(dev, 2, "add a check", "import it late", test_status="failing")
        pad(dev, 3, "Add a  CHECK", "import it late", "call it by name", test_status="passing")
        assert solutions(dev) == ["call it by name"]

    def test_of_several_the_last_three_together(self, dev: Satchel) -> None:
        pad(dev, 1, "a", "b", "c", " ", "d ", test_status="passing")
        assert solutions(dev) == ["b; c; d"]

    @pytest.mark.parametrize("name", ["fix", "solution", "resolution", "summary"])
    def test_without_a_new_attempt_what_it_says_in_words(self, dev: Satchel, name: str) -> None:
        pad(dev, 1, "add a check", test_status="failing")
        pad(dev, 2, "add a check", test_status="passing", **{name: " pinned it to 2.1 "})
        assert solutions(dev) == ["pinned it to 2.1"]

    def test_an_attempt_says_more_than_a_summary_and_a_fix_more_than_that(
        self, dev: Satchel, clock: ManualClock
    ) -> None:
        pad(dev, 1, "add a check", test_status="passing", summary="all done", fix="a fix")
        clock.advance(1_000)
        dev.patterns.report(*OTHER, loop_id="L")
        pad(dev, 2, "add a check", test_status="passing", summary="all done", fix="a fix")
        assert (solutions(dev), solutions(dev, "x2")) == (["add a check"], ["a fix"])

    @pytest.mark.parametrize("more", [{}, {"summary": " "}, {"summary": 5}, {"next_step": "rest"}])
    def test_without_any_text_nothing_is_guessed_and_that_is_said(self, dev: Satchel, more: Mapping[str, Any]) -> None:
        entry = pad(dev, 1, test_status="passing", **more)
        assert entry.notes == (UNSAID,)
        assert solutions(dev) == []

    def test_for_a_verdict_it_is_the_newest_scratchpads_and_its_authors(
        self, open_in: Callable[..., Satchel], project: Path, dev: Satchel
    ) -> None:
        dev.patterns.report(*ERROR, loop_id="L", task_id="T")
        pad(dev, 1, "add a check", test_status="failing", task="T")
        pad(dev, 2, "add a check", "call it by name", task="T")
        verdict(open_in(project, agent="reviewer"), task_id="T")
        assert (only(dev).text, only(dev).agent) == ("call it by name", "dev")

    def test_a_verdict_of_another_on_the_loop_alone_says_nothing(
        self, open_in: Callable[..., Satchel], project: Path, dev: Satchel
    ) -> None:
        pad(dev, 1, "call it by name")
        assert (verdict(open_in(project, agent="stranger")).notes, solutions(dev)) == ((), [])

    def test_a_verdict_without_a_scratchpad_says_nothing_of_it(self, dev: Satchel) -> None:
        assert "no scratchpad names the fix of x1" in verdict(dev).notes[0]
        assert solutions(dev) == []

    def test_what_was_met_after_the_newest_scratchpad_is_not_fixed_by_it(
        self, dev: Satchel, clock: ManualClock
    ) -> None:
        pad(dev, 1, "call it by name")
        clock.advance(1_000)
        dev.patterns.report(*OTHER, loop_id="L")
        notes = verdict(dev).notes
        assert (solutions(dev), solutions(dev, "x2")) == (["call it by name"], [])
        assert "no scratchpad names the fix of x2" in notes[1]

    def test_scratchpads_of_other_loops_are_no_earlier_ones(self, dev: Satchel) -> None:
        pad(dev, 1, "call it by name", loop="M", test_status="failing")
        pad(dev, 1, "call it by name", test_status="passing")
        assert solutions(dev) == ["call it by name"]

    def test_a_secret_in_it_is_redacted(self, dev: Satchel) -> None:
        token = "ghp_" + "a1B2" * 9
        entry = pad(dev, 1, f"use {token}", test_status="passing")
        assert "ghp_" not in f"{solutions(dev)}{entry.notes}"


def test_a_scratchpad_that_cannot_be_read_is_passed_over(dev: Satchel) -> None:
    broken = pad(dev, 1, "call it by name", test_status="failing")
    with dev.workplace.engine.write() as transaction:
        transaction.run("UPDATE context SET content = '{' WHERE id = :id", {"id": broken.id})
    pad(dev, 2, "call it by name", test_status="passing")
    assert solutions(dev) == ["call it by name"]


class TestWithoutALoop:
    """The author's session is the loop then, which holds work on other things too."""

    def test_a_success_alone_is_no_fix(self, satchel: Satchel) -> None:
        satchel.patterns.report(*ERROR, agent="dev")
        done = {"iteration": 1, "done": True, "attempted": ["write another page"]}
        assert satchel.entries.write("scratchpad", done, agent="dev").notes == (UNSAID,)
        assert solutions(satchel) == []

    def test_nor_is_one_after_an_attempt_in_vain(self, satchel: Satchel) -> None:
        satchel.patterns.report(*ERROR, agent="dev")
        for number, done, attempt in ((1, False, "write a page"), (2, True, "write another page")):
            pad_of_it = {"iteration": number, "done": done, "attempted": [attempt]}
            satchel.entries.write("scratchpad", pad_of_it, agent="dev")
        assert solutions(satchel) == []

    @pytest.mark.parametrize(
        ("said", "is_named"),
        [
            ("x1: call it by name", True),
            ("against the TypeError call it by name", True),
            ("x10: call it by name", False),
            ("MyTypeErrors: call it by name", False),
        ],
    )
    def test_it_is_where_the_scratchpad_names_the_error(self, satchel: Satchel, said: str, is_named: bool) -> None:
        satchel.patterns.report(*ERROR, agent="dev")
        satchel.entries.write("scratchpad", {"iteration": 1, "done": True, "attempted": [said]}, agent="dev")
        assert solutions(satchel) == ([said] if is_named else [])

    def test_a_word_for_all_errors_names_none(self, satchel: Satchel) -> None:
        satchel.patterns.report("Error", "gone", agent="dev")
        done = {"iteration": 1, "done": True, "attempted": ["Error pages have a title"]}
        satchel.entries.write("scratchpad", done, agent="dev")
        assert solutions(satchel) == []


def test_in_a_task_alone_a_success_is_one_after_an_attempt_in_vain(satchel: Satchel) -> None:
    for task in ("T", "U"):
        satchel.patterns.report(*(ERROR if task == "T" else OTHER), task_id=task)
    pad(satchel, 1, "add a check", loop=None, task="T", test_status="failing")
    for task in ("T", "U"):
        pad(satchel, 2, "call it by name", loop=None, task=task, done=True)
    assert (solutions(satchel), solutions(satchel, "x2")) == (["call it by name"], [])
