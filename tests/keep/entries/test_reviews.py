from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from satchel import Entry, NewEntry, Satchel

if TYPE_CHECKING:
    from conftest import ManualClock


@pytest.fixture
def issue(satchel: Satchel) -> Callable[..., Entry]:
    """Write a review_issue with a text, for a task and loop."""

    def write(text: str, task_id: str | None = "T", loop_id: str | None = "L") -> Entry:
        return satchel.entries.write("review_issue", {"description": text}, task_id=task_id, loop_id=loop_id)

    return write


@pytest.fixture
def verdict(satchel: Satchel) -> Callable[..., Entry]:
    """Write a review_verdict for a task and loop."""

    def write(passed: bool = False, task_id: str | None = "T", loop_id: str | None = "L") -> Entry:
        content = {"passed": passed, "summary": "s"}
        return satchel.entries.write("review_verdict", content, task_id=task_id, loop_id=loop_id)

    return write


def live(satchel: Satchel) -> list[int]:
    return [entry.id for entry in satchel.entries.read(order="asc", limit=500)]


def heirs(satchel: Satchel) -> dict[int, int | None]:
    return {entry.id: entry.superseded_by for entry in satchel.entries.read(status="all", limit=500)}


def test_a_verdict_leaves_the_issues_of_its_own_review_live(
    satchel: Satchel, issue: Callable[..., Entry], verdict: Callable[..., Entry]
) -> None:
    written = [issue("a").id, issue("b").id, verdict().id]
    assert live(satchel) == written


def test_the_next_verdict_supersedes_the_one_before_and_its_issues(
    satchel: Satchel, issue: Callable[..., Entry], verdict: Callable[..., Entry]
) -> None:
    first = [issue("a").id, issue("b").id, verdict().id]
    second = [issue("c").id, verdict(True).id]
    assert live(satchel) == second
    assert heirs(satchel) == {**dict.fromkeys(first, second[-1]), **dict.fromkeys(second)}


def test_issues_since_the_last_verdict_are_open_beside_it(
    satchel: Satchel, issue: Callable[..., Entry], verdict: Callable[..., Entry]
) -> None:
    written = [issue("a").id, verdict().id, issue("b").id]
    assert live(satchel) == written


@pytest.mark.parametrize(("task_id", "loop_id"), [("T2", "L"), ("T", "L2"), (None, "L"), ("T", None), (None, None)])
def test_a_review_belongs_to_its_task_and_loop(
    satchel: Satchel,
    issue: Callable[..., Entry],
    verdict: Callable[..., Entry],
    task_id: str | None,
    loop_id: str | None,
) -> None:
    first = [issue("a").id, verdict().id]
    other = [issue("b", task_id, loop_id).id, verdict(True, task_id, loop_id).id]
    assert live(satchel) == first + other
    again = verdict(True, task_id, loop_id).id
    assert live(satchel) == [*first, again]


def test_a_review_belongs_to_its_run(satchel: Satchel) -> None:
    for run in ("r1", "r2"):
        satchel.runs.start(run)
        satchel.entries.write("review_verdict", {"passed": True, "summary": "s"}, run_id=run)
    assert satchel.entries.read(run_id="r1").total == satchel.entries.read(run_id="r2").total == 1


def test_a_verdict_leaves_other_types_of_the_task_alone(satchel: Satchel, verdict: Callable[..., Entry]) -> None:
    note = satchel.entries.write("discovery", "x", task_id="T", loop_id="L")
    verdict()
    verdict()
    assert note.id in live(satchel)


def test_a_review_written_as_one_batch_is_superseded_as_a_whole(satchel: Satchel) -> None:
    batch = [
        NewEntry("review_issue", {"description": "a"}, "T"),
        NewEntry("review_verdict", {"passed": False, "summary": "s"}, "T"),
    ]
    satchel.entries.write_many(batch)
    second = satchel.entries.write_many(batch)
    assert live(satchel) == [entry.id for entry in second]


def test_a_run_has_one_live_analysis_whoever_wrote_it(satchel: Satchel) -> None:
    satchel.runs.start("r1")
    satchel.runs.start("r2")
    written = [
        satchel.entries.write("codebase_analysis", {"summary": "s"}, task_id=task, agent=agent, run_id="r1").id
        for task, agent in (("T1", "ann"), ("T2", "bob"), (None, None))
    ]
    elsewhere = satchel.entries.write("codebase_analysis", {"summary": "s"}, run_id="r2").id
    page = satchel.entries.read(run_id="r1", status="all", order="asc")
    assert [entry.superseded_by for entry in page] == [written[1], written[2], None]
    assert [entry.id for entry in satchel.entries.read(run_id="r2")] == [elsewhere]


def test_two_analyses_in_one_batch_leave_the_later_live(satchel: Satchel) -> None:
    _, second = satchel.entries.write_many([NewEntry("codebase_analysis", {"summary": text}) for text in "ab"])
    assert live(satchel) == [second.id]


def forget(satchel: Satchel, entry: Entry) -> None:
    satchel.housekeeping.forget(entry.ref)


@pytest.fixture
def analyses(satchel: Satchel) -> list[Entry]:
    """Four analyses of one run, each superseding the one before."""
    return [satchel.entries.write("codebase_analysis", {"summary": f"s{number}"}) for number in range(4)]


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (0, {1: 2, 2: 3, 3: None}),
        (1, {0: 2, 2: 3, 3: None}),
        (2, {0: 1, 1: 3, 3: None}),
        (3, {0: 1, 1: 2, 2: None}),
    ],
)
def test_a_chain_of_analyses_is_repaired_when_one_is_forgotten(
    satchel: Satchel, analyses: list[Entry], place: int, expected: dict[int, int | None]
) -> None:
    forget(satchel, analyses[place])
    ids = [entry.id for entry in analyses]
    assert heirs(satchel) == {ids[old]: None if new is None else ids[new] for old, new in expected.items()}


def test_forgetting_every_analysis_one_by_one_always_leaves_one_live(satchel: Satchel, analyses: list[Entry]) -> None:
    for entry in (analyses[2], analyses[3], analyses[0]):
        forget(satchel, entry)
        assert len(live(satchel)) == 1
    assert live(satchel) == [analyses[1].id]
    satchel.entries.write("codebase_analysis", {"summary": "again"})
    assert len(live(satchel)) == 1


def test_what_lives_again_is_a_change_that_a_cursor_sees(satchel: Satchel, analyses: list[Entry]) -> None:
    cursor = satchel.entries.read().cursor
    forget(satchel, analyses[3])
    (changed,) = satchel.entries.read(after_seq=cursor)
    assert (changed.id, changed.superseded_by) == (analyses[2].id, None)


def test_what_lives_again_is_found_as_live(satchel: Satchel, analyses: list[Entry]) -> None:
    forget(satchel, analyses[3])
    assert [entry.id for entry in satchel.entries.read(query="s2")] == [analyses[2].id]


def test_forgetting_a_live_verdict_brings_the_review_before_it_back(
    satchel: Satchel, issue: Callable[..., Entry], verdict: Callable[..., Entry]
) -> None:
    first = [issue("a").id, verdict().id]
    second = issue("b")
    last = verdict(True)
    forget(satchel, last)
    assert live(satchel) == [*first, second.id]
    closing = verdict(True)
    assert live(satchel) == [second.id, closing.id]


def test_forgetting_a_verdict_in_the_middle_hands_its_issues_on(
    satchel: Satchel, issue: Callable[..., Entry], verdict: Callable[..., Entry]
) -> None:
    first = [issue("a").id, verdict().id]
    second = [issue("b").id, verdict()]
    last = verdict(True)
    assert isinstance(second[1], Entry)
    forget(satchel, second[1])
    assert heirs(satchel) == {first[0]: last.id, first[1]: last.id, second[0]: last.id, last.id: None}


def test_forgetting_an_issue_leaves_the_rest_of_its_review(
    satchel: Satchel, issue: Callable[..., Entry], verdict: Callable[..., Entry]
) -> None:
    leaked = issue("a")
    rest = [issue("b").id, verdict().id]
    forget(satchel, leaked)
    assert live(satchel) == rest


def test_superseding_follows_what_was_written_last_even_when_the_clock_went_back(
    satchel: Satchel, clock: ManualClock, verdict: Callable[..., Entry]
) -> None:
    verdict()
    clock.advance(-60_000)
    second = verdict(True)
    assert live(satchel) == [second.id]


def judge(satchel: Satchel, change: str, agent: str) -> Entry:
    content = {"passed": True, "summary": f"{agent} on {change}", "change": change}
    return satchel.entries.write("review_verdict", content, file="a.py", agent=agent)


def test_without_a_task_verdicts_of_others_or_on_other_changes_stay(satchel: Satchel) -> None:
    remark = satchel.entries.write("review_issue", {"description": "no example"}, file="a.py", agent="ben")
    written = [judge(satchel, "f1", "ben"), judge(satchel, "f2", "ann"), judge(satchel, "f3", "ben")]
    assert live(satchel) == [remark.id, *(one.id for one in written)]


def test_without_a_task_a_reviewers_next_verdict_on_one_change_replaces_the_last_with_its_issues_and_says_so(
    satchel: Satchel,
) -> None:
    own = satchel.entries.write("review_issue", {"description": "no example"}, file="a.py", agent="ben")
    other = satchel.entries.write("review_issue", {"description": "a typo"}, file="a.py", agent="ann")
    first, second = judge(satchel, "f1", "ben"), judge(satchel, "f1", "ben")
    assert live(satchel) == [other.id, second.id]
    replaced = f"{own.ref}, {first.ref} are replaced: searches show them only if status asks for them"
    assert replaced in second.notes
    assert not [note for note in first.notes if "replaced" in note]


def test_in_a_task_a_verdict_replaces_one_on_other_changes_only_if_it_covers_them(satchel: Satchel) -> None:
    def judged(change: str) -> Entry:
        content = {"passed": True, "change": change}
        return satchel.entries.write("review_verdict", content, task_id="T1", agent="ben")

    issue = satchel.entries.write("review_issue", {"description": "no example"}, task_id="T1", agent="ben")
    many, other = judged("f1 to f4"), judged("f9")
    assert live(satchel) == [issue.id, many.id, other.id]
    assert not [note for note in other.notes if "replaced" in note]
    again = judged("f9, f10")
    assert live(satchel) == [issue.id, many.id, again.id]
    last = judged("f10, f1 to f9")
    assert live(satchel) == [last.id]


def test_in_a_task_a_verdict_on_another_file_stays_and_one_on_the_task_replaces_all(satchel: Satchel) -> None:
    def judged(file: str | None, change: str | None = None) -> Entry:
        content = {"passed": True} | ({"change": change} if change else {})
        return satchel.entries.write("review_verdict", content, file=file, task_id="T1", agent="ben")

    first, second, third = judged("a.py"), judged("b.py"), judged("b.py", "f3")
    assert live(satchel) == [first.id, third.id]
    assert f"{second.ref} is replaced: searches show it only if status asks for it" in third.notes
    assert live(satchel) == [first.id, third.id]
    assert [judged(None).id] == live(satchel)
