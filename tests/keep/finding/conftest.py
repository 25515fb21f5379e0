"""A Satchel in which a story was told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conftest import ManualClock, opened_once
from keep.finding.story import Story


@pytest.fixture(scope="module")
def story(request: pytest.FixtureRequest) -> Iterator[Story]:
    """The story, a note a minute, in two runs; it is only read."""
    clock = ManualClock()
    with opened_once(request, clock=clock) as satchel:
        yield Story(satchel, clock)
