"""Clients in a project: real processes, or for a fast test a table of processes that are only said to be there."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keep.sessions import client_process
from keep.sessions.client_process import Changes, Spoken
from keep.sessions.kept import Kept, kept
from keep.sessions.table import Table
from satchel import Satchel, open_satchel
from satchel.base import processes
from satchel.keep.sessions.caller import COMMAND, SERVER, Caller


class Host:
    """A client, spoken to by the test.

    Args:
        ask: lets it do something.
        programs: where programs of any name can be made.
    """

    def __init__(self, ask: Callable[[dict[str, object]], Any], programs: Path) -> None:
        self._ask = ask
        self._programs = programs

    def _do(self, name: str, *arguments: object, **options: object) -> Any:
        return self._ask({"do": name, "arguments": arguments, "options": options})

    def serve(self, name: str | None = "claude-code", *, server: str = "one", **options: object) -> None:
        """Start a server and shake hands with it."""
        self._do("serve", server, name, **options)

    def call(self, tool: str, *, server: str = "one", **arguments: object) -> str:
        """Call a tool that is to succeed; return its text."""
        text = str(self._do("call", server, tool, arguments))
        assert not text.startswith("error ["), text
        return text

    def refused(self, tool: str, *, server: str = "one", **arguments: object) -> str:
        """Call a tool that is to fail; return the error."""
        text = str(self._do("call", server, tool, arguments))
        assert text.startswith("error ["), text
        return text

    def call_and_hang_up(self, tool: str, *, server: str = "one", **arguments: object) -> None:
        """Call a tool, do not take the answer, and wait until the server has ended."""
        self._do("call_and_hang_up", server, tool, arguments)

    def stop(self, *, server: str = "one", how: str = "close") -> None:
        """End a server: ``close`` or ``kill``."""
        self._do("stop", server, how=how)

    def write(self, content: str, *, server: str = "one", **arguments: object) -> None:
        """Write a note through a server."""
        self.call("write_context", server=server, type="discovery", content=content, **arguments)

    def run(self, *command: str, fails: bool = False, **options: object) -> tuple[str, str]:
        """Run a command in a shell of the client; return what it printed to stdout and stderr."""
        status, out, err = self._do("run", *command, **options)
        assert bool(status) == fails, err
        return out, err

    def note(self, content: str, *arguments: str, **options: Any) -> str:
        """Write a note with a command; return what it said beside the answer."""
        return self.run("write", "discovery", content, *arguments, **options)[1]

    def start(self, client: str, *, environ: Changes | None = None) -> Host:
        """Start another client in a shell of this one."""
        program = str(named(self._programs, client))
        self._do("start", client, [program], environ=environ or {})
        return Host(lambda message: self._do("ask", client, message), self._programs)


class Running(Host):
    """A client that the test has started itself, and can end."""

    def __init__(self, spoken: Spoken, programs: Path) -> None:
        super().__init__(spoken.ask, programs)
        self._spoken = spoken
        self.is_running = True

    @property
    def pid(self) -> int:
        """Its number."""
        return self._spoken.process.pid

    def leave(self) -> None:
        """End all that the client started, and then the client."""
        self._do("end")
        self._spoken.close()
        self.is_running = False


def named(folder: Path, name: str) -> Path:
    """Return a program of some name that is a client."""
    program = folder / name
    if not program.exists():
        tests = Path(client_process.__file__).parents[2]
        program.write_text(
            f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(tests)!r})\n"
            "from keep.sessions.client_process import main\nmain()\n"
        )
        program.chmod(0o755)
    return program


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project: a git repository with nothing in it."""
    project = tmp_path.resolve() / "project"
    (project / ".git").mkdir(parents=True)
    return project


@pytest.fixture
def client(tmp_path: Path, folder: Path) -> Iterator[Callable[..., Running]]:
    """Start a client: the name of its program, and variables of its environment."""
    programs = tmp_path / "programs"
    programs.mkdir()
    started: list[Running] = []
    own = {name: None for name in os.environ if name.startswith("SATCHEL_")} | {"HOME": str(tmp_path)}

    def start(program: str = "claude", *, cwd: Path = folder, **variables: str) -> Running:
        one = Running(Spoken([str(named(programs, program))], {**own, **variables}, str(cwd)), programs)
        started.append(one)
        return one

    yield start
    for one in started:
        if one.is_running:
            one.leave()


@pytest.fixture
def look(folder: Path) -> Callable[[], Kept]:
    """Return what is kept of sessions and notes."""

    def read() -> Kept:
        with open_satchel(cwd=folder, environ={}, read_only=True) as satchel:
            return kept(satchel)

    return read


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Table:
    """Processes that are only said to be there; the test's own stands where it is put."""
    table = Table()
    monkeypatch.setattr(processes, "_read_process", table.look_at)
    monkeypatch.setattr(processes, "_arguments", table.arguments)
    monkeypatch.setattr(os, "getppid", table.getppid)
    return table


@pytest.fixture
def serve(open_in: Callable[..., Satchel], folder: Path, table: Table) -> Callable[..., Satchel]:
    """Open a Satchel as the server of a client, which is a process of the table."""

    def serve_one(
        name: str | None = "claude-code", *, below: int = 100, cwd: Path = folder, version: str = "1", **options: Any
    ) -> Satchel:
        table.stand(below)
        satchel = open_in(cwd, caller=SERVER, **options)
        assert satchel.workplace.caller is not None
        satchel.workplace.caller.set_client(name, version)
        return satchel

    return serve_one


@pytest.fixture
def command(open_in: Callable[..., Satchel], folder: Path, table: Table) -> Callable[..., Satchel]:
    """Open a Satchel as a command does, below a process of the table."""

    def open_one(*, below: int = 100, cwd: Path = folder, **options: Any) -> Satchel:
        table.stand(below)
        return open_in(cwd, caller=COMMAND, **options)

    return open_one


@pytest.fixture
def hook(open_in: Callable[..., Satchel], folder: Path, table: Table) -> Callable[..., Satchel]:
    """Open a Satchel as a hook of Claude Code does, below a process of the table."""

    def open_one(
        identity: str | None = "a", *, begins: bool = False, client: str = "claude", below: int = 100, **options: Any
    ) -> Satchel:
        table.stand(below)
        caller = Caller.of_hook(options.get("environ", {}), client, identity, begins=begins)
        return open_in(folder, caller=caller, **options)

    return open_one
