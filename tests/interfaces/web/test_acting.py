"""Every action of the control room, as a person does it in Chromium, and what takes it back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from room_world import Client, World, looked_at, of_chromium

pytestmark = of_chromium


@pytest.fixture(scope="module")
def agent(world: World) -> Iterator[Client]:
    """An agent at work, whose client has hooks."""
    with world.client("builder") as client:
        client.hook("SessionStart", source="startup")
        yield client


def write(page: Page, world: World, form: str, button: str, **fields: str) -> str:
    """Fill in a form of the page that writes, send it, and return the short id of what was made."""
    page.goto(f"{world.room}new?kind={form}")
    part = page.get_by_role("region")
    for label, text in fields.items():
        part.get_by_label(label, exact=True).fill(text)
    part.get_by_role("button", name=button).click()
    told = page.get_by_role("status").filter(has=page.get_by_role("link"))
    return (told.get_by_role("link").get_attribute("href") or "").rpartition("/")[2]


def undo(page: Page, said: str) -> None:
    """Take back what was done, and wait until the page says so."""
    page.get_by_role("button", name="Undo").click()
    says(page, said)


def says(page: Page, said: str) -> None:
    """Wait until the page says what was done."""
    expect(page.locator(".notice[role=status]")).to_contain_text(said)


def test_a_note_is_written_corrected_confirmed_pinned_and_forgotten(
    chromium: Browser, world: World, agent: Client
) -> None:
    with looked_at(chromium, world, "status of 400") as page:
        note = write(page, world, "note", "Save note", Text="The cache is cold at night")
        undo(page, "Retracted")
        theirs = agent.keep("write_context", type="discovery", content="The cache holds 300 entries")
        item = f"{world.room}items/{theirs}"
        page.goto(item)
        page.get_by_role("button", name="Confirm").click()
        says(page, "Confirmed")
        undo(page, "Undone")
        page.goto(item)
        page.get_by_label("More:").click()
        page.get_by_role("button", name="Pin").click()
        says(page, "Pinned: every briefing has it")
        assert "The cache holds 300 entries" in agent.hook("SessionStart", source="clear")
        undo(page, "Unpinned")
        page.goto(item)
        page.get_by_role("link", name="Change", exact=True).click()
        page.get_by_label("Text").fill("The cache holds 500 entries")
        page.get_by_role("button", name="Save").click()
        says(page, "Changed")
        undo(page, "Undone")
        page.goto(f"{world.room}items/{note}")
        page.get_by_label("More:").click()
        page.get_by_role("link", name="Delete permanently").click()
        page.get_by_label("to confirm").fill("e999")
        page.get_by_role("button", name="Delete").click()
        expect(page.get_by_role("heading", name="That did not work")).to_be_visible()
        page.get_by_label("to confirm").fill(note)
        page.get_by_role("button", name="Send again").click()
        says(page, "Deleted")
        assert "the project has no" in agent.call_in_vain("get_items", ids=[note])


def test_a_decision_and_a_rule_are_made_and_taken_back(chromium: Browser, world: World, agent: Client) -> None:
    with looked_at(chromium, world) as page:
        decided = {"Key": "cache_entries", "Value": "500"}
        write(page, world, "decision", "Decide", **decided)
        assert "500" in agent.call("get_items", ids=["decision:cache_entries"])
        undo(page, "Undone")
        rule = write(page, world, "rule", "Add rule", Text="Caches are never on a network disk")
        assert rule in agent.call("search", kinds=["constraint"])
        undo(page, "Retracted")
        assert rule not in agent.call("search", kinds=["constraint"]).split("\nnotice: ")[0]


def test_all_are_told_and_a_claim_is_released(chromium: Browser, world: World, agent: Client) -> None:
    agent.call("claim_files", paths=["src/login.py"], reason="the form")
    with looked_at(chromium, world) as page:
        write(page, world, "message", "Send", Text="We ship at noon")
        assert "We ship at noon" in agent.call("get_messages")
        page.goto(world.room)
        page.get_by_role("link", name="builder").first.click()
        page.get_by_label("End claim on src/login.py").click()
        expect(page.get_by_text("Nobody else wants it.")).to_be_visible()
        page.get_by_role("button", name="End claim").click()
        says(page, "The claim has ended, and its holder got a message")
        assert "I released your claim on src/login.py" in agent.call("get_messages")
        undo(page, "The claim is its holder's again")
        assert "is yours again" in agent.call("get_messages")
