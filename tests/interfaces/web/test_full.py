"""A project with more to show than fits: its page stays small, and counts what it leaves out."""

from __future__ import annotations

import re

from http_serving import Served
from room_browsing import Browser
from satchel.interfaces.web.logins import Logins

MOST_BYTES = 120_000


def test_a_full_page_has_less_than_120_kb_with_all_that_it_loads(full: Served, logins: Logins) -> None:
    browser = Browser.of(full, logins)
    page = browser.get("/p/project/").body
    loaded = set(re.findall(r'(?:src|href)="(/static/[^"]+)"', page.decode()))
    size = len(page) + sum(len(browser.get(path).body) for path in loaded)
    assert len(loaded) == 3
    assert size < MOST_BYTES, f"{size:,} bytes"
    assert b"more follow once these are done" in page
    assert b"38 more agents" in page
