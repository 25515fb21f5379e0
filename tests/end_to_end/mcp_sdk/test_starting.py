"""The options, variables and connections a real server is started with, judged by the official SDK's client."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client

from default_tools import DEFAULT_TOOLS
from end_to_end.mcp_sdk.talking import READING_TOOLS, call

pytestmark = pytest.mark.slow


def test_read_only_leaves_out_what_writes(one_session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        assert [tool.name for tool in (await client.list_tools()).tools] == READING_TOOLS
        with pytest.raises(MCPError, match="'write_context' is not served here"):
            await client.call_tool("write_context", {"type": "discovery", "content": "x"})

    one_session(conversation, "--read-only")


def test_all_toolsets_include_the_default_one(one_session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert [name for name in names if name in DEFAULT_TOOLS] == DEFAULT_TOOLS
        assert {"send_message", "claim_files", "clear_old_data"} <= set(names)

    one_session(conversation, "--toolsets", "all")


async def whose_note(client: Client) -> tuple[str, str]:
    """Write without saying who or where; return the run and the author it got."""
    answer = await call(client, "write_context", {"type": "discovery", "content": "x", "format": "json"})
    (kept,) = json.loads(answer)["entries"]
    return kept["run_id"], kept["agent"]


@pytest.fixture
def runs(folder: Path) -> None:
    """Two active runs, r1 and r2."""
    from satchel import open_satchel

    with open_satchel(cwd=folder, environ={}) as satchel:
        satchel.runs.start("r1")
        satchel.runs.start("r2")


@pytest.mark.usefixtures("runs")
def test_run_and_agent_may_be_options(one_session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        assert await whose_note(client) == ("r1", "planner")

    one_session(conversation, "--run", "r1", "--agent", "planner")


@pytest.mark.usefixtures("runs")
def test_run_and_agent_may_be_variables(one_session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        assert await whose_note(client) == ("r2", "builder")

    one_session(conversation, SATCHEL_RUN="r2", SATCHEL_AGENT="builder")


@pytest.mark.usefixtures("runs")
def test_an_option_goes_before_a_variable(one_session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        assert await whose_note(client) == ("r1", "planner")

    one_session(conversation, "--run", "r1", "--agent", "planner", SATCHEL_RUN="r2", SATCHEL_AGENT="builder")


@pytest.mark.usefixtures("runs")
def test_without_a_choice_what_is_written_goes_to_the_run_main_however_many_are_active(
    one_session: Callable[..., None],
) -> None:
    async def conversation(client: Client) -> None:
        assert await whose_note(client) == ("main", "planner")

    one_session(conversation, "--agent", "planner")


def test_two_agents_share_one_connection(one_session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        async with anyio.create_task_group() as tasks:
            for agent in ("planner", "builder"):
                note = {"type": "discovery", "content": f"by {agent}", "agent": agent}
                tasks.start_soon(call, client, "write_context", note)
        page = json.loads(await call(client, "read_context", {"format": "json"}))
        assert {(found["agent"], found["content"]) for found in page["entries"]} == {
            ("planner", "by planner"),
            ("builder", "by builder"),
        }

    one_session(conversation, "--toolsets", "all")


def test_an_argument_goes_before_the_servers_agent(one_session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        answer = await call(client, "write_context", {"type": "error", "content": "x", "agent": "reviewer"})
        assert " by reviewer" in answer.split("\n", maxsplit=1)[0]

    one_session(conversation, "--agent", "planner")


def test_two_servers_on_one_store_share_a_run(parameters: Callable[..., StdioServerParameters]) -> None:
    async def converse() -> None:
        planner = Client(stdio_client(parameters("--agent", "planner", "--toolsets", "all")))
        builder = Client(stdio_client(parameters("--agent", "builder")), mode="legacy")
        async with planner, builder:
            await call(planner, "write_context", {"type": "decision", "content": "tokens live 300 s"})
            await call(builder, "write_context", {"type": "discovery", "content": "agreed"})
            page = json.loads(await call(planner, "read_context", {"order": "asc", "format": "json"}))
        assert [found["agent"] for found in page["entries"]] == ["planner", "builder"]
        assert len({found["run_id"] for found in page["entries"]}) == 1

    anyio.run(converse)
