"""The control room in Chromium, which only judges: a real server, real agents and their hooks, and a person."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from room_world import DARK, PHONE, WIDE, Client, World, fits, looked_at, of_chromium

pytestmark = of_chromium


@pytest.fixture(scope="module")
def asker(busy: World) -> Client:
    """One more agent."""
    return busy.client("asker")


NEEDS = {
    "stuck": "week-numbers: mock the calendar",
    "message": "Shall the release wait for the parser?",
    "refusal": "src/parser.py is held by parser",
    "overtaken": "first_weekday: parser had Monday, now Sunday",
    "draft": "drop_python_3_10: yes",
    "verdict": "week-numbers: no test of a leap year",
    "error": "KeyError: 'week' in parser.py (met 2 times)",
}
CHANGES = {
    "decision": "first_weekday: Sunday",
    "rule": "Dates are kept in UTC",
    "fix": "LocaleError: install the package locales",
    "files": "src/parser.py",
    "correction": "The calendar has 52 weeks in every year",
}


def items(page: Page, section: str) -> Locator:
    return page.locator(f"#{section} .item")


def test_each_section_shows_what_agents_and_hooks_did(chromium: Browser, busy: World) -> None:
    with looked_at(chromium, busy, **WIDE) as page:
        for section, shown in (("needs", NEEDS), ("since", CHANGES)):
            for kind, text in shown.items():
                heading = page.locator("b", has_text=kind)
                expect(items(page, section).filter(has=heading).filter(has_text=text).first).to_be_visible()
        where = items(page, "where").filter(has_text="release-2")
        expect(where).to_contain_text("branch release-2")
        expect(where).to_contain_text("task release")
        expect(where).to_contain_text("next: push the tag")
        expect(items(page, "where").filter(has_text="week numbers")).to_contain_text("min left")
        expect(page.locator(".timeline dt").filter(has_text="parser")).to_be_visible()
        collision = items(page, "conflicts").filter(has_text="src/parser.py").filter(has_text="release")
        expect(collision).to_contain_text("in two worktrees")


def test_what_needs_a_person_is_on_one_screen_with_the_heads_of_all(chromium: Browser, busy: World) -> None:
    with looked_at(chromium, busy, **WIDE) as page:
        shown = [items(page, "needs").nth(number) for number in range(len(NEEDS))]
        for one in [*shown, *page.locator("section h2").all()]:
            box = one.bounding_box()
            assert box is not None
            assert box["y"] + box["height"] <= WIDE["viewport"]["height"]


@pytest.mark.parametrize("kind", [WIDE, PHONE, DARK], ids=["wide", "phone", "dark"])
def test_an_agent_asks_and_reads_the_answer_of_a_person(
    chromium: Browser, busy: World, asker: Client, kind: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    question = f"May I <b>drop</b> the table of {request.node.name}?"
    with looked_at(chromium, busy, **kind) as page:
        before = int(page.locator("#needs .count").inner_text())
        asker.call("send_message", message=question, to="human")
        asked = items(page, "needs").filter(has_text=question)
        expect(asked).to_be_visible()
        expect(page).to_have_title(f"({before + 1}) project – Satchel")
        assert str(page.locator("link[rel=icon]").get_attribute("href")).startswith("data:image/svg+xml,")
        assert fits(page)
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
        release = items(page, "where").get_by_role("button", name="End claim on src/parser.py").first
        release.focus()
        asker.call("send_message", message="The second?", to="human")
        expect(page.get_by_text("The second?")).to_be_visible()
        expect(release).to_be_focused()
        first.get_by_label("Reply to").fill("I am thinking")
        asker.call("send_message", message="The third?", to="human")
        expect(page.get_by_text("The third?")).to_be_visible()
        expect(first.get_by_label("Reply to")).to_have_value("I am thinking")
        expect(first.get_by_label("Reply to")).to_be_focused()


def test_the_keyboard_alone_leads_everywhere(chromium: Browser, busy: World, asker: Client) -> None:
    asker.call("send_message", message="Are you there?", to="human")
    with looked_at(chromium, busy) as page:
        focused: Callable[[], str] = lambda: str(page.evaluate("document.activeElement.id"))  # noqa: E731
        page.keyboard.press("1")
        assert focused() == "needs-title"
        page.keyboard.press("3")
        assert focused() == "where-title"
        page.keyboard.press("1")
        page.keyboard.press("j")
        assert focused().startswith("need-")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        assert focused() == "q"
        page.keyboard.type("Are you there")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Search")).to_be_visible()
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
