"""``satchel who``, for people and for machines."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cli_asking import options_of
from satchel import open_satchel
from satchel.interfaces import line
from satchel.keep.sessions.caller import SERVER
from tool_asking import options_in_cases

Cli = Callable[..., tuple[int, str, str]]


def work(folder: Path, *, agent: str, project: str | None = None) -> None:
    """Let an agent write in a session of a client that is no ancestor of this process."""
    with open_satchel(cwd=folder, environ={}, caller=SERVER, agent=agent, project=project) as satchel:
        satchel.entries.write("discovery", "x", task_id="T1")
        with satchel.workplace.engine.write() as transaction:
            transaction.run("UPDATE sessions SET process = NULL")


def test_without_a_session_the_command_says_how_one_begins(cli: Cli) -> None:
    status, out, err = cli("who")
    assert (status, out) == (0, "")
    assert err == "No agent sessions yet. Start a client in this folder.\n"


def test_who_is_at_work_is_a_table(cli: Cli, folder: Path) -> None:
    work(folder, agent="ann")
    status, out, err = cli("who")
    headings, _, row = out.splitlines()
    assert (status, headings.split(), err) == (0, ["agents", "task", "state", "seen"], "1 session\n")
    assert row.split()[:4] == ["ann", "T1", "working,", "seen"]


def test_json_is_the_records(cli: Cli, folder: Path) -> None:
    work(folder, agent="ann")
    answer = json.loads(cli("who", "--json")[1])
    assert [(one["agents"], one["own"]) for one in answer["sessions"]] == [(["ann"], False)]


def test_the_sessions_are_those_of_the_place_that_is_named(cli: Cli, folder: Path) -> None:
    work(folder, agent="ann")
    work(folder, agent="ben", project="other")
    assert cli("who", "--project", "other")[1].splitlines()[-1].startswith("ben ")
    assert cli("who", "--db", "other.db")[2].startswith("No agent sessions yet")


def test_the_line_counts_sessions_and_messages(cli: Cli, folder: Path) -> None:
    assert cli("who", "--line") == (0, "", "")
    work(folder, agent="ann")
    cli("message", "send", "look", "--to", "human", "--agent", "ann")
    assert cli("who", "--line") == (0, "1 at work, 1 unread\n", "")
    assert json.loads(cli("who", "--line", "--json")[1]) == {"sessions": 1, "stuck": 0, "unread": 1}


def test_every_option_has_a_test() -> None:
    assert options_of(["who"]) == options_in_cases(["who"]) | {
        ("who", name) for name in ("--db", "--project", "--json", "--line")
    }


def test_the_line_says_that_the_store_is_gone(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line, "_end_late", lambda: None)
    assert line.run(os.environ) == 0
    assert capfd.readouterr().out == ""
    work(folder, agent="ann")
    for file in (folder / ".satchel").glob("satchel.db*"):
        file.unlink()
    assert line.run(os.environ) == 0
    assert capfd.readouterr().out == "satchel: store_missing, see `satchel doctor`\n"
