"""What hosts start loads little, and says the same as what click starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from consult.consultation_folder import enter_consultation
from satchel import open_satchel
from satchel.consult import MARK
from satchel.interfaces.cli.commands.hook import mcp_command as by_click
from satchel.interfaces.cli.options import OF_SERVER, read

HEAVY = {
    "argparse",
    "ast",
    "asyncio",
    "click",
    "dataclasses",
    "inspect",
    "platformdirs",
    "rich",
    "sqlite3",
    "tempfile",
    "tomllib",
}
"""What takes long to import, and nothing that a host starts needs."""

UNHURRIED = "from satchel.interfaces.mcp import server; server._PAUSE_SECONDS = 600.0\n"
"""A server that reads shared texts, which loads more, only after its answers, also where these take long."""

STARTED = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
import os
os._exit = sys.exit  # a hook leaves without what is registered here
from satchel.interfaces.entry import main
main()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    with open_satchel(cwd=folder, environ={}, agent="first") as satchel:
        satchel.constraints.add("Passwords are never logged", priority="critical")
    return folder


def started(project: Path, arguments: list[str], given: str, before: str = "") -> tuple[str, set[str]]:
    """Return what a command prints, and the modules that it has loaded in the end."""
    done = subprocess.run(
        [sys.executable, "-c", before + STARTED, *arguments],
        input=given,
        cwd=project,
        env=os.environ | {"SATCHEL_HOOKS_DEADLINE_MS": "60000"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout, set(done.stderr.split())


@pytest.mark.slow
def test_a_server_has_answered_a_call_before_anything_heavy_is_loaded(project: Path) -> None:
    client = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "claude-code", "version": "2"},
    }
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "get_constraints", "arguments": {}},
        },
    ]

    given = "".join(f"{json.dumps(one)}\n" for one in messages)
    answered, loaded = started(project, ["mcp", "--toolsets", "lists"], given, UNHURRIED)

    assert "Passwords are never logged" in answered
    assert not loaded & (HEAVY | {"hashlib", "satchel.keep.kinds", "satchel.find.search"})


@pytest.mark.slow
def test_a_hook_briefs_before_anything_heavy_is_loaded(project: Path) -> None:
    event = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s1"}

    answered, loaded = started(project, ["hook", "claude", "SessionStart"], json.dumps(event))

    assert "Passwords are never logged" in answered
    assert not loaded & (HEAVY | {"hashlib", "splintr", "satchel.keep.kinds", "satchel.interfaces.cli"})


@pytest.mark.slow
@pytest.mark.parametrize("value", ["", "1", "/tmp"])
def test_a_hook_briefs_where_a_project_claims_a_consultation(
    project: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv(MARK, value)
    event = {"hook_event_name": "SessionStart", "source": "startup", "session_id": f"claimed {value}"}

    answered, _ = started(project, ["hook", "claude", "SessionStart"], json.dumps(event))

    assert "Passwords are never logged" in answered


@pytest.mark.slow
def test_a_hook_is_silent_in_a_consultation(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = enter_consultation(project, monkeypatch)
    monkeypatch.setenv(MARK, folder)
    event = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "consulted"}

    answered, _ = started(Path.cwd(), ["hook", "claude", "SessionStart"], json.dumps(event))

    assert answered == ""


@pytest.mark.slow
def test_a_hook_that_has_nothing_to_do_loads_no_store(project: Path) -> None:
    event = {"hook_event_name": "PreToolUse", "session_id": "s1"}

    answered, loaded = started(project, ["hook", "claude", "PreToolUse"], json.dumps(event))

    assert answered == ""
    assert not loaded & (HEAVY | {"apsw", "threading", "satchel.client", "satchel.interfaces.cli"})


@given(
    st.lists(
        st.sampled_from(["--db", "--run", "--agent=", "--agent=a=b", "--toolsets", "--read-only", "--read-only=1", "x"])
        | st.sampled_from(["--json", "--", "-h", "--help", "--ag", "", "-", "--project=p"]),
        max_size=5,
    )
)
def test_options_mean_what_they_mean_to_click(arguments: list[str]) -> None:
    by_entry = read(OF_SERVER, arguments)

    if by_entry is not None:
        with by_click.make_context("mcp", list(arguments)) as context:
            assert by_entry == context.params


@pytest.mark.parametrize(
    "arguments", [["--help"], ["-h"], ["--db"], ["--unknown"], ["word"], ["--read-only=1"], ["--"]]
)
def test_what_only_click_can_answer_is_left_to_it(arguments: list[str]) -> None:
    assert read(OF_SERVER, arguments) is None


def test_the_help_of_the_server_names_every_option() -> None:
    shown = CliRunner().invoke(by_click, ["--help"]).output

    assert all(option.flag in shown for option in OF_SERVER)


def test_a_command_whose_standard_input_is_closed_reads_nothing(project: Path) -> None:
    command = f'"{sys.executable}" -m satchel write discovery - <&-'
    process = subprocess.run(["sh", "-c", command], check=False, cwd=project, capture_output=True, text=True)
    assert (process.returncode, process.stderr.partition(".")[0]) == (
        2,
        "error [invalid_input]: the content of the discovery is empty",
    )
