"""Hooks in and around clones inside a project: the session's project answers, and each project's claims hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interfaces.hooks.conftest import RULE, Hook, context
from satchel import Satchel
from satchel.base.clock import system_clock
from satchel.base.errors import StoreDamaged
from satchel.interfaces.hooks import command, state

Open = Callable[..., Satchel]


@pytest.fixture
def inner(project: Path) -> Path:
    """A clone inside the project."""
    folder = project / "vendor" / "inner"
    (folder / ".git").mkdir(parents=True)
    return folder


def edit(event: str, file: Path, number: int = 1) -> dict[str, Any]:
    return {
        "hook_event_name": event,
        "tool_name": "Edit",
        "tool_use_id": f"t{number}",
        "tool_input": {"file_path": str(file), "old_string": "a", "new_string": "b"},
    }


def denial(answer: dict[str, Any] | None) -> str:
    assert answer is not None
    return str(answer["hookSpecificOutput"]["permissionDecisionReason"])


@pytest.fixture
def _started_in_project(own_state: None, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(project))


@pytest.mark.usefixtures("_started_in_project")
class TestASessionOfTheProjectInAClone:
    def test_is_briefed_after_a_compaction(self, hook: Hook, inner: Path) -> None:
        assert RULE in context(hook("claude", "SessionStart", source="compact", cwd=str(inner)))

    def test_is_stopped_at_a_claimed_file_of_the_project(
        self, hook: Hook, store: Satchel, project: Path, inner: Path
    ) -> None:
        store.files.claim(["a.py"], agent="ben")
        said = denial(hook("claude", "PreToolUse", edit("PreToolUse", project / "a.py"), cwd=str(inner)))
        assert "a.py is claimed by ben" in said

    def test_is_stopped_at_a_file_that_is_claimed_in_the_project_of_the_clone(
        self, hook: Hook, open_in: Open, inner: Path
    ) -> None:
        open_in(inner, clock=system_clock).files.claim(["b.py"], agent="eve")
        said = denial(hook("claude", "PreToolUse", edit("PreToolUse", inner / "b.py"), cwd=str(inner)))
        assert "b.py is claimed by eve" in said

    def test_a_claim_in_a_store_that_cannot_be_read_is_no_silent_matter(
        self, hook: Hook, open_in: Open, inner: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        open_in(inner, clock=system_clock).files.claim(["b.py"], agent="eve")
        open_for = command.open_for

        def fail_in_clone(event: Any, folder: str, environ: Any) -> Satchel | None:
            if folder == str(inner):
                raise StoreDamaged("torn")
            return open_for(event, folder, environ)

        monkeypatch.setattr(command, "open_for", fail_in_clone)
        hook("claude", "PreToolUse", edit("PreToolUse", inner / "b.py"))
        assert [(fault.problem, fault.folder) for fault in state.faults(0)] == [("StoreDamaged: torn", str(inner))]


class TestASessionOfTheClone:
    def test_is_stopped_at_a_claimed_file_of_the_project_around_it(
        self, hook: Hook, store: Satchel, project: Path, inner: Path
    ) -> None:
        store.files.claim(["a.py"], agent="ben")
        said = denial(hook("codex", "PreToolUse", edit("PreToolUse", project / "a.py"), cwd=str(inner)))
        assert "a.py is claimed by ben" in said

    def test_has_its_edits_of_the_project_around_it_recorded_there(
        self, hook: Hook, store: Satchel, project: Path, inner: Path
    ) -> None:
        (project / "a.py").write_text("a")
        for event in ("PreToolUse", "PostToolUse"):
            hook("codex", event, edit(event, project / "a.py"), cwd=str(inner))
        assert [change.file for change in store.files.changes()] == ["a.py"]

    def test_is_not_told_of_the_project_around_it(self, hook: Hook, inner: Path) -> None:
        assert hook("codex", "SessionStart", source="startup", cwd=str(inner)) is None
        assert state.faults(0) == []


class TestASessionOutsideAnyProject:
    def test_is_stopped_at_a_claimed_file(self, hook: Hook, store: Satchel, project: Path, tmp_path: Path) -> None:
        (tmp_path / "plain").mkdir()
        store.files.claim(["a.py"], agent="ben")
        said = denial(hook("codex", "PreToolUse", edit("PreToolUse", project / "a.py"), cwd=str(tmp_path / "plain")))
        assert "a.py is claimed by ben" in said
