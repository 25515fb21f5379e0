"""The tour's client against the real server."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from satchel.base.errors import SatchelError
from satchel.interfaces.cli.commands.tour import ToolClient

NOTE = {"type": "discovery", "content": "rain"}


def client(folder: Path, *arguments: str) -> ToolClient:
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "SATCHEL_DB": str(folder / "tour.db")}
    return ToolClient(["mcp", *arguments], environ, "builder")


def test_a_tool_answers_with_text_and_the_client_is_known_by_its_name(tmp_path: Path) -> None:
    with client(tmp_path) as agent:
        assert "by builder" in agent.call("write_context", {**NOTE, "agent": "builder"})


@pytest.mark.parametrize(("arguments", "refused", "problem"), [({}, False, "refused"), (NOTE, True, "allowed")])
def test_an_answer_against_expectation_is_an_error(
    tmp_path: Path, arguments: dict[str, object], refused: bool, problem: str
) -> None:
    with client(tmp_path) as agent, pytest.raises(SatchelError, match=f"the server {problem} write_context"):
        agent.call("write_context", arguments, refused=refused)


def test_a_server_that_does_not_start_is_an_error(tmp_path: Path) -> None:
    with client(tmp_path, "--no-such-option") as agent, pytest.raises(SatchelError, match="the tour's server"):
        agent.call("write_context", NOTE)
