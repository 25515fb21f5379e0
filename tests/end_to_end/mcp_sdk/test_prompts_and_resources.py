"""Prompts, resources and instructions of the real server, judged by the official SDK's client in each of its modes."""

from __future__ import annotations

import json
from collections.abc import Callable

import mcp_types
import pytest
from mcp import Client, MCPError

from end_to_end.mcp_sdk.talking import call, resource_text

pytestmark = pytest.mark.slow


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
        assert resource_text(await client.read_resource("satchel://state")).startswith("all runs of the project")
        kept = await call(client, "write_context", {"type": "discovery", "content": "water", "format": "json"})
        run = json.loads(kept)["entries"][0]["run_id"]
        state = resource_text(await client.read_resource("satchel://state"))
        assert state.startswith("all runs of the project\n1 discovery:\n")
        assert "\n water" in state
        state = resource_text(await client.read_resource(f"satchel://runs/{run}/state"))
        assert state.startswith(f"run {run}, active\n1 discovery:\n")
        assert "\n water" in state

    session(conversation)


def test_a_briefing_is_packed_and_its_resource_records_nothing(session: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        assert "notes are stored here yet" in resource_text(await client.read_resource("satchel://briefing"))
        known = {"error_type": "KeyError", "message": "'user'", "solution": "ask for the name first"}
        await call(client, "report_error", known)
        await call(client, "write_context", {"type": "discovery", "content": "names are optional", "agent": "ann"})
        for uri in ("satchel://briefing", "satchel://briefing/qa_expert", "satchel://briefing"):
            shown = resource_text(await client.read_resource(uri))
            assert "ask for the name first" in shown
            assert "names are optional" in shown
        asked = {"budget": 2_000, "agent": "ben"}
        assert "names are optional" in await call(client, "get_briefing", asked)
        assert "nothing new since your last briefing" in await call(client, "get_briefing", asked)
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
        assert instructions.startswith("Call get_briefing before you start")

    session(conversation)
