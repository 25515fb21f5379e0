"""Checks whether sessions are at work, separate so that callers that only count them load little."""

from __future__ import annotations

from satchel.base import processes
from satchel.base.processes import Process

TYPE_CHECKING = False  # importing typing is slow
if TYPE_CHECKING:
    from satchel.store.glance import Rows

GONE_MS = 30 * 60_000
"""How long a session is silent until it counts as gone, if it is not known whether its process runs."""

LISTED_DAYS = 14
"""Sessions not seen for longer are not listed."""

MAX_CHECKED = 100
"""Maximum number of sessions, last seen first, whose processes are checked."""


def local_process(machine: str | None, pid: int | None, started: int | None) -> Process | None:
    """Return a recorded process if it is one of this machine."""
    if pid is None or started is None or machine is None or machine != processes.machine():
        return None
    return Process(pid, started)


def is_abandoned(process: Process | None, seen_at: int, now: int) -> bool:
    """Return whether a session is over without having been ended; ``process`` None cannot be checked."""
    is_alive = None if process is None else processes.is_alive(process)
    return now - seen_at > GONE_MS if is_alive is None else not is_alive


def live_sessions(rows: Rows, project_id: int, now: int) -> list[int]:
    sessions = rows.all(
        f"""
        SELECT id, machine, process, process_started, seen_at FROM sessions
        WHERE project_id = :project AND seen_at > :since AND ended_at IS NULL ORDER BY seen_at DESC LIMIT {MAX_CHECKED}
        """,
        {"project": project_id, "since": now - LISTED_DAYS * 86_400_000},
    )
    return [
        number
        for number, machine, pid, started, seen_at in sessions
        if not is_abandoned(local_process(machine, pid, started), seen_at, now)
    ]
