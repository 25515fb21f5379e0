"""Strategies that a run suggests: what passed review after it had failed, never saved unseen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from satchel import NotFound, Satchel, StrategyProposal

if TYPE_CHECKING:
    from conftest import ManualClock

RUN = "night"


@pytest.fixture
def night(open_in: Callable[..., Satchel], project: Path) -> Satchel:
    """A Satchel in the run night."""
    satchel = open_in(project, run=RUN)
    satchel.runs.start(RUN)
    return satchel


def pad(satchel: Satchel, *attempted: str, status: str | None = None, **more: Any) -> str:
    place = {name: more.pop(name) for name in ("task_id", "loop_id", "run_id") if name in more}
    content = {"iteration": 1, "attempted": list(attempted), **({"test_status": status} if status else {}), **more}
    return satchel.entries.write("scratchpad", content, **{"loop_id": "L", **place}).ref


def verdict(satchel: Satchel, passed: bool, summary: str | None = None, **place: Any) -> str:
    content = {"passed": passed, **({"summary": summary} if summary else {})}
    return satchel.entries.write("review_verdict", content, **{"task_id": "token-refresh", "loop_id": "L", **place}).ref


def issue(satchel: Satchel, description: str, **more: Any) -> str:
    content = {"description": description, **more}
    return satchel.entries.write("review_issue", content, task_id="token-refresh", loop_id="L").ref


def proposed(satchel: Satchel) -> StrategyProposal:
    (proposal,) = satchel.learning.strategies(RUN)
    return proposal


class TestWhatIsProposed:
    def test_what_passed_review_after_its_tests_failed(self, night: Satchel) -> None:
        failed = pad(night, "retry at once", status="2 failed, 3 passed")
        worked = pad(night, "retry at once", "back off with jitter", status="passing")
        passed = verdict(night, True)
        assert proposed(night) == StrategyProposal(
            topic="token-refresh",
            insight="back off with jitter (passed review after failing once: retry at once)",
            evidence=(failed, worked, passed),
            lang=None,
            framework=None,
            run_id=RUN,
            task_id="token-refresh",
            loop_id=None,
        )

    def test_what_passed_review_after_one_that_did_not(self, night: Satchel) -> None:
        found = issue(night, "no retry on 429", issue_type="missing-error-handling")
        failed = verdict(night, False, "it gives up")
        worked = pad(night, "back off with jitter")
        passed = verdict(night, True)
        proposal = proposed(night)
        assert proposal.insight == "back off with jitter (passed review after failing once: it gives up)"
        assert proposal.evidence == (found, failed, worked, passed)

    def test_each_task_and_loop_in_the_order_in_which_they_passed(self, night: Satchel) -> None:
        for task, loop in (("b-task", "L1"), (None, "L2"), ("a-task", "L3"), (None, None)):
            pad(night, "bad", status="failing", task_id=task, loop_id=loop)
            pad(night, "good", task_id=task, loop_id=loop)
            verdict(night, True, task_id=task, loop_id=loop)
        proposals = night.learning.strategies(RUN)
        assert [(one.task_id, one.loop_id) for one in proposals] == [
            ("b-task", None),
            (None, "L2"),
            ("a-task", None),
            (None, None),
        ]
        assert {one.insight for one in proposals} == {"good (passed review after failing once: bad)"}

    def test_what_a_task_tried_in_another_loop_counts_for_it(self, night: Satchel) -> None:
        pad(night, "bad", status="failing", task_id="token-refresh", loop_id="before")
        pad(night, "good")
        verdict(night, True)
        assert proposed(night).insight == "good (passed review after failing once: bad)"

    def test_it_is_the_same_every_time_and_nothing_is_saved(self, night: Satchel) -> None:
        pad(night, "bad", status="failing")
        pad(night, "good")
        verdict(night, True)
        before = night.strategies.find().seq
        assert night.learning.strategies(RUN) == night.learning.strategies(RUN)
        assert (night.strategies.find().total, night.strategies.find().seq) == (0, before)

    def test_it_can_be_saved_as_it_is(self, night: Satchel) -> None:
        for attempt in ("x" * 400, "y" * 400, "z" * 400):
            pad(night, attempt, status="failing")
        pad(night, "good " * 100, "better " * 100)
        verdict(night, True)
        proposal = proposed(night)
        saved = night.strategies.save(proposal.topic, proposal.insight)
        assert (saved.topic, saved.insight, saved.notes) == (proposal.topic, proposal.insight, ())
        assert len(proposal.insight) == 500


class TestWhatIsNot:
    def test_what_never_failed(self, night: Satchel) -> None:
        pad(night, "good", status="passing")
        verdict(night, True)
        assert night.learning.strategies(RUN) == ()

    def test_what_never_passed(self, night: Satchel) -> None:
        pad(night, "bad", status="failing")
        verdict(night, False)
        assert night.learning.strategies(RUN) == ()

    def test_what_passed_and_then_failed(self, night: Satchel) -> None:
        pad(night, "bad", status="failing")
        pad(night, "good")
        verdict(night, True)
        verdict(night, False, loop_id="M")
        assert night.learning.strategies(RUN) == ()

    def test_what_failed_only_afterwards(self, night: Satchel) -> None:
        pad(night, "good")
        verdict(night, True)
        pad(night, "bad", status="failing")
        assert night.learning.strategies(RUN) == ()

    def test_what_failed_elsewhere(self, night: Satchel) -> None:
        pad(night, "bad", status="failing", loop_id="M")
        verdict(night, False, task_id="other", loop_id="M")
        pad(night, "good")
        verdict(night, True)
        assert night.learning.strategies(RUN) == ()

    def test_what_nothing_says_how_it_worked(self, night: Satchel) -> None:
        pad(night, "bad", status="failing")
        pad(night, "bad", status="passing")
        verdict(night, True)
        assert night.learning.strategies(RUN) == ()

    def test_what_happened_in_another_run(self, night: Satchel) -> None:
        night.runs.start("day")
        pad(night, "bad", status="failing", run_id="day")
        pad(night, "good", run_id=RUN)
        verdict(night, True, run_id=RUN)
        assert night.learning.strategies(RUN) == ()

    def test_a_row_that_cannot_be_read_is_passed_over(self, night: Satchel) -> None:
        for attempt in ("bad", "worse"):
            broken = pad(night, attempt, status="failing")
        pad(night, "good")
        verdict(night, True)
        with night.workplace.engine.write() as transaction:
            transaction.run("UPDATE context SET content = '{' WHERE id = :id", {"id": int(broken[1:])})
        assert proposed(night).insight == "good (passed review after failing once: bad)"


class TestTheInsight:
    @pytest.mark.parametrize(
        ("last", "suggestion", "summary", "worked"),
        [
            ({"attempted": ["new"], "fix": "a fix"}, "suggested", "all well", "new"),
            ({"attempted": ["bad"], "fix": "a fix", "summary": "sum"}, "suggested", "all well", "a fix"),
            ({"summary": "sum"}, "suggested", "all well", "sum"),
            ({}, "suggested", "all well", "suggested"),
            ({}, None, "all well", "all well"),
        ],
    )
    def test_it_says_what_worked_by_the_best_source(
        self, night: Satchel, last: dict[str, Any], suggestion: str | None, summary: str, worked: str
    ) -> None:
        issue(night, "no retry", **({"suggestion": suggestion} if suggestion else {}))
        pad(night, "bad", status="failing")
        night.entries.write("scratchpad", {"iteration": 2, **last}, loop_id="L")
        verdict(night, True, summary)
        assert proposed(night).insight == f"{worked} (passed review after failing once: bad)"

    def test_it_says_how_often_and_by_what_it_failed_last(self, night: Satchel) -> None:
        for attempt in ("a", "b", "c", "d"):
            pad(night, attempt, status="failing")
        pad(night, "good\n  indeed")
        verdict(night, True)
        assert proposed(night).insight == "good indeed (passed review after failing 4 times: b; c; d)"

    def test_it_names_the_attempt_that_passed_and_no_other(self, night: Satchel) -> None:
        pad(night, "reinstall", status="failing")
        pad(night, "read the changelog")
        pad(night, "read the changelog", "pin bar to 2.0", status="passing")
        verdict(night, True)
        assert proposed(night).insight == "pin bar to 2.0 (passed review after failing once: reinstall)"

    def test_an_attempt_whose_tests_passed_is_no_failure(self, night: Satchel) -> None:
        pad(night, "reinstall", status="failing")
        pad(night, "pin bar to 2.0", status="passing")
        verdict(night, False)
        pad(night, "add a test", status="passing")
        verdict(night, True)
        assert proposed(night).insight == "add a test (passed review after failing 2 times: reinstall)"

    def test_without_attempts_it_says_what_the_reviews_found(self, night: Satchel) -> None:
        issue(night, "no retry on 429")
        verdict(night, False)
        pad(night, "good")
        verdict(night, True)
        assert proposed(night).insight == "good (passed review after failing once: no retry on 429)"

    def test_without_any_of_it_it_says_only_that(self, night: Satchel) -> None:
        verdict(night, False)
        pad(night, "good")
        verdict(night, True)
        assert proposed(night).insight == "good (passed review after failing once)"

    def test_of_much_evidence_the_newest_is_named(self, night: Satchel) -> None:
        for number in range(20):
            pad(night, f"attempt {number}", status="failing")
        worked = pad(night, "good")
        passed = verdict(night, True)
        assert len(proposed(night).evidence) == 12
        assert proposed(night).evidence[-2:] == (worked, passed)


@pytest.mark.parametrize(
    ("task", "types", "topic"),
    [
        ("token-refresh", [], "token-refresh"),
        ("PROJ-12 Token Refresh", [], "token-refresh"),
        ("task-3-oauth2_flow", [], "oauth2-flow"),
        ("T1", ["dead-code", "missing-error-handling", "missing-error-handling"], "missing-error-handling"),
        ("PROJ-12", [], "cache-token-user"),
        ("task-7", [], "cache-token-user"),
    ],
)
def test_the_topic_comes_from_the_task_else_the_issues_else_what_worked(
    night: Satchel, task: str, types: list[str], topic: str
) -> None:
    for name in types:
        content = {"description": "x", "issue_type": name}
        night.entries.write("review_issue", content, task_id=task, loop_id="L")
    pad(night, "bad", status="failing")
    pad(night, "cache the tokens by user")
    verdict(night, True, task_id=task)
    assert proposed(night).topic == topic


@pytest.mark.parametrize(
    ("analysis", "lang", "framework"),
    [
        (["Python 3.11", "FastAPI", "PostgreSQL"], "python", "fastapi"),
        (["TypeScript 5", "JavaScript", "Next.js 14", "React 18", "jest"], "typescript", "next.js"),
        (["React Native 0.73", "React", "TypeScript"], "typescript", "react-native"),
        (["golang 1.22"], "go", None),
        (["C++20", "c++"], "c++", None),
        (["Objective-C"], None, None),
        (["Python", "Go"], None, None),
        (["Django", "Flask", "python"], "python", None),
        (["PostgreSQL"], None, None),
    ],
)
def test_language_and_framework_come_from_the_analysis_where_it_names_one_alone(
    night: Satchel, analysis: list[str], lang: str | None, framework: str | None
) -> None:
    night.entries.write("codebase_analysis", {"summary": "written in Rust with Rails", "tech_stack": ["Rust"]})
    night.entries.write("codebase_analysis", {"summary": "written in Rust with Rails", "tech_stack": analysis})
    pad(night, "bad", status="failing")
    pad(night, "good")
    verdict(night, True)
    assert (proposed(night).lang, proposed(night).framework) == (lang, framework)


def test_where_no_stack_is_named_the_type_of_the_project_says_it(night: Satchel) -> None:
    night.entries.write("codebase_analysis", {"summary": "x", "project_type": "Django site"})
    pad(night, "bad", status="failing")
    pad(night, "good")
    verdict(night, True)
    assert proposed(night).framework == "django"


class TestWhichRun:
    def teach(self, satchel: Satchel, run: str) -> None:
        satchel.runs.start(run)
        pad(satchel, "bad", status="failing", run_id=run)
        pad(satchel, "good", run_id=run)
        verdict(satchel, True, run_id=run)

    def test_without_a_name_the_one_that_ended_last(self, satchel: Satchel, clock: ManualClock) -> None:
        for run in ("one", "two", "three"):
            self.teach(satchel, run)
        for run in ("two", "one"):
            satchel.runs.end(run)
            clock.advance(1_000)
        assert [one.run_id for one in satchel.learning.strategies()] == ["one"]

    def test_the_default_one_where_there_is_one(
        self, open_in: Callable[..., Satchel], project: Path, satchel: Satchel
    ) -> None:
        self.teach(satchel, "one")
        assert [one.run_id for one in open_in(project, run="one").learning.strategies()] == ["one"]

    @pytest.mark.parametrize("is_empty", [True, False])
    def test_without_one_that_ended_that_is_said(self, satchel: Satchel, is_empty: bool) -> None:
        if not is_empty:
            satchel.runs.start(RUN)
        with pytest.raises(NotFound, match="no run has ended yet"):
            satchel.learning.strategies()

    @pytest.mark.parametrize("is_empty", [True, False])
    def test_an_unknown_one_is_said(self, satchel: Satchel, is_empty: bool) -> None:
        if not is_empty:
            satchel.runs.start(RUN)
        with pytest.raises(NotFound, match="there is no run 'x'"):
            satchel.learning.strategies("x")
