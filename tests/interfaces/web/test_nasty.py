"""Whatever agents store in any field, Chromium shows it as text, on pages that are no wider than the screen."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, expect

from room_world import PHONE, WIDE, World, every_page, fits, looked_at, of_chromium

pytestmark = of_chromium

MARKUP = "<img src=x onerror=alert(1)>\"'></textarea></pre></title><script>alert(2)</script>"
CASES = {
    MARKUP: f"{MARKUP}{{{{7*7}}}}{{% raw %}}&lt;b&gt;",
    '"><svg/onload=alert(3)>': "a\u202egnp.exe\u2066b\u200f\u200bc \x1b[31mred\x07",
    "w" * 180: "w" * 5_000,
    "\u05d0\u05d1\u05d2" * 30: "<b>long</b>" * 22_000,
}
"""Names, which hold no invisible characters, and a text for each; the last has 250 KB."""


def fill(world: World) -> None:
    """Put every name and text into every field that takes it."""
    for branch, (name, text) in zip(
        (MARKUP[1:4], '"><svg/onload=alert(3)>', "w" * 100, "ab"), CASES.items(), strict=True
    ):
        client = world.client(name, world.worktree(branch))
        part = text[:60_000]
        place = {"task_id": name, "loop_id": name}
        pad = {"done": False, "next_step": part, "attempted": [part], "blockers": [part], "test_status": "failing"}
        for number in range(3):
            client.call("write_context", type="scratchpad", content=pad | {"iteration": number}, **place)
        client.call("write_context", type="discovery", content=text, file=name, **place)
        client.call("write_context", type="error", content=text)
        client.call("write_context", type="review_verdict", content={"passed": False, "summary": text}, **place)
        client.call("write_context", type="review_issue", content={"description": part, "suggestion": part})
        told = {"rationale": text, "tags": [name], "scopes": [name], "version": name[:20]}
        client.call("set_decision", key=name, value="one", **told)
        client.call("set_decision", key=name, value=text, agent=f"{name}2", **told)
        client.call("set_decision", key=f"{name}2", value=text, status="draft")
        client.call("add_constraint", text=text, category=name, tags=[name], priority="critical")
        client.call("send_message", message=text, to="human", payload={name: [part]}, type="request")
        client.call("send_message", message=text, to=name, agent=f"{name}2")
        client.call("claim_files", paths=[f"issue:{name}", f"src/{name.replace('/', '')}"], reason=text[:300])
        client.call("record_file_change", file=f"lib/{name}", change="modified", description=text)
        for agent in (name, f"{name}2"):
            client.call("report_error", error_type=name, message=text, stack=text, hints=[part], lang=name, agent=agent)
        client.call("report_error", error_type=f"{name}2", message=text, solution=text)
        client.call("save_package", summary=text[:200], content=text, consumers=[name], task_id=name)
        client.call("save_strategy", topic=name, insight=text[:500], lang=name, framework=name)
        client.call("start_run", run_id=name)


def is_text(page: Page) -> bool:
    """Whether nothing that was stored has become an element."""
    return not page.evaluate(
        "[...document.querySelectorAll('img, script:not([src]), svg[onload], [onerror], body b b, iframe')].length"
    )


def test_every_page_shows_what_is_nasty_as_text(chromium: Browser, world: World) -> None:
    fill(world)
    found: dict[str, list[bool]] = {}
    with looked_at(chromium, world) as page:
        for what in every_page(page, world.room):
            found[what] = [is_text(page)]
            for kind in (WIDE, PHONE):
                page.set_viewport_size(kind["viewport"])
                found[what].append(fits(page))
            page.keyboard.press("/")
            expect(page.locator("#q")).to_be_focused()
        page.goto(f"{world.room}search?q={MARKUP[:20]}")
        found["search for it"] = [is_text(page), fits(page)]
    assert {what: seen for what, seen in found.items() if not all(seen)} == {}
