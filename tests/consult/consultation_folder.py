"""A folder as a consulted client gets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from satchel.consult import FOLDER_PREFIX


def enter_consultation(parent: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make the folder of a consultation, work in it, and return its path."""
    folder = parent.resolve() / f"{FOLDER_PREFIX}a"
    folder.mkdir(mode=0o700)
    (folder / "work").mkdir()
    monkeypatch.chdir(folder / "work")
    return str(folder)
