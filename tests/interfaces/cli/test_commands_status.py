"""``satchel status``, for people and for machines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from satchel import open_satchel
from satchel.keep.sessions.caller import SERVER

Cli = Callable[..., tuple[int, str, str]]


def ask(folder: Path) -> None:
    """Let an agent ask a person something, in a session of a client that is no ancestor of this process."""
    with open_satchel(cwd=folder, environ={}, caller=SERVER, agent="dev") as satchel:
        satchel.messages.send("Which port?", to="human")
        with satchel.workplace.engine.write() as transaction:
            transaction.run("UPDATE sessions SET process = NULL")


def test_where_nothing_was_written_it_says_what_to_do_next_and_makes_no_store(cli: Cli, folder: Path) -> None:
    code, out, _ = cli("status")
    assert (code, "once `satchel setup` has connected it" in out) == (0, True)
    assert not (folder / ".satchel" / "satchel.db").exists()


def test_it_shows_who_asks_and_marks_nothing_as_read(cli: Cli, folder: Path) -> None:
    ask(folder)
    for _ in range(2):
        _, out, _ = cli("status")
        assert "1 needs you, 1 agent at work" in out
        assert "dev: Which port?" in out
        assert "\x1b" not in out


def test_it_says_that_hooks_are_paused(cli: Cli, folder: Path) -> None:
    ask(folder)
    assert "paused" not in cli("status")[1]
    cli("pause")
    assert cli("status")[1].endswith("\nHooks are paused here. `satchel pause --off` turns them on again.\n")


def test_json_is_the_records(cli: Cli, folder: Path) -> None:
    ask(folder)
    answer = json.loads(cli("status", "--json")[1])
    assert [one["kind"] for one in answer["needs"]["items"]] == ["message"]
    assert [one["state"]["name"] for one in answer["team"]["sessions"]] == ["waiting"]


def test_watch_draws_again_what_has_changed_until_it_is_interrupted(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("write", "discovery", "x")

    def pause(_: float) -> None:
        pauses.append(None)
        if len(pauses) == 2:
            ask(folder)
        if len(pauses) == 4:
            raise KeyboardInterrupt

    pauses: list[None] = []
    monkeypatch.setattr("satchel.interfaces.cli.commands.status.sleep", pause)
    code, out, _ = cli("status", "--watch")
    assert (code, out.count("Last changes") + out.count("No changes")) == (0, 2)
    assert out.count("Which port?") == 1
