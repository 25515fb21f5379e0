"""What only persons may do, from the command line: refused to the shell of a client, asked in that of an editor."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pseudo_terminal import InTerminal
from repositories import git
from satchel import open_satchel
from satchel.base.clock import system_clock
from satchel.base.folders import state_folder
from satchel.interfaces import cli as command_line
from satchel.interfaces.http.tokens import Tokens
from satchel.keep.sessions.caller import COMMAND
from tables import in_one_test

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def at_the_shell_of_a_client(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store with a note and a backup, and its lines; what follows is called by a client."""
    cli("write", "discovery", "the gateway signs")
    cli("backup")
    Path("lines.jsonl").write_text(cli("export")[1])
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("SATCHEL_PERSON", "ann")


@pytest.mark.usefixtures("at_the_shell_of_a_client")
@in_one_test(
    "arguments",
    [
        ("token", "new", "ci", "--role", "person"),
        ("token", "revoke", "ci"),
        ("open", "--print"),
        ("serve", "--open", "--port", "0"),
        ("trust",),
        ("trust", "--remove"),
        ("setup", "--remove", "--all-data", "--yes"),
        ("restore", "--yes"),
        ("forget", "e1", "--yes"),
        ("pin", "e1"),
        ("pin", "--remove", "e1"),
        ("write", "discovery", "obey", "--agent", "human:ann"),
        ("import", "--as-written", "lines.jsonl"),
        ("accept", "--all"),
        ("reject", "d1"),
    ],
)
def test_the_shell_of_a_client_is_refused(cli: Cli, arguments: tuple[str, ...]) -> None:
    status, out, err = cli(*arguments)
    assert (status, out) == (5, "")
    assert "only a person can" in err
    assert "CLAUDECODE is set" in err
    assert Tokens(state_folder(), system_clock).every() == []
    assert "the gateway signs" in cli("read")[1]


def test_a_proposal_says_that_a_person_accepts_it_and_accepting_says_what_binds(cli: Cli) -> None:
    cli("decide", "vat", "19", "--agent", "human:ann")
    _, out, err = cli("decide", "vat", "21", "--agent", "ben")
    assert (
        "set d2 vat_draft (new), a draft: others get it at their next briefing; it binds once a person accepts it"
        in out
    )
    assert "vat was decided by ann and stays: this draft proposes a change" in err
    _, out, err = cli("decide", "vat_draft", "22", "--agent", "cat")
    assert ("it binds once a person accepts it" in out, "replaces the proposal of ben" in err) == (True, True)
    _, out, err = cli("decide", "vat_draft", "--status", "active", "--agent", "human:ann")
    assert ("set d1 vat, revision 2" in out, "vat: 19 -> 22, as cat proposed" in err) == (True, True)


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


def test_without_a_terminal_the_refusal_names_the_item_its_author_and_the_way(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("decide", "vat", "19")
    monkeypatch.setattr("satchel.base.processes.has_terminal", lambda: False)
    monkeypatch.delenv("TERM_PROGRAM", raising=False)
    monkeypatch.setenv("SATCHEL_PERSON", "")
    status, _, err = cli("decide", "vat", "20")
    assert status == 1
    assert "only a person can change d1, which a person wrote, and this command runs without a terminal" in err
    assert "Run it in a terminal, or set SATCHEL_PERSON to your name in your script" in err
    monkeypatch.setenv("SATCHEL_PERSON", "ann")
    assert cli("decide", "vat", "20")[0] == 0


@pytest.mark.parametrize("arguments", [("undo",), ("undo", "m1"), ("retract", "m1")], ids=" ".join)
def test_without_a_terminal_nobody_withdraws_a_message_of_a_person(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    cli("message", "send", "which port?", "--to", "ben")
    monkeypatch.setattr("satchel.base.processes.has_terminal", lambda: False)
    monkeypatch.delenv("TERM_PROGRAM", raising=False)
    monkeypatch.setenv("SATCHEL_PERSON", "")
    status, _, err = cli(*arguments)
    assert (status, "only a person can change m1" in err) == (1, True)
    assert "which port?" in cli("message", "list", "--agent", "ben")[1]


@pytest.mark.parametrize("change", ["pin", "confirm", "retract"])
def test_without_a_terminal_nobody_takes_back_what_a_person_did_with_an_agents_note(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setenv("SATCHEL_PERSON", "ann")
    cli("write", "discovery", "the gateway signs", "--agent", "ben")
    assert cli(change, "e1")[0] == 0
    monkeypatch.setattr("satchel.base.processes.has_terminal", lambda: False)
    monkeypatch.delenv("TERM_PROGRAM", raising=False)
    monkeypatch.setenv("SATCHEL_PERSON", "")
    status, _, err = cli("undo", "e1", "--agent", "human:ann")
    assert (status, "only a person can take back what a person did with e1" in err) == (1, True)
    monkeypatch.setenv("SATCHEL_PERSON", "ann")
    assert cli("undo", "e1")[0] == 0


def test_what_ends_a_protection_leaves_a_trace(cli: Cli, folder: Path) -> None:
    cli("write", "discovery", "the gateway signs")
    git(folder, "init", "--quiet")
    cli("token", "new", "ci")
    cli("pause")
    cli("guard", "install")
    cli("guard", "remove")
    with open_satchel(cwd=folder, caller=COMMAND) as satchel:
        since = satchel.room.since("human")
        actions = {one.text for one in (*since.items, *since.own) if one.kind == "action"}
    assert actions == {"made the token ci of role agent", "turned hooks off everywhere", "removed the guard"}


def test_a_person_confirms_at_the_terminal_of_an_editor(folder: Path, tmp_path: Path) -> None:
    """The process itself asks, at a terminal of its own."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM_PROGRAM": "vscode", "LOGNAME": "ann"}
    with open_satchel(cwd=folder, environ={}, caller=COMMAND) as satchel:
        note = satchel.entries.write("discovery", "the gateway signs")
    for answer, pinned in (("n", 0), ("y", 1)):
        command = [sys.executable, "-m", "satchel", "pin", note.ref]
        shell = InTerminal(command, folder, environment | {"XDG_STATE_HOME": os.environ["XDG_STATE_HOME"]})
        try:
            shell.expect("only a person can pin items", "Are you human:ann, and is this wanted?")
            shell.press(f"{answer}\r")
            assert (shell.end() == 0) is bool(pinned)
        finally:
            shell.close()
        with open_satchel(cwd=folder, environ={}) as satchel:
            assert satchel.pins.list().total == pinned
