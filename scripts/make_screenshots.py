"""Write docs/control-room*.webp: the pages of a small project in Chromium. A test makes them again.

python scripts/make_screenshots.py [FOLDER]

Agents of five sessions work in three worktrees through the services, by a clock that stands; a real server shows it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

from playwright.sync_api import Page, sync_playwright

from satchel import Conflict, Satchel, open_satchel
from satchel.base import processes
from satchel.base.clock import system_clock
from satchel.base.folders import state_folder
from satchel.base.records import NamedTuple
from satchel.brief.briefing.collecting import Deadline
from satchel.brief.moments import COMPACTION, START, Moment
from satchel.interfaces.http.server import Server, address_of, bind
from satchel.interfaces.http.serving import Serving
from satchel.interfaces.http.stores import Stores
from satchel.interfaces.http.tokens import Tokens
from satchel.interfaces.web.logins import Logins
from satchel.interfaces.web.pages import PAGES
from satchel.keep.sessions.caller import SERVER, Caller

DOCS = Path(__file__).parent.parent / "docs"
NAME, PERSON = "shop", "ann"
NOW = int(datetime(2026, 11, 24, 15, 42, tzinfo=UTC).timestamp() * 1_000)
MINUTE, HOUR = 60_000, 3_600_000
ROUTE = "retry_policy"
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


class Picture(NamedTuple):
    """One picture.

    Attributes:
        name: of its file, without ``.webp``.
        page: the path of its page, as in ``PAGES``.
        size: of the window.
        dark: whether in dark colours.
    """

    name: str
    page: str
    size: Mapping[str, int] = WIDE
    dark: bool = False


_ALL = (
    Picture("control-room", "/"),
    Picture("control-room-dark", "/", dark=True),
    Picture("control-room-phone", "/", PHONE),
    Picture("control-room-decision", "/items/{ref}"),
    Picture("control-room-memory", "/memory"),
    Picture("control-room-agent", "/agents/{session}"),
)
PICTURES = tuple(one for one in _ALL if one.page in PAGES)
"""The pictures that are made."""


class Clock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> int:
        return self.now

    def set(self, hours: float = 0, minutes: float = 0) -> None:
        """Set it to so long before the pictures are taken."""
        self.now = round(NOW - hours * HOUR - minutes * MINUTE)


class Project:
    """The project, as its agents and the person open it.

    Args:
        folder: an empty one.
        stack: closes what is opened.
    """

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.clock = Clock()
        self._stack = stack
        self.root = folder / NAME
        self.root.mkdir()
        self._git("init", "--quiet", "--initial-branch=main")
        self._git("commit", "--quiet", "--allow-empty", "--message=The shop")
        as_person = Caller.of_request(PERSON, None, is_of_person=True)
        self.person = self._open(self.root, agent=f"human:{PERSON}", caller=as_person)

    def agent(self, name: str, client: str, branch: str | None = None) -> Satchel:
        """Start the session of an agent, in a worktree of its own where a branch is given."""
        tree = self.root
        if branch is not None:
            tree = self.root.parent / branch
            self._git("worktree", "add", "--quiet", "-b", branch, str(tree))
        caller = Caller(SERVER, {})
        caller.set_client(client, None)
        return self._open(tree, agent=name, caller=caller)

    def _open(self, folder: Path, **options: Any) -> Satchel:
        settings = {"store.durability": "relaxed", "brief.deadline_ms": 60_000}
        return self._stack.enter_context(
            open_satchel(cwd=folder, environ={}, clock=self.clock, settings=settings, **options)
        )

    def _git(self, *arguments: str) -> None:
        # the same commit in every picture
        when = f"{NOW // 1_000 - 86_400} +0000"
        told = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when, "GIT_CONFIG_GLOBAL": os.devnull}
        identity = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")
        subprocess.run(["git", *identity, *arguments], cwd=self.root, env=os.environ | told, check=True)


def work(project: Project) -> None:
    """Let a day and a half go by."""
    at, person = project.clock.set, project.person
    at(hours=13 * 24)
    person.constraints.add("Amounts are whole cents, never floats", priority="critical")
    person.constraints.add("Every endpoint checks the tenant before it reads", priority="high", category="security")
    billing = project.agent("billing", "codex-mcp-client", "invoices")
    checkout = project.agent("checkout", "claude-code")
    for day in range(13, 1, -1):
        at(hours=24 * day - 3)
        for agent in (billing, checkout)[: 1 + day % 2]:
            put_in(agent, START if day % 3 else COMPACTION)
            agent.brief("developer", query="prices and tenants", again=day % 4 == 0)
    at(hours=30)
    person.decisions.set("currency", "EUR", rationale="All shops are in the euro area")
    billing.decisions.set(
        ROUTE,
        "Three attempts, 1 s apart.\nThen the order is marked as failed.\nNo attempt after a refusal by the bank.",
        layer="business",
        tags=["payments"],
        rationale="What the old shop did",
    )
    billing.entries.write("discovery", "The bank answers 202 and sends the result to /hooks/bank", file="src/bank.py")
    for hours in (29, 28.5, 27, 26.2):
        at(hours=hours)
        billing.brief("developer", query="invoices and retries")
        note = {"done": False, "iteration": 1, "next_step": "number invoices without gaps", "attempted": ["a sequence"]}
        billing.entries.write("scratchpad", note, task_id="invoices")
    at(hours=22)
    checkout.decisions.set(
        ROUTE,
        "Five attempts, 1, 2, 4, 8 and 16 s apart.\nThen the order is marked as failed and the customer told.\n"
        "No attempt after a refusal by the bank.",
        rationale="The bank throttles bursts: 40 of 2,000 test payments failed with three attempts",
    )
    checkout.decisions.set("payment_timeout_s", 10)
    at(hours=20)
    met = billing.patterns.report(
        "IntegrityError", "duplicate key value violates unique constraint invoices_number_key", lang="python"
    )
    fix = billing.patterns.solve(met.pattern.ref, "Take the number in the transaction that writes the invoice")
    person.room.see(person=f"human:{PERSON}")

    tests = project.agent("tests", "claude-code")
    handbook = project.agent("handbook", "gemini-cli-mcp-client", "handbook")
    for hours, agent, task in (
        (7.5, checkout, "guest-checkout"),
        (7, tests, "load-tests"),
        (6.8, checkout, "guest-checkout"),
        (5.5, handbook, "handbook"),
        (5.2, tests, "load-tests"),
        (4.5, checkout, "guest-checkout"),
        (4, handbook, "handbook"),
        (3.2, billing, "invoices"),
        (2.6, tests, "load-tests"),
        (2.2, billing, "invoices"),
    ):
        at(hours=hours)
        put_in(agent, START if task == "load-tests" else COMPACTION)
        agent.brief("developer", query=f"{task} and its tests")
        note = {"done": False, "next_step": "go on", "attempted": [f"the first part of {task}"]}
        agent.entries.write("scratchpad", note, task_id=task)
    at(hours=3)
    tests.patterns.outcome(fix.ref, True)
    wrong = tests.entries.write("discovery", "The bank's sandbox needs no signature", file="tests/bank_test.py")
    billing.decisions.set("invoice_numbers", "per shop and year, without gaps", layer="data", tags=["invoices"])
    at(hours=2)
    for file, done in (("src/invoices/number.py", "numbers in the transaction"), ("src/invoices/pdf.py", "totals")):
        billing.files.record(file, "modified", description=done)
    billing.corrections.retract(wrong.ref, "It does since version 4")
    at(hours=1.6)
    handbook.files.record("docs/refunds.md", "created", description="How a refund goes")
    tests.constraints.add("Load tests run against the sandbox alone", priority="medium")
    tests.patterns.report(
        "TimeoutError", "no answer of sandbox.bank within 30 s", solution="Start the stub of the bank"
    )

    for minutes, attempt in ((51, "keep the cart in the session"), (38, "a cookie with the cart"), (24, "sign it")):
        at(minutes=minutes)
        pad = {"done": False, "iteration": round(60 / minutes), "test_status": "failing", "attempted": [attempt]}
        checkout.entries.write("scratchpad", pad | {"next_step": "merge carts at login"}, task_id="guest-checkout")
    at(minutes=22)
    checkout.files.claim(["src/cart.py", "src/session.py"], minutes=60, reason="carts of guests")
    at(minutes=18)
    pad = {"done": False, "next_step": "send the first invoice", "blockers": ["no key for the bank's sandbox"]}
    billing.entries.write("scratchpad", pad, task_id="invoices")
    billing.files.claim(["src/invoices/"], minutes=45, reason="numbers without gaps")
    at(minutes=15)
    billing.decisions.set("payment_timeout_s", 30, rationale="The bank takes up to 25 s at night")
    verdict = {"passed": False, "summary": "refunds of guests are not tested", "intent_satisfied": False}
    tests.entries.write("review_verdict", verdict, task_id="guest-checkout")
    at(minutes=12)
    for agent in (tests, checkout):
        agent.patterns.report("KeyError", "'tenant' in src/session.py", lang="python")
    at(minutes=9)
    with suppress(Conflict):
        tests.files.claim(["src/cart.py"], reason="a fixture for guests")
    at(minutes=6)
    handbook.files.claim(["src/session.py"], minutes=20, reason="its docstrings")
    handbook.entries.write("scratchpad", {"done": False, "next_step": "the chapter on refunds"}, task_id="handbook")
    at(minutes=4)
    tests.messages.send("May the load test use 2,000 orders a minute tonight?", to="human", type="request")
    at(minutes=2)
    handbook.decisions.set("refund_window_days", 30, status="draft", rationale="As the law says")
    at()


def put_in(agent: Satchel, moment: Moment) -> None:
    """Brief an agent as its client's hook does."""
    agent.moments.record(moment, agent.moments.make(moment, Deadline(60_000)))


@contextmanager
def served(project: Project) -> Iterator[tuple[str, Logins]]:
    """Serve a project; yield the address and who knows the logins."""
    logins = Logins(state_folder(), system_clock)
    tokens = Tokens(state_folder(), system_clock)
    serving = Serving(tokens, Stores({}), logins=logins, own_stores=[project.person.place.file])
    listener, is_ready = bind("127.0.0.1", 0), threading.Event()
    server = Server(serving, is_ready.set)
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        is_ready.wait(30)
        yield address_of(listener), logins
    finally:
        server.should_exit = True
        thread.join(30)


def take(page: Page, project: Project, url: str, picture: Picture, target: Path) -> None:
    """Take one picture."""
    ref = project.person.decisions.get(ROUTE).decision.ref
    page.set_viewport_size({"width": picture.size["width"], "height": picture.size["height"]})
    page.emulate_media(color_scheme="dark" if picture.dark else "light", reduced_motion="reduce")
    stuck = next(one for one in project.person.room.where().team.sessions if one.state.name == "stuck")
    path = picture.page.replace("{ref}", ref).replace("{session}", stuck.uid)
    page.goto(f"{url}/p/{NAME}{path}")
    if picture.page == "/":
        page.locator("#live[data-state=live]").wait_for(state="attached")
    # as PNG the pictures are thrice as large, and Playwright itself makes no WebP
    chromium = page.context.new_cdp_session(page)
    taken = chromium.send("Page.captureScreenshot", {"format": "webp", "quality": 92})
    (target / f"{picture.name}.webp").write_bytes(b64decode(taken["data"]))


def make(target: Path) -> list[Path]:
    """Write all pictures into a folder, and return their files."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory())).resolve()
        stack.enter_context(patch.dict(os.environ, {"HOME": str(home), "XDG_STATE_HOME": str(home / "state")}))
        # all sessions of this process would be of one client
        stack.enter_context(patch.object(processes, "find_client", lambda *_: None))
        stack.enter_context(patch.object(processes, "own", lambda: None))
        project = Project(home, stack)
        work(project)
        # the server shows its store by the clock that stands
        stack.enter_context(patch.object(Stores, "opened", lambda *_, **__: project.person))
        url, logins = stack.enter_context(served(project))
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-lcd-text"])
        stack.callback(browser.close)
        page = browser.new_page(timezone_id="UTC", locale="en-GB")
        page.clock.set_fixed_time(datetime.fromtimestamp(NOW / 1_000, UTC))
        page.goto(f"{url}/login?key={logins.new_link(PERSON, int(url.rpartition(':')[2]))}")
        page.wait_for_url(f"{url}/p/*/")
        for picture in PICTURES:
            take(page, project, url, picture, target)
    return [target / f"{one.name}.webp" for one in PICTURES]


if __name__ == "__main__":
    for file in make(Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS):
        sys.stdout.write(f"{file} {file.stat().st_size}\n")
