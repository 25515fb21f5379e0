"""The control room in Chromium, which only judges: a real server, a real agent's `satchel mcp`, and a person."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.referee,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: .ci/packages names it"),
]
SOON_MS = 10_000


class Agent:
    """An agent at work: a process of `satchel mcp`."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        command = [sys.executable, "-m", "satchel", "mcp", "--toolsets", "all"]
        self._process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._number = 0
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "probe", "version": "1"}}
        self.ask("initialize", hello)

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request, and return its result."""
        self._number += 1
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}) + "\n")
        stdin.flush()
        answer: dict[str, Any] = json.loads(stdout.readline())
        result: dict[str, Any] = answer["result"]
        return result

    def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool, and return its text."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result
        return str(result["content"][0]["text"])

    def end(self) -> None:
        """Let its client end."""
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()


class World:
    """A project, its server and its agents."""

    def __init__(self, folder: Path, environment: dict[str, str], url: str) -> None:
        self.folder, self.environment, self.url = folder, environment, url

    def link(self) -> str:
        """Return what `satchel open` prints."""
        command = [sys.executable, "-m", "satchel", "open", "--print", "--as", "ann"]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=True, timeout=60
        )
        return done.stdout.strip()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A server of its own process, in a project."""
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    own = {name: value for name, value in os.environ.items() if not name.startswith("SATCHEL_")}
    environment = own | {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    satchel = [sys.executable, "-m", "satchel"]
    subprocess.run([*satchel, "init"], cwd=folder, env=environment, check=True, capture_output=True, timeout=60)
    serve = [*satchel, "serve", "--port", "0", "--json"]
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(serve, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=log, text=True) as server,
    ):
        assert server.stdout is not None
        yield World(folder, environment, json.loads(server.stdout.readline())["url"])
        server.terminate()


@pytest.fixture
def agent(world: World) -> Iterator[Agent]:
    one = Agent(world.folder, world.environment)
    yield one
    one.end()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def looked_at(chromium: Browser, world: World, **kind: Any) -> Iterator[Page]:
    """Yield a page of the project, logged in; afterwards nothing may have been said or asked elsewhere."""
    context = chromium.new_context(**kind)
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.add_init_script(
        "document.addEventListener('securitypolicyviolation', (e) => console.error('CSP ' + e.violatedDirective))"
    )
    page.goto(world.link())
    page.wait_for_url(f"{world.url}/")
    page.get_by_role("link", name="project").first.click()
    expect(page.locator("#live")).to_have_text("live", timeout=SOON_MS)
    yield page
    context.close()
    assert said == []
    assert {url.split("/")[2] for url in asked if not url.startswith("data:")} == {world.url.removeprefix("http://")}


KINDS: dict[str, dict[str, Any]] = {
    "wide": {"viewport": {"width": 1440, "height": 900}},
    "phone": {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True},
    "dark": {"color_scheme": "dark"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_agent_asks_and_reads_the_answer_of_a_person(
    chromium: Browser, world: World, agent: Agent, kind: str
) -> None:
    agent.call("write_context", type="discovery", content="I began", agent="builder")
    with looked_at(chromium, world, **KINDS[kind]) as page:
        expect(page.get_by_role("heading", name="Who is where")).to_be_visible()
        agent.call("send_message", message="May I <b>drop</b> the table?", to="human", agent="builder")
        expect(page.get_by_text("May I <b>drop</b> the table?")).to_be_visible(timeout=SOON_MS)
        expect(page).to_have_title("(1) project – Satchel")
        assert str(page.locator("link[rel=icon]").get_attribute("href")).startswith("data:image/svg+xml,")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.get_by_label("Answer to").fill("No, keep it")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_text("Your answer was sent")).to_be_visible()
        expect(page).to_have_title("project – Satchel")
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (dark == "rgb(21, 25, 26)") == (kind == "dark")
    told = agent.call("get_messages", agent="builder")
    assert "No, keep it" in told
    assert "human:ann" in told


def test_what_is_being_written_stays_when_something_new_comes(chromium: Browser, world: World, agent: Agent) -> None:
    agent.call("send_message", message="The first?", to="human", agent="builder")
    with looked_at(chromium, world) as page:
        page.get_by_label("Answer to").fill("I am thinking")
        agent.call("send_message", message="The second?", to="human", agent="builder")
        expect(page.get_by_text("The second?")).to_be_visible(timeout=SOON_MS)
        expect(page.get_by_label("Answer to").last).to_have_value("I am thinking")


def test_the_keyboard_alone_leads_everywhere(chromium: Browser, world: World, agent: Agent) -> None:
    agent.call("send_message", message="Are you there?", to="human", agent="builder")
    with looked_at(chromium, world) as page:
        focused: Callable[[], str] = lambda: str(page.evaluate("document.activeElement.id"))  # noqa: E731
        page.keyboard.press("1")
        assert focused() == "needs-title"
        page.keyboard.press("3")
        assert focused() == "where-title"
        page.keyboard.press("1")
        page.keyboard.press("j")
        assert focused().startswith("need-m")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        assert focused() == "q"
        page.keyboard.type("there")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Everything")).to_be_visible()
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page.locator("pre")).to_have_text("Are you there?")
