"""A server with pages, and browsers that are in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from http_serving import FixedTokens, Served, served
from room_browsing import Browser
from satchel import Satchel, open_satchel
from satchel.base.clock import system_clock
from satchel.interfaces.http.room.logins import Logins


@pytest.fixture(scope="module")
def satchel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    """The project that is looked at, as agents write to it."""
    folder = tmp_path_factory.mktemp("room").resolve() / "project"
    (folder / ".git").mkdir(parents=True)
    with open_satchel(cwd=folder, environ={}) as opened:
        opened.entries.write("discovery", "Sessions expire after 300 s", agent="builder")
        yield opened


@pytest.fixture(scope="module")
def logins(tmp_path_factory: pytest.TempPathFactory) -> Logins:
    """The logins that the server knows."""
    return Logins(tmp_path_factory.mktemp("state"), system_clock)


@pytest.fixture(scope="module")
def room(satchel: Satchel, logins: Logins) -> Iterator[Served]:
    """The server; all tests of a module share it."""
    store: Path = satchel.place.file
    with served(FixedTokens(store), logins=logins) as running:
        yield running


@pytest.fixture
def ann(room: Served, logins: Logins) -> Browser:
    """A browser of Ann's."""
    return Browser.of(room, logins, "ann")
