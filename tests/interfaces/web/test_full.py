"""A project with more to show than fits: its page stays small, and counts what it leaves out."""

from __future__ import annotations

import re
from pathlib import Path

from http_serving import FixedTokens, served
from room_browsing import Browser
from satchel import open_satchel
from satchel.interfaces.web.logins import Logins
from satchel.keep.sessions.caller import Caller

LONG = "What is asked here takes a whole paragraph, with <b>markup</b> and many words. " * 20
SESSIONS, MESSAGES, CHANGES, CLAIMS = 50, 60, 60, 5
MOST_BYTES = 120_000


def test_a_full_page_has_less_than_120_kb_with_all_that_it_loads(tmp_path: Path, logins: Logins) -> None:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    with open_satchel(cwd=folder, environ={}) as satchel:
        for number in range(MESSAGES):
            satchel.messages.send(f"{number}: {LONG}", to="human", agent=f"agent-{number % 7}")
        for number in range(CHANGES):
            satchel.decisions.set(f"key {number}", LONG, agent="first")
            satchel.decisions.set(f"key {number}", f"{number} {LONG}", agent="second")
            satchel.constraints.add(f"Rule {number}: {LONG}", agent="first")
        store = satchel.place.file
    for number in range(SESSIONS):
        caller = Caller.of_request("t", f"session-{number}")
        with open_satchel(store, project="project", caller=caller, environ={}) as session:
            paths = [f"src/package_{number}/module_{place}.py" for place in range(CLAIMS)]
            session.files.claim(paths, agent=f"worker-{number}", reason=LONG[:200])
            pad = {"done": False, "next_step": LONG[:900], "blockers": [LONG[:900], LONG[:400]], "attempted": ["a try"]}
            session.entries.write("scratchpad", pad, agent=f"worker-{number}", task_id=f"T{number}")
    with served(FixedTokens(store), logins=logins) as running:
        browser = Browser.of(running, logins)
        page = browser.get("/p/project/").body
        loaded = set(re.findall(r'(?:src|href)="(/static/[^"]+)"', page.decode()))
        size = len(page) + sum(len(browser.get(path).body) for path in loaded)
        assert len(loaded) == 3
        assert size < MOST_BYTES, f"{size:,} bytes"
        assert b"more follow once these are done" in page
        assert b"38 more agents" in page
