"""``satchel who --line``: one line for a prompt or a status bar, which asks for it all the time."""

from __future__ import annotations

import _thread
import os
import time

TYPE_CHECKING = False  # importing typing takes 4 ms
if TYPE_CHECKING:
    from collections.abc import Mapping

    from satchel.brief.at_work import AtWork
    from satchel.client import Satchel

SECONDS = 0.4


def run(environ: Mapping[str, str]) -> int:
    """Print the line for the current folder; nothing if no one is at work, or on any error."""
    _thread.start_new_thread(_end_late, ())
    try:
        counts = _count(environ)
        line = "" if counts is None else line_text(counts)
        if line:
            os.write(1, f"{line}\n".encode())
    except Exception as error:  # noqa: BLE001 -- a prompt has no place for it; `satchel who` says what is wrong
        if getattr(error, "code", "") == "store_missing":
            os.write(1, b"satchel: store_missing, see `satchel doctor`\n")
    return 0


def line_text(counts: AtWork) -> str:
    """Return the line, as in ``3 at work, 1 stuck, 2 unread``: a count of 0 is left out."""
    counts_by_word = ((counts.sessions, "at work"), (counts.stuck, "stuck"), (counts.unread, "unread"))
    return ", ".join(f"{number} {what}" for number, what in counts_by_word if number)


def _count(environ: Mapping[str, str]) -> AtWork | None:
    from satchel.brief.at_work import count
    from satchel.remote.where import may_have_server
    from satchel.store.glance import NeedsFullOpen, glance

    agent, session = environ.get("SATCHEL_AGENT"), environ.get("SATCHEL_SESSION")
    try:
        if may_have_server(environ):
            raise NeedsFullOpen
        now = time.time_ns() // 1_000_000
        glimpse = glance(os.getcwd(), environ)  # noqa: PTH109 -- importing pathlib takes 3 ms
        return (
            None if glimpse is None else count(glimpse, glimpse.project, agent, session, now, lambda: _person(environ))
        )
    except (NeedsFullOpen, OverflowError):  # the clock may be after 2262
        from satchel.remote.where import open_anywhere

        settings = {"store.lock_wait_ms": 0}
        with open_anywhere(read_only=True, environ=environ, settings=settings, migrates=False) as satchel:
            if satchel.remote is not None:
                counts: AtWork = satchel.remote.call("line_counted")
                return counts
            return counted(satchel)


def _person(environ: Mapping[str, str]) -> str:
    from satchel.keep.names import local_person

    return local_person(environ)


def counted(satchel: Satchel) -> AtWork:
    """Count sessions at work and unread messages in an opened store's project."""
    from satchel.brief.at_work import count
    from satchel.keep import projects

    work = satchel.workplace
    with projects.reading(work) as (transaction, project):
        environ = satchel.environ if work.caller is None else work.caller.environ
        return count(transaction, project.id, work.agent, environ.get("SATCHEL_SESSION"), work.clock(), work.person)


def show(counts: AtWork) -> None:
    import click

    line = line_text(counts)
    if line:
        click.echo(line)


def _end_late() -> None:
    time.sleep(SECONDS)
    os._exit(0)
