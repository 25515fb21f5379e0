"""axe judges every page: WCAG 2.2 A and AA and its best practices, light and dark, wide and on a phone.

`make referees` installs it. Its source is evaluated by the debugger of Chromium, which the pages' CSP does not bind.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page
from starlette.routing import compile_path

from room_world import World, fits, looked_at, of_chromium
from satchel.interfaces.http.room.views import PAGES

pytestmark = of_chromium
AXE = Path(__file__).parents[4] / ".referees" / "node_modules" / "axe-core" / "axe.min.js"
SCHEMES: tuple[tuple[Literal["light", "dark"], list[str]], ...] = (
    ("light", ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]),
    ("dark", ["color-contrast"]),
)
"""What is judged in each: dark differs in its colours alone."""

RUN = """async only => (await axe.run({ runOnly: only })).violations.flatMap(
    one => one.nodes.map(node => `${one.id}: ${node.failureSummary} ${node.html}`))"""

PARTS = "/sections/{section}"
"""Not a page: a part of one."""


class Crawl:
    """Follows the links of a project from page to page: one for each path of PAGES, and one for each kind of item."""

    def __init__(self, room: str) -> None:
        self._project = room.rstrip("/")
        self._routes = {path: compile_path(path)[0] for path in PAGES}
        self.waiting = {"/": room}
        self.met: dict[str, str] = {}

    def next(self) -> tuple[str, str] | None:
        """Return what was not visited, and its address; None where everything was."""
        if not self.waiting:
            return None
        what, address = self.waiting.popitem()
        self.met[what] = address
        return what, address

    def follow(self, page: Page) -> None:
        """Take in the links of a page."""
        for address in page.eval_on_selector_all("a[href]", "all => all.map(one => one.href)"):
            path = urlsplit(address).path.removeprefix(urlsplit(self._project).path)
            for route, pattern in self._routes.items():
                found = pattern.fullmatch(path) if address.startswith(self._project) else None
                if found is not None:
                    kind = found["ref"][0] if "ref" in found.groupdict() else ""
                    what = f"{route} {kind}".strip()
                    if what not in self.met:
                        self.waiting.setdefault(what, address)
                    break

    @property
    def missed(self) -> set[str]:
        """The paths that no link led to."""
        return set(PAGES) - {what.split()[0] for what in self.met} - {PARTS}


@pytest.fixture(scope="module")
def axe() -> str:
    assert AXE.exists(), "axe is not installed: run `make referees`"
    return AXE.read_text(encoding="utf-8")


def judged(page: Page, axe: str) -> list[str]:
    """What axe finds on a page, wide and on a phone."""
    page.evaluate(axe)
    found: list[str] = []
    for width, height in ((1440, 900), (360, 740)):
        page.set_viewport_size({"width": width, "height": height})
        for scheme, only in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            found += [f"{width} {scheme} {one}" for one in page.evaluate(RUN, only)]
        found += [] if fits(page) else [f"wider than {width}"]
    return found


def test_axe_finds_nothing_on_any_page(chromium: Browser, busy: World, axe: str) -> None:
    found: dict[str, list[str]] = {}
    crawl = Crawl(busy.room)
    with looked_at(chromium, busy, "Failed to load resource") as page:
        while (visit := crawl.next()) is not None:
            page.goto(visit[1])
            found[visit[0]] = judged(page, axe)
            crawl.follow(page)
        assert crawl.missed == set()
        for path in ("search?q=parser", "items/e999"):
            page.goto(f"{busy.room}{path}")
            found[path] = judged(page, axe)
        for path in ("/", "/login", "/login?key=wrong"):
            page.goto(f"{busy.url}{path}")
            found[f"server {path}"] = judged(page, axe)
        page.goto(busy.room)
        page.keyboard.press("?")
        found["help"] = judged(page, axe)
    assert {path: findings for path, findings in found.items() if findings} == {}


def test_axe_finds_nothing_where_another_has_answered_meanwhile(chromium: Browser, busy: World, axe: str) -> None:
    asker = busy.client("axe")
    ref = asker.keep("send_message", message="Whose answer counts?", to="human")
    with looked_at(chromium, busy, "409") as page:
        page.goto(f"{busy.room}items/{ref}")
        answer_elsewhere(page, ref)
        page.get_by_label("Answer to").fill("Mine")
        page.get_by_role("button", name="Send").click()
        page.get_by_role("heading", name="was answered meanwhile").wait_for()
        assert judged(page, axe) == []


def answer_elsewhere(page: Page, ref: str) -> None:
    """Answer a message on another page of the same browser."""
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_label("Answer to").fill("First")
    other.get_by_role("button", name="Send").click()
    other.get_by_text("Your answer was sent").wait_for()
    other.close()
