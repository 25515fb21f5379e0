"""Hooks of sessions at work: claims that hold across clients, errors with their fixes, messages, and progress."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from interfaces.hooks.conftest import RULE, Hook, context
from satchel import Satchel, open_satchel
from satchel.base import processes
from satchel.base.clock import system_clock
from satchel.interfaces.hooks import state
from satchel.keep import events
from satchel.keep.sessions.caller import SERVER

_numbers = count()
FAILURE = """Exit code 1
Traceback (most recent call last):
  File "a.py", line 3
ModuleNotFoundError: No module named 'yaml'"""


@pytest.fixture
def store(filled: Satchel, open_in: Callable[..., Satchel], project: Path) -> Satchel:
    """The store of the hooks, by the clock that they have."""
    return open_in(project, clock=system_clock)


CLIENTS = {"s1": "claude", "c1": "codex", "g1": "gemini", "u1": "cursor", "v1": "vscode"}
"""The sessions that have begun, with their clients."""


@pytest.fixture
def at_work(hook: Hook) -> Callable[..., dict[str, Any] | None]:
    """Let an agent use a tool of its client."""
    for begun, client in CLIENTS.items():
        hook(client, "SessionStart", session_id=begun, source="startup")

    def use(session: str, event: str, tool: str, /, **fields: Any) -> dict[str, Any] | None:
        number = {"tool_use_id": f"t{next(_numbers)}"}
        return hook(CLIENTS[session], event, number | fields, session_id=session, tool_name=tool)

    return use


def edit(file: object) -> dict[str, object]:
    return {"tool_input": {"file_path": str(file), "old_string": "a", "new_string": "b"}}


def bash(command: str, **more: object) -> dict[str, object]:
    return {"tool_input": {"command": command}, **more}


def denial(answer: dict[str, Any] | None) -> str:
    assert answer is not None
    said = answer["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny"
    return str(said["permissionDecisionReason"])


AtWork = Callable[..., dict[str, Any] | None]


class TestEdits:
    def test_an_edit_claims_its_file_for_the_session(self, at_work: AtWork, store: Satchel, project: Path) -> None:
        assert at_work("s1", "PreToolUse", "Edit", **edit(project / "a.py")) is None
        (claim,) = store.files.claims().items
        assert (claim.path, claim.automatic) == ("a.py", True)

    def test_an_edit_is_recorded(self, at_work: AtWork, store: Satchel, project: Path) -> None:
        (project / "a.py").write_text("x")
        for _ in range(3):
            at_work("s1", "PreToolUse", "Edit", **edit(project / "a.py"))
            at_work("s1", "PostToolUse", "Edit", **edit(project / "a.py"))
        (change,) = store.files.changes().changes
        assert (change.file, change.change) == ("a.py", "modified")

    def test_what_a_tool_made_is_created_and_what_it_removed_is_deleted(
        self, at_work: AtWork, store: Satchel, project: Path
    ) -> None:
        at_work("s1", "PreToolUse", "Write", **edit(project / "new.py"))
        (project / "new.py").write_text("x")
        at_work("s1", "PostToolUse", "Write", **edit(project / "new.py"))
        patch = "*** Begin Patch\n*** Delete File: old.py\n*** End Patch"
        at_work("c1", "PostToolUse", "apply_patch", tool_input={"command": patch})
        assert {change.file: change.change for change in store.files.changes().changes} == {
            "new.py": "created",
            "old.py": "deleted",
        }

    def test_a_tool_that_failed_has_changed_nothing(self, at_work: AtWork, store: Satchel, project: Path) -> None:
        at_work("s1", "PostToolUseFailure", "Edit", **edit(project / "a.py"), error="String to replace not found")
        assert store.files.changes().total == 0

    def test_a_file_that_a_person_has_claimed_is_not_edited(
        self, at_work: AtWork, store: Satchel, project: Path
    ) -> None:
        store.files.claim(["src/"], agent="human", reason="release freeze")
        said = denial(at_work("s1", "PreToolUse", "Edit", **edit(project / "src/a.py")))
        assert 'src/** is claimed by human, for "release freeze", until ' in said
        assert "min left" in said
        assert store.files.claims(author="human").total == store.files.claims().total

    def test_a_claim_of_a_server_that_its_hooks_did_not_meet_is_refused_with_the_way_out(
        self, at_work: AtWork, open_in: Callable[..., Satchel], project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(processes, "find_client", lambda *_: processes.find(os.getpid()))
            server = open_in(project, caller=SERVER, environ={}, clock=system_clock)
            assert server.workplace.caller is not None
            server.workplace.caller.set_client("claude-code", "1")
            server.files.claim(["a.py"])
        said = denial(at_work("s1", "PreToolUse", "Edit", **edit(project / "a.py")))
        assert 'in separate sessions: release_files(["a.py"]) ends it' in said
        assert "starting the client with SATCHEL_SESSION=" in said
        codex = {"tool_input": {"command": "*** Begin Patch\n*** Update File: a.py\n*** End Patch"}}
        assert "separate sessions" not in denial(at_work("c1", "PreToolUse", "apply_patch", **codex))

    def test_nor_by_the_patch_of_another_client(self, at_work: AtWork, store: Satchel) -> None:
        store.files.claim(["a.py"], agent="ben")
        patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** End Patch"
        assert "a.py is claimed by ben" in denial(
            at_work("c1", "PreToolUse", "apply_patch", tool_input={"command": patch})
        )

    def test_a_denied_edit_says_how_to_wait_for_the_file_itself(
        self, at_work: AtWork, store: Satchel, project: Path
    ) -> None:
        store.files.claim(["src/"], agent="ben")
        said = denial(at_work("s1", "PreToolUse", "Edit", **edit(project / "src/a.py")))
        assert 'ask ben (send_message), or wait for it: claim_files(["src/a.py"], wait_seconds=45)' in said

    def test_it_is_stopped_while_another_writes_to_the_store_too(
        self, at_work: AtWork, store: Satchel, project: Path
    ) -> None:
        store.files.claim(["a.py"], agent="ben")
        with store.workplace.engine.write():
            said = denial(at_work("s1", "PreToolUse", "Edit", **edit(project / "a.py")))
            assert at_work("s1", "PreToolUse", "Edit", **edit(project / "b.py")) is None
        assert "a.py is claimed by ben" in said

    def test_an_edit_that_is_tried_again_at_once_is_stopped_again(self, hook: Hook, store: Satchel) -> None:
        hook("gemini", "SessionStart", session_id="g1", source="startup")
        store.files.claim(["a.py"], agent="ben")
        for _ in range(2):
            answer = hook("gemini", "BeforeTool", session_id="g1", tool_name="replace", **edit("a.py"))
            assert answer is not None
            assert answer["decision"] == "deny"

    @pytest.mark.parametrize(("mode", "is_told"), [("warn", True), ("off", False)])
    def test_unless_the_user_wants_a_warning_or_nothing(
        self,
        at_work: AtWork,
        store: Satchel,
        project: Path,
        monkeypatch: pytest.MonkeyPatch,
        mode: str,
        is_told: bool,
    ) -> None:
        monkeypatch.setenv("SATCHEL_HOOKS_CLAIMS", mode)
        store.files.claim(["a.py"], agent="ben")
        answer = at_work("s1", "PreToolUse", "Edit", **edit(project / "a.py"))
        assert ("a.py is claimed by ben" in context(answer)) if is_told else answer is None

    @pytest.mark.parametrize(
        ("mode", "attended", "decision"),
        [("acceptEdits", "1", "ask"), ("acceptEdits", "0", "deny"), ("default", "1", "deny")],
    )
    def test_or_a_question_which_is_a_denial_where_nobody_can_tell_it_from_others(
        self,
        at_work: AtWork,
        store: Satchel,
        project: Path,
        monkeypatch: pytest.MonkeyPatch,
        mode: str,
        attended: str,
        decision: str,
    ) -> None:
        monkeypatch.setenv("SATCHEL_HOOKS_CLAIMS", "ask")
        monkeypatch.setenv("CLAUDE_CODE_SESSION_ATTENDED", attended)
        monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "cli")
        store.files.claim(["a.py"], agent="ben")
        answer = at_work("s1", "PreToolUse", "Edit", **edit(project / "a.py"), permission_mode=mode)
        assert answer is not None
        assert answer["hookSpecificOutput"]["permissionDecision"] == decision
        assert "a.py is claimed by ben" in answer["hookSpecificOutput"]["permissionDecisionReason"]
        assert ("a.py is claimed by ben" in answer.get("systemMessage", "")) == (decision == "ask")

    def test_the_projects_own_file_cannot_lower_the_protection(
        self, at_work: AtWork, store: Satchel, project: Path
    ) -> None:
        (store.place.file.parent / "config.toml").write_text('[hooks]\nclaims = "off"\n')
        store.files.claim(["a.py"], agent="ben")
        assert "a.py is claimed by ben" in denial(at_work("s1", "PreToolUse", "Edit", **edit(project / "a.py")))

    def test_the_users_file_can_for_one_project(
        self, at_work: AtWork, store: Satchel, project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        (tmp_path / "config/satchel").mkdir(parents=True)
        own = f'[projects."{project}".hooks]\nclaims = "off"\n[projects."/elsewhere".hooks]\nclaims = "deny"\n'
        (tmp_path / "config/satchel/config.toml").write_text(own)
        store.files.claim(["a.py"], agent="ben")
        assert at_work("s1", "PreToolUse", "Edit", **edit(project / "a.py")) is None

    def test_a_file_that_another_session_edits_is_pointed_out_and_stays_its(
        self, at_work: AtWork, store: Satchel, project: Path
    ) -> None:
        at_work("s1", "PreToolUse", "Edit", **edit(project / "a.py"))
        (before,) = store.files.claims().items
        assert f"{before.agent} is editing a.py too" in context(
            at_work("c1", "PreToolUse", "Edit", **edit(project / "a.py"))
        )
        (after,) = store.files.claims().items
        assert after.agent == before.agent
        assert at_work("c1", "PreToolUse", "Edit", **edit(project / "a.py")) is None, "it is said once"

    @pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
    def test_an_event_after_the_end_of_a_session_revives_it(
        self, hook: Hook, at_work: AtWork, store: Satchel, project: Path, event: str
    ) -> None:
        hook("claude", "SessionEnd", session_id="s1", reason="other")
        (project / "a.py").write_text("x")
        at_work("s1", event, "Edit", **edit(project / "a.py"))
        assert store.files.claims().total == 1
        assert [one.ended_at for one in store.sessions.team().sessions if one.client == "claude"] == [None]

    def test_a_session_that_goes_on_is_told_which_of_its_files_others_claim_now(
        self, hook: Hook, at_work: AtWork, store: Satchel, project: Path
    ) -> None:
        for name in ("a.py", "b.py"):
            at_work("s1", "PreToolUse", "Edit", **edit(project / name))
        hook("claude", "SessionEnd", session_id="s1", reason="other")
        store.files.claim(["b.py"], agent="ann")
        said = context(at_work("s1", "PostToolUse", "Edit", **edit(project / "c.py")))
        assert "others have claimed some of its files since: b.py by ann" in said
        assert {one.path for one in store.files.claims() if one.automatic} == {"a.py", "c.py"}

    def test_a_binary_file_is_claimed_and_recorded_unread(self, at_work: AtWork, store: Satchel, project: Path) -> None:
        (project / "a.bin").write_bytes(bytes(range(256)) * 64)
        (project / "a.bin").chmod(0)
        at_work("s1", "PreToolUse", "Write", **edit(project / "a.bin"))
        at_work("s1", "PostToolUse", "Write", **edit(project / "a.bin"))
        assert [change.file for change in store.files.changes().changes] == ["a.bin"]

    def test_a_file_that_neither_was_nor_is_there_has_not_changed(
        self, at_work: AtWork, store: Satchel, project: Path
    ) -> None:
        at_work("s1", "PostToolUse", "Edit", **edit(project / "none.py"))
        assert store.files.changes().total == 0

    def test_the_text_of_a_patch_in_a_file_is_no_patch(self, at_work: AtWork, store: Satchel, project: Path) -> None:
        text = "*** Begin Patch\n*** Delete File: important.py\n*** End Patch"
        written = {"file_path": str(project / "doc.md"), "content": text}
        at_work("s1", "PreToolUse", "Write", tool_input=written)
        at_work("s1", "PreToolUse", "Task", tool_input={"prompt": text})
        assert [claim.path for claim in store.files.claims().items] == ["doc.md"]

    def test_a_file_with_a_long_absolute_path_is_claimed(self, tmp_path: Path, hook: Hook) -> None:
        deep = tmp_path / "/".join(["folder-of-a-long-path"] * 10) / "project"
        (deep / ".git").mkdir(parents=True)
        with open_satchel(cwd=deep, environ={}) as other:
            other.agents.register("ann")
            fields = edit(deep / "a.py")
            hook("claude", "PreToolUse", session_id="deep", cwd=str(deep), tool_name="Edit", tool_use_id="d", **fields)
            assert other.files.claims().total == 1

    @pytest.mark.parametrize("path", ["~/.bashrc", "https://example.org/a.py", "file:///etc/passwd"])
    def test_what_names_no_file_of_the_project_is_left_alone(self, at_work: AtWork, store: Satchel, path: str) -> None:
        assert at_work("s1", "PreToolUse", "Edit", **edit(path)) is None
        assert store.files.claims().total == 0

    def test_a_subagent_edits_what_its_session_holds(self, at_work: AtWork, project: Path) -> None:
        at_work("s1", "PreToolUse", "Edit", **edit(project / "a.py"))
        assert at_work("s1", "PreToolUse", "Edit", **edit(project / "a.py"), agent_id="sub1") is None

    def test_what_lies_outside_of_the_project_is_left_alone(
        self, at_work: AtWork, store: Satchel, tmp_path: Path
    ) -> None:
        assert at_work("s1", "PreToolUse", "Edit", **edit(tmp_path / "elsewhere.py")) is None
        assert store.files.claims().total == 0
        assert state.faults(0) == []

    def test_a_thousand_files_are_claimed_at_once_and_pointed_out_to_another_in_a_line(
        self, at_work: AtWork, store: Satchel
    ) -> None:
        files = "\n".join(f"*** Update File: f{number}.py" for number in range(1_000))
        patch = {"command": f"*** Begin Patch\n{files}\n*** End Patch"}
        assert at_work("c1", "PreToolUse", "apply_patch", tool_input=patch) is None
        assert store.files.claims().total == 1_000
        said = context(at_work("s1", "PreToolUse", "apply_patch", tool_input=patch))
        assert "is editing f0.py and 999 more files too" in said
        assert len(said) < 250

    def test_notes_on_a_file_come_before_its_first_edit_and_only_then(
        self, at_work: AtWork, store: Satchel, project: Path
    ) -> None:
        store.entries.write("discovery", "the token must be rotated before it is read", file="a.py", agent="ann")
        said = context(at_work("s1", "PreToolUse", "Edit", **edit(project / "a.py")))
        assert "the token must be rotated before it is read" in said
        store.entries.write("discovery", "the lock is taken by the caller", file="a.py", agent="ann")
        assert at_work("s1", "PreToolUse", "Edit", **edit(project / "a.py")) is None

    @pytest.mark.parametrize(("session", "tool"), [("c1", "apply_patch"), ("v1", "replace_string_in_file")])
    def test_in_each_client_that_says_something_before(
        self, at_work: AtWork, store: Satchel, session: str, tool: str
    ) -> None:
        store.entries.write("discovery", "the token must be rotated", file="a.py", agent="ann")
        assert "the token must be rotated" in context(at_work(session, "PreToolUse", tool, **edit("a.py")))
        assert at_work(session, "PostToolUse", tool, **edit("a.py")) is None

    def test_where_the_client_says_nothing_before_they_come_after(self, at_work: AtWork, store: Satchel) -> None:
        store.entries.write("discovery", "the token must be rotated", file="a.py", agent="ann")
        assert at_work("g1", "BeforeTool", "replace", **edit("a.py")) is None
        assert "the token must be rotated" in context(at_work("g1", "AfterTool", "replace", **edit("a.py")))

    def test_so_does_who_else_is_at_work_there(self, at_work: AtWork, store: Satchel, project: Path) -> None:
        at_work("s1", "PreToolUse", "Edit", **edit(project / "a.py"))
        (held,) = store.files.claims().items
        assert at_work("u1", "preToolUse", "Write", **edit(project / "a.py"), conversation_id="u1") is None
        answer = at_work("u1", "postToolUse", "Write", **edit(project / "a.py"), conversation_id="u1")
        assert answer is not None
        assert f"{held.agent} is editing a.py too" in answer["additional_context"]

    def test_what_binds_a_file_comes_when_it_is_first_read(
        self, at_work: AtWork, store: Satchel, project: Path
    ) -> None:
        store.constraints.add("tokens are compared in constant time", paths=["*.py"], agent="ann")
        said = context(at_work("s1", "PostToolUse", "Read", tool_input={"file_path": str(project / "a.py")}))
        assert said == "Satchel on a.py (rules that bind):\nc2 rule: tokens are compared in constant time"
        assert at_work("s1", "PostToolUse", "Read", tool_input={"file_path": str(project / "a.py")}) is None
        assert at_work("s1", "PreToolUse", "Edit", **edit(project / "a.py")) is None
        assert at_work("s1", "PreToolUse", "Edit", **edit(project / "b.py")) is None

    @pytest.mark.parametrize(
        ("session", "event", "tool"), [("g1", "AfterTool", "read_file"), ("v1", "PostToolUse", "read_file")]
    )
    def test_in_each_client_that_tells_of_it(
        self, at_work: AtWork, store: Satchel, session: str, event: str, tool: str
    ) -> None:
        store.decisions.set("compare", "in constant time", rationale="a.py leaked", agent="ann")
        said = context(at_work(session, event, tool, tool_input={"file_path": "a.py"}))
        assert said.splitlines()[1] == "d1 decided, compare: in constant time (because: a.py leaked)"

    def test_with_errors_known_there_but_other_notes_wait_for_the_edit(
        self, at_work: AtWork, store: Satchel, project: Path
    ) -> None:
        store.entries.write("error", "a.py fails on an empty token", file="a.py", agent="ann")
        store.entries.write("discovery", "a.py caches tokens", file="a.py", agent="ann")
        given = {"file_path": str(project / "a.py")}
        (_, trap) = context(at_work("s1", "PostToolUse", "Read", tool_input=given)).splitlines()
        assert trap.endswith("a.py fails on an empty token")
        (_, note) = context(at_work("s1", "PreToolUse", "Edit", **edit(project / "a.py"))).splitlines()
        assert note.endswith("a.py caches tokens")

    def test_a_file_outside_of_the_project_and_one_that_nothing_binds_say_nothing(
        self, at_work: AtWork, store: Satchel, project: Path
    ) -> None:
        store.constraints.add("tokens are compared in constant time", paths=["src/"], agent="ann")
        for path in ("/etc/src/a.py", str(project / "a.py")):
            assert at_work("s1", "PostToolUse", "Read", tool_input={"file_path": path}) is None

    def test_without_a_read_it_comes_before_the_edit_with_what_the_written_code_names(
        self, at_work: AtWork, store: Satchel
    ) -> None:
        store.constraints.add("a.py has no globals", agent="ann")
        store.decisions.set("session_ttl", 300, agent="ann")
        change = {"file_path": "a.py", "old_string": "", "new_string": "return session_ttl"}
        said = context(at_work("s1", "PreToolUse", "Edit", tool_input=change)).splitlines()
        assert said[1:] == ["c2 rule: a.py has no globals", "d1 decided, session_ttl: 300"]

    def test_what_the_start_showed_is_named_once_by_its_id(self, hook: Hook, store: Satchel, project: Path) -> None:
        store.constraints.add("no token is logged, " + "whatever the level " * 5, priority="high", paths=["*.py"])
        assert "no token is logged" in context(hook("claude", "SessionStart", source="startup"))

        def read(name: str) -> dict[str, Any] | None:
            given = {"file_path": str(project / name)}
            return hook("claude", "PostToolUse", tool_name="Read", tool_use_id=name, tool_input=given)

        assert context(read("a.py")).splitlines()[1] == "also bind here, shown above: c2"
        assert read("b.py") is None

    def test_within_the_budget_of_a_file_and_the_rest_is_counted(self, at_work: AtWork, store: Satchel) -> None:
        for number in range(12):
            store.constraints.add(f"rule {number}: " + f"word{number} " * 25, paths=["*.py"], agent="ann")
        always = store.constraints.add("never, " + "ever " * 200, priority="critical", paths=["*.py"], agent="ann")
        said = context(at_work("s1", "PreToolUse", "Edit", **edit("a.py"))).splitlines()
        assert said[1].startswith(f"{always.ref} critical rule: never, ever ever")
        assert said[1].endswith("ever")
        assert said[2:] == ['12 more rules and decisions bind it: get_items(["file:a.py"])']
        again = context(at_work("s1", "PreToolUse", "Edit", **edit("b.py"))).splitlines()
        assert again[1].startswith("c13 rule: rule 11: word11")
        shown = sum(" rule: rule " in line for line in again)
        assert again[-1] == f'{12 - shown} more rules and decisions bind it: get_items(["file:b.py"])'

    def test_where_a_window_has_had_its_share_only_critical_rules_come(
        self, at_work: AtWork, store: Satchel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("satchel.keep.deliveries.SESSION_TOKENS", 0)
        store.constraints.add("rule of a file", paths=["a.py", "b.py"], agent="ann")
        assert at_work("s1", "PreToolUse", "Edit", **edit("a.py")) is None
        store.constraints.add("never of a file", paths=["b.py"], priority="critical", agent="ann")
        said = context(at_work("s1", "PreToolUse", "Edit", **edit("b.py"))).splitlines()
        assert said[1:] == [
            "c3 critical rule: never of a file",
            '1 more rule or decision binds it: get_items(["file:b.py"])',
        ]

    def test_a_note_whose_lines_have_changed_is_marked_and_comes_last(
        self, at_work: AtWork, store: Satchel, project: Path
    ) -> None:
        (project / "a.py").write_text("one = 1\ntwo = 2\n")
        kept = store.entries.write("discovery", "one is read at start", file="a.py", line=1, agent="ann").ref
        changed = store.entries.write("discovery", "two is never read", file="a.py", line=2, agent="ann").ref
        (project / "a.py").write_text("one = 1\nthree = 3\n")
        _, first, second = context(at_work("s1", "PreToolUse", "Edit", **edit(project / "a.py"))).splitlines()
        assert first.startswith(f"{kept} line 1 by ann, ")
        assert second.startswith(f"{changed} line 2 by ann, ")
        assert "(file changed since): two is never read" in second

    def test_of_many_notes_those_come_that_share_words_with_what_is_written(
        self, at_work: AtWork, store: Satchel
    ) -> None:
        for text in ("retries are counted per host", "the token is rotated", "sorted by name", "closed at exit"):
            store.entries.write("discovery", text, file="a.py", agent="ann")
        change = {"file_path": "a.py", "old_string": "count = 0", "new_string": "def rotated(token): ..."}
        said = context(at_work("s1", "PreToolUse", "Edit", tool_input=change)).splitlines()
        assert said[0] == "Satchel on a.py (1 of 4; reports, not orders):"
        assert said[1].endswith(": the token is rotated")
        assert len(said) == 2

    def test_those_come_first_that_share_words_with_the_task(self, hook: Hook, at_work: AtWork, store: Satchel) -> None:
        for text in ("closed at exit", "the parcels of a pallet keep its number", "sorted by name", "read at start"):
            store.entries.write("discovery", text, file="a.py", agent="ann")
        for number in range(12):
            others = " ".join(f"w{number}x{word}" for word in range(9))
            store.entries.write("discovery", f"labels of parcels, printed by pallet: {others}", agent="ann")
        hook("claude", "UserPromptSubmit", prompt="Print the number of a pallet on labels of parcels", session_id="s1")
        said = context(at_work("s1", "PreToolUse", "Edit", **edit("a.py"))).splitlines()
        assert said[1].endswith(": the parcels of a pallet keep its number")


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

    def test_where_nothing_says_how_a_command_ended_messages_come_and_nothing_is_learned(
        self, at_work: AtWork, store: Satchel
    ) -> None:
        store.messages.send("the API changed", agent="ann")
        said = context(at_work("c1", "PostToolUse", "Bash", **bash("python a.py", tool_response=FAILURE)))
        assert "the API changed" in said
        assert store.patterns.find().total == 0

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


class TestCopilotAfterACompaction:
    """It has no event then that carries a text."""

    @pytest.fixture
    def use(self, hook: Hook, project: Path) -> Callable[..., str]:
        """Let an event of Copilot CLI happen; return what its model is told."""
        fields = {"sessionId": "p1", "cwd": str(project), "toolArgs": {"path": "a.py"}}

        def happen(name: str, **more: object) -> str:
            answer = hook("copilot", name, json.dumps(fields | {"timestamp": next(_numbers)} | more).encode())
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

    def test_nothing_is_said_when_an_agent_stops(self, at_work: AtWork, hook: Hook, project: Path) -> None:
        self.changed(at_work, project)
        assert hook("claude", "Stop", session_id="s1") is None
        assert hook("gemini", "AfterAgent", session_id="g1") is None


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
