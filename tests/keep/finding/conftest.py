"""A Satchel in which a story was told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from keep.finding.story import Story
from satchel import Satchel

if TYPE_CHECKING:
    from conftest import ManualClock


@pytest.fixture
def story(satchel: Satchel, clock: ManualClock) -> Story:
    """The story, a note a minute, in two runs."""
    return Story(satchel, clock)
