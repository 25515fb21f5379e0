"""A repository with documents, and the Satchel of its folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from repositories import commit_all, make_repository
from satchel import Satchel

if TYPE_CHECKING:
    from conftest import ManualClock

Commit = Callable[[Mapping[str, str | None]], None]


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """The top of an empty repository."""
    return make_repository(tmp_path.resolve() / "repository")


@pytest.fixture
def satchel(open_in: Callable[..., Satchel], top: Path) -> Satchel:
    """A person's Satchel in the repository."""
    return open_in(top, caller="command")


@pytest.fixture
def commit(top: Path, clock: ManualClock) -> Commit:
    """Commit texts by path, a second later each time; None removes a file."""

    def write(files: Mapping[str, str | None]) -> None:
        for path, text in files.items():
            file = top / path
            if text is None:
                file.unlink()
            else:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
        commit_all(top)
        clock.advance(1_000)

    return write
