"""Real processes in a project of their own."""

from __future__ import annotations

import getpass
import os
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that is a project: a git repository with nothing in it."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    return project


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of the processes, without what the person who tests has configured for Satchel."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("SATCHEL_")}
    return own | {"HOME": str(tmp_path), "SATCHEL_PERSON": getpass.getuser()}
