"""A project for the control room in Chromium: its server, clients with agents and hooks, and what a person looks at.

Everything is a process of its own: ``satchel serve``, and for each client one that starts its ``satchel mcp`` and its
hooks, as Claude Code does.
"""

from __future__ import annotations

import getpass
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect, sync_playwright
from starlette.routing import compile_path

from http_serving import databases_of
from repositories import commit_all, git, make_repository
from satchel.interfaces.web.opening import room_host
from satchel.interfaces.web.pages import PAGES
from satchel.store.postgres import Address

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SOON_MS = 60_000
expect.set_options(timeout=SOON_MS)

of_chromium = [
    pytest.mark.referee,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: .ci/packages names it"),
]
"""The marks of tests that a browser judges."""

WIDE: dict[str, Any] = {"viewport": {"width": 1440, "height": 900}}
PHONE: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
DARK: dict[str, Any] = {"color_scheme": "dark"}

_CLIENT = """
import json, subprocess, sys
satchel = [sys.executable, "-m", "satchel"]
piped = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
with subprocess.Popen([*satchel, "mcp", "--toolsets", "all"], **piped) as server:
    for line in sys.stdin.buffer:
        said = json.loads(line)
        if "hook" in said:
            command = [*satchel, "hook", "claude", said["hook"]]
            answer = subprocess.run(command, input=json.dumps(said["event"]).encode(), stdout=subprocess.PIPE).stdout
        else:
            server.stdin.write(line)
            server.stdin.flush()
            answer = server.stdout.readline()
        sys.stdout.buffer.write((answer.strip() or b"{}") + b"\\n")
        sys.stdout.buffer.flush()
    server.stdin.close()
"""


class Client:
    """A client at work in a folder: the process that starts a server of MCP and hooks.

    Args:
        folder: the worktree that it works in.
        environment: what it has from the person who started it.
        agent: the name of its agent, which is also the id of its conversation.
    """

    def __init__(self, folder: Path, environment: dict[str, str], agent: str) -> None:
        self.folder, self.agent = folder, agent
        self._number = 0
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CLIENT],
            cwd=folder,
            env=environment | {"CLAUDE_CODE_SESSION_ID": agent, "SATCHEL_AGENT": agent},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        hello = {"name": "claude-code", "version": "2.1.330"}
        self._ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": hello})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool, and return its text."""
        result = self._ask("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result["content"][0]["text"][:500]
        return str(result["content"][0]["text"])

    def keep(self, tool: str, **arguments: Any) -> str:
        """Call a tool that writes, and return the short id of what it wrote."""
        found = re.search(r"\b[a-z]\d+\b", self.call(tool, **arguments))
        assert found is not None
        return found[0]

    def call_in_vain(self, tool: str, **arguments: Any) -> str:
        """Call a tool that refuses, and return why."""
        result = self._ask("tools/call", {"name": tool, "arguments": arguments})
        assert result.get("isError"), result
        return str(result["content"][0]["text"])

    def hook(self, event: str, **fields: Any) -> str:
        """Run a hook, and return what it puts into the window."""
        told = {"session_id": self.agent, "cwd": str(self.folder), "hook_event_name": event, **fields}
        answer = self._say({"hook": event, "event": told})
        return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))

    def edit(self, file: str) -> str:
        """Edit a file with a tool of the client, its hooks around that; return what they put into the window."""
        tool = {"tool_name": "Edit", "tool_use_id": f"t{file}", "tool_input": {"file_path": str(self.folder / file)}}
        before = self.hook("PreToolUse", **tool)
        target = self.folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"by {self.agent}\n")
        return before + self.hook("PostToolUse", **tool, tool_response={"filePath": str(target)})

    def end(self) -> None:
        """Let it end, and its server."""
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        answer = self._say({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        result: dict[str, Any] = answer["result"]
        return result

    def _say(self, said: dict[str, Any]) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(said) + "\n")
        stdin.flush()
        answer: dict[str, Any] = json.loads(stdout.readline())
        return answer


class World:
    """A project, its server and its clients."""

    def __init__(self, folder: Path, environment: dict[str, str], url: str) -> None:
        self.folder, self.environment, self.url = folder, environment, url
        self.clients = ExitStack()

    @property
    def room(self) -> str:
        """The address of the project's page."""
        return f"{self.url}/p/{self.folder.name}/"

    def client(self, agent: str, folder: Path | None = None) -> Client:
        """Start a client, which ends with the world; its conversation begins."""
        client = self.clients.enter_context(Client(folder or self.folder, self.environment, agent))
        client.hook("SessionStart", source="startup")
        return client

    def worktree(self, branch: str) -> Path:
        """Make a worktree of the project with a branch of its own, and the same name."""
        folder = self.folder.parent / branch.replace("/", "∕")
        git(self.folder, "worktree", "add", "--quiet", "-b", branch, str(folder))
        return folder

    def run(self, *arguments: str) -> str:
        """Run a command of Satchel's in a plain terminal, and return what it prints."""
        done = subprocess.run(
            [sys.executable, "-m", "satchel", *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
        return done.stdout.strip()

    def link(self, person: str = "ann") -> str:
        """Return what `satchel open` prints."""
        return self.run("open", "--print", "--as", person)


@contextmanager
def a_world(folder: Path, name: str = "project", address: Address | None = None) -> Iterator[World]:
    """Yield a project that is served, in a folder that is empty.

    Args:
        folder: the folder.
        name: what the project is called.
        address: of the database that has its store, so that clients ask the server; None is a file in the project.
    """
    project = make_repository(folder / name)
    (project / "src").mkdir()
    (project / "src" / "parser.py").write_text("def parse(): ...\n")
    commit_all(project)
    own = {key: value for key, value in os.environ.items() if not re.match("SATCHEL_|CLAUDE", key)}
    environment = own | {
        "HOME": str(folder),
        "SATCHEL_PERSON": getpass.getuser(),
        "XDG_STATE_HOME": str(folder / "state"),
        "SATCHEL_HOOKS_DEADLINE_MS": "60000",
    }
    satchel = [sys.executable, "-m", "satchel"]

    def run(*arguments: str) -> str:
        command = [*satchel, *arguments]
        done = subprocess.run(
            command, cwd=project, env=environment, check=True, capture_output=True, text=True, timeout=300
        )
        return done.stdout.strip()

    serve = [*satchel, "serve", "--port", "0", "--json"]
    token = None
    if address is None:
        run("init")
    else:
        file = databases_of(address, folder)
        run("init", "--db", address.label, "--project", name)
        token = run("token", "new", "clients", "--database", "team", "--project", name, "--config", str(file))
        serve += ["--config", str(file)]
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(serve, cwd=project, env=environment, stdout=subprocess.PIPE, stderr=log, text=True) as server,
    ):
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        asked = {} if token is None else {"SATCHEL_URL": url, "SATCHEL_TOKEN": token}
        room = f"http://{room_host(folder / 'state' / 'satchel')}:{urlsplit(url).port}"
        world = World(project, environment | asked, room)
        with world.clients:
            yield world
        server.terminate()


@contextmanager
def a_chromium() -> Iterator[Browser]:
    """Yield a Chromium without a screen."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Watch:
    """What a page has said to its console, the dialogs that it opened, and what it asked for."""

    def __init__(self, page: Page) -> None:
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", self._dismiss)
        page.on("request", lambda request: self.asked.append(request.url))
        page.add_init_script(
            "document.addEventListener('securitypolicyviolation', (e) => console.error('CSP ' + e.violatedDirective))"
        )

    def _dismiss(self, dialog: Dialog) -> None:
        self.said.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def check(self, url: str, *expected: str) -> None:
        """Check that nothing was said but what is expected, and nobody asked but the server at a URL."""
        assert [text for text in self.said if not any(one in text for one in expected)] == []
        hosts = {one.split("/")[2] for one in self.asked if not one.startswith("data:")}
        assert hosts <= {url.removeprefix("http://")}


@contextmanager
def looked_at(chromium: Browser, world: World, *expected: str, person: str = "ann", **kind: Any) -> Iterator[Page]:
    """Yield the page of the project, logged in; afterwards nothing may have been said or asked elsewhere.

    Args:
        chromium: the browser.
        world: the project.
        expected: what the console may say all the same: of an answer that is no success it does.
        person: who looks.
        kind: the options of the browser's context.
    """
    context = chromium.new_context(**kind)
    context.set_default_timeout(SOON_MS)
    page = context.new_page()
    watch = Watch(page)
    page.goto(world.link(person))
    page.wait_for_url(world.room)
    expect(page.locator("#live")).to_have_text("Live")
    yield page
    context.close()
    watch.check(world.url, *expected)


def fill(world: World) -> None:
    """Let three agents work in two worktrees until each kind of need is there, each kind of change, and a collision."""
    parser, tests = world.client("parser"), world.client("tests")
    release = world.client("release", world.worktree("release-2"))
    parser.call("add_constraint", text="Dates are kept in UTC", priority="critical")
    parser.hook("UserPromptSubmit", prompt="Let the parser of dates read week numbers too")
    for number, attempt in enumerate(("write the grammar anew", "count weeks from Sunday", "mock the calendar"), 1):
        pad = {"done": False, "iteration": number, "test_status": "failing", "attempted": [attempt]}
        parser.call("write_context", type="scratchpad", content=pad, task_id="week-numbers", loop_id="weeks")
    blocked = {"done": False, "next_step": "push the tag", "blockers": ["no password for the registry"]}
    release.call("write_context", type="scratchpad", content=blocked, task_id="release")
    release.call("send_message", message="Shall the release wait for the parser?", to="human", type="request")
    parser.call("claim_files", paths=["src/parser.py"], reason="week numbers")
    parser.edit("src/parser.py")
    tests.call_in_vain("claim_files", paths=["src/parser.py"])
    release.edit("src/parser.py")
    parser.call("set_decision", key="first_weekday", value="Monday")
    tests.call("set_decision", key="first_weekday", value="Sunday", rationale="as the calendar of the user")
    tests.call("set_decision", key="drop_python_3_10", value="yes", status="draft")
    verdict = {"passed": False, "summary": "no test of a leap year"}
    tests.call("write_context", type="review_verdict", content=verdict, task_id="week-numbers")
    for client in (parser, tests):
        client.call("report_error", error_type="KeyError", message="'week' in parser.py")
    tests.call(
        "report_error", error_type="LocaleError", message="unsupported locale", solution="install the package locales"
    )
    tests.call("save_package", summary="How calendars count weeks", content="ISO 8601 counts from the first Thursday")
    tests.call("save_strategy", topic="dates", insight="Compare with the calendar of the standard library")
    tests.call("start_run", run_id="nightly")
    wrong = tests.keep("write_context", type="discovery", content="The calendar has 52 weeks in every year")
    tests.call("review_item", id=wrong, verdict="retract", evidence="2026 has 53")
    world.run("run", "start", "cleanup")


def every_page(page: Page, room: str) -> Iterator[str]:
    """Follow the links and searches of a project; of each kind of page, and of item, yield the name of one.

    Args:
        page: stands on what is yielded, and has to be left there.
        room: the address of the project's first page.

    Raises:
        AssertionError: no link leads to one of the paths of ``PAGES``.
    """
    project = urlsplit(room).path.rstrip("/")
    routes = {path: compile_path(path)[0] for path in PAGES}
    waiting, met = {"/": room}, set[str]()
    while waiting:
        what, address = waiting.popitem()
        met.add(what)
        page.goto(address)
        yield what
        for link in page.eval_on_selector_all(
            "a[href]:not(svg a, [href*='.json']), form[method=get]", "all => all.map(one => one.href || one.action)"
        ):
            path = urlsplit(link).path
            for route, pattern in routes.items() if path.startswith(f"{project}/") else ():
                found = pattern.fullmatch(path.removeprefix(project))
                if found is not None:
                    kind = found["ref"][0] if route == "/items/{ref}" else ""
                    waiting |= {one: link for one in [f"{route} {kind}".strip()] if one not in met}
                    break
    missed = set(PAGES) - {what.split()[0] for what in met}
    assert missed == set(), missed


def fits(page: Page) -> bool:
    """Whether a page is no wider than the screen."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))
