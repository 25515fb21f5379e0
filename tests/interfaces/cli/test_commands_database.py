"""Commands on a store in a database: what they refuse, and that none of them shows the password of its address."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from _pytest.monkeypatch import MonkeyPatch

from satchel.base.folders import config_folder, state_folder
from satchel.interfaces.cli.group import satchel_command
from satchel.interfaces.hooks import command as hook
from satchel.interfaces.hooks import state
from store.postgres.places import new_place
from tables import in_one_test

from .conftest import Cli

PASSWORD = "hunter2-canary"
NOBODYS = f"postgresql://ann:{PASSWORD}@127.0.0.1:1/db"
_GIVEN = {"type": "discovery", "change": "modified", "model": "fake", "path": "x.jsonl", "text": "a text"}
_EXTRA = {"write": ["a text"], "decide": ["10"], "token new": ["--config", "none.toml"], "restore": ["--yes"]}


def _every(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _every(command, (*path, name))
        if command is not None and any(one.name == "db" for one in command.params):
            yield " ".join((*path, name)), command


COMMANDS = {name: command for name, command in _every(satchel_command) if name not in {"mcp", "tour"}}
"""All that take --db, but for the server of a client, and the tour, which has a store of its own."""


def _line(name: str) -> list[str]:
    """Return a command line with what the command needs."""
    needed = [_GIVEN.get(str(one.name), "e1") for one in COMMANDS[name].params if one.required]
    return [*name.split(), *needed, *_EXTRA.get(name, ())]


def _left_behind(folder: Path) -> str:
    """Return all that was written beside the database."""
    files = [one for place in (folder, state_folder(), config_folder()) for one in place.rglob("*") if one.is_file()]
    return "".join(one.read_bytes().decode("latin-1") for one in files if ".git/" not in str(one))


@in_one_test("name", COMMANDS)
def test_a_command_that_cannot_reach_the_database_shows_no_password(
    cli: Cli, folder: Path, monkeypatch: MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("SATCHEL_DEBUG", "1")
    monkeypatch.delenv("SATCHEL_DB", raising=False)
    printed = "".join(str(one) for one in cli(*_line(name), "--db", NOBODYS)[1:])
    monkeypatch.setenv("SATCHEL_DB", NOBODYS)
    printed += "".join(str(one) for one in cli(*_line(name))[1:])
    assert printed
    assert "canary" not in printed + _left_behind(folder)


@pytest.mark.slow
def test_no_command_on_a_database_shows_its_password(cli: Cli, folder: Path, own_schema: str) -> None:
    address = _with_password(own_schema)
    shown = {name: cli(*_line(name), "--db", address) for name in ["init", *COMMANDS]}
    assert [name for name, (*_, err) in shown.items() if "[internal]" in err] == []
    assert [(name, err) for name, (*_, err) in shown.items() if "[internal]" in err] == []
    assert {name for name, (status, *_) in shown.items() if status == 0} >= {"init", "write", "read", "stats", "who"}
    shown |= {f"{name} --json": cli(*_line(name), "--json", "--db", address) for name in ("stats", "config", "doctor")}
    everything = json.dumps(shown) + _left_behind(folder)
    assert "canary" not in everything
    assert own_schema.rpartition("=")[2] in everything


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("postgresql://ann:hunter2-canary@127.0.0.1:1/db", "cannot be reached"),
        ("postgresql://ann:hunter2-canary@nowhere.invalid/db", "cannot be reached"),
        ("postgresql://ann:hunter2-canary@h:port-canary/db", "malformed"),
        ("postgresql://ann:hunter2 canary@h/db", "malformed"),
        ("postgresql://ann:hunter2-canary%zz@h/db", "malformed"),
        ("postgresql://ann:hunter2/canary@h/db", "malformed"),
        ("postgresql:/ann:hunter2-canary@h/db", "malformed"),
        ("postgres://ann:hunter2-canary@h", "names no database"),
        ("postgresql://h/db?password=hunter2-canary&schema=Big", "schema"),
        ("mysql://ann:hunter2-canary@h/db", "not supported"),
        ("dbname=db password=hunter2-canary", "parameters"),
    ],
)
def test_an_address_that_leads_nowhere_is_said_to_without_its_password(cli: Cli, url: str, problem: str) -> None:
    status, out, err = cli("read", "--db", url)
    assert status not in {0, 1}
    assert problem in err
    assert "canary" not in out + err


@pytest.mark.slow
@pytest.mark.parametrize(("part", "problem"), [("/none?", "no database"), ("/postgres?user=nobody&", "login|cannot")])
def test_a_database_or_user_that_is_not_there_is_named(cli: Cli, own_schema: str, part: str, problem: str) -> None:
    status, _, err = cli("read", "--db", own_schema.replace("/postgres?", part, 1))
    assert status not in {0, 1}
    assert any(one in err for one in problem.split("|")), err


def test_without_the_extra_a_database_needs_it(cli: Cli, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "satchel.store.postgres.engine", None)
    status, _, err = cli("read", "--db", NOBODYS)
    assert (status, "[postgres]" in err) == (13, True)


def test_setup_refuses_a_database(cli: Cli, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_DB", NOBODYS)
    _refuses(cli("setup", "--yes"))


def test_the_server_of_a_client_refuses_a_database(folder: Path) -> None:
    command = [sys.executable, "-m", "satchel", "mcp", "--db", NOBODYS]
    done = subprocess.run(command, check=False, cwd=folder, input="", capture_output=True, text=True, timeout=60)
    _refuses((done.returncode, done.stdout, done.stderr))


def test_a_hook_puts_in_nothing_from_a_database_and_says_why(folder: Path, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_DB", NOBODYS)
    monkeypatch.setattr(hook, "_read", lambda: b'{"session_id": "s", "source": "startup"}')
    assert hook.run(["claude", "SessionStart"]) == 0
    assert "SATCHEL_URL" in _left_behind(folder)
    assert "canary" not in _left_behind(folder)
    assert state.failing(str(folder))


def test_a_token_names_no_address_of_a_database(cli: Cli, monkeypatch: MonkeyPatch) -> None:
    status, _, err = cli("token", "new", "ci", "--database", "team", "--project", "app")
    assert (status, "there is no database 'team'" in err) == (2, True)
    status, _, err = cli("token", "new", "ci", "--db", NOBODYS)
    assert status not in {0, 1}
    assert "canary" not in err


def _refuses(shown: tuple[int, str, str]) -> None:
    _, out, err = shown
    assert "SATCHEL_URL" in err
    assert "satchel serve" in err
    assert "canary" not in out + err


@pytest.fixture(scope="module")
def own_schema() -> Iterator[str]:
    """The URL of a schema of these tests in the PostgreSQL of this run."""
    with new_place() as place:
        yield f"{place.url}&schema={place.schema}"


def _with_password(url: str) -> str:
    user = "postgres:@" if "postgres:@" in url else "postgres@"
    assert user in url
    return url.replace(user, f"postgres:{PASSWORD}@", 1)
