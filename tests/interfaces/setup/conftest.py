"""A home folder and a project of nobody's, for what setup writes."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from satchel.interfaces.setup.clients import Place, Wish
from satchel.interfaces.setup.journal import Journal

Program = Callable[[str, str], Path]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A home folder with a project in it, which Gemini CLI trusts; the environment holds a path of programs besides."""
    home = tmp_path / "home"
    project = home / "project"
    (project / ".git").mkdir(parents=True)
    (home / "bin").mkdir()
    monkeypatch.setenv("HOME", str(home))
    path = os.pathsep.join([str(home / "bin"), "/usr/bin", "/bin"])
    return Place(home, {"HOME": str(home), "PATH": path, "GEMINI_CLI_TRUST_WORKSPACE": "true"}, project)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with nothing in it, and a state folder beside it."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return home


@pytest.fixture
def file(home: Path) -> Path:
    """A client's file in the home folder."""
    file = home / ".client" / "settings.json"
    file.parent.mkdir()
    file.write_bytes(b'{"a": 1}\r\n')
    return file


@pytest.fixture
def wish() -> Wish:
    """Everything that setup does unasked, with a launcher that need not exist."""
    return Wish("/opt/satchel/bin/satchel")


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    """A journal that knows nothing."""
    return Journal(tmp_path / "state")


@pytest.fixture
def program(place: Place) -> Program:
    """Put a program on the path, as a script of Python."""

    def make(name: str, text: str) -> Path:
        file = place.home / "bin" / name
        file.write_text(f"#!{sys.executable} -I\n{text}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        return file

    return make
