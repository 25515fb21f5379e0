"""A server with one store, in a thread of the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from http_serving import FixedTokens, Served, served
from satchel import Satchel


@pytest.fixture
def server(open_in: Callable[..., Satchel], project: Path) -> Iterator[Served]:
    """A server with one store."""
    one = open_in(project)
    with one.workplace.engine.write():
        pass
    with served(FixedTokens(one.place.file)) as running:
        yield running
