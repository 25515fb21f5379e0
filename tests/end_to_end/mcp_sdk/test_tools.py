"""The tools of the real server, judged by the official SDK's client in each of its modes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError

from default_tools import DEFAULT_TOOLS
from end_to_end.mcp_sdk.talking import READING_TOOLS, call, refused
from satchel import open_satchel

pytestmark = pytest.mark.slow


def test_the_default_tools_are_listed(session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == DEFAULT_TOOLS
        reading = [tool.name for tool in tools if tool.annotations and tool.annotations.read_only_hint]
        assert reading == READING_TOOLS

    session(conversation)


def test_one_note_is_kept_and_read(session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        note = {"type": "discovery", "content": "Sessions live in src/auth.py", "agent": "planner"}
        assert (
            await call(client, "write_context", note) == "saved e1 discovery by planner; shown in briefings, searches"
        )
        found = await call(client, "read_context", {"query": "where do sessions live?"})
        assert found.endswith("\n Sessions live in src/auth.py")

    session(conversation, "--toolsets", "all")


def test_several_notes_are_kept_at_once(session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        notes = [{"type": "discovery", "content": "one"}, {"type": "scratchpad", "content": {"iteration": 1}}]
        answer = await call(client, "write_context", {"entries": notes, "agent": "a", "format": "json"})
        assert [kept["content"] for kept in json.loads(answer)["entries"]] == ["one", {"iteration": 1}]

    session(conversation)


def test_a_list_may_come_as_its_json_text(session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        notes = json.dumps([{"type": "error", "content": "boom"}, {"type": "discovery", "content": "calm"}])
        await call(client, "write_context", {"entries": notes, "agent": "a"})
        answer = await call(client, "read_context", {"types": '["error"]', "limit": "5", "format": "json"})
        assert [found["content"] for found in json.loads(answer)["entries"]] == ["boom"]

    session(conversation, "--toolsets", "all")


def test_every_filter_reaches_the_store(session: Callable[..., None]) -> None:
    wanted = {"type": "error", "content": "the token expired", "task_id": "T1", "loop_id": "L1", "file": "a.py"}
    others = [
        {**wanted, "type": "discovery"},
        {**wanted, "content": "nothing of the kind"},
        {**wanted, "task_id": "T2"},
        {**wanted, "loop_id": "L2"},
        {**wanted, "file": "b.py"},
    ]

    async def conversation(client: Client) -> None:
        await call(client, "write_context", {"entries": [wanted, *others], "agent": "planner"})
        await call(client, "write_context", {**wanted, "agent": "builder"})
        every: dict[str, Any] = {
            "query": "token",
            "types": ["error"],
            "author": "planner",
            "task_id": "T1",
            "loop_id": "L1",
            "file": "./a.py",
            "since": "1h",
            "status": "live",
            "order": "asc",
            "limit": 1,
            "offset": 0,
            "format": "json",
        }
        page = json.loads(await call(client, "read_context", every))
        assert (page["total"], [found["id"] for found in page["entries"]]) == (1, ["e1"])

    session(conversation, "--toolsets", "all")


def test_a_decision_is_set_changed_and_found(session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        decision = {"key": "session_ttl", "value": 300, "tags": ["security"], "rationale": "x", "agent": "ann"}
        assert (await call(client, "set_decision", decision)).startswith("set d1 session_ttl (new)")
        change = {"key": "session_ttl", "value": 60, "rationale": None, "expected_revision": 1, "agent": "ben"}
        await call(client, "set_decision", change)
        opened = json.loads(await call(client, "get_items", {"ids": ["decision:session_ttl"], "format": "json"}))
        (history,) = opened["items"]
        assert (history["decision"]["value"], history["decision"]["tags"]) == (60, ["security"])
        assert "rationale" not in history["decision"]
        assert [(state["value"], state["agent"]) for state in history["history"]] == [(300, "ann")]
        found = await call(client, "find_decisions", {"tags": '["security"]', "minimum": 50})
        assert "session_ttl" in found

    session(conversation, "--toolsets", "all")


def test_a_constraint_is_added_found_and_ended(session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        rule = {"text": "no call leaves the network", "priority": "high", "tags": ["security"], "agent": "ann"}
        assert (await call(client, "add_constraint", rule)).startswith("added c1")
        assert "no call leaves the network" in await call(client, "get_constraints", {"priority": "high"})
        await call(client, "review_item", {"id": "c1", "verdict": "retract", "evidence": "moved", "agent": "ben"})
        assert (await call(client, "get_constraints", {})).startswith("0 constraints")

    session(conversation, "--toolsets", "all")


def test_two_agents_over_one_connection_have_two_inboxes(session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        warning = {"message": "the token leaks", "to": "ben", "priority": "critical", "agent": "ann"}
        await call(client, "send_message", warning)
        assert json.loads(await call(client, "get_messages", {"agent": "ann", "format": "json"}))["messages"] == []
        told = await call(client, "get_items", {"ids": ["file:a.py"], "agent": "ben"})
        assert told.endswith('\nnotice: m1 from ann (critical): "the token leaks"')
        (message,) = json.loads(await call(client, "get_messages", {"from": "ann", "agent": "ben", "format": "json"}))[
            "messages"
        ]
        assert (message["id"], message["from"], message["message"]) == ("m1", "ann", "the token leaks")
        assert "notice" not in await call(client, "get_messages", {"agent": "ben"})

    session(conversation, "--toolsets", "context,messages,files")


def test_a_claim_of_another_session_keeps_an_agent_off_a_file_and_none_of_its_own(
    session: Callable[..., None], folder: Path
) -> None:
    async def conversation(client: Client) -> None:
        with open_satchel(cwd=folder, agent="ann") as other:
            other.files.claim(["src/auth/"], reason="tokens")
            error = await refused(client, "claim_files", {"paths": ["src/auth/a.py"], "agent": "ben"})
            assert error.startswith("error [conflict]")
            note = {"type": "discovery", "content": "x", "file": "src/auth/a.py", "agent": "ben"}
            assert "\nnotice: src/auth/** is claimed by ann until " in await call(client, "write_context", note)
            other.files.release()
        await call(client, "claim_files", {"paths": ["src/auth/a.py"], "agent": "ben"})
        renewed = await call(client, "claim_files", {"paths": ["src/auth/a.py"], "agent": "subagent"})
        assert renewed.startswith("renewed src/auth/a.py")

    session(conversation, "--toolsets", "context,files")


def test_an_error_carries_its_code_and_the_remedy(session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        error = await refused(client, "write_context", {"type": "discovry", "content": "x"})
        assert error.startswith("error [invalid_input]: unknown type 'discovry'. Did you mean 'discovery'?")
        error = await refused(client, "read_context", {"run_id": "r9"})
        assert error.startswith("error [not_found]: there is no run 'r9'")

    session(conversation, "--toolsets", "all")


def test_an_unknown_argument_is_refused_with_the_nearest(session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        error = await refused(client, "read_context", {"taskid": "T1"})
        assert "unknown read_context argument 'taskid'. Did you mean 'task_id'?" in error

    session(conversation, "--toolsets", "all")


def test_an_unknown_tool_is_refused_with_the_nearest(session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        with pytest.raises(MCPError, match="Did you mean 'read_context'"):
            await client.call_tool("read_contexts", {})

    session(conversation, "--toolsets", "all")
