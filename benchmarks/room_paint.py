"""When Chromium first paints a page of the control room; it only judges, and is left out where it is missing."""

from __future__ import annotations

import shutil
from collections.abc import Callable

from benchmarks.harness import Samples

_PAINTED = "performance.getEntriesByType('paint').find((one) => one.name === 'first-paint')?.startTime ?? null"


def first_paint(url: str, new_link: Callable[[], str], path: str, rounds: int) -> Samples | None:
    """Return when a page was first painted, each time in a browser that has loaded nothing of it; None without one.

    Args:
        url: the server.
        new_link: returns the path of a link that logs in.
        path: of the page.
    """
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if chromium is None:
        return None
    taken = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(rounds):
            context = browser.new_context()
            page = context.new_page()
            page.goto(url + new_link())
            page.wait_for_url(f"{url}/p/*/")
            page.goto(url + path)
            # the policy of the page forbids what waits for an expression
            while (at := page.evaluate(_PAINTED)) is None:
                page.wait_for_timeout(10)
            taken.append(float(at))
            context.close()
        browser.close()
    return Samples(tuple(taken))
