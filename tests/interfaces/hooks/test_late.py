"""What a hook could not say in time: a later one of the session says it, and an edit of a claimed file is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interfaces.hooks.conftest import RULE, Hook, context
from satchel import Satchel
from satchel.base.config_keys import Config
from satchel.base.errors import Interrupted
from satchel.base.folders import state_folder
from satchel.brief.briefing import collecting
from satchel.brief.moments import Moments
from satchel.brief.working.service import Working
from satchel.interfaces.hooks import command, events, state

LATE = "an earlier hook ran out of time"
ASKED = "why does the carrier DHL send local times of Berlin without an offset?"
NOTE = "the carrier DHL sends Berlin's local times without an offset"


def cut(monkeypatch: pytest.MonkeyPatch, kind: type, name: str, hook: Callable[[], object]) -> None:
    """Let a hook be ended where it calls a method."""

    def end(*_: object, **__: object) -> None:
        raise TimeoutError

    with monkeypatch.context() as patch:
        patch.setattr(kind, name, end)
        assert hook() is None


def prompt(hook: Hook, text: str = "carry on", **fields: Any) -> str:
    answer = hook("claude", "UserPromptSubmit", prompt=text, **fields)
    return "" if answer is None else context(answer)


class TestBriefing:
    @pytest.fixture
    def missed(self, hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
        """A session whose first hook was ended."""
        cut(monkeypatch, Moments, "make", lambda: hook("claude", "SessionStart", source="startup"))

    @pytest.mark.usefixtures("missed")
    def test_of_a_start_comes_with_the_next_prompt_and_once(self, hook: Hook) -> None:
        said = prompt(hook)
        assert LATE in said
        assert RULE in said
        assert prompt(hook, "and on") == ""

    @pytest.mark.usefixtures("missed")
    def test_or_with_the_next_tool(self, hook: Hook) -> None:
        given = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {"stdout": ""}}
        assert RULE in context(hook("claude", "PostToolUse", tool_use_id="t1", **given))

    @pytest.mark.usefixtures("missed")
    def test_is_kept_until_a_hook_gets_to_its_end(self, hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
        cut(monkeypatch, Working, "prompt", lambda: hook("claude", "UserPromptSubmit", prompt="carry on"))
        assert RULE in prompt(hook, "and on")

    @pytest.mark.usefixtures("missed")
    def test_is_not_given_to_another_session_or_a_subagent(self, hook: Hook) -> None:
        assert prompt(hook, session_id="s2") == ""
        given = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {"stdout": ""}}
        assert hook("claude", "PostToolUse", tool_use_id="t1", agent_id="a1", **given) is None

    @pytest.mark.usefixtures("missed")
    def test_is_not_owed_any_more_once_the_session_starts_again(self, hook: Hook) -> None:
        assert RULE in context(hook("claude", "SessionStart", source="clear"))
        assert prompt(hook) == ""

    @pytest.mark.usefixtures("missed")
    def test_of_a_project_without_a_store_is_not_owed_and_settles_nothing_of_others(
        self, hook: Hook, project: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "bare" / ".git").mkdir(parents=True)
        hook("claude", "SessionStart", source="resume", cwd=str(tmp_path / "bare"))
        assert state.owed("s1", "", str(tmp_path / "bare")) == []
        assert state.owed("s1", "", str(project)) == [events.START]

    @pytest.mark.usefixtures("missed")
    def test_comes_in_its_own_project_alone(self, hook: Hook, open_in: Callable[..., Satchel], tmp_path: Path) -> None:
        (tmp_path / "other" / ".git").mkdir(parents=True)
        open_in(tmp_path / "other").entries.write("discovery", NOTE, agent="ann")
        assert prompt(hook, cwd=str(tmp_path / "other")) == ""
        assert RULE in prompt(hook, "and on")

    def test_of_which_a_part_was_not_looked_at_is_completed(
        self, hook: Hook, store: Satchel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.entries.write("discovery", NOTE, agent="ann")

        def slow(*_: object) -> None:
            raise Interrupted("the time is over")

        with monkeypatch.context() as patch:
            sources = [slow if make.__name__ == "entries" else make for make in collecting._SOURCES]
            patch.setattr(collecting, "_SOURCES", tuple(sources))
            patch.setattr(collecting.Deadline, "has_passed", lambda _: True)
            hook("claude", "SessionStart", source="startup")
        said = prompt(hook)
        assert LATE in said
        assert NOTE in said

    def test_doctor_names_the_hook(self, hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
        cut(monkeypatch, Moments, "make", lambda: hook("claude", "SessionStart", source="startup"))
        assert "claude SessionStart" in state.check_hooks().detail


class TestPrompt:
    def test_its_notes_come_though_it_ended_before_the_store_was_open_and_others_asked(
        self, hook: Hook, store: Satchel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.entries.write("discovery", NOTE, agent="ann")

        def end(*_: object) -> None:
            raise TimeoutError

        with monkeypatch.context() as patch:
            patch.setattr(command, "open_for", end)
            assert prompt(hook, ASKED) == ""
        prompt(hook, "please do something else", session_id="s2")
        assert NOTE in prompt(hook)

    def test_is_kept_without_its_secrets(self, hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
        secret = "ghp_" + "a1B2" * 9
        cut(monkeypatch, Working, "prompt", lambda: hook("claude", "UserPromptSubmit", prompt=f"is {secret} valid?"))
        kept = (state_folder() / "hooks-owed").read_text()
        assert "is [redacted:" in kept
        assert secret not in kept

    def test_its_notes_come_with_the_next_hook(
        self, hook: Hook, store: Satchel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for thing in ("gateway", "scanner", "ledger", "planner", "printer", "portal", "archive"):
            store.entries.write("discovery", f"The {thing} restarts at night, before the nightly jobs", agent="ben")
        store.entries.write("discovery", NOTE, agent="ann")
        cut(monkeypatch, Working, "prompt", lambda: hook("claude", "UserPromptSubmit", prompt=ASKED))
        said = prompt(hook)
        assert LATE in said
        assert NOTE in said


class TestEditOfAClaimedFile:
    @pytest.fixture
    def edit(self, hook: Hook, store: Satchel, project: Path) -> Callable[[str], dict[str, Any] | None]:
        """Let an event of an edit happen, of a file that ann has claimed."""
        hook("claude", "SessionStart", source="startup")
        store.files.claim(["a.py"], reason="rotating tokens", agent="ann")
        (project / "a.py").write_text("x")
        given = {"tool_name": "Edit", "tool_input": {"file_path": str(project / "a.py")}}
        return lambda name: hook("claude", name, tool_use_id="t1", **given)

    def test_is_told_after_it_where_the_hook_before_it_was_ended(
        self, edit: Callable[[str], dict[str, Any] | None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cut(monkeypatch, Working, "before_edit", lambda: edit("PreToolUse"))
        said = context(edit("PostToolUse"))
        assert "a.py is claimed by ann" in said
        assert "Tell ann what you changed" in said

    def test_or_with_a_later_hook_where_that_was_ended_too(
        self, edit: Callable[[str], dict[str, Any] | None], hook: Hook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cut(monkeypatch, Working, "before_edit", lambda: edit("PreToolUse"))
        cut(monkeypatch, Working, "after_edit", lambda: edit("PostToolUse"))
        said = prompt(hook)
        assert LATE in said
        assert "a.py is claimed by ann" in said
        assert prompt(hook, "and on") == ""

    @pytest.mark.usefixtures("edit")
    def test_is_told_though_another_path_is_absurdly_long(self, hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
        edits = [{"file_path": path, "new_string": ""} for path in ("x" * 200_000, "a.py")]
        given = {"tool_name": "MultiEdit", "tool_input": {"edits": edits}, "tool_use_id": "t1"}
        cut(monkeypatch, Working, "before_edit", lambda: hook("claude", "PreToolUse", **given))
        assert "a.py is claimed by ann" in prompt(hook)

    def test_is_stopped_and_told_where_the_store_is_locked(
        self, edit: Callable[[str], dict[str, Any] | None], store: Satchel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Config, "hooks_lock_wait_ms", 1)
        with store.workplace.engine.write() as transaction:
            transaction.run("UPDATE store SET min_reader = min_reader")
            stopped = edit("PreToolUse")
            assert stopped is not None
            assert "a.py is claimed by ann" in stopped["hookSpecificOutput"]["permissionDecisionReason"]
            assert "a.py is claimed by ann" in context(edit("PostToolUse"))
        assert {fault.problem.partition(":")[0] for fault in state.faults(0)} == {"it was short of time"}

    def test_an_own_edit_is_told_nothing(self, hook: Hook, project: Path) -> None:
        hook("claude", "SessionStart", source="startup")
        (project / "b.py").write_text("x")
        given = {"tool_name": "Edit", "tool_input": {"file_path": str(project / "b.py")}, "tool_use_id": "t2"}
        assert hook("claude", "PreToolUse", **given) is None
        assert hook("claude", "PostToolUse", **given) is None
