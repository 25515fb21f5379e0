"""Notification outside the page: the command of `notify.command` is started once for each need."""

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

_NOTIFIED = frozenset({"stuck", "blocked", "message", "waiting", "refusal", "verdict"})

# How many one call notifies of; the next call does the others.
_MOST_NOTIFIED = 5

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
    with projects.reading(work) as (transaction, project):
        cursor = str(following.now(transaction, project))
        cursors = _last_seen.setdefault(work.engine, {})
        if not project.id or not command or cursors.get(project.id) == cursor:
            return 0
        now = work.clock()
        wanted = needs.find(looking.begin(transaction, project.id, work.person(), now)).items
    notified = [one for one in wanted if one.kind in _NOTIFIED]
    fresh = _claim(work, project.id, notified, now) if notified else []
    if len(fresh) < _MOST_NOTIFIED:
        cursors[project.id] = cursor
    for need in fresh:
        _start([*command, _line(project.name, need)])
    return len(fresh)


def _claim(work: Workplace, project_id: int, wanted: list[Need], now: int) -> list[Need]:
    with work.engine.write(_WAIT_MS) as transaction:
        transaction.run(
            "DELETE FROM notified WHERE project_id = :project AND created_at < :before",
            {"project": project_id, "before": now - events.KEPT_DAYS * DAY_MS},
        )
        fresh: list[Need] = []
        for need in wanted:
            if len(fresh) < _MOST_NOTIFIED and transaction.all(
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
