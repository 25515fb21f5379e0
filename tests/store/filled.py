"""Stores with notes in them, and what is left of these in files."""

from __future__ import annotations

from pathlib import Path

from satchel.client import Satchel


def fill(satchel: Satchel, count: int, stem: str = "note") -> list[str]:
    """Write notes, and return their texts."""
    return [satchel.entries.write("discovery", f"{stem} {number} " + "x" * 1_000).content for number in range(count)]


def contents(satchel: Satchel) -> list[str]:
    """Return the texts of all notes, the oldest first."""
    return [entry.content for entry in satchel.entries.read(limit=500, order="asc")]


def files(folder: Path) -> set[str]:
    """Return the paths of all files below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def failed(satchel: Satchel) -> list[str]:
    """Return what doctor finds broken."""
    return [f"{check.name}: {check.detail}" for check in satchel.housekeeping.doctor() if check.status == "failed"]
