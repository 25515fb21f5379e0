"""axe judges every page: WCAG 2.2 A and AA and its best practices, light and dark, wide and on a phone.

`make referees` installs it. Its source is evaluated by the debugger of Chromium, which the pages' CSP does not bind.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from http_serving import Served
from room_world import World, every_page, fits, looked_at, of_chromium
from satchel.interfaces.web.logins import Logins

pytestmark = of_chromium
AXE = Path(__file__).parents[3] / ".referees" / "node_modules" / "axe-core" / "axe.min.js"
ALL = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
LOOKS: tuple[tuple[int, int, Literal["light", "dark"], list[str]], ...] = (
    (1440, 900, "light", ALL),
    (1440, 900, "dark", ["color-contrast"]),
    (360, 740, "light", ALL),
)
"""What is judged in each: dark differs in its colours alone, which are the same on a phone."""

RUN = """async only => (await axe.run({ runOnly: only, resultTypes: ["violations"] })).violations.flatMap(
    one => one.nodes.map(node => `${one.id}: ${node.failureSummary} ${node.html}`))"""


@pytest.fixture(scope="module")
def axe() -> str:
    assert AXE.exists(), "axe is not installed: run `make referees`"
    return AXE.read_text(encoding="utf-8")


def judged(page: Page, axe: str) -> list[str]:
    """What axe finds on a page, wide and on a phone."""
    page.evaluate(axe)
    found: list[str] = []
    for width, height, scheme, only in LOOKS:
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        found += [f"{width} {scheme} {one}" for one in page.evaluate(RUN, only)]
        found += [] if fits(page) else [f"wider than {width}"]
    for width in (1024, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        found += [] if fits(page) else [f"wider than {width}"]
    return found


def test_axe_finds_nothing_on_any_page(chromium: Browser, busy: World, axe: str) -> None:
    found: dict[str, list[str]] = {}
    with looked_at(chromium, busy, "Failed to load resource") as page:
        for what in every_page(page, busy.room):
            found[what] = judged(page, axe)
        for path in ("memory?q=parser", "items/e999", "nowhere"):
            page.goto(f"{busy.room}{path}")
            found[path] = judged(page, axe)
        for path in ("/", "/login", "/login?key=wrong"):
            page.goto(f"{busy.url}{path}")
            found[f"server {path}"] = judged(page, axe)
        page.goto(busy.room)
        page.keyboard.press("?")
        found["help"] = judged(page, axe)
    assert {path: findings for path, findings in found.items() if findings} == {}


def test_axe_finds_nothing_on_pages_that_are_full(chromium: Browser, full: Served, logins: Logins, axe: str) -> None:
    page, url = chromium.new_page(), f"http://127.0.0.1:{full.port}"
    page.goto(f"{url}/login?key={logins.new_link('ann', full.port)}")
    page.wait_for_url(f"{url}/p/project/")
    found: list[str] = []
    for path in ("activity", "memory", "agents", ""):
        page.goto(f"{url}/p/project/{path}")
        for width in (360, 1024, 1920):
            page.set_viewport_size({"width": width, "height": 900})
            found += [] if fits(page) else [f"{path or 'overview'} is wider than {width}"]
    expect(page.get_by_text("more agents")).to_be_visible()
    page.evaluate(axe)
    found += page.evaluate(RUN, ALL)
    page.close()
    assert found == []


def test_axe_finds_nothing_where_another_has_answered_meanwhile(chromium: Browser, busy: World, axe: str) -> None:
    asker = busy.client("axe")
    ref = asker.keep("send_message", message="Whose answer counts?", to="human")
    with looked_at(chromium, busy, "409") as page:
        page.goto(f"{busy.room}items/{ref}")
        page.get_by_label("Reply to").fill("Mine")
        answer_elsewhere(page, ref)
        page.get_by_role("button", name="Send").click()
        page.get_by_role("heading", name="was answered in the meantime").wait_for()
        assert judged(page, axe) == []


def answer_elsewhere(page: Page, ref: str) -> None:
    """Answer a message on another page of the same browser."""
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_label("Reply to").fill("First")
    other.get_by_role("button", name="Send").click()
    other.get_by_text("Your answer was sent").wait_for()
    other.close()
