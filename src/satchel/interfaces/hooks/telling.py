"""What a store is told of hooks that fail: the hook itself tells it, else the next one that works, or a server."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from satchel.base.errors import SatchelError
from satchel.interfaces.hooks import state

if TYPE_CHECKING:
    from satchel.client import Satchel


def tell(satchel: Satchel, folder: str, works: str | None = None) -> None:
    """Tell a store which hooks failed in a folder, and that one works again.

    A store that cannot be written is told another time.
    """
    found = state.failing(folder)
    due = [one for one in found if one.is_due]
    again = [one for one in found if one.hook == works]
    if not due and not again:
        return
    with suppress(SatchelError, OSError):
        told = [(one.hook, one.problem, one.times, int(one.at * 1_000)) for one in due]
        satchel.sessions.record_hooks(told, works if again else None)
        state.settle_failing(due, again)


def tell_of_project(satchel: Satchel) -> None:
    """Tell the store of a server which hooks failed in its project's folder."""
    work = satchel.workplace
    for folder in {work.root, work.files_root} - {None, "", os.sep}:
        tell(satchel, str(folder))
