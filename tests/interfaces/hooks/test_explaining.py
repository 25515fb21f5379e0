"""What ``satchel hook --explain`` shows of the last event of a hook."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interfaces.hooks.conftest import RULE, Hook
from repositories import commit_all, make_repository
from satchel import Satchel, open_satchel
from satchel.interfaces.hooks import state
from satchel.interfaces.hooks.explaining import explain

Explained = Callable[[str, str], str]


@pytest.fixture
def explained(
    filled: Satchel,
    capfdbinary: pytest.CaptureFixture[bytes],
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Explained:
    """Return what is shown of a hook, in the project."""
    monkeypatch.chdir(project)

    def said(client: str, name: str) -> str:
        capfdbinary.readouterr()
        assert explain(client, name) == 0
        return capfdbinary.readouterr().out.decode()

    return said


class TestBriefings:
    def test_shows_what_the_last_event_would_put_in_and_why(self, hook: Hook, explained: Explained) -> None:
        hook("claude", "SessionStart", source="compact")
        text = explained("claude", "SessionStart")
        assert text.startswith("event: claude SessionStart (compaction) in ")
        assert text.partition("\n")[0].endswith("; the last that was heard")
        assert "budget: 2200 tokens (hooks.compaction, default)\nshows: c1 (rules, critical)\n" in text
        assert RULE in text

    def test_names_what_the_client_loads_itself(self, project: Path, explained: Explained) -> None:
        make_repository(project)
        (project / "CLAUDE.md").write_text("- Always use tabs.\n")
        commit_all(project)
        with open_satchel(cwd=project, environ={"SATCHEL_PERSON": "ann"}) as person:
            ref = person.documents.accept().items[0][1]
        text = explained("claude", "SessionStart")
        assert f"leaves to claude, which loads the documents that say it: {ref}\n" in text
        assert "Always use tabs" not in text
        assert text.partition("\n")[0].endswith("; none was heard yet, so this is for an empty one")
        assert "Always use tabs" in explained("codex", "SessionStart")

    def test_records_nothing(self, filled: Satchel, explained: Explained) -> None:
        explained("claude", "SessionStart")
        assert filled.sessions.team().sessions == ()

    def test_says_what_keeps_it_silent(self, explained: Explained, monkeypatch: pytest.MonkeyPatch) -> None:
        assert "claude Notification: nothing is done at this event" in explained("claude", "Notification")
        assert "does: releases automatic claims" in explained("claude", "SessionEnd")
        assert "puts in nothing: the next edit, command or prompt" in explained("copilot", "preCompact")
        monkeypatch.setenv("SATCHEL_HOOKS_START", "0")
        assert "puts in nothing: hooks.start is 0" in explained("claude", "SessionStart")
        state.pause(None, on=True)
        assert "paused: `satchel pause --off`" in explained("claude", "SessionStart")

    def test_names_the_clients_there_are(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert explain("emacs", "SessionStart") == 2
        assert "claude, codex, gemini" in capsys.readouterr().err


class TestEventsAtWork:
    @pytest.fixture
    def use(self, hook: Hook) -> Callable[..., dict[str, Any] | None]:
        """Let an agent use a tool in a session that has begun."""
        hook("claude", "SessionStart", source="startup")
        return lambda event, tool, **fields: hook("claude", event, tool_name=tool, tool_use_id="t1", **fields)

    def edited(self, use: Callable[..., object], event: str) -> None:
        use(event, "Edit", tool_input={"file_path": "a.py", "old_string": "a", "new_string": "hunter2"})

    def test_shows_the_notes_of_a_file_though_they_were_shown(
        self, use: Callable[..., object], store: Satchel, explained: Explained
    ) -> None:
        store.entries.write("discovery", "rounds down", file="a.py", agent="ann")
        self.edited(use, "PreToolUse")
        said = explained("claude", "PreToolUse")
        assert "budget: 250 tokens (hooks.edit, default)\nnot kept, since it may hold a secret: what the edit" in said
        assert said.rstrip().endswith("rounds down")

    def test_shows_why_an_edit_would_be_stopped(
        self, use: Callable[..., object], store: Satchel, explained: Explained
    ) -> None:
        store.files.claim(["a.py"], agent="ben", reason="release")
        self.edited(use, "PreToolUse")
        before = store.files.claims().items
        said = explained("claude", "PreToolUse")
        assert "stops the edit, and puts in about " in said
        assert 'a.py is claimed by ben, for "release"' in said
        assert store.files.claims().items == before

    def test_records_no_change(self, use: Callable[..., object], store: Satchel, explained: Explained) -> None:
        self.edited(use, "PreToolUse")
        assert "puts in nothing: " in explained("claude", "PreToolUse")
        assert store.files.changes().total == 0

    def test_shows_the_fix_of_the_last_error_and_keeps_nothing_of_its_output(
        self, use: Callable[..., object], store: Satchel, explained: Explained, tmp_path: Path
    ) -> None:
        output = "Exit code 1\nModuleNotFoundError: No module named 'yaml'"
        store.patterns.report("ModuleNotFoundError", output, solution="pip install pyyaml", agent="ann")
        use("PostToolUseFailure", "Bash", tool_input={"command": "make hunter2"}, error=output)
        said = explained("claude", "PostToolUseFailure")
        assert "not kept, since it may hold a secret: the command and its output" in said
        assert said.rstrip().endswith("pip install pyyaml")
        (kept,) = (tmp_path / "state").rglob("claude-PostToolUseFailure.json")
        assert "hunter2" not in kept.read_text()
        assert "yaml" not in kept.read_text()

    def test_says_that_none_was_heard(self, explained: Explained) -> None:
        assert "none was heard yet" in explained("claude", "PreToolUse")
