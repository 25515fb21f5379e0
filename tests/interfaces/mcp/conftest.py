"""Fixtures for the tests of the tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from satchel import Satchel
from tool_asking import Asker


@pytest.fixture
def new_asker(open_in: Callable[..., Satchel], tmp_path: Path) -> Callable[..., Asker]:
    """Open an empty store in a project of its own, a new one each time."""
    made = 0

    def make(**options: object) -> Asker:
        nonlocal made
        made += 1
        folder = tmp_path.resolve() / f"project-{made}"
        (folder / ".git").mkdir(parents=True)
        return Asker(open_in(folder, **options))

    return make


@pytest.fixture
def empty(new_asker: Callable[..., Asker]) -> Asker:
    """An empty store, with no default agent."""
    return new_asker()


@pytest.fixture
def made(world: Callable[[], Asker]) -> Asker:
    """One store of those that a module's tests begin with."""
    return world()
