"""Briefings in sessions: windows, where the last session left off, who else is at work."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from clients_at_work import Clients
from conftest import ManualClock
from satchel import Satchel
from satchel.brief import moments
from satchel.brief.briefing.collecting import Deadline
from satchel.brief.briefing.composing import REPORTS

HOUR = 3_600_000
PAD = {"iteration": 2, "done": False, "attempted": ["bump the pool"], "next_step": "look at the lock"}


@pytest.fixture
def clients(open_in: Callable[..., Satchel], project: Path, monkeypatch: pytest.MonkeyPatch) -> Clients:
    """Clients of one project, of which none runs yet."""
    return Clients(partial(open_in, project), monkeypatch)


def refs(satchel: Satchel, **asked: Any) -> list[str]:
    return [item.ref for item in satchel.brief(**asked).items]


class TestWindows:
    @pytest.fixture
    def satchel(self, clients: Clients) -> Satchel:
        """A client that runs beside another, which has written a note."""
        clients.start("qwen-code").entries.write("discovery", "the pool holds 5 connections", agent="ben")
        return clients.start()

    def test_what_was_delivered_in_a_window_is_not_repeated_there(self, satchel: Satchel) -> None:
        assert [refs(satchel, agent="ann"), refs(satchel, agent="ann")] == [["e1"], []]

    def test_a_new_window_gets_everything(self, satchel: Satchel) -> None:
        refs(satchel, agent="ann")
        satchel.sessions.enter(opens_window=True)
        assert refs(satchel, agent="ann") == ["e1"]

    def test_so_does_another_client_a_new_iteration_and_another_agent(self, satchel: Satchel, clients: Clients) -> None:
        refs(satchel, agent="ann")
        assert refs(satchel, agent="ann", iteration=1) == ["e1"]
        assert refs(satchel, agent="sub1") == ["e1"]
        assert refs(clients.start("codex-mcp-client"), agent="ann") == ["e1"]

    def test_where_hooks_brief_a_query_repeats_nothing_and_brings_what_answers_it(self, satchel: Satchel) -> None:
        pool = satchel.entries.write("discovery", "the gateway closes idle sockets after 60 s", agent="ben")
        satchel.entries.write("discovery", "the logo is drawn by hand", agent="ben")
        rule = satchel.constraints.add("no floats", agent="ben")
        entered = satchel.moments.make(moments.START, Deadline(10_000))
        satchel.moments.record(moments.START, entered)
        again = satchel.entries.write("discovery", "idle sockets of the gateway are counted", agent="ben")
        satchel.entries.write("discovery", "the logo is blue", agent="ben")
        assert rule.ref in entered.text
        assert pool.ref in entered.text
        assert refs(satchel, query="idle sockets of the gateway") == [again.ref]

    def test_who_gives_no_name_gets_everything_again(self, satchel: Satchel) -> None:
        assert [refs(satchel), refs(satchel)] == [["e1"], ["e1"]]


class TestWhatOneWroteOneself:
    @pytest.fixture(params=["ann", None])
    def wrote(self, clients: Clients, clock: ManualClock, request: pytest.FixtureRequest) -> Callable[..., Any]:
        """Briefs an agent that wrote a note and a scratchpad in its session, a while after it began."""
        satchel, agent = clients.start(), request.param
        satchel.files.check(["a.py"], agent="ann")
        clock.advance(HOUR)
        satchel.entries.write("discovery", "the pool holds 5 connections", agent=agent)
        satchel.entries.write("scratchpad", PAD, agent=agent)
        clock.advance(HOUR)
        self.satchel = satchel
        return partial(satchel.brief, agent=agent)

    def test_its_notes_are_left_out(self, wrote: Callable[..., Any]) -> None:
        for asked in ({}, {"query": "pool connections"}):
            assert wrote(**asked).items == ()
            assert REPORTS not in wrote(**asked).text

    def test_its_rules_are_not_since_another_may_go_by_its_name(self, wrote: Callable[..., Any]) -> None:
        agent = wrote.keywords["agent"]  # type: ignore[attr-defined] # a partial
        self.satchel.constraints.add("never log a token", agent=agent)
        assert [item.ref for item in wrote().items] == ["c1"]

    def test_they_come_back_marked_as_yours(self, wrote: Callable[..., Any]) -> None:
        lines = wrote(again=True).text.splitlines()
        assert REPORTS not in lines
        assert "e1 yours: the pool holds 5 connections" in lines
        assert {item.ref for item in wrote(iteration=1).items} == {"e1", "e2"}
        self.satchel.sessions.enter(opens_window=True)
        assert {item.ref for item in wrote().items} == {"e1", "e2"}

    def test_what_is_written_in_a_later_window_is_left_out_once_that_has_begun(
        self, wrote: Callable[..., Any], clock: ManualClock
    ) -> None:
        self.satchel.sessions.enter(opens_window=True)
        agent = wrote.keywords["agent"]  # type: ignore[attr-defined] # a partial
        wrote()
        clock.advance(HOUR)
        self.satchel.entries.write("discovery", "the lock is held by the pool", agent=agent)
        assert "e3" not in [item.ref for item in wrote().items]

    @pytest.mark.parametrize("agent", ["ann", None])
    def test_so_it_stays_when_what_was_delivered_is_said_again(
        self, clients: Clients, clock: ManualClock, agent: str | None
    ) -> None:
        satchel = clients.start()
        clients.program().constraints.add("never log a token", priority="critical", agent="ben")
        satchel.sessions.enter(opens_window=True)
        refs(satchel, agent=agent)
        satchel.entries.write("discovery", "the lock is held by the pool", agent=agent)
        for _ in range(3):
            clock.advance(HOUR)
            assert refs(satchel, agent=agent) == ["c1"]

    def test_what_others_wrote_is_told(self, wrote: Callable[..., Any], clients: Clients) -> None:
        other = clients.start("codex-mcp-client")
        other.entries.write("discovery", "the cache is cold", agent="ben")
        briefing = wrote()
        assert [item.ref for item in briefing.items] == ["e3"]
        assert briefing.text.startswith(f"{REPORTS}\n")


class TestScratchpadsOfOthers:
    @pytest.fixture
    def satchel(self, clients: Clients, clock: ManualClock) -> Satchel:
        """A client that runs beside another, which failed at a task and then was done."""
        ben = clients.start("codex-mcp-client")
        ben.entries.write("scratchpad", PAD, task_id="T1", agent="ben")
        clock.advance(HOUR)
        ben.entries.write(
            "scratchpad", {"iteration": 3, "done": True, "attempted": ["release"]}, task_id="T1", agent="ben"
        )
        ben.entries.write("scratchpad", {"iteration": 7, "done": True}, task_id="T3", agent="ben")
        ben.entries.write("scratchpad", {**PAD, "next_step": "pool the locks"}, task_id="T2", agent="ben")
        return clients.start()

    @pytest.mark.parametrize("asked", [{}, {"task_id": "T1"}])
    def test_once_the_newest_of_a_task_was_told_no_older_one_is(self, satchel: Satchel, asked: dict[str, Any]) -> None:
        assert "e2" in refs(satchel, agent="ann", query="release", **asked)
        briefing = satchel.brief(agent="ann", query="bump the pool, look at the lock", **asked)
        assert "e1" not in [item.ref for item in briefing.items]
        assert "left out" not in briefing.text

    def test_that_of_another_task_counts_too(self, satchel: Satchel) -> None:
        assert "e4" in refs(satchel, agent="ann", query="bump the pool, look at the lock")


class TestWhatWasAsked:
    def test_questions_without_an_answer_have_a_line_each(self, clients: Clients) -> None:
        ann, ben = clients.start(), clients.start("codex-mcp-client")
        ben.entries.write("discovery", "I am here", agent="ben")
        ann.messages.send("is it done? ", to="ben", agent="ann")
        ann.messages.send("please look", type="request", agent="ann")
        ann.messages.send("no question", to="ben", agent="ann")
        ann.messages.send("please hurry", reply_to="m1", agent="ann")
        lines = ann.brief(agent="ann").text.splitlines()
        assert [line for line in lines if "not answered" in line] == [
            "m2 to all: not answered yet",
            "m1 to ben: not answered yet",
        ]
        ben.messages.send("yes", reply_to="m1", agent="ben")
        assert "m1 to ben" not in ann.brief(agent="ann").text
        assert "not answered" not in ben.brief(agent="ben").text


class TestWhereItWasLeftOff:
    def test_a_new_session_of_the_worktree_is_shown_it_after_what_binds(
        self, clients: Clients, clock: ManualClock
    ) -> None:
        first = clients.start()
        first.constraints.add("never log a token")
        first.entries.write("scratchpad", PAD)
        clients.end()
        clock.advance(3 * HOUR)
        lines = clients.start().brief("developer").text.splitlines()
        assert lines[1:4] == ["rules", "c1: never log a token", "where you left off (3 h ago)"]
        assert lines[4].endswith("tried: bump the pool; next: look at the lock")

    @pytest.mark.parametrize("place", [{}, {"task_id": "T1"}, {"task_id": "T1", "loop_id": "L1"}])
    def test_a_new_session_without_a_task_is_shown_every_attempt_since_the_last_success_and_that_they_are_stuck(
        self, clients: Clients, place: dict[str, Any]
    ) -> None:
        first = clients.start()
        first.entries.write("scratchpad", {"attempted": ["read the manual"], "done": True}, **place)
        for tried in ("bump the pool", "look at the lock", "mock the network"):
            first.entries.write("scratchpad", {"attempted": [tried], "test_status": "failing"}, **place)
        clients.end()
        text = clients.start().brief().text
        assert "STUCK: 3 iterations" in text
        shown = [tried in text for tried in ("bump the pool", "look at the lock", "mock the network")]
        assert (shown, "read the manual" in text) == ([True] * 3, False)

    def test_a_session_of_the_same_task_goes_before_the_last_of_the_worktree(self, clients: Clients) -> None:
        first = clients.start("codex-mcp-client")
        first.entries.write("scratchpad", PAD, task_id="T1", agent="ben")
        clients.end()
        second = clients.start()
        second.entries.write("scratchpad", {**PAD, "next_step": "another task"}, task_id="T2", agent="ann")
        clients.end()
        third = clients.start("qwen-code")
        assert third.brief(task_id="T1", agent="ann").text.splitlines()[1].startswith("where ben left off")
        assert "another task" in third.brief(agent="ann", again=True).text.splitlines()[2]

    def test_one_that_is_at_work_has_left_off_nowhere(self, clients: Clients) -> None:
        clients.start().entries.write("scratchpad", PAD, task_id="T1")
        assert "left off" not in clients.start("codex-mcp-client").brief(task_id="T1").text

    def test_with_a_scratchpad_of_its_own_a_session_goes_on_from_that(self, clients: Clients) -> None:
        clients.start().entries.write("scratchpad", PAD)
        clients.end()
        second = clients.start()
        second.entries.write("scratchpad", {**PAD, "attempted": ["log the lock"]})
        assert "left off" not in second.brief().text
        text = second.brief(again=True).text
        assert "left off" not in text
        assert "yours" in text
        assert "tried: log the lock" in text

    def test_the_attempts_of_the_session_before_count_as_its_own(self, clients: Clients) -> None:
        first = clients.start()
        for number, approach in enumerate(("clear the cache", "pin a version", "ask for the key")):
            pad = {"iteration": number, "attempted": [approach], "test_status": "failing", "blockers": ["no key"]}
            first.entries.write("scratchpad", pad)
        clients.end()
        assert clients.start().brief().is_stuck

    def test_so_do_those_of_an_agent_that_was_chosen_for_both(self, clients: Clients) -> None:
        first = clients.start(agent="ann")
        for number, approach in enumerate(("clear the cache", "pin a version", "ask for the key")):
            first.entries.write("scratchpad", {"iteration": number, "attempted": [approach], "blockers": ["no key"]})
        clients.end()
        assert clients.start(agent="ann").brief().is_stuck

    def test_a_session_that_has_no_name_yet_does_not_go_on_from_who_never_has_one(
        self, clients: Clients, satchel: Satchel
    ) -> None:
        for number, approach in enumerate(("clear the cache", "pin a version", "ask for the key")):
            pad = {"iteration": number, "attempted": [approach], "blockers": ["no key"]}
            satchel.entries.write("scratchpad", pad, task_id="T1")
        briefing = clients.start().brief(task_id="T1")
        assert (briefing.is_stuck, briefing.items) == (False, ())


class TestOthersAtWork:
    def test_each_has_a_line(self, clients: Clients) -> None:
        first = clients.start("codex-mcp-client")
        first.files.claim(["src/a.py"], reason="a new parser", agent="ben")
        first.entries.write("scratchpad", PAD, task_id="T2", agent="ben")
        first.entries.write("discovery", "the pool holds 5 connections", task_id="T2", agent="ben")
        assert clients.start().brief("developer").text.splitlines()[1] == (
            'also at work: ben (client codex), holds src/a.py "a new parser", task T2, its last scratchpad: not done, '
            "seen less than 1 min ago"
        )

    def test_ones_own_claims_are_named_too(self, clients: Clients) -> None:
        satchel = clients.start()
        satchel.files.claim(["src/a.py", "src/b/"], agent="sub1")
        clients.start("qwen-code").entries.write("discovery", "the pool holds 5 connections")
        assert "you claim src/a.py, src/b/**" in satchel.brief("developer").text.splitlines()

    def test_an_inherited_claim_names_who_left_it(self, clients: Clients, clock: ManualClock) -> None:
        first = clients.start("codex-mcp-client")
        first.files.claim(["src/a.py"])
        name = first.files.claims().items[0].agent
        clients.end()
        clock.advance(60_000)
        second = clients.start("codex-mcp-client")
        assert f"you claim src/a.py (left by {name})" in second.brief("developer").text.splitlines()

    def test_who_is_gone_has_none(self, clients: Clients) -> None:
        clients.start("codex-mcp-client").entries.write("discovery", "the pool holds 5 connections")
        clients.end()
        assert "at work" not in clients.start().brief("developer").text

    def test_a_small_budget_has_no_room_for_it(self, clients: Clients) -> None:
        clients.start("codex-mcp-client").entries.write("discovery", "the pool holds 5 connections")
        text = clients.start().brief(budget=299).text
        assert "at work" not in text
        assert "5 connections" in text
