"""A project with something of every kind, and a second project in the same store that must never show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel


@pytest.fixture
def store(open_in: Callable[..., Satchel], project: Path) -> Satchel:
    """A Satchel with the run ``night``, which is no default; nobody's by default."""
    satchel = open_in(project)
    satchel.runs.start("night")
    return satchel


@pytest.fixture
def refs(store: Satchel) -> Callable[..., list[str]]:
    """Return the short ids of what a preview for a developer shows, the most needed first."""

    def shown(**given: Any) -> list[str]:
        given = {"role": "developer", "budget": 20_000, "dry_run": True, **given}
        return [item.ref for item in store.brief(**given).items]

    return shown
