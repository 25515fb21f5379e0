"""The stdio transport judged by the official SDK's client, in every mode and revision that it speaks."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

import anyio
import mcp_types
import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client

pytestmark = pytest.mark.slow

SERVED = Path(__file__).with_name("served.py")
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
DIALECTS = [*(("legacy", revision) for revision in REVISIONS), ("auto", None), ("2026-07-28", None)]

Session = Callable[[Callable[[Client], Awaitable[None]]], str]


@pytest.fixture(params=DIALECTS, ids=lambda dialect: "-".join(filter(None, dialect)))
def session(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """Run a conversation with a server process; return what it logged."""
    mode, revision = request.param
    if revision is not None:
        monkeypatch.setattr("mcp.client.session.LATEST_HANDSHAKE_VERSION", revision)

    def run(conversation: Callable[[Client], Awaitable[None]]) -> str:
        async def converse() -> None:
            parameters = StdioServerParameters(
                command=sys.executable, args=[str(SERVED), str(tmp_path), "60", "1000000"]
            )
            with (tmp_path / "stderr").open("w") as log:
                async with Client(stdio_client(parameters, errlog=log), mode=mode) as client:
                    assert client.protocol_version == revision or revision is None
                    await conversation(client)

        anyio.run(converse)
        return (tmp_path / "stderr").read_text()

    return run


def text(result: mcp_types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, mcp_types.TextContent)
    return block.text


def test_tools_are_listed_with_schema_and_hints(session: Session) -> None:
    async def conversation(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == ["echo", "agent", "hold", "linger", "count", "fail", "shout", "surrogate"]
        echo, hold = tools["echo"], tools["hold"]
        assert echo.input_schema["required"] == ["text"]
        assert echo.annotations is not None
        assert hold.annotations is not None
        assert (echo.annotations.read_only_hint, hold.annotations.destructive_hint) == (True, False)

    session(conversation)


def test_a_call_is_answered_with_text_alone(session: Session) -> None:
    async def conversation(client: Client) -> None:
        result = await client.call_tool("echo", {"text": "ä", "times": 2})
        assert (text(result), result.is_error, result.structured_content) == ("ää", False, None)

    session(conversation)


def test_an_error_on_purpose_reaches_the_model_with_its_code(session: Session) -> None:
    async def conversation(client: Client) -> None:
        result = await client.call_tool("fail", {"how": "known"})
        assert result.is_error
        assert text(result) == "error [not_found]: run 'r9' does not exist. The nearest is 'r7'"

    session(conversation)


def test_a_fault_reaches_the_model_without_its_text(session: Session) -> None:
    async def conversation(client: Client) -> None:
        result = await client.call_tool("fail", {"how": "unknown"})
        assert result.is_error
        assert text(result) == "error [internal]: internal error; see the server's log"

    assert "hunter2" in session(conversation)


def test_an_unknown_argument_reaches_the_model_with_the_nearest_name(session: Session) -> None:
    async def conversation(client: Client) -> None:
        result = await client.call_tool("echo", {"text": "x", "time": 2})
        assert result.is_error
        assert "Did you mean 'times'? Valid: text, times" in text(result)

    session(conversation)


def test_an_unknown_tool_is_a_protocol_error_with_the_nearest_name(session: Session) -> None:
    async def conversation(client: Client) -> None:
        with pytest.raises(MCPError, match="Did you mean 'echo'") as caught:
            await client.call_tool("ecco", {})
        assert caught.value.code == mcp_types.INVALID_PARAMS

    session(conversation)


def test_progress_reaches_the_caller(session: Session) -> None:
    async def conversation(client: Client) -> None:
        told: list[tuple[float, float | None, str | None]] = []

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            told.append((progress, total, message))

        await client.call_tool("count", progress_callback=on_progress)
        assert sorted(told) == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]

    session(conversation)


def test_the_handler_sees_the_requests_meta(session: Session) -> None:
    async def conversation(client: Client) -> None:
        meta = cast("mcp_types.RequestParamsMeta", {"satchel/agent": "dev-1"})
        assert text(await client.call_tool("agent", meta=meta)) == "dev-1"

    session(conversation)


def test_resources_are_listed_and_read(session: Session) -> None:
    async def conversation(client: Client) -> None:
        assert [str(item.uri) for item in (await client.list_resources()).resources] == [
            "test://hello",
            "test://broken",
            "test://no-text",
        ]
        (content,) = (await client.read_resource("test://hello")).contents
        assert isinstance(content, mcp_types.TextResourceContents)
        assert (content.text, content.mime_type) == ("hello", "text/plain")

    session(conversation)


def test_resource_templates_are_listed_and_filled(session: Session) -> None:
    async def conversation(client: Client) -> None:
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "test://runs/{run_id}/state"
        (content,) = (await client.read_resource("test://runs/r%207/state")).contents
        assert isinstance(content, mcp_types.TextResourceContents)
        assert (content.text, content.mime_type) == ("state of r 7", "text/plain")

    session(conversation)


def test_an_unknown_resource_has_the_revisions_own_code(session: Session) -> None:
    async def conversation(client: Client) -> None:
        with pytest.raises(MCPError, match="no resource has the address") as caught:
            await client.read_resource("test://none")
        stateless = client.protocol_version == "2026-07-28"
        assert caught.value.code == (mcp_types.INVALID_PARAMS if stateless else -32002)

    session(conversation)


def test_prompts_are_listed_and_filled(session: Session) -> None:
    async def conversation(client: Client) -> None:
        (prompt,) = (await client.list_prompts()).prompts
        assert [argument.name for argument in prompt.arguments or ()] == ["key", "tone"]
        (message,) = (await client.get_prompt("review", {"key": "ttl"})).messages
        assert isinstance(message.content, mcp_types.TextContent)
        assert (message.role, message.content.text) == ("user", "Review ttl kindly")

    session(conversation)


def test_a_missing_prompt_argument_is_named(session: Session) -> None:
    async def conversation(client: Client) -> None:
        with pytest.raises(MCPError, match="review prompt argument 'key' is missing"):
            await client.get_prompt("review", {})

    session(conversation)


def test_the_server_introduces_itself(session: Session) -> None:
    async def conversation(client: Client) -> None:
        if client.protocol_version != "2026-07-28":
            assert client.server_info is not None
            name, version = client.server_info.name, client.server_info.version
            instructions = client.instructions
        else:  # asked again, because a client pinned to a revision skips the question
            found = mcp_types.DiscoverResult.model_validate(await client.session.send_discover("2026-07-28"))
            assert found.meta is not None
            name, version = found.meta["io.modelcontextprotocol/serverInfo"].values()
            instructions = found.instructions
        assert (name, version, instructions) == ("served", "1.2.3", "Only for tests.")

    session(conversation)


async def hold(client: Client, tasks: anyio.abc.TaskGroup, answers: list[str]) -> anyio.CancelScope:
    """Start a call and return when its handler runs."""
    runs = anyio.Event()
    scope = anyio.CancelScope()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        runs.set()

    async def call() -> None:
        with scope:
            answers.append(text(await client.call_tool("hold", {"name": "a"}, progress_callback=on_progress)))

    tasks.start_soon(call)
    await runs.wait()
    return scope


def test_a_call_is_answered_while_another_runs(session: Session, tmp_path: Path) -> None:
    async def conversation(client: Client) -> None:
        answers: list[str] = []
        async with anyio.create_task_group() as tasks:
            await hold(client, tasks, answers)
            answers.append(text(await client.call_tool("echo", {"text": "x"})))
            (tmp_path / "a.go").touch()
        assert answers == ["x", "a held"]

    session(conversation)


def test_cancelling_a_call_interrupts_its_handler(session: Session, tmp_path: Path) -> None:
    async def conversation(client: Client) -> None:
        answers: list[str] = []
        async with anyio.create_task_group() as tasks:
            (await hold(client, tasks, answers)).cancel()
        assert text(await client.call_tool("echo", {"text": "x"})) == "x"
        assert answers == []

    assert session(conversation) == ""
    assert (tmp_path / "a.interrupted").exists()


def test_stray_output_does_not_disturb_the_conversation(session: Session) -> None:
    async def conversation(client: Client) -> None:
        await client.call_tool("shout")
        assert text(await client.call_tool("echo", {"text": "x"})) == "x"

    assert "printed by a handler" in session(conversation)
