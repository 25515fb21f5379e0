"""A loop that has met an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from brief.learning.loops import ERROR
from satchel import Satchel


@pytest.fixture
def dev(open_in: Callable[..., Satchel], project: Path) -> Satchel:
    """A Satchel whose agent is dev, in the run night, whose loop L has met an error."""
    satchel = open_in(project, agent="dev")
    satchel.runs.start("night")
    satchel.patterns.report(*ERROR, loop_id="L")
    return satchel
