"""Hooks of sessions at work: messages, compactions, reminders of progress, and approved plans."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interfaces.hooks.at_work import NUMBERS, AtWork, bash, edit
from interfaces.hooks.conftest import RULE, Hook, context
from satchel import Satchel
from satchel.base.clock import system_clock
from satchel.keep import events


class TestMessages:
    def test_messages_arrive_once_and_stay_unread(self, at_work: AtWork, store: Satchel, project: Path) -> None:
        at_work("s1", "PreToolUse", "Edit", **edit(project / "a.py"))
        (claim,) = store.files.claims().items
        store.messages.send("the API changed", to=claim.agent, agent="ann")
        said = context(at_work("s1", "PostToolUse", "Edit", **edit(project / "a.py")))
        assert "from ann: the API changed" in said
        assert at_work("s1", "PostToolUse", "Edit", **edit(project / "a.py")) is None
        assert store.messages.inbox(agent=claim.agent).total == 1

    def test_at_most_once_a_minute(self, at_work: AtWork, store: Satchel) -> None:
        ok = bash("true", tool_response={"stdout": ""})
        store.messages.send("first", agent="ann")
        assert "first" in context(at_work("s1", "PostToolUse", "Bash", **ok))
        store.messages.send("second", agent="ann")
        assert at_work("s1", "PostToolUse", "Bash", **ok) is None

    def test_an_answer_arrives_once_with_the_next_prompt_and_not_only_after_a_minute(
        self, at_work: AtWork, store: Satchel, project: Path
    ) -> None:
        ok = bash("true", tool_response={"stdout": ""})
        at_work("s1", "PreToolUse", "Edit", **edit(project / "a.py"))
        store.messages.send("first", agent="ann")
        at_work("s1", "PostToolUse", "Bash", **ok)
        me = store.files.claims().items[0].agent
        store.messages.send("Semicolons, and no quotes", to=me, agent="human:mia")
        assert context(at_work("s1", "UserPromptSubmit", None, prompt="is there news for you?")).splitlines() == [
            "Message m2 from human:mia: Semicolons, and no quotes"
        ]
        assert at_work("s1", "UserPromptSubmit", None, prompt="and is there any now?") is None
        assert at_work("s1", "PostToolUse", "Bash", **ok) is None
        assert store.messages.inbox(agent=me).unread == 2

    def test_of_others_a_prompt_brings_none(self, at_work: AtWork, store: Satchel) -> None:
        store.messages.send("the API changed", to="ben", agent="ann")
        assert at_work("s1", "UserPromptSubmit", None, prompt="is there news for you?") is None


class TestCopilotAfterACompaction:
    """It has no event then that carries a text."""

    @pytest.fixture
    def use(self, hook: Hook, project: Path) -> Callable[..., str]:
        """Let an event of Copilot CLI happen; return what its model is told."""
        fields = {"sessionId": "p1", "cwd": str(project), "toolArgs": {"path": "a.py"}}

        def happen(name: str, **more: object) -> str:
            answer = hook("copilot", name, json.dumps(fields | {"timestamp": next(NUMBERS)} | more).encode())
            return "" if answer is None else str(answer["additionalContext"])

        happen("sessionStart", source="new")
        return happen

    def test_the_next_tool_briefs_once(self, use: Callable[..., str]) -> None:
        assert use("preCompact", trigger="auto") == ""
        assert use("preToolUse", toolName="edit") == ""
        assert RULE in use("postToolUse", toolName="edit")
        assert use("postToolUse", toolName="edit") == ""

    def test_with_what_that_tool_has_to_say(self, use: Callable[..., str], store: Satchel) -> None:
        store.messages.send("the API changed", agent="ann")
        use("preCompact")
        said = use("postToolUse", toolName="edit")
        assert said.index("after compaction") < said.index("the API changed")
        assert said.count("the API changed") == 1

    def test_a_subagent_does_not_take_it(self, use: Callable[..., str]) -> None:
        use("preCompact")
        assert use("postToolUse", toolName="edit", sessionId="a1", agentId="a1", parentAgentId="p1") == ""
        assert RULE in use("postToolUse", toolName="edit")

    def test_resuming_says_it_all_anyway(self, use: Callable[..., str]) -> None:
        use("preCompact")
        assert RULE in use("sessionStart", source="resume")
        assert use("postToolUse", toolName="edit") == ""


class TestProgress:
    """After a commit or a passing test run an agent that stored nothing is reminded, once a session."""

    def changed(self, at_work: AtWork, project: Path) -> None:
        (project / "a.py").write_text("x")
        at_work("s1", "PostToolUse", "Edit", **edit(project / "a.py"))

    def commit(self, at_work: AtWork, session: str = "s1", **more: object) -> dict[str, Any] | None:
        answer = {"stdout": "[main 1a2b3c4] x", "stderr": ""} if session == "s1" else "[main 1a2b3c4] x"
        return at_work(session, "PostToolUse", "Bash", **bash("git commit -m x", tool_response=answer, **more))

    def test_who_changed_files_and_stored_nothing_is_reminded_once(self, at_work: AtWork, project: Path) -> None:
        self.changed(at_work, project)
        said = context(self.commit(at_work))
        assert "write_context" in said
        assert "`satchel write`" in said
        assert self.commit(at_work) is None

    def test_so_is_who_ran_tests_that_pass(self, at_work: AtWork, project: Path) -> None:
        self.changed(at_work, project)
        assert at_work("s1", "PostToolUse", "Bash", **bash("ls", tool_response={"stdout": "a.py"})) is None
        tested = at_work("s1", "PostToolUse", "Bash", **bash("pytest", tool_response={"stdout": "2 passed"}))
        assert "write_context" in context(tested)

    @pytest.mark.usefixtures("all_have_begun")
    def test_a_client_that_does_not_say_how_a_command_ended_shows_it_by_the_output(
        self, at_work: AtWork, project: Path
    ) -> None:
        (project / "a.py").write_text("x")
        patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** End Patch"
        at_work("c1", "PostToolUse", "apply_patch", tool_input={"command": patch}, tool_response="Success")
        assert "write_context" in context(self.commit(at_work, "c1"))

    def test_nobody_is_reminded_who_changed_nothing(self, at_work: AtWork) -> None:
        assert self.commit(at_work) is None

    def test_nor_who_stored_something(
        self, at_work: AtWork, store: Satchel, open_in: Callable[..., Satchel], project: Path
    ) -> None:
        self.changed(at_work, project)
        (session,) = (one for one in store.sessions.team().sessions if one.client == "claude")
        open_in(project, environ={"SATCHEL_SESSION": session.uid}, clock=system_clock).entries.write(
            "discovery", "a.py holds x"
        )
        assert self.commit(at_work) is None

    def test_nor_whose_subagent_did(self, at_work: AtWork, hook: Hook, store: Satchel, project: Path) -> None:
        hook("claude", "SubagentStart", session_id="s1", agent_id="sub001", agent_type="general-purpose")
        self.changed(at_work, project)
        (session,) = (one for one in store.sessions.team().sessions if one.client == "claude")
        store.decisions.set("limit", "300", agent=f"{session.agents[0]}-sub001")
        assert self.commit(at_work) is None

    def test_each_is_an_event_of_its_session_and_agent(self, at_work: AtWork, store: Satchel) -> None:
        self.commit(at_work)
        at_work("s1", "PostToolUse", "Bash", **bash("pytest -q", tool_response={"stdout": "2 passed"}))
        at_work("s1", "PostToolUse", "Bash", **bash("pytest -q | tail", tool_response={"stdout": "1 failed"}))
        (session,) = (one for one in store.sessions.team().sessions if one.client == "claude")
        with store.workplace.engine.read() as transaction:
            rows = transaction.all(
                """
                SELECT e.details, a.name FROM events e
                JOIN sessions s ON s.id = e.session_id AND s.project_id = e.project_id
                JOIN agents a ON a.id = e.agent_id
                WHERE e.kind = :kind ORDER BY e.seq
                """,
                {"kind": events.PROGRESS},
            )
        assert rows == [
            ('{"what":"commit","subject":"x"}', session.agents[0]),
            ('{"what":"tests"}', session.agents[0]),
        ]

    @pytest.mark.usefixtures("all_have_begun")
    def test_nothing_is_said_when_an_agent_stops(self, at_work: AtWork, hook: Hook, project: Path) -> None:
        self.changed(at_work, project)
        assert hook("claude", "Stop", session_id="s1") is None
        assert hook("gemini", "AfterAgent", session_id="g1") is None


class TestTurns:
    @pytest.mark.parametrize(
        ("client", "prompts", "stops"),
        [("claude", "UserPromptSubmit", "Stop"), ("gemini", "BeforeAgent", "AfterAgent")],
    )
    def test_an_agent_is_idle_between_the_end_of_a_turn_and_the_next_prompt(
        self, hook: Hook, store: Satchel, client: str, prompts: str, stops: str
    ) -> None:
        def state() -> str:
            (session,) = (one for one in store.sessions.team().sessions if one.client == client)
            return session.state.name

        hook(client, "SessionStart", source="startup")
        seen = [state()]
        for name, fields in ((stops, {}), (prompts, {"prompt": "Go on"}), (stops, {})):
            hook(client, name, **fields)
            seen.append(state())
        assert seen == ["working", "idle", "working", "idle"]
        (session,) = (one for one in store.sessions.team().sessions if one.client == client)
        sent = store.messages.send("hello", to=session.agents[0], agent="human:ann")
        assert sent.notes == (
            f"{session.agents[0]} has been at its prompt for less than 1 min, and gets it with the next one",
        )

    def test_who_was_refused_a_file_and_got_another_prompt_waits_for_it_no_longer(
        self, hook: Hook, store: Satchel, project: Path
    ) -> None:
        store.files.claim(["a.py"], agent="human:ann")
        seen = []
        edit = {"tool_name": "Edit", "tool_use_id": "t1", "tool_input": {"file_path": str(project / "a.py")}}
        for name, fields in (("PreToolUse", edit), ("Stop", {}), ("UserPromptSubmit", {"prompt": "Go on"})):
            hook("claude", name, **fields)
            (session,) = (one for one in store.sessions.team().sessions if one.client == "claude")
            seen.append((session.state.name, [one.kind for one in store.room.needs().items if one.kind != "rules"]))
        assert seen == [("waiting", ["refusal"]), ("waiting", ["refusal"]), ("working", [])]

    def test_the_end_of_a_turn_begins_no_session_and_revives_none(self, hook: Hook, store: Satchel) -> None:
        assert hook("claude", "Stop") is None
        assert store.sessions.team().total == 0
        hook("claude", "SessionStart", source="startup")
        hook("claude", "SessionEnd", reason="other")
        hook("claude", "Stop")
        assert [one.state.name for one in store.sessions.team().sessions] == ["ended"]


class TestPlans:
    PLAN = "# Move the tokens\n\n1. read them with ghp_a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5f6G7h8\n2. rotate"

    def approve(self, at_work: AtWork, plan: str) -> None:
        assert at_work("s1", "PostToolUse", "ExitPlanMode", tool_input={"plan": plan}, tool_response={}) is None

    def test_a_plan_that_a_person_has_approved_is_where_the_session_stands(
        self, at_work: AtWork, store: Satchel
    ) -> None:
        self.approve(at_work, self.PLAN)
        (entry,) = store.entries.read().entries
        assert entry.type == "scratchpad"
        assert "2. rotate" in entry.content
        assert "ghp_" not in entry.content
        (session,) = (one for one in store.sessions.team().sessions if one.client == "claude")
        assert session.scratchpad is not None
        assert session.scratchpad.next_step == "Move the tokens"

    def test_a_later_one_replaces_it(self, at_work: AtWork, store: Satchel) -> None:
        for plan in ("first", "second", "second"):
            self.approve(at_work, plan)
        kept = store.entries.read().entries
        assert [("second" in one.content, one.superseded_by is None) for one in kept] == [(True, True)]

    @pytest.mark.parametrize("plan", ["y" * 300_000, '"' * 300_000, "ü\n" * 100_000])
    def test_it_is_cut_where_it_is_longer_than_a_note(self, at_work: AtWork, store: Satchel, plan: str) -> None:
        self.approve(at_work, plan)
        (entry,) = store.entries.read().entries
        limit = store.workplace.max_content_bytes
        assert limit / 2 < len(entry.content.encode()) <= limit

    @pytest.mark.usefixtures("all_have_begun")
    def test_one_that_was_not_approved_is_not_kept(self, at_work: AtWork, store: Satchel) -> None:
        at_work("s1", "PreToolUse", "ExitPlanMode", tool_input={"plan": "x"})
        at_work("s1", "PostToolUseFailure", "ExitPlanMode", tool_input={"plan": "x"}, error="The user said no")
        at_work("c1", "PostToolUse", "update_plan", tool_input={"plan": "x"})
        assert store.entries.read().total == 0

    def test_it_is_nothing_that_the_agent_has_learned(self, at_work: AtWork, project: Path) -> None:
        self.approve(at_work, "x")
        (project / "a.py").write_text("x")
        at_work("s1", "PostToolUse", "Edit", **edit(project / "a.py"))
        committed = at_work("s1", "PostToolUse", "Bash", **bash("git commit", tool_response={"stdout": ""}))
        assert "stored nothing yet" in context(committed)

    def test_and_no_attempt(
        self, at_work: AtWork, store: Satchel, open_in: Callable[..., Satchel], project: Path
    ) -> None:
        self.approve(at_work, "x")
        (session,) = (one for one in store.sessions.team().sessions if one.client == "claude")
        inside = open_in(project, environ={"SATCHEL_SESSION": session.uid}, clock=system_clock)
        for step in ("a", "b", "c"):
            inside.entries.write("scratchpad", {"iteration": 1, "done": False, "attempted": [f"{step} way of its own"]})
        assert "STUCK: 3 iterations" in inside.brief(again=True).text
