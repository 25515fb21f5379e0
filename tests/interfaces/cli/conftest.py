"""The command line, run inside the test's process in a project of its own."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import over_server
from satchel import open_satchel
from satchel.interfaces.cli import opening

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_postgresql: None) -> Path:
    """The current folder: a project with nothing in it, and an environment that says nothing to Satchel."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    for name in [name for name in os.environ if name.startswith("SATCHEL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SATCHEL_PERSON_NAME", "human")
    monkeypatch.chdir(project)
    return project


@pytest.fixture
def cli(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run one command in the folder; return its exit status and what it printed to stdout and stderr."""
    from satchel.interfaces.cli import run

    if over_server.is_asked_for:
        monkeypatch.setattr(opening, "open_anywhere", over_server.open_over_server)

    def command(*arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        status = run(arguments)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return command


@pytest.fixture
def ledger(folder: Path) -> None:
    """Two or three of each thing that the ledger keeps; in each way that they can be filtered by they differ."""
    with open_satchel(cwd=folder, environ={}) as satchel:
        decide, constrain = satchel.decisions.set, satchel.constraints.add
        decide("alpha", 10, tags=["a", "b"], scopes=["s1"], layer="business", rationale="ten it is", agent="planner")
        decide("beta", "a zebra crosses", tags=["a"], scopes=["s2"], status="draft", layer="data", agent="builder")
        decide("gamma", 20, status="deprecated", version="2.0.0", agent="planner")
        constrain("zebras cross first", category="security", priority="low", layer="data", tags=["a"], agent="planner")
        constrain("be quick", category="performance", priority="high", tags=["a", "b"], agent="builder")
        satchel.corrections.retract(constrain("be late", agent="planner").ref, "never", agent="builder")
        send = satchel.messages.send
        send("look at the zebra", to="builder", type="request", priority="high", payload={"n": [1]}, agent="planner")
        send("lunch", agent="reviewer")
        send("looked", reply_to="m1", to="planner", agent="builder")
        send("looked again", reply_to="m3", agent="planner")
        satchel.messages.mark_read(["m2"], agent="builder")
        record = satchel.files.record
        record("src/a.py", "created", description="a zebra", layer="data", agent="planner")
        record("src/b.py", "modified", agent="builder")
        record("docs/c.md", "modified", agent="planner")
        satchel.files.claim(["src/a.py"], reason="zebras", agent="planner")
        satchel.files.claim(shared=["docs/"], agent="builder")


@pytest.fixture
def home(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with nothing but the project in it, on a machine without clients, with Satchel installed."""
    from satchel.interfaces.cli.commands import setup
    from satchel.interfaces.setup.clients import CLIENTS

    home = tmp_path / "home"
    home.mkdir()
    variables = [client.variable for client in CLIENTS.values() if client.variable]
    for name in [*variables, "XDG_STATE_HOME"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(setup, "find_launcher", lambda _: Path("/opt/satchel/bin/satchel"))
    return home


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[bool | str]:
    """A terminal at which somebody answers questions in turn; what is left was not asked."""
    import click

    from satchel.interfaces.cli.commands import setup

    given: list[bool | str] = []
    monkeypatch.setattr(setup, "is_terminal", lambda: True)

    def confirm(text: str, *, default: bool) -> bool:
        click.echo(f"{text} [{'Y/n' if default else 'y/N'}]")
        answer = given.pop(0)
        assert isinstance(answer, bool)
        return answer

    def prompt(text: str, *, default: str, value_proc: Callable[[str], object]) -> object:
        click.echo(f"{text} [{default}]")
        return value_proc(str(given.pop(0)))

    monkeypatch.setattr(click, "prompt", prompt)
    monkeypatch.setattr(click, "confirm", confirm)
    return given
