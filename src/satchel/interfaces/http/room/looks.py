"""What persons were shown of a project, kept while nothing of it has changed."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Any

from satchel.base.records import NamedTuple
from satchel.client import Satchel

_KEPT_MS = 5_000
"""So old is what is shown at most: claims expire without a change. Over 100,000 items of each kind
the four looks take 46 ms together, and the count in the title of every other page 13."""

_MOST = 200
"""So many are kept: the four looks of fifty persons in a project each."""


class _Known(NamedTuple):
    cursor: str
    commits: int
    at: int
    record: Any


class Looks:
    """The looks of ``Satchel.room`` as they were made last, for each person of each project of a server."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str, str, str], _Known] = OrderedDict()
        self._lock = Lock()

    def look(self, satchel: Satchel, name: str, cursor: str) -> Any:
        """Return a look of a person.

        Args:
            satchel: the person's.
            name: needs, since, where or collisions.
            cursor: how far the project has come, as read before.
        """
        work = satchel.workplace
        key = (work.engine.location, str(work.project_name), str(work.agent), name)
        # what was read or seen moves no cursor; of what this server has committed, that much is known before the look
        now, commits = work.clock(), work.engine.commits
        with self._lock:
            known = self._known.get(key)
        if known is not None and known[:2] == (cursor, commits) and 0 <= now - known.at < _KEPT_MS:
            return known.record
        record = getattr(satchel.room, name)()
        with self._lock:
            self._known[key] = _Known(cursor, commits, now, record)
            self._known.move_to_end(key)
            while len(self._known) > _MOST:
                self._known.popitem(last=False)
        return record
