"""The command line, run inside the test's process in a project of its own."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a project with nothing in it, and an environment that says nothing to Satchel."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    for name in [name for name in os.environ if name.startswith("SATCHEL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(project)
    return project


@pytest.fixture
def cli(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run one command in the folder; return its exit status and what it printed to stdout and stderr."""
    from satchel.faces.cli import run

    def command(*arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        status = run(arguments)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return command
