"""Pages that stay open: what they load when something happens, and what they say when they are not live."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Page, expect

from http_serving import FixedTokens, Served, served
from room_browsing import Browser
from room_world import SOON_MS, of_chromium
from satchel import Satchel, open_satchel
from satchel.interfaces.http.settings import Settings, StreamLimits
from satchel.interfaces.web.logins import Logins

WRITES = 300


def judged(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that a browser judges."""
    for mark in of_chromium:
        test = mark(test)
    return test


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[Satchel]:
    """A project of the test's own, as agents write to it."""
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    with open_satchel(cwd=folder, environ={}) as opened:
        opened.messages.send("The first?", to="human", agent="builder")
        yield opened


@pytest.fixture
def running(agents: Satchel, logins: Logins) -> Iterator[Served]:
    """Its server, which looks often whether a login still holds."""
    settings = Settings(streams=StreamLimits(heartbeat_seconds=0.2))
    with served(FixedTokens(agents.place.file), settings, logins=logins) as server:
        yield server


@contextmanager
def opened(chromium: Chromium, running: Served, logins: Logins) -> Iterator[tuple[Page, list[str]]]:
    """Yield the page of the project, live, and what it has loaded since, which grows."""
    context = chromium.new_context()
    page = context.new_page()
    page.set_default_timeout(SOON_MS)
    page.clock.install()
    asked: list[str] = []
    page.goto(f"http://127.0.0.1:{running.port}/login?key={logins.new_link('ann', running.port)}")
    page.wait_for_url(f"http://127.0.0.1:{running.port}/p/project/")
    expect(page.locator("#live")).to_have_text("Live")
    page.on("request", lambda request: asked.extend([request.url] if request.resource_type == "fetch" else []))
    yield page, asked
    context.close()


def moved_away(satchel: Satchel) -> Path:
    """Move the folder of a store away, and return where it is."""
    satchel.close()
    there = satchel.place.file.parent
    return there.rename(there.with_name("away"))


def test_a_store_that_vanished_is_said_with_the_remedy_and_is_shown_again_once_it_is_back(
    agents: Satchel, running: Served, logins: Logins
) -> None:
    ann = Browser.of(running, logins)
    assert b"The first?" in ann.get("/p/project/").body
    away = moved_away(agents)
    gone = ann.get("/p/project/")
    assert gone.status == 410
    assert b"satchel restore" in gone.body
    away.rename(agents.place.file.parent)
    assert b"The first?" in ann.get("/p/project/").body


@judged
def test_a_write_loads_the_page_and_many_load_it_now_and_then(
    chromium: Chromium, agents: Satchel, running: Served, logins: Logins
) -> None:
    with opened(chromium, running, logins) as (page, asked):
        agents.messages.send("The second?", to="human", agent="builder")
        expect(page.get_by_text("The second?")).to_be_visible()
        for number in range(WRITES):
            agents.entries.write("discovery", f"note {number}", agent="builder")
        agents.messages.send("The last?", to="human", agent="builder")
        expect(page.get_by_text("The last?")).to_be_visible()
        assert len(asked) < WRITES / 4


@judged
def test_a_hidden_page_loads_nothing_until_it_is_seen(
    chromium: Chromium, agents: Satchel, running: Served, logins: Logins
) -> None:
    seen = "(is) => { Object.defineProperty(document, 'hidden', { get: () => !is, configurable: true }); "
    seen += "document.dispatchEvent(new Event('visibilitychange')); }"
    with opened(chromium, running, logins) as (page, asked):
        page.evaluate(seen, False)
        expect(page.locator("#live")).to_have_text("Paused")
        agents.messages.send("Are you there?", to="human", agent="builder")
        # the count alone is asked for, seldom
        page.clock.run_for(31_000)
        expect(page).to_have_title("(2) project – Satchel")
        assert len(asked) == 1
        assert page.get_by_text("Are you there?").count() == 0
        page.evaluate(seen, True)
        expect(page.get_by_text("Are you there?")).to_be_visible()
        expect(page.locator("#live")).to_have_text("Live")


@judged
def test_after_a_day_of_sleep_ages_are_right_and_the_page_goes_on(
    chromium: Chromium, agents: Satchel, running: Served, logins: Logins
) -> None:
    with opened(chromium, running, logins) as (page, _):
        expect(page.locator("#needs time").first).to_have_text("less than 1 min ago")
        page.clock.fast_forward("24:00:00")
        expect(page.locator("#needs time").first).to_have_text(re.compile(r"^\d+ \w+ \d\d:\d\d$"))
        agents.messages.send("Good morning?", to="human", agent="builder")
        expect(page.get_by_text("Good morning?")).to_be_visible()
        expect(page.locator("#live")).to_have_text("Live")


@judged
def test_a_page_says_that_its_store_is_gone_and_goes_on_when_it_is_back(
    chromium: Chromium, agents: Satchel, running: Served, logins: Logins
) -> None:
    with opened(chromium, running, logins) as (page, _):
        away = moved_away(agents)
        expect(page.locator("#live")).to_have_text("Not live, reload")
        expect(page.locator("#live")).to_have_attribute("title", re.compile("satchel restore"))
        away.rename(agents.place.file.parent)
        expect(page.locator("#live")).to_have_text("Live")
        with open_satchel(agents.place.file, project="project", environ={}) as again:
            again.messages.send("Back again?", to="human", agent="builder")
        expect(page.get_by_text("Back again?")).to_be_visible()


@judged
def test_a_page_whose_login_has_ended_says_so(
    chromium: Chromium, agents: Satchel, running: Served, logins: Logins
) -> None:
    with opened(chromium, running, logins) as (page, _):
        logins.revoke()
        expect(page.locator("#live")).to_have_text("Logged out, Log in again")
        page.get_by_role("link", name="Log in again").click()
        expect(page.get_by_role("heading", name="Log in")).to_be_visible()
