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

HOUR = 3_600_000
PAD = {"iteration": 2, "done": False, "attempted": ["bump the pool"], "next_step": "look at the lock"}


@pytest.fixture
def clients(open_in: Callable[..., Satchel], project: Path, monkeypatch: pytest.MonkeyPatch) -> Clients:
    """Clients of one project, of which none runs yet."""
    return Clients(partial(open_in, project), monkeypatch)


def refs(satchel: Satchel, **asked: Any) -> list[str]:
    return [item.ref for item in satchel.brief(**asked).items]


class TestWindows:
    def test_what_was_delivered_in_a_window_is_not_repeated_there(self, clients: Clients) -> None:
        satchel = clients.start()
        satchel.entries.write("discovery", "the pool holds 5 connections", agent="ann")
        assert [refs(satchel, agent="ann"), refs(satchel, agent="ann")] == [["e1"], []]

    def test_a_new_window_gets_everything(self, clients: Clients) -> None:
        satchel = clients.start()
        satchel.entries.write("discovery", "the pool holds 5 connections", agent="ann")
        refs(satchel, agent="ann")
        assert satchel.sessions.open_window() == 2
        assert refs(satchel, agent="ann") == ["e1"]

    def test_so_does_another_client_a_new_iteration_and_another_agent(self, clients: Clients) -> None:
        satchel = clients.start()
        satchel.entries.write("discovery", "the pool holds 5 connections", agent="ann")
        refs(satchel, agent="ann")
        assert refs(satchel, agent="ann", iteration=1) == ["e1"]
        assert refs(satchel, agent="sub1") == ["e1"]
        assert refs(clients.start("codex-mcp-client"), agent="ann") == ["e1"]

    def test_who_gives_no_name_gets_everything_again(self, clients: Clients) -> None:
        satchel = clients.start()
        satchel.entries.write("discovery", "the pool holds 5 connections")
        assert [refs(satchel), refs(satchel)] == [["e1"], ["e1"]]


class TestWhereItWasLeftOff:
    def test_a_new_session_of_the_worktree_is_shown_it_first(self, clients: Clients, clock: ManualClock) -> None:
        first = clients.start()
        first.constraints.add("never log a token")
        first.entries.write("scratchpad", PAD)
        clients.end()
        clock.advance(3 * HOUR)
        lines = clients.start().brief("developer").text.splitlines()
        assert lines[1] == "where you left off (3 h ago)"
        assert lines[2].endswith("tried: bump the pool; next: look at the lock")

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
        text = second.brief().text
        assert "left off" not in text
        assert "tried: log the lock" in text

    def test_the_attempts_of_the_session_before_count_as_its_own(self, clients: Clients) -> None:
        first = clients.start()
        for number, approach in enumerate(("clear the cache", "pin a version", "ask for the key")):
            pad = {"iteration": number, "attempted": [approach], "test_status": "failing", "blockers": ["no key"]}
            first.entries.write("scratchpad", pad)
        clients.end()
        assert clients.start("codex-mcp-client").brief().is_stuck is False
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
        first.files.claim(["src/a.py"], agent="ben")
        first.entries.write("discovery", "the pool holds 5 connections", task_id="T2", agent="ben")
        last = clients.start().brief("developer").text.splitlines()[-1]
        assert last == "also at work: ben (codex), task T2, claims src/a.py, seen less than 1 min ago"

    def test_ones_own_claims_are_named_too(self, clients: Clients) -> None:
        satchel = clients.start()
        satchel.files.claim(["src/a.py", "src/b/"], agent="sub1")
        satchel.entries.write("discovery", "the pool holds 5 connections")
        assert satchel.brief("developer").text.splitlines()[-1] == "you claim src/a.py, src/b/**"

    def test_who_is_gone_has_none(self, clients: Clients) -> None:
        clients.start("codex-mcp-client").entries.write("discovery", "the pool holds 5 connections")
        clients.end()
        assert "at work" not in clients.start().brief("developer").text

    def test_a_small_budget_has_no_room_for_it(self, clients: Clients) -> None:
        clients.start("codex-mcp-client").entries.write("discovery", "the pool holds 5 connections")
        text = clients.start().brief(budget=300).text
        assert "at work" not in text
        assert "5 connections" in text
