"""The real server, judged by the official SDK's client in each of its modes."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import mcp_types
import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client

MODES = ("legacy", "auto", "2026-07-28")

DEFAULT_TOOLS = [
    "write_context",
    "read_context",
    "search",
    "set_decision",
    "get_decision",
    "find_decisions",
    "add_constraint",
    "get_constraints",
    "deactivate_constraint",
    "pack",
    "report_error",
    "report_outcome",
]
READING_TOOLS = ["read_context", "search", "get_decision", "find_decisions", "get_constraints"]

Conversation = Callable[[Client], Awaitable[None]]


@pytest.fixture
def parameters(folder: Path) -> Callable[..., StdioServerParameters]:
    """How to start a server in the folder, with arguments and variables."""

    def make(*arguments: str, **variables: str) -> StdioServerParameters:
        return StdioServerParameters(
            command=sys.executable, args=["-m", "satchel", "mcp", *arguments], cwd=folder, env=variables
        )

    return make


@pytest.fixture(params=MODES)
def session(request: pytest.FixtureRequest, parameters: Callable[..., StdioServerParameters]) -> Callable[..., None]:
    """Hold a conversation with a server process, in each mode of the client."""

    def run(conversation: Conversation, *arguments: str, **variables: str) -> None:
        async def converse() -> None:
            async with Client(stdio_client(parameters(*arguments, **variables)), mode=request.param) as client:
                await conversation(client)

        anyio.run(converse)

    return run


@pytest.fixture
def one_session(parameters: Callable[..., StdioServerParameters]) -> Callable[..., None]:
    """Hold a conversation in the client's own choice of mode, where the mode does not matter."""

    def run(conversation: Conversation, *arguments: str, **variables: str) -> None:
        async def converse() -> None:
            async with Client(stdio_client(parameters(*arguments, **variables))) as client:
                await conversation(client)

        anyio.run(converse)

    return run


async def call(client: Client, tool: str, arguments: Mapping[str, Any]) -> str:
    """Call a tool that is to succeed; return its text."""
    result = await client.call_tool(tool, dict(arguments))
    assert not result.is_error, result.content
    return text(result)


async def refused(client: Client, tool: str, arguments: Mapping[str, Any]) -> str:
    """Call a tool that is to fail; return the error's text."""
    result = await client.call_tool(tool, dict(arguments))
    assert result.is_error, result.content
    return text(result)


def text(result: mcp_types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, mcp_types.TextContent)
    return block.text


def resource_text(result: mcp_types.ReadResourceResult) -> str:
    (content,) = result.contents
    assert isinstance(content, mcp_types.TextResourceContents)
    return content.text


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
        assert (await call(client, "write_context", note)).startswith("kept e1 discovery in run ")
        found = await call(client, "read_context", {"search": "where do sessions live?"})
        assert found.endswith("\n Sessions live in src/auth.py")

    session(conversation)


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

    session(conversation)


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
            "search": "token",
            "types": ["error"],
            "agent": "planner",
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

    session(conversation)


def test_a_decision_is_set_changed_and_found(session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        decision = {"key": "session_ttl", "value": 300, "tags": ["security"], "rationale": "x", "agent": "ann"}
        assert (await call(client, "set_decision", decision)).startswith("set d1 session_ttl r1")
        change = {"key": "session_ttl", "value": 60, "rationale": None, "expected_revision": 1, "agent": "ben"}
        await call(client, "set_decision", change)
        history = json.loads(await call(client, "get_decision", {"key": "session_ttl", "format": "json"}))
        assert (history["decision"]["value"], history["decision"]["tags"]) == (60, ["security"])
        assert "rationale" not in history["decision"]
        assert [(state["value"], state["agent"]) for state in history["history"]] == [(300, "ann")]
        found = await call(client, "find_decisions", {"tags": '["security"]', "minimum": 50})
        assert "session_ttl" in found

    session(conversation)


def test_a_constraint_is_added_found_and_ended(session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        rule = {"text": "no call leaves the network", "priority": "critical", "tags": ["security"], "agent": "ann"}
        assert (await call(client, "add_constraint", rule)).startswith("added c1")
        assert "no call leaves the network" in await call(client, "get_constraints", {"priority": "high"})
        await call(client, "deactivate_constraint", {"id": "c1", "reason": "moved", "agent": "ben"})
        assert (await call(client, "get_constraints", {})).startswith("0 constraints")

    session(conversation)


def test_two_agents_over_one_connection_have_two_inboxes(session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        warning = {"message": "the token leaks", "to": "ben", "priority": "critical", "agent": "ann"}
        await call(client, "send_message", warning)
        assert json.loads(await call(client, "get_messages", {"agent": "ann", "format": "json"}))["messages"] == []
        told = await call(client, "check_file_lock", {"file": "a.py", "agent": "ben"})
        assert told.endswith("\nnotice: 1 unread critical message waits for ben")
        (message,) = json.loads(await call(client, "get_messages", {"from": "ann", "agent": "ben", "format": "json"}))[
            "messages"
        ]
        assert (message["id"], message["from"], message["message"]) == ("m1", "ann", "the token leaks")
        assert "notice" not in await call(client, "mark_read", {"all": True, "agent": "ben"})

    session(conversation, "--toolsets", "messages,files")


def test_a_claim_keeps_the_second_agent_off_a_file(session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        await call(client, "claim_files", {"paths": ["src/auth/"], "reason": "tokens", "agent": "ann"})
        error = await refused(client, "claim_files", {"paths": ["src/auth/a.py"], "agent": "ben"})
        assert error.startswith("error [conflict]")
        note = {"type": "discovery", "content": "x", "file": "src/auth/a.py", "agent": "ben"}
        assert "\nnotice: src/auth/** is claimed by ann until " in await call(client, "write_context", note)
        await call(client, "release_files", {"agent": "ann"})
        await call(client, "claim_files", {"paths": ["src/auth/a.py"], "agent": "ben"})

    session(conversation, "--toolsets", "context,files")


def test_an_error_carries_its_code_and_the_remedy(session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        error = await refused(client, "write_context", {"type": "discovry", "content": "x"})
        assert error.startswith("error [invalid_input]: unknown type 'discovry'. Did you mean 'discovery'?")
        error = await refused(client, "read_context", {"run_id": "r9"})
        assert error.startswith("error [not_found]: there is no run 'r9'")

    session(conversation)


def test_an_unknown_argument_is_refused_with_the_nearest(session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        error = await refused(client, "read_context", {"taskid": "T1"})
        assert "unknown read_context argument 'taskid'. Did you mean 'task_id'?" in error

    session(conversation)


def test_an_unknown_tool_is_refused_with_the_nearest(session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        with pytest.raises(MCPError, match="Did you mean 'read_context'"):
            await client.call_tool("read_contexts", {})

    session(conversation)


def test_prompts_are_listed_and_filled(session: Callable[..., None]) -> None:
    given = {
        "build": {"goal": "a login page", "loop_id": "loop-7", "task_id": "T1"},
        "analyse": {"focus": "the tests"},
        "review": {"goal": "the login page", "loop_id": "loop-7"},
    }

    async def conversation(client: Client) -> None:
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == list(given)
        for name, values in given.items():
            (message,) = (await client.get_prompt(name, values)).messages
            assert isinstance(message.content, mcp_types.TextContent)
            assert all(value in message.content.text for value in values.values())
        with pytest.raises(MCPError, match="build prompt argument 'goal' is missing"):
            await client.get_prompt("build", {"loop_id": "x"})

    session(conversation)


def test_the_state_of_a_run_is_a_resource(session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        assert [str(item.uri) for item in (await client.list_resources()).resources] == [
            "satchel://state",
            "satchel://briefing",
        ]
        assert [item.uri_template for item in (await client.list_resource_templates()).resource_templates] == [
            "satchel://runs/{run_id}/state",
            "satchel://briefing/{role}",
        ]
        assert resource_text(await client.read_resource("satchel://state")) == "no run is active"
        kept = await call(client, "write_context", {"type": "discovery", "content": "water", "format": "json"})
        run = json.loads(kept)["entries"][0]["run_id"]
        state = resource_text(await client.read_resource("satchel://state"))
        assert state.startswith(f"run {run}, active\n# 1 discoveries\ne1\n water")
        assert resource_text(await client.read_resource(f"satchel://runs/{run}/state")) == state

    session(conversation)


def test_a_briefing_is_packed_and_its_resource_records_nothing(session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        assert "nothing was written" in resource_text(await client.read_resource("satchel://briefing"))
        known = {"error_type": "KeyError", "message": "'user'", "solution": "ask for the name first"}
        await call(client, "report_error", known)
        await call(client, "write_context", {"type": "discovery", "content": "names are optional", "agent": "ann"})
        for uri in ("satchel://briefing", "satchel://briefing/qa_expert", "satchel://briefing"):
            shown = resource_text(await client.read_resource(uri))
            assert "ask for the name first" in shown
            assert "names are optional" in shown
        assert await call(client, "pack", {"query": "read the user", "budget": 2_000}) == shown
        assert "nothing new since your last briefing" in resource_text(await client.read_resource("satchel://briefing"))
        with pytest.raises(MCPError, match="unresolved placeholder"):
            await client.read_resource("satchel://briefing/%7B%7Brole%7D%7D")

    session(conversation)


def test_an_unknown_resource_or_run_is_refused(session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        with pytest.raises(MCPError, match="there is no run 'r9'"):
            await client.read_resource("satchel://runs/r9/state")
        with pytest.raises(MCPError, match="no resource has the address"):
            await client.read_resource("satchel://nothing")

    session(conversation)


def test_the_server_says_how_to_use_it(session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        if client.protocol_version == "2026-07-28":  # a client pinned to a revision did not ask when it connected
            found = mcp_types.DiscoverResult.model_validate(await client.session.send_discover("2026-07-28"))
            instructions = found.instructions
        else:
            instructions = client.instructions
        assert instructions is not None
        assert instructions.startswith("Satchel keeps what the agents of this project learn")

    session(conversation)


def test_read_only_leaves_out_what_writes(one_session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        assert [tool.name for tool in (await client.list_tools()).tools] == READING_TOOLS
        with pytest.raises(MCPError, match="'write_context' is not served here"):
            await client.call_tool("write_context", {"type": "discovery", "content": "x"})

    one_session(conversation, "--read-only")


def test_all_toolsets_include_the_default_one(one_session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names[: len(DEFAULT_TOOLS)] == DEFAULT_TOOLS
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
def test_two_active_runs_and_no_choice_is_an_error_that_lists_both(one_session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        error = await refused(client, "write_context", {"type": "discovery", "content": "x"})
        assert error.startswith("error [conflict]: several runs are active (r2, r1)")
        await call(client, "write_context", {"type": "discovery", "content": "x", "run_id": "r1"})

    one_session(conversation)


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

    one_session(conversation)


def test_an_argument_goes_before_the_servers_agent(one_session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        answer = await call(client, "write_context", {"type": "error", "content": "x", "agent": "reviewer"})
        assert " by reviewer" in answer.split("\n", maxsplit=1)[0]

    one_session(conversation, "--agent", "planner")


def test_two_servers_on_one_store_share_a_run(parameters: Callable[..., StdioServerParameters]) -> None:
    async def converse() -> None:
        planner = Client(stdio_client(parameters("--agent", "planner")))
        builder = Client(stdio_client(parameters("--agent", "builder")), mode="legacy")
        async with planner, builder:
            await call(planner, "write_context", {"type": "decision", "content": "tokens live 300 s"})
            await call(builder, "write_context", {"type": "discovery", "content": "agreed"})
            page = json.loads(await call(planner, "read_context", {"order": "asc", "format": "json"}))
        assert [found["agent"] for found in page["entries"]] == ["planner", "builder"]
        assert len({found["run_id"] for found in page["entries"]}) == 1

    anyio.run(converse)
