"""Programs that start in a locale without UTF-8, or under a clock that is far ahead."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from satchel.base.clock import iso, system_clock

pytestmark = pytest.mark.slow

MINUTE_MS, DAY_MS = 60_000, 86_400_000
SATCHEL = Path(sys.executable).with_name("satchel")


def run(project: Path, *arguments: str | bytes, ahead: int | None = None, **environ: str) -> str:
    """Run a command in a project, under a clock that is ahead by so many milliseconds, and return what it prints."""
    state = project.parent / "state"
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "SATCHEL"))}
    clock = [] if ahead is None else ["faketime", "-f", f"@{iso(system_clock() + ahead)[:19].replace('T', ' ')}"]
    done = subprocess.run(
        [*clock, SATCHEL, *arguments],
        cwd=project,
        env={**clean, "XDG_STATE_HOME": str(state), "FAKETIME_DONT_FAKE_MONOTONIC": "1", "TZ": "UTC", **environ},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.mark.parametrize("locale", [{"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}])
def test_arguments_in_utf8_are_stored_as_they_are_in_any_locale(project: Path, locale: dict[str, Any]) -> None:
    run(project, "write", "discovery", "Füße 漢".encode(), **locale)
    assert "Füße 漢" in run(project, "search", "Füße", PYTHONUTF8="1")


@pytest.mark.skipif(which("faketime") is None, reason="faketime is not installed")
@pytest.mark.parametrize("days", [1, 400, 4_200, 355_000])
def test_a_clock_that_is_ahead_for_some_commands_loses_nothing_and_heads_nothing(project: Path, days: int) -> None:
    run(project, "write", "discovery", "note before")
    run(project, "message", "send", "hello", "--agent", "ann", "--to", "bob")
    run(project, "write", "discovery", "note ahead", ahead=days * DAY_MS)
    run(project, "file", "claim", "a.py", "--agent", "ann", "--minutes", "5", ahead=days * DAY_MS)
    run(project, "message", "send", "from ahead", "--agent", "ann", "--to", "bob", ahead=days * DAY_MS)
    for minutes in (0, 2, 8):
        run(project, "message", "send", f"after {minutes}", "--agent", "ann", "--to", "bob", ahead=minutes * MINUTE_MS)
    listed = run(project, "message", "list", "--agent", "bob", "--json", ahead=8 * MINUTE_MS)
    sent = [message["message"] for message in json.loads(listed)["messages"]]
    assert (sent[0], set(sent)) == ("after 8", {"hello", "from ahead", *(f"after {minutes}" for minutes in (0, 2, 8))})
    assert "a.py" not in run(project, "file", "claims", ahead=8 * MINUTE_MS)
