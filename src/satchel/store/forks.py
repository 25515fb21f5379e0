"""Handling of forks: a child gives up its parent's connections and opens new ones."""

# SQLite keeps one table of locks per process. A connection left open in a child would make it believe that it holds
# the parent's locks, and the parent would delete the WAL under the child, whose writes were lost. So idle connections
# are closed, without the checkpoint that could delete the WAL under the parent. A connection inside a transaction
# cannot be closed; then the file is refused in the child. An open lock file would keep a killed parent's lock, so it
# is closed.

from __future__ import annotations

import os
import weakref
from typing import Protocol

import apsw

from satchel.base.errors import Refused

# How often this process is a fork of one that had loaded this module.
generation = 0

# Files, by device and inode, that the parent had in a transaction when this process was forked.
HELD_BY_THE_PARENT: set[tuple[int, int] | None] = set()


class Owner(Protocol):
    """A holder of connections."""

    def reset_after_fork(self) -> None:
        """Give up every connection that the parent opened."""


_OWNERS: weakref.WeakSet[Owner] = weakref.WeakSet()
_LEFT_TO_THE_PARENT: list[apsw.Connection] = []


def register(owner: Owner) -> None:
    _OWNERS.add(owner)


def owners() -> list[Owner]:
    return list(_OWNERS)


def leave_to_the_parent(connection: apsw.Connection) -> None:
    """Prevent a connection from being closed here, as dropping its last reference would do."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
    _LEFT_TO_THE_PARENT.append(connection)


def refusal() -> Refused:
    """Return the error for using a connection in a child that the parent had in a transaction."""
    return Refused(
        "this process was forked while a transaction was open, and a child cannot continue it",
        "Fork between transactions, or start a new process instead; the parent is not affected",
    )


def _let_go() -> None:
    global generation  # noqa: PLW0603 -- it counts for the process
    generation += 1
    for owner in _OWNERS:
        owner.reset_after_fork()


os.register_at_fork(after_in_child=_let_go)
