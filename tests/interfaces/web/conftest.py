"""A server with pages and browsers that are in; a project with everything around it, and Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser as Chromium

import room_world
from http_serving import FixedTokens, Served, served
from room_browsing import Browser
from room_world import World
from satchel import Satchel, open_satchel
from satchel.base.clock import system_clock
from satchel.interfaces.web.logins import Logins


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


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A project with a server of its own process; all tests of a module share it."""
    with room_world.a_world(tmp_path_factory.mktemp("world").resolve()) as made:
        yield made


@pytest.fixture(scope="session")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A project in which everything is that a person looks at; all tests share it, and leave what they found."""
    with room_world.a_world(tmp_path_factory.mktemp("busy").resolve()) as made:
        room_world.fill(made)
        yield made


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    """A Chromium without a screen."""
    with room_world.a_chromium() as browser:
        yield browser
