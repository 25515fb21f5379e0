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
from satchel import NewDecision, Satchel, open_satchel
from satchel.base.clock import system_clock
from satchel.interfaces.web.logins import Logins
from satchel.keep.sessions.caller import Caller

LONG = "What is asked here takes a whole paragraph, with <b>markup</b> and many words. " * 20
SESSIONS, MESSAGES, CHANGES, CLAIMS, NAME_CHARS = 50, 300, 60, 5, 80


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


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory, logins: Logins) -> Iterator[Served]:
    """The server of a project with more of everything than fits on a page, and agents with the longest names."""
    folder = tmp_path_factory.mktemp("full").resolve() / "project"
    (folder / ".git").mkdir(parents=True)
    relaxed = {"store.durability": "relaxed"}
    with open_satchel(cwd=folder, environ={}, settings=relaxed) as satchel:
        for number in range(MESSAGES):
            satchel.messages.send(f"{number}: {LONG}", to="human", agent=f"agent-{number % 7}")
        numbers = range(CHANGES)
        satchel.decisions.set_many([NewDecision(f"key {number}", LONG) for number in numbers], agent="first")
        changes = [NewDecision(f"key {number}", f"{number} {LONG}") for number in numbers]
        satchel.decisions.set_many(changes, agent="second")
        for number in numbers:
            satchel.constraints.add(f"Rule {number}: {LONG}", agent="first")
        store = satchel.place.file
    for number in range(SESSIONS):
        caller = Caller.of_request("t", f"session-{number}")
        with open_satchel(store, project="project", caller=caller, environ={}, settings=relaxed) as session:
            agent = f"worker-{number}-".ljust(NAME_CHARS, "w")
            paths = [f"src/package_{number}/module_{place}.py" for place in range(CLAIMS)]
            session.files.claim(paths, agent=agent, reason=LONG[:200])
            pad = {"done": False, "next_step": LONG[:900], "blockers": [LONG[:900], LONG[:400]], "attempted": ["a try"]}
            session.entries.write("scratchpad", pad, agent=agent, task_id=f"T{number}")
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


@pytest.fixture
def bob(room: Served, logins: Logins) -> Browser:
    """A browser of Bob's."""
    return Browser.of(room, logins, "bob")
