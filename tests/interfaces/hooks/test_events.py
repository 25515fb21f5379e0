"""What clients tell their hooks, and what they take."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.interfaces.hooks import events
from satchel.interfaces.hooks.events import CLIENTS, NotAnEventError, answer, parse
from tables import in_one_test

CLAUDE = {"session_id": "s1", "transcript_path": "/t.jsonl", "cwd": "/p"}
CURSOR = {"conversation_id": "c1", "generation_id": "g1", "workspace_roots": ["/p", "/q"]}
COPILOT = {"sessionId": "s1", "timestamp": 1_700_000_000_000, "cwd": "/p"}
VSCODE = {"sessionId": "s1", "timestamp": "2026-11-22T10:00:00Z", "cwd": "/p"}


def read(client: str, name: str, fields: Any) -> events.HookEvent:
    return parse(json.dumps(fields).encode(), client, name)


SEEN = [
    ("claude", CLAUDE | {"hook_event_name": "SessionStart", "source": "startup"}, "claude", "start"),
    ("claude", CLAUDE | {"hook_event_name": "SessionStart", "source": "resume"}, "claude", "resume"),
    ("claude", CLAUDE | {"hook_event_name": "SessionStart", "source": "clear"}, "claude", "clear"),
    ("claude", CLAUDE | {"hook_event_name": "SessionStart", "source": "compact"}, "claude", "compaction"),
    ("claude", CLAUDE | {"hook_event_name": "SubagentStart", "agent_id": "a1"}, "claude", "subagent"),
    ("claude", CLAUDE | {"hook_event_name": "SessionEnd", "reason": "other"}, "claude", "end"),
    ("claude", CLAUDE | {"hook_event_name": "PreCompact", "trigger": "manual"}, "claude", ""),
    ("codex", CLAUDE | {"hook_event_name": "SessionStart", "source": "startup", "model": "m"}, "codex", "start"),
    ("gemini", CLAUDE | {"hook_event_name": "SessionStart", "source": "startup"}, "gemini", "start"),
    ("qwen", CLAUDE | {"hook_event_name": "SessionStart", "source": "compact"}, "qwen", "compaction"),
    ("copilot", COPILOT | {"source": "new", "initialPrompt": "x"}, "copilot", "start"),
    ("claude", CURSOR | {"hook_event_name": "sessionStart"}, "cursor", "start"),
    ("cursor", CURSOR | {"hook_event_name": "sessionEnd"}, "cursor", "end"),
    ("claude", VSCODE | {"hookEventName": "SessionStart", "source": "new"}, "vscode", "start"),
    ("opencode", {"event": "session.start", "session_id": "s1"}, "opencode", "start"),
    ("opencode", {"event": "session.compacted", "session_id": "s1"}, "opencode", "compaction"),
    ("opencode", {"event": "subagent.start", "session_id": "s1", "agent_id": "s2"}, "opencode", "subagent"),
]


TOOL = {"tool_use_id": "t1"}
PATCH = {"tool_name": "apply_patch", "tool_input": {"command": "*** Begin Patch\n*** Update File: a\n*** End Patch"}}
SHELL = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_response": "done"}
IN_CURSOR = {"tool_name": "Shell", "tool_input": {"command": "make"}}
IN_VSCODE = {"tool_name": "run_in_terminal", "tool_input": {"command": "make"}}
SEEN += [
    ("codex", CLAUDE | TOOL | PATCH | {"hook_event_name": "PreToolUse"}, "codex", "before an edit"),
    ("codex", CLAUDE | TOOL | PATCH | {"hook_event_name": "PostToolUse"}, "codex", "after an edit"),
    ("codex", CLAUDE | TOOL | SHELL | {"hook_event_name": "PreToolUse"}, "codex", ""),
    ("codex", CLAUDE | TOOL | SHELL | {"hook_event_name": "PostToolUse"}, "codex", "a command ended"),
    ("codex", CLAUDE | {"hook_event_name": "Stop", "stop_hook_active": False}, "codex", "the end of a turn"),
    (
        "cursor",
        CURSOR | TOOL | {"hook_event_name": "preToolUse", "tool_name": "Write", "tool_input": {"file_path": "/p/a"}},
        "cursor",
        "before an edit",
    ),
    (
        "cursor",
        CURSOR | TOOL | IN_CURSOR | {"hook_event_name": "postToolUse", "tool_output": '{"exitCode":2,"stdout":"no"}'},
        "cursor",
        "a command failed",
    ),
    (
        "cursor",
        CURSOR | TOOL | IN_CURSOR | {"hook_event_name": "postToolUse", "tool_output": '{"exitCode":0,"stdout":""}'},
        "cursor",
        "a command succeeded",
    ),
    (
        "cursor",
        CURSOR | TOOL | IN_CURSOR | {"hook_event_name": "postToolUseFailure", "error_message": "timed out"},
        "cursor",
        "a command failed",
    ),
    (
        "cursor",
        CURSOR | TOOL | IN_CURSOR | {"hook_event_name": "postToolUseFailure", "failure_type": "permission_denied"},
        "cursor",
        "",
    ),
    (
        "claude",
        CLAUDE | TOOL | SHELL | {"hook_event_name": "PostToolUseFailure", "error": "x", "is_interrupt": True},
        "claude",
        "",
    ),
    (
        "vscode",
        VSCODE | TOOL | {"hookEventName": "PreToolUse", "tool_name": "editFiles", "tool_input": {"files": ["a", "b"]}},
        "vscode",
        "before an edit",
    ),
    (
        "vscode",
        VSCODE | TOOL | {"hookEventName": "PreToolUse", "tool_name": "readFile", "tool_input": {"filePath": "/p/a"}},
        "vscode",
        "",
    ),
    (
        "vscode",
        VSCODE | TOOL | IN_VSCODE | {"hookEventName": "PostToolUse", "tool_response": "done"},
        "vscode",
        "a command ended",
    ),
]


@in_one_test(("called", "fields", "client", "happening"), SEEN)
def test_an_event_is_understood_in_its_clients_dialect(
    called: str, fields: dict[str, Any], client: str, happening: str
) -> None:
    name = fields.get("hook_event_name") or fields.get("hookEventName") or fields.get("event") or "sessionStart"
    event = read(called, name, fields)
    assert (event.client, event.name, event.happening) == (client, name, happening)
    assert event.session_id in {"s1", "c1"}


def test_the_folder_is_the_first_of_several() -> None:
    assert read("cursor", "sessionStart", CURSOR).cwd == "/p"


def test_one_event_told_by_the_hooks_of_two_clients_has_one_key() -> None:
    by_claude = read("claude", "SessionStart", CURSOR | {"hook_event_name": "sessionStart"})
    assert by_claude.key == read("cursor", "sessionStart", CURSOR | {"hook_event_name": "sessionStart"}).key


def test_different_events_have_different_keys() -> None:
    different = [
        CLAUDE | {"hook_event_name": "SessionStart", "source": "startup"},
        CLAUDE | {"hook_event_name": "SessionStart", "source": "resume"},
        CLAUDE | {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s2"},
        CLAUDE | {"hook_event_name": "SubagentStart", "agent_id": "a1"},
        CLAUDE | {"hook_event_name": "SubagentStart", "agent_id": "a2"},
        CLAUDE | {"hook_event_name": "SessionEnd"},
    ]
    assert len({read("claude", "", one).key for one in different}) == len(different)


@in_one_test(
    ("client", "name", "fields", "happening"),
    [
        ("gemini", "BeforeTool", {"tool_name": "replace", "tool_input": {"file_path": "a"}}, "before an edit"),
        ("gemini", "AfterTool", {"tool_name": "replace", "tool_input": {"file_path": "a"}}, "after an edit"),
        ("copilot", "preToolUse", {"toolName": "edit", "toolArgs": {"path": "a"}}, "before an edit"),
        ("copilot", "preCompact", {"trigger": "auto"}, "about to compact"),
        ("opencode", "tool.execute.before", {"tool_name": "edit", "tool_input": {"filePath": "a"}}, "before an edit"),
        ("opencode", "tool.execute.after", {"tool_name": "edit", "tool_input": {"filePath": "a"}}, "after an edit"),
    ],
)
def test_moments_at_work_have_the_names_that_each_client_gives_them(
    client: str, name: str, fields: dict[str, Any], happening: str
) -> None:
    usual = COPILOT if client == "copilot" else CLAUDE
    assert read(client, name, usual | fields).happening == happening


def test_a_subagent_of_copilot_belongs_to_the_session_of_its_parent() -> None:
    fields = COPILOT | {"sessionId": "a1", "agentId": "a1", "agentType": "general-purpose", "parentAgentId": "s1"}
    event = read("copilot", "preToolUse", fields)
    assert (event.session_id, event.agent_id) == ("s1", "a1")


@pytest.mark.parametrize("client", ["gemini", "copilot"])
def test_the_same_call_at_another_time_is_another_event_where_calls_have_no_id(client: str) -> None:
    call = {"tool_name": "replace", "toolName": "replace", "tool_input": {"file_path": "a"}}
    first, second = (read(client, "PreToolUse", {"session_id": "s1", "timestamp": at, **call}) for at in (1, 2))
    assert first.key != second.key


@in_one_test("data", [b"[1]", b'"x"', b"{", b"\xff\xfe", b"[" * 100_000, b"null", b"1e999"])
def test_what_is_no_object_is_no_event(data: bytes) -> None:
    with pytest.raises(NotAnEventError):
        parse(data, "claude", "SessionStart")


def test_what_is_too_large_is_not_read() -> None:
    with pytest.raises(NotAnEventError, match="4 MiB"):
        parse(b"{}" + b" " * events.MAX_BYTES, "claude", "SessionStart")


def test_an_empty_event_is_what_the_command_says() -> None:
    event = parse(b"", "gemini", "SessionEnd")
    assert (event.client, event.happening, event.session_id) == ("gemini", "end", None)


def test_a_huge_field_is_cut() -> None:
    event = read("claude", "SessionStart", {"cwd": "/" * 1_000_000})
    assert len(event.cwd or "") == 4_096
    assert len(event.key) < 500


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(), lambda some: st.lists(some, max_size=3)
)


@given(
    st.dictionaries(
        st.sampled_from(["session_id", "cwd", "source", "agent_id", "workspace_roots", "reason", "x"]), JSON
    ),
    st.sampled_from(CLIENTS),
)
def test_fields_of_any_type_make_an_event(fields: dict[str, Any], client: str) -> None:
    event = read(client, "SessionStart", fields)
    assert event.happening in {"start", "clear", "resume", "compaction"}
    assert all(value is None or isinstance(value, str) for value in event[:9])


ANSWERS = [
    ("claude", {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "é\n"}}),
    ("codex", {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "é\n"}}),
    ("gemini", {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "é\n"}}),
    ("qwen", {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "é\n"}}),
    ("vscode", {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "é\n"}}),
    ("copilot", {"additionalContext": "é\n"}),
    ("opencode", {"additionalContext": "é\n", "session": "ab"}),
    ("cursor", {"additional_context": "é\n", "env": {"SATCHEL_SESSION": "ab"}}),
]


@in_one_test(("client", "expected"), ANSWERS)
def test_each_client_gets_its_own_form(client: str, expected: dict[str, Any]) -> None:
    said = answer(events.HookEvent(client, "SessionStart", "start"), "é\n", "ab")
    assert json.loads(said) == expected
    assert said.isascii()
    assert "\n" not in said


DENIED = "a.py is claimed"
DENIALS = [
    ("codex", {"permissionDecision": "deny", "permissionDecisionReason": DENIED}),
    (
        "vscode",
        {"permissionDecision": "deny", "permissionDecisionReason": DENIED, "additionalContext": DENIED},
    ),
]


@pytest.mark.parametrize(("client", "expected"), DENIALS)
def test_an_edit_is_stopped_in_the_form_of_its_client(client: str, expected: dict[str, str]) -> None:
    said = json.loads(events.stop_edit(events.HookEvent(client, "PreToolUse", "before an edit"), DENIED))
    assert said == {"hookSpecificOutput": {"hookEventName": "PreToolUse", **expected}}


def test_cursor_tells_its_model_why_an_edit_is_stopped() -> None:
    said = json.loads(events.stop_edit(events.HookEvent("cursor", "preToolUse", "before an edit"), DENIED))
    assert said == {"permission": "deny", "user_message": DENIED, "agent_message": DENIED}


@in_one_test("mode", ["default", "plan", "bypassPermissions", "dontAsk", None])
def test_a_user_is_asked_only_where_the_dialog_is_for_a_hook(mode: str | None) -> None:
    event = events.HookEvent("claude", "PreToolUse", "before an edit", mode="acceptEdits")
    assert event.can_ask
    assert not event._replace(mode=mode).can_ask
    assert not event._replace(client="codex").can_ask
    assert not event._replace(agent_id="a1").can_ask
