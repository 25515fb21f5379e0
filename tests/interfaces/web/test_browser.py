"""The control room in Chromium, which only judges: a real server, real agents and their hooks, and a person."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from room_world import DARK, PHONE, WIDE, Client, World, a_world, fill, fits, looked_at, of_chromium

pytestmark = of_chromium


@pytest.fixture(scope="module")
def asker(busy: World) -> Client:
    """One more agent."""
    return busy.client("asker")


NEEDS = {
    "Stuck": "parser is stuck on week-numbers",
    "Question": "Shall the release wait for the parser?",
    "Refused": "tests wants src/parser.py",
    "Changed": "first_weekday: parser had Monday, now Sunday",
}
FOLDED = {"Draft": "drop_python_3_10: yes", "No fix": "KeyError: 'week' in parser.py"}
CHANGES = {
    "Decision": "first_weekday: Sunday",
    "Rule": "Dates are kept in UTC",
    "Error": "LocaleError: install the package locales",
    "Files": "src/parser.py",
    "Correction": "The calendar has 52 weeks in every year",
}


def items(page: Page, section: str) -> Locator:
    return page.locator(f"#{section} [data-item]")


def test_the_pages_show_what_agents_and_hooks_did(chromium: Browser, busy: World) -> None:
    with looked_at(chromium, busy, **WIDE) as page:
        expect(page.get_by_role("heading", level=1)).to_contain_text("1 stuck")
        for word, text in NEEDS.items():
            row = items(page, "needs").filter(has=page.locator(".chip", has_text=word)).filter(has_text=text)
            expect(row.first).to_be_visible()
        expect(items(page, "needs").filter(has_text="review failed: no test of a leap year")).to_be_visible()
        page.locator("#rest summary").first.click()
        for word, text in FOLDED.items():
            expect(items(page, "rest").filter(has_text=word).filter(has_text=text)).to_be_visible()
        release = items(page, "agents").filter(has_text="release-2")
        expect(release).to_contain_text("push the tag")
        expect(items(page, "agents").filter(has_text="src/parser.py").first).to_contain_text("min left")
        expect(page.locator("#timeline a.cut", has_text="parser").first).to_be_visible()
        conflict = items(page, "conflicts").filter(has_text="src/parser.py").filter(has_text="release")
        expect(conflict).to_contain_text("was refused")
        page.get_by_role("link", name="Activity").click()
        for word, text in CHANGES.items():
            expect(page.locator("[data-item]").filter(has_text=word).filter(has_text=text).first).to_be_visible()


def test_needs_conflicts_and_agents_are_on_one_screen(chromium: Browser, tmp_path: Path) -> None:
    with a_world(tmp_path.resolve()) as project:
        fill(project)
        with looked_at(chromium, project, **WIDE) as page:
            for name in ("needs", "conflicts", "agents"):
                box = page.locator(f"#{name}").bounding_box()
                assert box is not None
                assert box["y"] + min(box["height"], 300) <= WIDE["viewport"]["height"], name


@pytest.mark.parametrize("kind", [WIDE, PHONE, DARK], ids=["wide", "phone", "dark"])
def test_an_agent_asks_and_reads_the_answer_of_a_person(
    chromium: Browser, busy: World, asker: Client, kind: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    question = f"May I <b>drop</b> the table of {request.node.name}?"
    with looked_at(chromium, busy, **kind) as page:
        before = int(page.locator("#needs h2 .n").inner_text())
        asker.call("send_message", message=question, to="human")
        asked = items(page, "needs").filter(has_text=question)
        expect(asked).to_be_visible()
        expect(page).to_have_title(f"({before + 1}) project – Satchel")
        assert str(page.locator("link[rel=icon]").get_attribute("href")).startswith("data:image/svg+xml,")
        assert fits(page)
        asked.locator("summary", has_text="Reply").click()
        asked.get_by_label("Reply to").fill("No, keep it")
        asked.get_by_role("button", name="Send").click()
        expect(page.get_by_text("Your answer was sent")).to_be_visible()
        expect(page).to_have_title(f"({before}) project – Satchel")
        back = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, back.removeprefix("rgb(").removesuffix(")").split(","))) < 200) == (kind is DARK)
    told = asker.call("get_messages", unread=True)
    assert "No, keep it" in told
    assert "human:ann" in told


def test_what_is_being_written_and_where_one_is_stay_when_something_new_comes(
    chromium: Browser, busy: World, asker: Client
) -> None:
    asker.call("send_message", message="The first?", to="human")
    with looked_at(chromium, busy) as page:
        first = items(page, "needs").filter(has_text="The first?")
        more = items(page, "agents").get_by_label("More: release")
        more.focus()
        asker.call("send_message", message="The second?", to="human")
        expect(page.get_by_text("The second?")).to_be_visible()
        expect(more).to_be_focused()
        first.locator("summary", has_text="Reply").click()
        first.get_by_label("Reply to").fill("I am thinking")
        asker.call("send_message", message="The third?", to="human")
        expect(page.get_by_text("The third?")).to_be_visible()
        expect(first.get_by_label("Reply to")).to_have_value("I am thinking")
        expect(first.get_by_label("Reply to")).to_be_focused()


def test_the_keyboard_alone_leads_everywhere(chromium: Browser, busy: World, asker: Client) -> None:
    asker.call("send_message", message="Are you there?", to="human")
    with looked_at(chromium, busy) as page:
        focused: Callable[[], str] = lambda: str(page.evaluate("document.activeElement.id"))  # noqa: E731
        page.keyboard.press("j")
        assert focused().startswith("need-")
        page.keyboard.press("r")
        expect(page.locator("#needs .need:has(details.act[open]) textarea")).to_be_focused()
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        assert focused() == "q"
        page.keyboard.type("Are you there")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Are you there")).to_be_visible()
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(r"/(items|messages)/m\d+$"))
        expect(page.locator("main")).to_contain_text("Are you there?")


def test_each_page_has_a_letter(chromium: Browser, busy: World) -> None:
    with looked_at(chromium, busy) as page:
        for letter, path in page.eval_on_selector_all("nav a", "all => all.map(a => [a.dataset.go, a.href])"):
            page.keyboard.press("g")
            with page.expect_navigation(url=path):
                page.keyboard.press(letter)


def test_the_tab_key_reaches_everything_and_shows_where_it_is(chromium: Browser, busy: World) -> None:
    reachable = "a[href], button, input:not([type=hidden]), textarea, select, summary"
    with looked_at(chromium, busy) as page:
        page.evaluate("document.activeElement.blur()")
        everything = page.evaluate(
            f"[...document.querySelectorAll({reachable!r})].filter(one => one.checkVisibility()).length"
        )
        reached = 0
        while True:
            page.keyboard.press("Tab")
            seen = page.evaluate(
                "(() => { const one = document.activeElement, style = getComputedStyle(one);"
                " if (one === document.body || one.dataset.reached) return null; one.dataset.reached = 1;"
                " const box = one.getBoundingClientRect();"
                " return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 && box.width > 0; })()"
            )
            if seen is None:
                break
            assert seen
            reached += 1
        assert reached == everything


def test_on_a_phone_what_is_touched_is_large_enough(chromium: Browser, busy: World) -> None:
    with looked_at(chromium, busy, **PHONE) as page:
        small = page.evaluate(
            "[...document.querySelectorAll('button, input:not([type=hidden]), textarea, select, summary, nav a')]"
            ".filter(one => one.checkVisibility()).map(one => [one.outerHTML, one.getBoundingClientRect()])"
            ".filter(([, box]) => box.width < 24 || box.height < 24).map(([html]) => html)"
        )
        assert small == []
        assert page.viewport_size is not None
        assert fits(page)
