"""What clients tell their hooks, and what they take."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.interfaces.hooks import events
from satchel.interfaces.hooks.events import CLIENTS, NotAnEventError, answer, parse

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


@pytest.mark.parametrize(("called", "fields", "client", "happening"), SEEN)
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


@pytest.mark.parametrize("data", [b"[1]", b'"x"', b"{", b"\xff\xfe", b"[" * 100_000, b"null", b"1e999"])
def test_what_is_no_object_is_no_event(data: bytes) -> None:
    with pytest.raises(NotAnEventError):
        parse(data, "claude", "SessionStart")


def test_what_is_too_large_is_not_read() -> None:
    with pytest.raises(NotAnEventError, match="32 MiB"):
        parse(b"{}" + b" " * events.MAX_BYTES, "claude", "SessionStart")


def test_an_empty_event_is_what_the_command_says() -> None:
    event = parse(b"", "gemini", "SessionEnd")
    assert (event.client, event.happening, event.session_id) == ("gemini", "end", None)


def test_a_huge_field_is_cut() -> None:
    event = read("claude", "SessionStart", {"session_id": "s" * 1_000_000})
    assert len(event.session_id or "") == 4_096
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


@pytest.mark.parametrize(("client", "expected"), ANSWERS, ids=[client for client, _ in ANSWERS])
def test_each_client_gets_its_own_form(client: str, expected: dict[str, Any]) -> None:
    said = answer(events.HookEvent(client, "SessionStart", "start"), "é\n", "ab")
    assert json.loads(said) == expected
    assert said.isascii()
    assert "\n" not in said
