"""Who comes with what is forged, used, late or revoked; and two persons at one message. Chromium judges."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from room_world import Client, World, looked_at, of_chromium
from satchel.base.clock import system_clock
from satchel.interfaces.web.guard import cookie_name
from satchel.interfaces.web.logins import LINK_MS, Logins

pytestmark = of_chromium
REFUSED = "Failed to load resource"
"""What the console says of an answer that is no success."""


@pytest.fixture(scope="module")
def asker(world: World) -> Client:
    return world.client("asker")


def entered(context: BrowserContext, link: str) -> Page:
    """Follow a link in a browser."""
    page = context.new_page()
    page.goto(link)
    return page


def test_a_link_leads_in_once(chromium: Browser, world: World) -> None:
    link = world.link()
    with chromium.new_context() as first, chromium.new_context() as second:
        entered(first, link).wait_for_url(world.room)
        expect(entered(second, link).get_by_role("alert")).to_contain_text("was used already")
        assert second.cookies() == []


def test_a_link_that_is_older_than_a_minute_leads_nowhere(chromium: Browser, world: World) -> None:
    then = Logins(Path(world.environment["XDG_STATE_HOME"]) / "satchel", lambda: system_clock() - LINK_MS)
    port = urlsplit(world.url).port or 0
    with chromium.new_context() as context:
        page = entered(context, f"{world.url}/login?key={then.new_link('ann', port)}")
        expect(page.get_by_role("alert")).to_contain_text("has expired")
        assert context.cookies() == []


@pytest.mark.parametrize("cookie", ["0123456789." + "A" * 43, "x", "..%2f..%2fetc"])
def test_a_forged_cookie_leads_to_the_login(chromium: Browser, world: World, cookie: str) -> None:
    with chromium.new_context() as context:
        context.add_cookies([{"name": cookie_name(urlsplit(world.url).port or 0), "value": cookie, "url": world.url}])
        page = entered(context, world.room)
        expect(page).to_have_url(f"{world.url}/login")


@contextmanager
def another_server(page: str, host: str = "127.0.0.1", cookies: list[str | None] | None = None) -> Iterator[str]:
    """Serve one page at another port of this machine, by this name, keep the cookies; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if cookies is not None:
                cookies.append(self.headers["Cookie"])
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{host}:{server.server_port}/"
        server.shutdown()


HOSTILE = """<form action="{room}messages/{ref}/answer" method="post">
<input name="text" value="forged"><input name="answered_by"><input name="form_key" value="x"></form>
<script>fetch("{room}", {{ credentials: "include" }}).then(answer => answer.text()).catch(() => "nothing")
.then(text => {{ document.title = text; }});</script>"""


def test_a_program_at_another_port_of_this_machine_does_not_receive_the_login(chromium: Browser, world: World) -> None:
    cookies: list[str | None] = []
    with looked_at(chromium, world) as page, another_server("here", cookies=cookies) as address:
        assert page.context.cookies(world.url)
        other = page.context.new_page()
        other.goto(address)
        other.goto(address.replace("127.0.0.1", "localhost"))
        expect(other.get_by_text("here")).to_be_visible()
    assert cookies
    assert not any(cookies)


def test_a_page_of_another_port_can_neither_send_a_form_nor_read(
    chromium: Browser, world: World, asker: Client
) -> None:
    ref = asker.keep("send_message", message="Is this forged?", to="human")
    host = urlsplit(world.url).hostname or ""  # which makes it the same site
    hostile = HOSTILE.format(room=world.room, ref=ref)
    with looked_at(chromium, world) as page, another_server(hostile, host) as address:
        other = page.context.new_page()
        other.goto(address)
        expect(other).to_have_title("nothing")
        other.evaluate("document.forms[0].submit()")
        expect(other).to_have_url(f"{world.room}messages/{ref}/answer")
        expect(other.get_by_text("a page of another site")).to_be_visible()
    assert "forged" not in asker.call("get_messages", unread=True)


def test_the_key_of_another_login_is_refused(chromium: Browser, world: World, asker: Client) -> None:
    ref = asker.keep("send_message", message="Whose key is it?", to="human")
    with looked_at(chromium, world, REFUSED, person="ben") as ben, looked_at(chromium, world) as ann:
        key = ann.locator("input[name=form_key]").first.get_attribute("value")
        ben.goto(f"{world.room}items/{ref}")
        ben.eval_on_selector_all("input[name=form_key]", "(all, key) => all.forEach(one => { one.value = key; })", key)
        ben.get_by_label("Reply to").fill("With the key of Ann")
        ben.get_by_role("button", name="Send").click()
        expect(ben.get_by_text("did not come from a page of this login")).to_be_visible()
    assert "key of Ann" not in asker.call("get_messages", unread=True)


def test_a_page_that_is_open_says_that_its_login_was_revoked(chromium: Browser, world: World, asker: Client) -> None:
    with looked_at(chromium, world, REFUSED, person="eve") as page:
        logins = json.loads(world.run("open", "--list", "--json"))["logins"]
        (own,) = [one["id"] for one in logins if one["person"] == "eve"]
        world.run("open", "--revoke", own)
        asker.call("send_message", message="Eve does not read this", to="human")
        expect(page.locator("#live")).to_contain_text("Logged out")
        expect(page.get_by_text("Eve does not read this")).to_have_count(0)
        page.reload()
        expect(page).to_have_url(f"{world.url}/login")


def test_of_two_persons_at_one_message_the_second_is_told_of_the_first(
    chromium: Browser, world: World, asker: Client
) -> None:
    ref = asker.keep("send_message", message="Which port?", to="human")
    with looked_at(chromium, world, REFUSED, person="ben") as ben, looked_at(chromium, world) as ann:
        for page, text in ((ann, "7347"), (ben, "80")):
            page.goto(f"{world.room}items/{ref}")
            page.get_by_label("Reply to").fill(text)
        ann.get_by_role("button", name="Send").click()
        expect(ann.get_by_text("Your answer was sent")).to_be_visible()
        ben.get_by_role("button", name="Send").click()
        expect(ben.get_by_role("heading", name="was answered in the meantime")).to_be_visible()
        expect(ben.get_by_text("7347")).to_be_visible()
        expect(ben.get_by_label("Text")).to_have_value("80")
        told = asker.call("get_messages", unread=True)
        assert "7347" in told
        assert "human:ben" not in told
        ben.get_by_role("button", name="Send").click()
        expect(ben.get_by_text("Your answer was sent")).to_be_visible()
    assert "human:ben" in asker.call("get_messages", unread=True)
