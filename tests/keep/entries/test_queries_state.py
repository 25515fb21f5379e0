from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from satchel import NewEntry, NotFound, Satchel
from satchel.keep.entries.kind import NEWEST_PER_TYPE
from satchel.keep.entries.structured import (
    CodebaseAnalysis,
    ReviewIssue,
    ReviewVerdict,
    StateIssue,
    StateNote,
    StateVerdict,
    Unreadable,
)

if TYPE_CHECKING:
    from conftest import ManualClock


def damage(satchel: Satchel, number: int, content: str) -> None:
    """Overwrite the content of an entry as another program might."""
    with satchel.workplace.engine.write() as transaction:
        transaction.run("UPDATE context SET content = :content WHERE id = :id", {"content": content, "id": number})


def test_a_run_without_entries_has_an_empty_state(satchel: Satchel) -> None:
    run = satchel.runs.start("r1")
    state = satchel.entries.load_state("r1")
    assert (state.run_id, state.run) == ("r1", run)
    assert (state.discoveries, state.errors, state.decisions, state.review_issues) == ((), (), (), ())
    assert (state.verdicts, state.codebase_analysis, state.unreadable, state.left_out) == ((), None, (), ())


def test_every_field_of_a_state_is_loaded(satchel: Satchel, clock: ManualClock) -> None:
    place: dict[str, Any] = {"task_id": "T", "loop_id": "L", "file": "src/a.py", "line": 3, "agent": "dev"}
    refs = {}
    written: dict[str, str | dict[str, object]] = {
        "discovery": "found",
        "error": "failed",
        "decision": "decided",
        "review_issue": {"description": "d", "issue_type": "dead-code", "suggestion": "s", "severity": 1},
        "review_verdict": {"passed": False, "summary": "no", "intent_satisfied": True},
        "scratchpad": {"iteration": 1},
        "codebase_analysis": {
            "project_type": "cli",
            "tech_stack": ["python"],
            "directory_structure": "src/",
            "existing_features": ["login"],
            "entry_points": ["main"],
            "patterns": ["repository"],
            "summary": "small",
        },
    }
    for kind, content in written.items():
        refs[kind] = satchel.entries.write(kind, content, **place).ref
    state = satchel.entries.load_state()
    rest = ("T", "L", "src/a.py", 3, "dev", clock.now)
    assert state.discoveries == (StateNote(refs["discovery"], "main", "found", *rest),)
    assert state.errors == (StateNote(refs["error"], "main", "failed", *rest),)
    assert state.decisions == (StateNote(refs["decision"], "main", "decided", *rest),)
    assert state.review_issues == (
        StateIssue(refs["review_issue"], "main", ReviewIssue("d", "dead-code", "s"), "T", "L", "src/a.py", 3, "dev"),
    )
    assert state.verdicts == (
        StateVerdict(refs["review_verdict"], "main", ReviewVerdict(False, "no", True), "T", "L", "dev", clock.now),
    )
    assert state.codebase_analysis == CodebaseAnalysis(
        "small", "cli", ("python",), "src/", ("login",), ("main",), ("repository",)
    )


def test_each_list_is_in_the_order_it_was_written_though_the_clock_stands_still(satchel: Satchel) -> None:
    for number in range(4):
        satchel.entries.write("discovery", f"d{number}")
        satchel.entries.write("error", f"e{number}")
    state = satchel.entries.load_state()
    assert [note.content for note in state.discoveries] == ["d0", "d1", "d2", "d3"]
    assert [note.content for note in state.errors] == ["e0", "e1", "e2", "e3"]


def test_the_newest_of_each_type_are_loaded_and_the_rest_counted(satchel: Satchel) -> None:
    satchel.entries.write("error", "the only one")
    for first in (0, 255):
        satchel.entries.write_many([NewEntry("discovery", f"d{number}") for number in range(first, first + 255)])
    state = satchel.entries.load_state()
    assert len(state.discoveries) == NEWEST_PER_TYPE == 500
    assert (state.discoveries[0].content, state.discoveries[-1].content) == ("d10", "d509")
    assert state.left_out == (("discovery", 10),)
    assert [note.content for note in state.errors] == ["the only one"]


def test_exactly_as_many_as_are_loaded_leave_nothing_out(satchel: Satchel) -> None:
    satchel.entries.write_many([NewEntry("discovery", "x")] * NEWEST_PER_TYPE)
    assert satchel.entries.load_state().left_out == ()


def test_scratchpads_take_no_place_in_the_state(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("satchel.keep.entries.kind.NEWEST_PER_TYPE", 3)
    satchel.entries.write("discovery", "kept")
    satchel.entries.write_many([NewEntry("scratchpad", {"iteration": number}) for number in range(3)])
    state = satchel.entries.load_state()
    assert [note.content for note in state.discoveries] == ["kept"]
    assert state.left_out == ()


def test_what_was_superseded_is_not_loaded(satchel: Satchel) -> None:
    for passed in (False, True):
        satchel.entries.write("review_issue", {"description": f"before {passed}"})
        satchel.entries.write("review_verdict", {"passed": passed, "summary": str(passed)})
        satchel.entries.write("codebase_analysis", {"summary": str(passed)})
    state = satchel.entries.load_state()
    assert [issue.issue.description for issue in state.review_issues] == ["before True"]
    assert [verdict.verdict.summary for verdict in state.verdicts] == ["True"]
    assert state.codebase_analysis == CodebaseAnalysis("True")


def test_passed_without_issues_is_told_from_never_reviewed(satchel: Satchel) -> None:
    satchel.runs.start("r1")
    assert satchel.entries.load_state().verdict is None
    satchel.entries.write("review_verdict", {"passed": True, "summary": "clean"})
    verdict = satchel.entries.load_state().verdict
    assert verdict is not None
    assert verdict.verdict == ReviewVerdict(True, "clean", None)


def test_the_verdict_of_a_run_is_the_newest_of_its_reviews(satchel: Satchel) -> None:
    for task in ("T1", "T2"):
        satchel.entries.write("review_verdict", {"passed": True, "summary": task}, task_id=task)
    state = satchel.entries.load_state()
    assert [verdict.task_id for verdict in state.verdicts] == ["T1", "T2"]
    assert state.verdict == state.verdicts[-1]


MALFORMED = {
    "review_issue": ('{"description": 5}', "description of a review_issue must be text"),
    "review_verdict": ("not json at all", "is not JSON"),
    "codebase_analysis": ('["a list"]', "must be an object"),
}


@pytest.mark.parametrize("kind", list(MALFORMED))
def test_a_malformed_row_is_reported_and_the_rest_is_loaded(satchel: Satchel, kind: str) -> None:
    satchel.entries.write("discovery", "fine")
    content = {"description": "d", "passed": True, "summary": "s"}
    bad = satchel.entries.write(kind, content, task_id="bad")
    good = None if kind == "codebase_analysis" else satchel.entries.write(kind, content, task_id="good")
    damage(satchel, bad.id, MALFORMED[kind][0])
    state = satchel.entries.load_state()
    ((ref, name, reason),) = [(row.ref, row.type, row.reason) for row in state.unreadable]
    assert (ref, name) == (bad.ref, kind)
    assert MALFORMED[kind][1] in reason
    assert [note.content for note in state.discoveries] == ["fine"]
    loaded = [*(issue.ref for issue in state.review_issues), *(verdict.ref for verdict in state.verdicts)]
    assert loaded == ([good.ref] if good else [])
    assert state.codebase_analysis is None


@pytest.mark.parametrize("content", ["", "[" * 5_000, '{"summary": NaN}', "{}"])
def test_no_content_of_a_row_makes_loading_fail(satchel: Satchel, content: str) -> None:
    bad = satchel.entries.write("codebase_analysis", {"summary": "s"})
    damage(satchel, bad.id, content)
    (row,) = satchel.entries.load_state().unreadable
    assert isinstance(row, Unreadable)
    assert row.ref == bad.ref
    assert satchel.entries.read().entries[0].content == content


def test_an_old_row_in_camel_case_is_loaded(satchel: Satchel) -> None:
    old = satchel.entries.write("codebase_analysis", {"summary": "s"})
    damage(satchel, old.id, '{"projectType": "cli", "techStack": ["py"], "summary": "s"}')
    assert satchel.entries.load_state().codebase_analysis == CodebaseAnalysis("s", "cli", ("py",))


@pytest.mark.parametrize("spelling", ["project_type", "projectType"])
def test_both_spellings_of_the_project_type_are_loaded(satchel: Satchel, spelling: str) -> None:
    satchel.entries.write("codebase_analysis", {spelling: "cli", "summary": "s"})
    analysis = satchel.entries.load_state().codebase_analysis
    assert analysis is not None
    assert analysis.project_type == "cli"


def test_the_state_of_an_ended_run_is_loaded_by_name(satchel: Satchel) -> None:
    satchel.runs.start("old")
    satchel.entries.write("discovery", "x", run_id="old")
    satchel.runs.end("old", "failed")
    state = satchel.entries.load_state("old")
    assert state.run is not None
    assert (state.run.status, len(state.discoveries)) == ("failed", 1)


def test_without_a_choice_the_state_is_that_of_all_runs(satchel: Satchel) -> None:
    state = satchel.entries.load_state()
    assert (state.run_id, state.run, state.discoveries) == (None, None, ())
    for name in ("one", "two"):
        satchel.runs.start(name)
        satchel.entries.write("discovery", f"of {name}", run_id=name)
        satchel.entries.write("codebase_analysis", {"summary": name}, run_id=name)
        satchel.entries.write("review_verdict", {"passed": name == "two", "summary": name}, run_id=name)
    state = satchel.entries.load_state()
    assert [(note.run_id, note.content) for note in state.discoveries] == [("one", "of one"), ("two", "of two")]
    assert [(verdict.run_id, verdict.verdict.passed) for verdict in state.verdicts] == [("one", False), ("two", True)]
    assert state.codebase_analysis == CodebaseAnalysis("two")


def test_the_state_of_an_unknown_run_is_an_error(satchel: Satchel) -> None:
    satchel.runs.start("one")
    with pytest.raises(NotFound, match="Did you mean 'one'"):
        satchel.entries.load_state("ones")
