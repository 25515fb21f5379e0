"""What is served over HTTP is what is served over stdio: names, schemas, hints, instructions, and every answer."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from mcp_over_http import Served, ask, served
from satchel import Satchel
from satchel.interfaces.operations.as_tool import ALL_TOOLS

pytestmark = pytest.mark.slow

OF_THE_OPERATOR = frozenset({"get_stats", "get_config"})
"""Tools that tell a token nothing of the store's file and the server's machine: http/test_isolation.py says what."""

CALLS: tuple[tuple[str, dict[str, object]], ...] = (
    ("write_context", {"type": "discovery", "content": "Sessions expire after 300 s"}),
    ("write_context", {"type": "scratchpad", "content": {"done": False, "next_step": "mend it"}, "task_id": "auth"}),
    ("write_context", {"type": "nothing", "content": "salt"}),
    ("read_context", {"types": ["discovery"], "detail": "full"}),
    ("search", {"query": "sessions"}),
    ("search", {"query": "sessions", "format": "json"}),
    ("get_items", {"ids": ["e1", "e99"]}),
    ("set_decision", {"key": "ttl", "value": "300 s", "rationale": "as agreed"}),
    ("get_items", {"ids": ["decision:ttl"]}),
    ("find_decisions", {"query": "ttl"}),
    ("add_constraint", {"text": "Never log a token", "category": "security"}),
    ("get_constraints", {}),
    ("report_error", {"error_type": "TimeoutError", "message": "the session expired"}),
    ("report_outcome", {"id": "x1", "solution": "renew it"}),
    ("report_error", {"error_type": "TimeoutError", "message": "the session expired"}),
    ("claim_files", {"paths": ["src/", "issue:311"], "reason": "expiry"}),
    ("claim_files", {"paths": ["src/"], "agent": "ann"}),
    ("get_items", {"ids": ["file:src/auth.py"]}),
    ("record_file_change", {"file": "src/other.py", "change": "modified", "description": "renamed"}),
    ("get_file_changes", {}),
    ("release_files", {}),
    ("send_message", {"message": "mind src/auth.py", "to": ["ann"]}),
    ("get_messages", {"agent": "ann"}),
    ("save_package", {"summary": "what failed", "content": "all of it"}),
    ("get_packages", {}),
    ("get_packages", {"packages": ["p1"]}),
    ("save_strategy", {"topic": "sessions", "insight": "renew early"}),
    ("start_run", {"run_id": "r1", "spec_path": "docs/spec.md"}),
    ("end_run", {"run_id": "r1", "status": "completed"}),
    ("get_runs", {}),
    ("review_item", {"id": "e1", "verdict": "confirm"}),
    ("review_item", {"id": "e1", "verdict": "retract", "evidence": "it is 600 s"}),
    ("get_briefing", {"query": "renew a session", "role": "developer"}),
    ("get_briefing", {"query": "renew a session", "role": "developer"}),
    ("get_team", {}),
    ("get_layer_summary", {}),
    ("get_stats", {}),
    ("clear_old_data", {}),
    ("consult", {"assistant": "ollama:none", "instructions": "why?", "dry_run": True}),
    ("list_conversations", {}),
    ("get_consultation", {"handle": "none"}),
    ("reset_conversation", {"conversation": "none"}),
    ("get_config", {}),
    ("search", {"no_such": 1}),
)

MASKED = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?Z?|\d\d:\d\d(:\d\d)?|\b[0-9a-f]{32}\b|\w*bytes\w*: [\d.]+"
)
"""Times, names for all stores, and how large a file is."""


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served() as one:
        yield one


def over_stdio(folder: Path, talk: Callable[[Client], Awaitable[Any]], mode: str) -> Any:
    async def run() -> Any:
        arguments = ["-m", "satchel", "mcp", "--toolsets", "all", "--agent", "ben"]
        parameters = StdioServerParameters(command=sys.executable, args=arguments, cwd=folder, env=dict(os.environ))
        async with Client(stdio_client(parameters), mode=mode) as client:
            return await talk(client)

    return anyio.run(run)


async def offered(client: Client) -> dict[str, Any]:
    return {
        "instructions": client.instructions,
        "capabilities": client.server_capabilities.model_dump(),
        "info": client.server_info and client.server_info.model_dump(),
        "tools": [tool.model_dump(by_alias=True) for tool in (await client.list_tools()).tools],
        "prompts": [prompt.model_dump(by_alias=True) for prompt in (await client.list_prompts()).prompts],
        "prompt": (await client.get_prompt("analyse", {"focus": "errors"})).model_dump(),
        "resources": [one.model_dump() for one in (await client.list_resources()).resources],
        "templates": [one.model_dump() for one in (await client.list_resource_templates()).resource_templates],
        "state": (await client.read_resource("satchel://state")).model_dump(),
        "briefing": (await client.read_resource("satchel://briefing/developer")).model_dump(),
    }


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_it_offers_the_same(server: Served, satchel: Satchel, project: Path, mode: str) -> None:
    satchel.entries.write("discovery", "salt", agent="ann")
    token = server.give(satchel, agent="ben")
    over_http = server.converse(offered, token, mode=mode, query="?toolsets=all")
    assert over_http == over_stdio(project, offered, mode)


def test_every_tool_answers_the_same(server: Served, open_in: Callable[..., Satchel], tmp_path: Path) -> None:
    assert {tool.name for tool in ALL_TOOLS} == {tool for tool, _ in CALLS}
    folders = [tmp_path / name / "project" for name in ("one", "two")]
    opened = []
    for folder in folders:
        (folder / ".git").mkdir(parents=True)
        (folder / "src").mkdir()
        opened.append(open_in(folder))
        opened[-1].entries.write("discovery", "salt", agent="ann")

    async def call_all(client: Client) -> list[str]:
        return [MASKED.sub("…", await ask(client, tool, **arguments)) for tool, arguments in CALLS]

    token = server.give(opened[0], agent="ben")
    here = server.converse(call_all, token, query="?toolsets=all", headers={"Satchel-Session": "one"})
    there = over_stdio(folders[1], call_all, "2026-07-28")
    for (tool, arguments), got, expected in zip(CALLS, here, there, strict=True):
        if tool in OF_THE_OPERATOR:
            continue
        seen = got.replace("\nnote: the server cannot see your disk, so unrecorded edits are not reported", "")
        assert seen.replace(str(tmp_path / "one"), "") == expected.replace(str(tmp_path / "two"), ""), (tool, arguments)
