"""What only persons may do, from the command line: refused to the shell of a client, asked in that of an editor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from repositories import git
from satchel import open_satchel
from satchel.base.clock import system_clock
from satchel.base.folders import state_folder
from satchel.interfaces import cli as command_line
from satchel.interfaces.http.tokens import Tokens
from satchel.keep.sessions.caller import COMMAND

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("token", "new", "ci", "--role", "person"),
        ("token", "revoke", "ci"),
        ("open", "--print"),
        ("serve", "--open", "--port", "0"),
        ("trust",),
        ("restore", "--yes"),
        ("forget", "e1", "--yes"),
        ("pin", "e1"),
        ("import", "--as-written", "lines.jsonl"),
        ("proposals", "--accept", "--all"),
    ],
    ids=" ".join,
)
def test_the_shell_of_a_client_is_refused(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    cli("write", "discovery", "the gateway signs")
    cli("backup")
    Path("lines.jsonl").write_text(cli("export")[1])
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("SATCHEL_PERSON", "ann")
    status, out, err = cli(*arguments)
    assert (status, out) == (5, "")
    assert "only a person can" in err
    assert "CLAUDECODE is set" in err
    assert Tokens(state_folder(), system_clock).every() == []
    assert "the gateway signs" in cli("read")[1]


def test_an_editor_s_terminal_asks_once_and_goes_on_as_the_person(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("write", "discovery", "the gateway signs")
    asked: list[str] = []

    def decline(problem: str, person: str) -> bool:
        asked.append(f"{person}: {problem}")
        return False

    monkeypatch.setenv("TERM_PROGRAM", "vscode")
    monkeypatch.setenv("SATCHEL_PERSON", "")
    monkeypatch.setattr(command_line, "_confirms", decline)
    status, _, err = cli("pin", "e1")
    assert (status, "Confirm it at a terminal" in err) == (1, True)
    monkeypatch.setattr(command_line, "_confirms", lambda *_: True)
    assert cli("pin", "e1")[0] == 0
    assert asked == ["human: only a person can pin items, and this command runs in vscode, where agents work too"]


def test_what_ends_a_protection_leaves_a_trace(cli: Cli, folder: Path) -> None:
    cli("write", "discovery", "the gateway signs")
    git(folder, "init", "--quiet")
    cli("token", "new", "ci")
    cli("pause")
    cli("guard", "install")
    cli("guard", "remove")
    with open_satchel(cwd=folder, caller=COMMAND) as satchel:
        actions = {one.text for one in satchel.room.since("human").items if one.kind == "action"}
    assert actions == {"made the token ci of role agent", "turned hooks off everywhere", "removed the guard"}
