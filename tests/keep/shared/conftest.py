"""Two clones of one repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sharing_clones import Team


@pytest.fixture
def team(tmp_path: Path, from_template: None) -> Iterator[Team]:
    """Ann and Ben, each with a store of their own."""
    made = Team(tmp_path / "team", ("ann", "ben"))
    yield made
    made.close()
