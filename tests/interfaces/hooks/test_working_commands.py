"""Hooks after commands: errors, their fixes, and whether these helped."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from interfaces.hooks.at_work import FAILURE, AtWork, bash, edit
from interfaces.hooks.conftest import context
from satchel import Satchel
from satchel.base.clock import system_clock


class TestCommands:
    def test_a_known_error_brings_its_fix(self, at_work: AtWork, store: Satchel) -> None:
        met = store.patterns.report("ModuleNotFoundError", "No module named 'yaml'", agent="ann").pattern
        store.patterns.solve(met.ref, "install PyYAML, the module is called yaml", agent="ann")
        said = context(at_work("s1", "PostToolUseFailure", "Bash", **bash("python a.py", error=FAILURE)))
        assert "install PyYAML" in said
        assert store.patterns.get(met.ref).occurrences == 2

    def test_and_brings_it_once(self, at_work: AtWork, store: Satchel) -> None:
        met = store.patterns.report("ModuleNotFoundError", "No module named 'yaml'", agent="ann").pattern
        store.patterns.solve(met.ref, "install PyYAML", agent="ann")
        said = [at_work("s1", "PostToolUseFailure", "Bash", **bash("python a.py", error=FAILURE)) for _ in range(5)]
        assert [answer is not None for answer in said] == [True, False, False, False, False]
        assert store.patterns.get(met.ref).occurrences == 6

    def test_a_fix_that_was_shown_is_confirmed_when_the_command_succeeds(self, at_work: AtWork, store: Satchel) -> None:
        met = store.patterns.report("ModuleNotFoundError", "No module named 'yaml'", agent="ann").pattern
        fix = store.patterns.solve(met.ref, "install PyYAML", agent="ann")
        at_work("s1", "PostToolUseFailure", "Bash", **bash("python a.py", error=FAILURE))
        at_work("s1", "PostToolUse", "Bash", **bash("pip install pyyaml", tool_response={"stdout": "ok"}))
        at_work("s1", "PostToolUse", "Bash", **bash("cd . && python a.py", tool_response={"stdout": "ok"}))
        (solution,) = store.patterns.get(met.ref).solutions
        assert solution.confidence == fix.confidence + 1

    def test_what_the_agent_attempted_is_proposed_as_the_fix(
        self, at_work: AtWork, store: Satchel, open_in: Callable[..., Satchel], project: Path
    ) -> None:
        at_work("s1", "PostToolUseFailure", "Bash", **bash("python a.py", error=FAILURE))
        (session,) = (one for one in store.sessions.team().sessions if one.client == "claude")
        inside = open_in(project, environ={"SATCHEL_SESSION": session.uid}, clock=system_clock)
        inside.entries.write("scratchpad", {"iteration": 1, "done": False, "attempted": ["installed PyYAML"]})
        at_work("s1", "PostToolUse", "Bash", **bash("python a.py", tool_response={"stdout": "ok"}))
        (pattern,) = store.patterns.find().items
        assert [solution.text for solution in pattern.solutions] == ["installed PyYAML"]

    @pytest.mark.parametrize(
        ("command", "error"),
        [("grep -r x .", "Exit code 1\nx: no"), ("make", "Exit code 130\n^C"), ("make", "")],
    )
    def test_a_failure_that_is_no_error_is_not_kept(
        self, at_work: AtWork, store: Satchel, command: str, error: str
    ) -> None:
        at_work("s1", "PostToolUseFailure", "Bash", **bash(command, error=error))
        assert store.patterns.find().total == 0

    @pytest.mark.usefixtures("all_have_begun")
    def test_in_codex_its_record_says_that_a_command_failed(
        self, at_work: AtWork, store: Satchel, tmp_path: Path
    ) -> None:
        met = store.patterns.report("ModuleNotFoundError", "No module named 'yaml'", agent="ann").pattern
        store.patterns.solve(met.ref, "install PyYAML", agent="ann")
        record = tmp_path / "rollout.jsonl"
        ran = {"item": {"type": "CommandExecution", "id": "c7", "exit_code": 1}}
        record.write_text(json.dumps({"type": "event_msg", "payload": ran}) + "\n")
        failed = bash("python a.py", tool_response=FAILURE.partition("\n")[2], transcript_path=str(record))
        assert "install PyYAML" in context(at_work("c1", "PostToolUse", "Bash", **failed, tool_use_id="c7"))

    @pytest.mark.usefixtures("all_have_begun")
    def test_where_nothing_says_how_a_command_ended_messages_come_and_nothing_is_learned(
        self, at_work: AtWork, store: Satchel
    ) -> None:
        store.messages.send("the API changed", agent="ann")
        said = context(at_work("c1", "PostToolUse", "Bash", **bash("python a.py", tool_response=FAILURE)))
        assert "the API changed" in said
        assert store.patterns.find().total == 0

    @pytest.mark.usefixtures("all_have_begun")
    def test_a_fix_comes_at_the_next_event_where_the_client_carries_no_text_at_a_failure(
        self, at_work: AtWork, store: Satchel, project: Path
    ) -> None:
        met = store.patterns.report("ModuleNotFoundError", "No module named 'yaml'", agent="ann").pattern
        fix = store.patterns.solve(met.ref, "install PyYAML", agent="ann")
        store.messages.send("the API changed", agent="ann")
        cursor = {"conversation_id": "u1"}
        failed = {**bash("python a.py"), **cursor}
        assert at_work("u1", "postToolUseFailure", "Shell", **failed, error_message=FAILURE) is None
        answer = at_work("u1", "postToolUse", "Write", **edit(project / "a.py"), **cursor)
        assert answer is not None
        assert "install PyYAML" in answer["additional_context"]
        assert "the API changed" in answer["additional_context"]
        assert at_work("u1", "postToolUse", "Write", **edit(project / "a.py"), **cursor) is None
        at_work("u1", "postToolUse", "Shell", **failed, tool_output='{"exitCode":0,"stdout":""}')
        (solution,) = store.patterns.get(met.ref).solutions
        assert solution.confidence == fix.confidence + 1

    @pytest.mark.usefixtures("all_have_begun")
    def test_a_fix_that_nobody_was_told_is_not_confirmed(self, at_work: AtWork, store: Satchel) -> None:
        met = store.patterns.report("ModuleNotFoundError", "No module named 'yaml'", agent="ann").pattern
        fix = store.patterns.solve(met.ref, "install PyYAML", agent="ann")
        failed = {**bash("python a.py"), "conversation_id": "u1"}
        at_work("u1", "postToolUseFailure", "Shell", **failed, error_message=FAILURE)
        at_work("u1", "postToolUse", "Shell", **failed, tool_output='{"exitCode":0,"stdout":""}')
        (solution,) = store.patterns.get(met.ref).solutions
        assert solution.confidence == fix.confidence

    @pytest.mark.parametrize(
        "fields",
        [
            bash("python a.py", tool_response={"stdout": "", "interrupted": True}),
            bash("python a.py", tool_response={"stdout": "", "backgroundTaskId": "b1"}),
            {"tool_input": {"command": "python a.py", "run_in_background": True}, "tool_response": {"stdout": ""}},
        ],
    )
    def test_a_command_that_was_interrupted_or_runs_on_has_not_succeeded(
        self, at_work: AtWork, store: Satchel, project: Path, fields: dict[str, object]
    ) -> None:
        met = store.patterns.report("ModuleNotFoundError", "No module named 'yaml'", agent="ann").pattern
        store.patterns.solve(met.ref, "install PyYAML", agent="ann")
        at_work("s1", "PostToolUseFailure", "Bash", **bash("python a.py", error=FAILURE))
        (project / "a.py").write_text("x")
        at_work("s1", "PostToolUse", "Edit", **edit(project / "a.py"))
        at_work("s1", "PostToolUse", "Bash", **fields)
        (solution,) = store.patterns.get(met.ref).solutions
        assert solution.confirmed == 0

    def test_nor_has_one_failed_that_a_person_interrupted(self, at_work: AtWork, store: Satchel) -> None:
        at_work("s1", "PostToolUseFailure", "Bash", **bash("make", error=FAILURE, is_interrupt=True))
        assert store.patterns.find().total == 0

    def test_of_three_megabytes_the_end_counts_and_holds_no_secret(self, at_work: AtWork, store: Satchel) -> None:
        secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
        error = "Exit code 2\n" + "compiling\n" * 300_000 + f"RuntimeError: push with {secret} was refused"
        at_work("s1", "PostToolUseFailure", "Bash", **bash("make", error=error))
        (pattern,) = store.patterns.find().items
        assert pattern.error_type == "RuntimeError"
        assert secret not in f"{pattern.message}{pattern.example}"
