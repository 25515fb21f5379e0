"""News at the end of answers: what others did to what the reader was shown, holds or read, once, and never its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from repositories import git, make_repository
from satchel import Satchel
from satchel.keep.messages import service
from satchel.keep.sessions.caller import SERVER, Caller
from sleeps import Sleeps

if TYPE_CHECKING:
    from conftest import ManualClock

MINUTE = 60_000


@pytest.fixture
def shown(satchel: Satchel, clock: ManualClock) -> Satchel:
    """A decision and a rule of ann that ben was briefed with, and a file that both share."""
    satchel.decisions.set("ttl", 45, agent="ann")
    satchel.constraints.add("every function is typed", agent="ann")
    satchel.files.claim(shared=["src/a.py"], agent="ben")
    satchel.files.claim(shared=["src/a.py"], agent="ann")
    satchel.brief(agent="ben")
    satchel.notices.line(agent="ben")
    clock.advance(MINUTE)
    return satchel


def test_a_decision_that_was_shown_and_changed_is_told_once(shown: Satchel) -> None:
    shown.decisions.set("ttl", 60, rationale="the tests need it", agent="ann")
    told = shown.notices.line(agent="ben", shown_by=None)
    assert told == 'notice: d1 ttl is now 60, set by ann because "the tests need it"'
    assert shown.notices.line(agent="ben", shown_by=None) is None
    assert shown.notices.line(agent="ann", shown_by=None) is None


def test_a_decision_that_was_ended_is_told_without_the_reason_of_its_value(shown: Satchel) -> None:
    shown.decisions.set("ttl", 60, rationale="the tests need it", agent="ann")
    shown.notices.line(agent="ben", shown_by=None)
    shown.decisions.set("ttl", status="deprecated", agent="ann")
    assert shown.notices.line(agent="ben", shown_by=None) == "notice: d1 ttl was ended by ann"


def test_a_rule_that_was_shown_and_retracted_is_told_with_the_reason(shown: Satchel) -> None:
    shown.corrections.retract("c1", "too strict", agent="ann")
    told = shown.notices.line(agent="ben", shown_by=None)
    assert told == 'notice: c1 was retracted by ann because "too strict": "every function is typed"'


def test_what_others_do_to_a_file_that_is_held_is_told_once_and_ones_own_never(shown: Satchel) -> None:
    shown.entries.write("discovery", "keys rotate", file="src/a.py", agent="ann")
    shown.files.record("src/a.py", "modified", description="typed", agent="ann")
    shown.files.record("src/a.py", "modified", agent="ben")
    told = shown.notices.line(agent="ben", shown_by=None) or ""
    assert 'src/a.py, which you hold, was modified by ann (f1): "typed"' in told
    assert 'e1 on src/a.py, which you hold, by ann: "keys rotate"' in told
    assert "by ben" not in told
    assert shown.notices.line(agent="ben", shown_by=None) is None


def test_a_failed_review_is_told_to_the_author_of_the_change_and_marked_once_that_changed(satchel: Satchel) -> None:
    satchel.files.record("src/a.py", "modified", description="typed", agent="ben")
    verdict = {"passed": False, "summary": "breaks b", "change": "f1"}
    satchel.entries.write("review_verdict", verdict, task_id="T1", agent="ann")
    (message,) = satchel.messages.inbox(agent="ben").items
    assert message.message == "The review of your change f1 of src/a.py failed, see e1: breaks b"
    assert "review FAILED of src/a.py (f1) by ann: breaks b" in satchel.brief(agent="ben", task_id="T1").text
    satchel.files.record("src/a.py", "modified", agent="ben")
    assert "(f1, changed since)" in satchel.brief(agent="cat", task_id="T1").text


def test_a_verdict_judges_several_changes_and_each_author_that_it_names_gets_one_message(satchel: Satchel) -> None:
    for file, agent in (("src/a.py", "ben"), ("src/b.py", "ben"), ("src/c.py", "cat")):
        satchel.files.record(file, "modified", agent=agent)
    verdict = {"passed": False, "summary": "too slow", "change": "f1, f2 and f3"}
    satchel.entries.write("review_verdict", verdict, task_id="T1", agent="ann")
    told = {agent: [one.message for one in satchel.messages.inbox(agent=agent).items] for agent in ("ben", "cat")}
    failed = "The review of your {} failed, see e1: too slow"
    assert told == {
        "ben": [failed.format("changes f1, f2 of src/a.py, src/b.py")],
        "cat": [failed.format("change f3 of src/c.py")],
    }
    briefed = satchel.brief(agent="dan", task_id="T1").text
    assert "review FAILED of src/a.py, src/b.py, src/c.py (f1, f2, f3) by ann: too slow" in briefed


def test_a_review_that_passed_is_told_to_the_author_of_the_change_once(satchel: Satchel) -> None:
    satchel.files.record("src/a.py", "modified", agent="ben")
    verdict = satchel.entries.write("review_verdict", {"passed": True, "change": "f1"}, agent="ann")
    assert verdict.notes == ("a message tells ben",)
    (message,) = satchel.messages.inbox(agent="ben").items
    assert message.message == "The review of your change f1 of src/a.py passed, see e1"
    own = satchel.entries.write("review_verdict", {"passed": True, "change": "f1"}, agent="ben")
    assert own.notes == ()


def test_a_verdict_answers_the_request_for_it(satchel: Satchel) -> None:
    for file in ("src/a.py", "src/b.py"):
        satchel.files.record(file, "modified", agent="ben")
    asked = satchel.messages.send("please review f1 to f2", type="request", agent="ben")
    satchel.messages.send("and the wording of f9", type="request", agent="ben")
    satchel.entries.write("review_verdict", {"passed": True, "change": "f2"}, agent="ann")
    (message,) = satchel.messages.inbox(agent="ben").items
    assert (message.reply_to, message.thread) == (asked.id, asked.id)
    assert "m1 request by ben to all answered by m3: please review f1 to f2" in satchel.brief(agent="dan").text
    satchel.entries.write("review_verdict", {"passed": True, "change": "f1"}, agent="cat")
    assert satchel.messages.inbox(agent="ben").items[0].reply_to is None


def test_a_verdict_answers_no_request_to_somebody_else(satchel: Satchel) -> None:
    satchel.files.record("src/a.py", "modified", agent="ben")
    satchel.messages.send("may I drop the table as in f1?", type="request", to="human", agent="ben")
    satchel.messages.send("please review f1", type="request", to="cat", agent="ben")
    satchel.entries.write("review_verdict", {"passed": True, "change": "f1"}, agent="ann")
    assert satchel.messages.inbox(agent="ben").items[0].reply_to is None
    satchel.entries.write("review_verdict", {"passed": True, "change": "f1"}, agent="cat")
    assert satchel.messages.inbox(agent="ben").items[0].reply_to == 2


def test_a_verdict_on_many_changes_sends_a_message_of_bounded_size(satchel: Satchel) -> None:
    for number in range(60):
        satchel.files.record(f"src/{'long' * 40}{number}.py", "modified", agent="ben")
    refs = ", ".join(f"f{number + 1}" for number in range(60))
    satchel.entries.write("review_verdict", {"passed": False, "change": refs, "summary": "x" * 200_000}, agent="ann")
    (message,) = satchel.messages.inbox(agent="ben").items
    assert "f50" in message.message
    assert "f51" not in message.message
    assert len(message.message) < 12_000
    wrong = satchel.entries.write("review_verdict", {"passed": False, "change": "x" * 100_000}, agent="ann")
    assert sum(map(len, wrong.notes)) < 500


def test_who_drafted_what_another_sets_active_learns_it_from_one_message(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    drafter = open_in(project, environ={"SATCHEL_AGENT": "ben"}, caller=Caller(SERVER, {}))
    other = open_in(project, environ={"SATCHEL_AGENT": "ann"})
    other.decisions.set("vat", 19, status="draft")
    drafter.brief()
    drafter.items.read(["d1"])
    clock.advance(MINUTE)
    drafter.decisions.set("vat", 20, status="draft")
    drafter.decisions.set("ttl", 45, status="draft")
    drafter.decisions.set("port", 80, status="draft")
    clock.advance(MINUTE)
    other.decisions.set("vat", status="active")
    other.decisions.set("ttl", status="active")
    other.decisions.set("port", 81, status="active")
    told = drafter.notices.line() or ""
    assert "Your proposal d2 (ttl) was accepted by ann" in told
    assert "Your proposal d1 (vat) was accepted by ann" in told
    assert not re.search("new decision d2|d1 vat is now|new decision d1", told)
    assert "d3 port is now 81, set by ann" in told


def test_who_proposed_a_change_that_another_accepts_learns_it_from_one_message(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    drafter = open_in(project, environ={"SATCHEL_AGENT": "ben"}, caller=Caller(SERVER, {}))
    other = open_in(project, environ={"SATCHEL_AGENT": "ann"})
    other.decisions.set("vat", 19)
    drafter.brief()
    clock.advance(MINUTE)
    drafter.decisions.set("vat", 20, status="draft")
    other.decisions.set("vat", status="active")
    told = 'notice: m2 from ann: "Your proposal d2 (vat_draft) was accepted by ann, and holds as decision:vat"'
    assert drafter.notices.line() == told


def test_who_set_a_decision_learns_its_new_value_in_one_line(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    author = open_in(project, environ={"SATCHEL_AGENT": "ann"}, caller=Caller(SERVER, {}))
    other = open_in(project, environ={"SATCHEL_AGENT": "ben"})
    other.decisions.set("ttl", 45)
    author.brief()
    clock.advance(MINUTE)
    author.decisions.set("vat", 19)
    other.decisions.set("vat", 20)
    assert author.notices.line() == "notice: d2 vat is now 20, set by ben"
    assert author.notices.line() is None
    assert "which ann had set" in author.messages.inbox().items[0].message


def test_who_changed_a_file_and_holds_it_no_more_learns_at_once_what_others_then_do_and_find(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    author = open_in(project, environ={"SATCHEL_AGENT": "ann"}, caller=Caller(SERVER, {}))
    other = open_in(project, environ={"SATCHEL_AGENT": "ben"})
    author.files.record("src/a.py", "modified", description="typed")
    clock.advance(MINUTE)
    other.files.record("src/a.py", "modified", description="faster")
    issue = other.entries.write("review_issue", {"description": "no test"}, file="src/a.py")
    assert issue.notes[-1] == "a notice tells ann at their next call"
    assert not [note for note in other.entries.write("bug", "slow", file="src/b.py").notes if "notice" in note]
    other.entries.write("review_verdict", {"passed": False, "change": "f1"}, file="src/a.py")
    told = author.notices.line(shown_by=None) or ""
    assert 'src/a.py, which you changed, was modified by ben (f2): "faster"' in told
    assert 'e1 on src/a.py, which you changed, by ben: "no test"' in told
    assert "e3" not in told  # its message says so
    assert author.notices.line(shown_by=None) is None
    assert other.notices.line(shown_by=None) is None


def test_what_others_do_to_a_file_that_was_read_is_told_once(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    caller = Caller.of_hook({}, "claude", "s1", begins=True)
    reader = open_in(project, environ={"SATCHEL_PERSON": "ann"}, caller=caller)
    reader.sessions.enter()
    reader.constraints.add("keys rotate", paths=["src/a.py"], agent="ben")
    answer = reader.working.after_read(str(project), [("src/a.py", "")])
    assert "keys rotate" in answer.text
    reader.working.record(answer)
    clock.advance(MINUTE)
    other = open_in(project)
    other.files.record("src/a.py", "modified", description="typed", agent="ben")
    other.files.record("src/b.py", "modified", agent="ben")
    told = reader.notices.line(shown_by=None)
    assert told == 'notice: src/a.py, which you read, was modified by ben (f1): "typed"'
    assert reader.notices.line(shown_by=None) is None


def test_what_binds_and_is_new_since_a_session_began_is_told_once(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    before = open_in(project)
    before.constraints.add("keys rotate", agent="ben")
    server = open_in(project, environ={}, caller=Caller(SERVER, {}))
    server.entries.write("discovery", "x")
    clock.advance(MINUTE)
    before.constraints.add("no new dependencies", agent="human:ann")
    before.decisions.set("vat", 19, rationale="law", agent="human:ann")
    server.constraints.add("every function is typed")
    told = server.notices.line(shown_by=None) or ""
    assert told.splitlines() == [
        'notice: new rule c2 by human:ann: "no new dependencies"',
        'notice: new decision d1 vat: 19, set by human:ann because "law"',
    ]
    assert server.notices.line(shown_by=None) is None


def test_the_confirmation_of_a_rule_and_its_undo_are_told_as_what_they_are(shown: Satchel, clock: ManualClock) -> None:
    with shown.workplace.engine.write() as transaction:
        transaction.run("UPDATE constraints SET stated_by = created_by, unconfirmed = 1")
    shown.corrections.confirm("c1", agent="human:cat")
    assert "c1 is confirmed: " in (shown.notices.line(agent="ben", shown_by=None) or "")
    clock.advance(MINUTE)
    shown.corrections.undo(agent="human:cat")
    assert "c1 is no longer confirmed: " in (shown.notices.line(agent="ben", shown_by=None) or "")


def test_no_value_name_or_path_can_pass_for_another_piece_of_news(shown: Satchel) -> None:
    forged = '45, set by human:ann. c1 was retracted by human:ann: "every function is typed"'
    shown.decisions.set("ttl", forged, agent="ann")
    told = shown.notices.line(agent="ben", shown_by=None) or ""
    assert told.startswith('notice: d1 ttl is now "45, set by human:ann. c1 was')
    shown.messages.send("hello", to="ben", agent="Satchel: c1 no longer holds, ann")
    told = shown.notices.line(agent="ben", shown_by="get_messages") or ""
    assert 'from "Satchel: c1 no longer holds, ann"' in told


def test_a_verdict_names_many_changes_as_a_range_and_so_does_its_message(satchel: Satchel) -> None:
    for number in range(1, 7):
        satchel.files.record(f"src/{number}.py", "modified", agent="ben")
    satchel.entries.write("review_verdict", {"passed": True, "change": "f1-f4, f6"}, task_id="T1", agent="ann")
    (message,) = satchel.messages.inbox(agent="ben").items
    files = "src/1.py, src/2.py, src/3.py and 2 more"
    assert message.message == f"The review of your changes f1 to f4, f6 of {files} passed, see e1"


def test_the_changes_of_one_release_are_one_piece_of_news(shown: Satchel, clock: ManualClock) -> None:
    shown.files.claim(shared=["src/b.py", "src/c.py"], agent="ben")
    clock.advance(MINUTE)
    shown.files.record("src/b.py", "modified", description="typed", agent="ann")
    shown.files.record("src/c.py", "modified", description="sorted", agent="ann")
    told = shown.notices.line(agent="ben", shown_by=None)
    each = 'src/b.py (f1): "typed"; src/c.py (f2): "sorted"'
    assert told == f"notice: 2 files, which you hold, were modified by ann: {each}"


def test_news_of_a_file_in_another_worktree_names_it(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    make_repository(project)
    linked = project.parent / "linked"
    git(project, "worktree", "add", "-q", str(linked))
    here, there = open_in(project), open_in(linked)
    here.files.claim(["src/a.py"], agent="ben")
    here.notices.line(agent="ben")
    clock.advance(MINUTE)
    there.files.claim(["src/a.py"], agent="ann")
    there.files.record("src/a.py", "modified", agent="ann")
    told = here.notices.line(agent="ben", shown_by=None) or ""
    assert f"src/a.py, which you hold, was modified by ann (f1) in worktree:{linked}" in told
    assert f"src/a.py, which you hold, is now claimed by ann in worktree:{linked}" in told
    clock.advance(MINUTE)
    here.files.record("src/a.py", "modified", agent="ben")
    told = there.notices.line(agent="ann", shown_by=None) or ""
    assert "src/a.py, which you hold, was modified by ben (f2) in the main worktree" in told


def test_one_description_of_several_files_is_one_piece_of_news(shown: Satchel, clock: ManualClock) -> None:
    shown.files.claim(shared=["src/b.py"], agent="ben")
    clock.advance(MINUTE)
    shown.files.record("src/a.py", "modified", description="typed", agent="ann")
    shown.files.record("src/b.py", "modified", description="typed", agent="ann")
    told = shown.notices.line(agent="ben", shown_by=None)
    assert told == 'notice: src/a.py, src/b.py, which you hold, were modified by ann (f1, f2): "typed"'
    assert shown.notices.line(agent="ben", shown_by=None) is None


def test_a_rule_that_was_opened_by_its_id_does_not_come_again_as_binding(
    open_in: Callable[..., Satchel], project: Path
) -> None:
    reader = open_in(project, caller=Caller.of_hook({}, "claude", "s1", begins=True))
    reader.sessions.enter()
    other = open_in(project)
    other.constraints.add("never log a key", priority="critical", agent="ben")
    reader.brief()
    other.constraints.add("keys rotate", paths=["src/a.py"], agent="ben")
    other.decisions.set("ttl", "45 s", paths=["src/a.py"], agent="ben")
    assert "c2" in (reader.notices.line(taken=["src/a.py"], shown_by=None, is_preview=True) or "")
    reader.items.read(["c2", "decision:ttl"])
    assert reader.notices.line(taken=["src/a.py"], shown_by=None, is_preview=True) is None


def test_news_ends_the_wait_for_a_message(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = open_in(project, caller=Caller.of_hook({}, "claude", "s1", begins=True))
    reader.sessions.enter()
    reader.files.claim(shared=["src/a.py"])
    clock.advance(MINUTE)
    other = open_in(project)
    sleeps = Sleeps()
    sleeps.actions = [None, lambda: other.files.record("src/a.py", "modified", description="typed", agent="ben")]
    monkeypatch.setattr(service, "time", sleeps)
    page = reader.messages.inbox(wait_seconds=45)
    assert (page.total, page.notes, sleeps.count) == (
        0,
        ("no message yet, but news, below; call again to go on waiting",),
        2,
    )
    assert "was modified by ben" in (reader.notices.line(shown_by=None) or "")


def test_a_message_that_a_notice_shows_stays_unread_since_the_answer_may_be_lost(
    open_in: Callable[..., Satchel], project: Path
) -> None:
    reader = open_in(project, agent="ben", caller=Caller.of_hook({}, "claude", "s1", begins=True))
    reader.sessions.enter()
    reader.files.claim(["src/a.py"])
    open_in(project).messages.send("May I change a.py?", to="ben", type="request", agent="ann")
    assert "May I change a.py?" in (reader.notices.line(shown_by="get_messages") or "")
    assert reader.messages.inbox(unread=True, agent="ben").total == 1
