"""Hooks around edits and reads of files: claims that hold across clients, and notes on a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents_here import register
from interfaces.hooks.at_work import AtWork, denial, edit
from interfaces.hooks.conftest import Hook, context
from satchel import Satchel, open_satchel
from satchel.base import processes
from satchel.base.clock import system_clock
from satchel.interfaces.hooks import state
from satchel.keep.sessions.caller import SERVER


class TestEdits:
    def test_an_edit_claims_its_file_for_the_session(self, at_work: AtWork, store: Satchel, project: Path) -> None:
        assert at_work("s1", "PreToolUse", "Edit", **edit(project / "a.py")) is None
        (claim,) = store.files.claims().items
        assert (claim.path, claim.automatic) == ("a.py", True)
        at_work("s1", "PreToolUse", "Edit", **edit(project / "a.py"))
        assert store.files.claims().items == (claim,)  # renewed a minute later at the earliest

    def test_an_edit_is_recorded(self, at_work: AtWork, store: Satchel, project: Path) -> None:
        (project / "a.py").write_text("x")
        for _ in range(3):
            at_work("s1", "PreToolUse", "Edit", **edit(project / "a.py"))
            at_work("s1", "PostToolUse", "Edit", **edit(project / "a.py"))
        (change,) = store.files.changes().items
        assert (change.file, change.change) == ("a.py", "modified")

    @pytest.mark.usefixtures("all_have_begun")
    def test_what_a_tool_made_is_created_and_what_it_removed_is_deleted(
        self, at_work: AtWork, store: Satchel, project: Path
    ) -> None:
        at_work("s1", "PreToolUse", "Write", **edit(project / "new.py"))
        (project / "new.py").write_text("x")
        at_work("s1", "PostToolUse", "Write", **edit(project / "new.py"))
        patch = "*** Begin Patch\n*** Delete File: old.py\n*** End Patch"
        at_work("c1", "PostToolUse", "apply_patch", tool_input={"command": patch})
        assert {change.file: change.change for change in store.files.changes().items} == {
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

    @pytest.mark.usefixtures("all_have_begun")
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

    @pytest.mark.usefixtures("all_have_begun")
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
        assert 'ask ben (satchel\'s send_message), or wait for it: claim_files(["src/a.py"], wait_seconds=45)' in said

    def test_it_is_stopped_while_another_writes_to_the_store_too(
        self, at_work: AtWork, store: Satchel, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SATCHEL_HOOKS_DEADLINE_MS", "6000")  # each write waits for a sixth of it
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

    @pytest.mark.usefixtures("all_have_begun")
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
        assert [change.file for change in store.files.changes().items] == ["a.bin"]

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
            register(other, "ann")
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

    @pytest.mark.usefixtures("all_have_begun")
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

    @pytest.mark.usefixtures("all_have_begun")
    @pytest.mark.parametrize(("session", "tool"), [("c1", "apply_patch"), ("v1", "replace_string_in_file")])
    def test_in_each_client_that_says_something_before(
        self, at_work: AtWork, store: Satchel, session: str, tool: str
    ) -> None:
        store.entries.write("discovery", "the token must be rotated", file="a.py", agent="ann")
        assert "the token must be rotated" in context(at_work(session, "PreToolUse", tool, **edit("a.py")))
        assert at_work(session, "PostToolUse", tool, **edit("a.py")) is None

    @pytest.mark.usefixtures("all_have_begun")
    def test_where_the_client_says_nothing_before_they_come_after(self, at_work: AtWork, store: Satchel) -> None:
        store.entries.write("discovery", "the token must be rotated", file="a.py", agent="ann")
        assert at_work("g1", "BeforeTool", "replace", **edit("a.py")) is None
        assert "the token must be rotated" in context(at_work("g1", "AfterTool", "replace", **edit("a.py")))

    @pytest.mark.usefixtures("all_have_begun")
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

    @pytest.mark.usefixtures("all_have_begun")
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

        assert context(read("a.py")) == "Satchel on a.py: these, given earlier, bind it too: c2"
        assert read("b.py") is None

    def test_also_where_new_rules_fill_the_room(self, hook: Hook, store: Satchel, project: Path) -> None:
        given = store.constraints.add("no token is logged", paths=["a.py"], agent="ann")
        hook("claude", "SessionStart", source="startup")
        for number in range(9):
            store.constraints.add(f"rule {number}: " + f"word{number} " * 20, paths=["a.py"], agent="ann")
        lines = context(hook("claude", "PreToolUse", tool_name="Edit", tool_use_id="t", **edit(project / "a.py")))
        assert lines.splitlines()[1].startswith("c11 rule: rule 8")
        assert f"these, given earlier, bind it too: {given.ref}" in lines

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
