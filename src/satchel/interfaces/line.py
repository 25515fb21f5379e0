"""``satchel who --line``: one line for a prompt or a status bar, which asks for it all the time."""

from __future__ import annotations

import _thread
import os
import time

TYPE_CHECKING = False  # importing typing takes 4 ms
if TYPE_CHECKING:
    from collections.abc import Mapping

    from satchel.brief.at_work import AtWork

SECONDS = 0.4
"""So long it takes at most; then there is no line."""


def run(environ: Mapping[str, str] = os.environ) -> int:
    """Print the line for the current folder; nothing where nothing goes on, and whatever goes wrong.

    Returns:
        0.
    """
    _thread.start_new_thread(_end_late, ())
    try:
        counted = _count(environ)
        line = "" if counted is None else line_text(counted)
        if line:
            os.write(1, f"{line}\n".encode())
    except Exception:  # noqa: BLE001 -- a prompt has no place for it; `satchel who` says what is wrong
        return 0
    return 0


def line_text(counted: AtWork) -> str:
    """Return the line, as in ``3 at work, 1 stuck, 2 unread``: what there is none of is left out."""
    counts = ((counted.sessions, "at work"), (counted.stuck, "stuck"), (counted.unread, "unread"))
    return ", ".join(f"{number} {what}" for number, what in counts if number)


def _count(environ: Mapping[str, str]) -> AtWork | None:
    from satchel.brief.at_work import count
    from satchel.store.glance import Unsettled, glance

    now = time.time_ns() // 1_000_000
    agent, session = environ.get("SATCHEL_AGENT"), environ.get("SATCHEL_SESSION")
    try:
        seen = glance(os.getcwd(), environ)  # noqa: PTH109 -- importing pathlib takes 3 ms
        return None if seen is None else count(seen, seen.project, agent, session, now)
    except Unsettled:
        from satchel.client import open_satchel
        from satchel.keep import projects

        settings = {"store.lock_wait_ms": 0}
        with open_satchel(read_only=True, environ=environ, settings=settings, migrates=False) as satchel:
            if not satchel.place.exists:
                return None
            with satchel.workplace.engine.read() as transaction:
                project = projects.find(transaction, satchel.workplace)
                return None if project is None else count(transaction, project.id, agent, session, now)


def _end_late() -> None:
    time.sleep(SECONDS)
    os._exit(0)
