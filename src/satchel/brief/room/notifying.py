"""The person's command that is started for a new need: an agent stuck, a question, a file wanted by two, a failed
review.
"""

from __future__ import annotations

import shlex
from contextlib import suppress
from weakref import WeakKeyDictionary

from satchel.base.clock import DAY_MS
from satchel.base.errors import SatchelError
from satchel.base.invisible import revealed
from satchel.brief.room import looking, needs
from satchel.brief.room.records import Need
from satchel.keep import events, following, projects
from satchel.keep.projects import Workplace
from satchel.store.engine import Engine

KINDS = frozenset({"stuck", "blocked", "message", "waiting", "refusal", "verdict"})

_MOST = 5
"""How many are told at once; the next call tells the others."""

_WAIT_MS = 250
_last_seen: WeakKeyDictionary[Engine, dict[int, str]] = WeakKeyDictionary()


def notify(work: Workplace) -> int:
    """Start the command for needs of the local person that it was not started for yet; return their number.

    The need is the last argument, in one line, and no shell reads it.
    """
    if work.notify_command is None or work.engine.read_only:
        return 0
    try:
        command = shlex.split(work.notify_command)
    except ValueError:
        return 0
    with work.engine.read() as transaction:
        project = projects.find(transaction, work)
        cursor = str(following.now(transaction, project))
        known = _last_seen.setdefault(work.engine, {})
        if not project.id or not command or known.get(project.id) == cursor:
            return 0
        now = work.clock()
        wanted = needs.find(looking.begin(transaction, project.id, work.person(), now)).items
    told = [one for one in wanted if one.kind in KINDS]
    fresh = _claim(work, project.id, told, now) if told else []
    if len(fresh) < _MOST:
        known[project.id] = cursor
    for need in fresh:
        _start([*command, _line(project.name, need)])
    return len(fresh)


def _claim(work: Workplace, project_id: int, wanted: list[Need], now: int) -> list[Need]:
    """Record needs as told; return those that nobody has recorded before."""
    with work.engine.write(_WAIT_MS) as transaction:
        transaction.run(
            "DELETE FROM notified WHERE project_id = :project AND created_at < :before",
            {"project": project_id, "before": now - events.KEPT_DAYS * DAY_MS},
        )
        fresh: list[Need] = []
        for need in wanted:
            if len(fresh) < _MOST and transaction.all(
                """
                INSERT INTO notified (project_id, need, created_at) VALUES (:project, :need, :now)
                ON CONFLICT (project_id, need) DO NOTHING RETURNING need
                """,
                {"project": project_id, "need": f"{need.key}/{need.began_at or 0}", "now": now},
            ):
                fresh.append(need)
    return fresh


def _line(project: str, need: Need) -> str:
    who = f"{need.agent}: " if need.agent else ""
    return f"Satchel, {revealed(' '.join(f'{project}: {need.kind}: {who}{need.text}'.split()))}"


def _start(command: list[str]) -> None:
    import subprocess

    with suppress(OSError):
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


def notify_quietly(work: Workplace) -> None:
    """Start the command as :func:`notify` does; a failure is left to the next call."""
    with suppress(SatchelError):
        notify(work)
