"""A person's day with the control room: an agent is stuck and asks, a wrong note goes, a claim is released."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from room_world import Client, World, a_world, looked_at, of_chromium
from store.postgres.places import new_place

pytestmark = of_chromium

WRONG = "The calendar has 52 weeks in every year"
RIGHT = "Weeks begin on Monday, says ISO 8601"


@pytest.fixture(params=["a file", "a database"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """A project with a server of its own process, whose store lies in a file, or in PostgreSQL."""
    if request.param == "a file":
        with a_world(tmp_path.resolve()) as made:
            yield made
        return
    with new_place() as place, a_world(tmp_path.resolve(), address=place.address) as made:
        yield made


def briefed(client: Client) -> str:
    """What the window of an agent that begins now holds: what its hook puts in, and its briefing."""
    return client.hook("SessionStart", source="clear") + client.call(
        "get_briefing", query="weeks of the calendar", again=True
    )


def tab_to(page: Page, name: str, role: str) -> None:
    """Press the tab key until a control has the focus."""
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate(
            "([name, role]) => { const one = document.activeElement;"
            " const label = one.ariaLabel || one.labels?.[0]?.textContent || one.textContent;"
            " return one.localName === role && label.trim().startsWith(name); }",
            [name, role],
        ):
            return
    raise AssertionError(f"the tab key leads to no {role} {name!r}")


def test_a_day(chromium: Browser, world: World) -> None:
    stuck, wrong, third = (world.client(name) for name in ("stuck", "wrong", "third"))
    wrong.call("write_context", type="discovery", content=RIGHT)
    note = wrong.keep("write_context", type="discovery", content=WRONG)
    assert WRONG in briefed(third)
    wrong.call("claim_files", paths=["src/parser.py"], reason="weeks")
    with looked_at(chromium, world) as page:
        expect(page.locator("#needs .empty")).to_contain_text("Nothing needs you")

        # an agent is stuck and asks; the title says so, and the person answers by keyboard
        for number, attempt in enumerate(("write the grammar anew", "count from Sunday", "mock the calendar"), 1):
            pad = {"done": False, "iteration": number, "test_status": "failing", "attempted": [attempt]}
            stuck.call("write_context", type="scratchpad", content=pad, task_id="weeks")
        expect(page).to_have_title("(1) project – Satchel")
        question = stuck.keep("send_message", message="On which day do weeks begin?", to="human", type="request")
        expect(page).to_have_title("(2) project – Satchel")
        page.locator(f"#need-message-{question}").focus()
        tab_to(page, "Reply", "summary")
        page.keyboard.press("Enter")
        expect(page.locator(f"#answer-{question}")).to_be_focused()
        page.keyboard.type("On Monday")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Your answer was sent")).to_be_visible()

        # the agent reads it and goes on
        assert "On Monday" in stuck.call("get_messages", wait_seconds=20)
        done = {"done": True, "iteration": 4, "test_status": "passing", "attempted": ["count from Monday"]}
        stuck.call("write_context", type="scratchpad", content=done, task_id="weeks")
        stuck.call("set_decision", key="first_weekday", value="Monday", rationale="a person says so")
        expect(page).to_have_title("project – Satchel")

        # a wrong note is found and retracted, and is in no briefing after
        page.keyboard.press("/")
        page.keyboard.type("52 weeks")
        page.keyboard.press("Enter")
        page.locator(f"#{note} a").first.click()
        page.locator("summary", has_text="Retract").click()
        page.get_by_label(f"Why {note} is no longer true").fill("2026 has 53")
        page.get_by_role("button", name="Retract").click()
        notice = page.locator(".notice[role=status]").filter(has_text="Retracted:")
        expect(notice.locator(f'a[href$="/items/{note}"]')).to_be_visible()
        for told in (briefed(third), briefed(world.client("fourth"))):
            assert RIGHT in told
            assert WRONG not in told

        # a claim is released, and its holder is told
        page.goto(world.room)
        page.locator("#agents").get_by_role("link", name="wrong").click()
        page.get_by_label("End claim on src/parser.py").click()
        page.get_by_role("button", name="End claim").click()
        expect(page.get_by_text("The claim has ended")).to_be_visible()
        assert "released your claim on src/parser.py" in wrong.call("get_messages", unread=True)
        third.call("claim_files", paths=["src/parser.py"])

        # what changed is looked at, and marked as seen
        page.get_by_role("link", name="Activity").click()
        expect(page.locator("[data-item]").filter(has_text="first_weekday: Monday")).to_be_visible()
        page.get_by_role("button", name="Mark all as read").click()
        expect(page.get_by_text("Marked as read", exact=True)).to_be_visible()
        expect(page.locator("main [data-item]")).to_have_count(0)
        page.get_by_role("link", name="Overview").click()
        expect(page.locator("#needs .empty")).to_contain_text("Nothing needs you since")
