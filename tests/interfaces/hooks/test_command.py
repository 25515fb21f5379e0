"""One command behind every hook: what it answers, and that it never fails its host."""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples import examples
from interfaces.hooks.conftest import RULE, Hook, context
from keep.files.claims_shown import claim_automatically
from satchel import Satchel
from satchel.base import folders
from satchel.interfaces.hooks import command, events, state
from tables import in_one_test


def faults() -> list[str]:
    return [fault.problem for fault in state.faults(0)]


class TestWhatItAnswers:
    def test_a_session_begins_briefed(self, hook: Hook) -> None:
        assert RULE in context(hook("claude", "SessionStart", source="startup"))

    @pytest.mark.parametrize("client", ["codex", "qwen", "gemini"])
    def test_in_every_client_that_takes_claudes_form(self, hook: Hook, client: str) -> None:
        assert RULE in context(hook(client, "SessionStart", source="startup"))

    def test_in_copilots_form(self, hook: Hook, project: Path) -> None:
        fields = {"sessionId": "s1", "timestamp": 1, "cwd": str(project), "source": "new"}
        answer = hook("copilot", "sessionStart", {**fields, "session_id": None, "hook_event_name": None})
        assert answer is not None
        assert RULE in answer["additionalContext"]

    def test_a_session_that_is_told_by_two_hooks_is_briefed_once(self, hook: Hook) -> None:
        assert hook("claude", "SessionStart", source="startup") is not None
        assert hook("vscode", "SessionStart", source="startup") is None

    def test_after_a_compaction_it_comes_again(self, hook: Hook) -> None:
        hook("claude", "SessionStart", source="startup")
        assert RULE in context(hook("claude", "SessionStart", source="compact"))

    def test_after_resuming_nothing_does_that_has_not_changed(self, hook: Hook) -> None:
        hook("claude", "SessionStart", source="startup")
        assert hook("claude", "SessionStart", source="resume") is None

    @pytest.mark.parametrize("client", ["gemini", "qwen", "copilot"])
    def test_but_where_the_client_has_taken_the_briefing_out_it_comes_again(self, hook: Hook, client: str) -> None:
        hook(client, "SessionStart", source="startup")
        assert RULE in str(hook(client, "SessionStart", source="resume"))

    def test_each_subagent_has_its_own(self, hook: Hook) -> None:
        for number in range(2):
            assert RULE in context(hook("claude", "SubagentStart", agent_id=f"a{number}", agent_type="general-purpose"))

    @in_one_test("name", ["PreCompact", "Stop", "Notification", "SomethingNew", ""])
    def test_nothing_is_said_at_other_events(self, hook: Hook, name: str) -> None:
        assert hook("claude", name) is None
        assert faults() == []

    def test_variables_reach_the_commands_of_the_session(
        self, hook: Hook, filled: Satchel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CLAUDE_ENV_FILE", str(tmp_path / "env"))
        hook("claude", "SessionStart", source="startup")
        (session,) = filled.sessions.team().sessions
        assert (tmp_path / "env").read_text() == f"export SATCHEL_SESSION={session.uid}\n"

    def test_the_end_is_recorded_and_releases_what_was_claimed_automatically(
        self, hook: Hook, filled: Satchel, open_in: Callable[..., Satchel], project: Path
    ) -> None:
        hook("claude", "SessionStart", source="startup")
        (session,) = filled.sessions.team().sessions
        inside = open_in(project, environ={"SATCHEL_SESSION": session.uid})
        claim_automatically(inside, "a.py")
        inside.files.claim(["b.py"])
        assert hook("claude", "SessionEnd", reason="other") is None
        assert [claim.path for claim in filled.files.claims().items] == ["b.py"]
        assert [one.ended_at is not None for one in filled.sessions.team().sessions] == [True]

    @pytest.mark.parametrize("reason", ["clear", "resume"])
    def test_an_end_after_which_the_client_goes_on_is_none(self, hook: Hook, filled: Satchel, reason: str) -> None:
        hook("claude", "SessionStart", source="startup")
        hook("claude", "SessionEnd", reason=reason)
        assert [one.ended_at for one in filled.sessions.team().sessions] == [None]

    def test_the_client_is_that_of_the_event_whatever_hook_is_called(self, hook: Hook, filled: Satchel) -> None:
        hook("claude", "SessionStart", {"conversation_id": "c1", "hook_event_name": "sessionStart"})
        assert [one.client for one in filled.sessions.team().sessions] == ["cursor"]


class TestLineForThePerson:
    """Clients that show one have it beside the briefing, and nobody else is given one."""

    def line(self, answer: dict[str, Any] | None) -> str | None:
        assert answer is not None
        said = answer.get("systemMessage")
        assert said is None or isinstance(said, str)
        return said

    @pytest.mark.parametrize("client", ["claude", "gemini"])
    def test_counts_what_the_agent_was_given(self, hook: Hook, filled: Satchel, client: str) -> None:
        filled.constraints.add("every fix has a test", agent="ann")
        filled.entries.write("discovery", "the gateway caches sessions", agent="ann")
        line = self.line(hook(client, "SessionStart", source="startup"))
        assert line is not None
        assert re.fullmatch(r"Satchel: 3 items, \d+ tokens: 2 rules, 1 note\. More: satchel status", line)

    def test_says_that_nothing_is_saved_yet(self, hook: Hook, open_in: Callable[..., Satchel], tmp_path: Path) -> None:
        (tmp_path / "new" / ".git").mkdir(parents=True)
        with open_in(tmp_path / "new").workplace.engine.write():
            pass  # the store is made
        answer = hook("claude", "SessionStart", source="startup", cwd=str(tmp_path / "new"))
        assert answer == {"systemMessage": "Satchel: no rules, decisions or notes yet. More: satchel status"}

    @pytest.mark.parametrize("client", ["codex", "qwen", "copilot", "vscode", "cursor", "opencode"])
    def test_is_left_out_where_the_client_shows_none_or_a_warning(self, hook: Hook, client: str) -> None:
        assert self.line(hook(client, "SessionStart", source="startup")) is None

    def test_is_left_out_where_it_is_not_wanted(self, hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SATCHEL_HOOKS_VISIBLE", "false")
        assert self.line(hook("claude", "SessionStart", source="startup")) is None

    def test_does_not_come_with_a_compaction_or_a_subagent(self, hook: Hook) -> None:
        hook("claude", "SessionStart", source="startup")
        assert self.line(hook("claude", "SessionStart", source="compact")) is None
        assert self.line(hook("claude", "SubagentStart", agent_id="a1", agent_type="general-purpose")) is None


class TestReading:
    """Of standard input: up to the end of one JSON object, or of the input."""

    @pytest.fixture
    def pipe(self) -> Iterator[int]:
        """The end to write of a pipe that stands for standard input, which nobody closes."""
        reading, writing = os.pipe()
        kept = os.dup(0)
        os.dup2(reading, 0)
        try:
            yield writing
        finally:
            os.dup2(kept, 0)
            for descriptor in (kept, reading, writing):
                with suppress(OSError):
                    os.close(descriptor)

    @pytest.mark.parametrize("event", [b'{"a": "}"}', b'\xef\xbb\xbf\n {"a": {"b": []}}\n', b'{"a": 1} {"b'])
    def test_an_object_is_taken_while_the_pipe_stays_open(self, pipe: int, event: bytes) -> None:
        os.write(pipe, event)
        assert events.parse(command._read(), "claude", "SessionStart").happening == "start"

    def test_one_that_comes_in_pieces_is_taken_whole(self, pipe: int) -> None:
        pieces = [b'{"prompt": "', b"x}" * 40_000, b'", "session_id": "s1"', b"}"]

        def write() -> None:
            for piece in pieces:
                os.write(pipe, piece)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            assert command._read() == b"".join(pieces)
        finally:
            writer.join()

    @pytest.mark.parametrize("data", [b"", b"[1]", b'{"half": "writ'])
    def test_the_end_of_the_input_ends_what_is_no_object(self, pipe: int, data: bytes) -> None:
        os.write(pipe, data)
        os.close(pipe)
        assert command._read() == data


class TestWhereItWorks:
    def test_in_the_clients_project_where_the_agent_has_gone_elsewhere(
        self, hook: Hook, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(project))
        assert RULE in context(hook("claude", "SessionStart", cwd=str(elsewhere)))

    def test_in_the_folder_it_was_started_in_where_that_of_the_event_is_gone(
        self, hook: Hook, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(project)
        assert RULE in context(hook("claude", "SessionStart", cwd="/no/such/folder"))


class TestSilence:
    def test_outside_any_project(self, hook: Hook, tmp_path: Path) -> None:
        (tmp_path / "plain").mkdir()
        assert hook("claude", "SessionStart", cwd=str(tmp_path / "plain")) is None
        assert faults() == []

    def test_in_a_project_without_a_store_which_is_not_made(self, hook: Hook, tmp_path: Path) -> None:
        (tmp_path / "bare" / ".git").mkdir(parents=True)
        assert hook("claude", "SessionStart", cwd=str(tmp_path / "bare")) is None
        assert faults() == []
        assert os.listdir(tmp_path / "bare") == [".git"]  # noqa: PTH208

    def test_where_hooks_are_paused(self, hook: Hook, filled: Satchel, project: Path) -> None:
        state.pause(str(project), on=True)
        assert hook("claude", "SessionStart") is None
        assert filled.sessions.team().sessions == ()

    def test_where_the_budget_is_nothing(self, hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SATCHEL_HOOKS_START", "0")
        assert hook("claude", "SessionStart") is None


class TestFaults:
    def test_an_event_that_is_none(self, hook: Hook) -> None:
        assert hook("claude", "SessionStart", b"[1]") is None
        assert faults() == ["NotAnEventError: the event is no JSON object, but list"]

    def test_a_store_that_is_damaged(self, hook: Hook, filled: Satchel) -> None:
        filled.close()
        filled.place.file.write_bytes(b"no database" * 100)
        assert hook("claude", "SessionStart") is None
        (problem,) = faults()
        assert problem.startswith("StoreForeign: ")

    def test_a_store_that_is_newer(self, hook: Hook, filled: Satchel) -> None:
        with filled.workplace.engine.write() as transaction:
            transaction.run("UPDATE store SET min_reader = 9999, min_writer = 9999")
        filled.close()
        assert hook("claude", "SessionStart") is None
        (problem,) = faults()
        assert problem.startswith("StoreNewer: ")

    def test_a_store_that_was_not_trusted(
        self, hook: Hook, filled: Satchel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        filled.close()
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
        assert hook("claude", "SessionStart") is None
        (problem,) = faults()
        assert problem.startswith("Untrusted: ")

    def test_a_copied_project_is_named_at_the_start_with_the_command_and_silent_after(
        self, hook: Hook, filled: Satchel, project: Path, tmp_path: Path
    ) -> None:
        filled.close()
        copy = tmp_path / "copy"
        shutil.copytree(project, copy)
        answer = hook("claude", "SessionStart", cwd=str(copy))
        assert answer is not None
        assert f"`satchel trust {copy}`" in answer["systemMessage"]
        assert "\n" not in answer["systemMessage"]
        assert hook("claude", "PreToolUse", cwd=str(copy), tool_name="Edit", tool_input={"file_path": "a.py"}) is None

    def test_a_state_folder_that_cannot_be_written_keeps_nobody_from_being_briefed(
        self, hook: Hook, tmp_path: Path
    ) -> None:
        assert folders.state_folder() == tmp_path / "state" / "satchel"
        (tmp_path / "state" / "satchel" / "hooks-heard").mkdir(parents=True)
        (tmp_path / "state" / "satchel" / "hooks-last").write_text("no folder")
        assert RULE in context(hook("claude", "SessionStart"))

    @pytest.mark.usefixtures("own_state")
    def test_a_client_that_is_unknown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.stdin", None)
        assert command.run(["emacs", "SessionStart"]) == 0
        (problem,) = faults()
        assert problem.startswith("it was not understood; usage: satchel hook CLIENT EVENT")

    @settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        data=st.binary(max_size=40)
        | st.dictionaries(
            st.sampled_from(["session_id", "cwd", "source", "agent_id", "agent_type", "hook_event_name", "reason"]),
            st.text(max_size=20) | st.integers() | st.none() | st.lists(st.none(), max_size=2),
        ),
        name=st.sampled_from(["SessionStart", "SubagentStart", "SessionEnd", "x"]),
    )
    def test_whatever_a_client_sends_it_ends_well(self, hook: Hook, data: Any, name: str) -> None:
        hook("claude", name, data)
