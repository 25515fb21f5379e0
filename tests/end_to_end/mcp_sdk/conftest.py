"""Server processes, and conversations with them in each of the client's modes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from end_to_end.mcp_sdk.talking import Conversation

MODES = ("legacy", "auto", "2026-07-28")


@pytest.fixture
def parameters(folder: Path) -> Callable[..., StdioServerParameters]:
    """How to start a server in the folder, with arguments and variables."""

    def make(*arguments: str, **variables: str) -> StdioServerParameters:
        # the SDK hands on few variables of its own process; the list of stores must be the one of the test
        own = {name: os.environ[name] for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME")}
        return StdioServerParameters(
            command=sys.executable, args=["-m", "satchel", "mcp", *arguments], cwd=folder, env=own | variables
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
