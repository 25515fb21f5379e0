"""A table of processes that are only said to be there, for tests that start none."""

from __future__ import annotations

import os

from satchel.base.processes import Process


class Table:
    """Processes by their numbers; number 100 is there from the start."""

    def __init__(self) -> None:
        self._rows: dict[int, tuple[Process, str, int]] = {}
        self._arguments: dict[int, list[str]] = {}
        self._starts = 0
        self._parent = 1
        self.add(100)

    def add(self, pid: int, name: str = "node", *, below: int = 1, arguments: tuple[str, ...] = ()) -> int:
        """Start a process; one of the same number is gone."""
        self._starts += 1
        self._rows[pid] = Process(pid, self._starts), name, below
        self._arguments[pid] = [name, *arguments]
        return pid

    def end(self, pid: int) -> None:
        """End a process."""
        del self._rows[pid]

    def stand(self, below: int) -> None:
        """Put the test's own process below another, as a new one."""
        self._parent = below
        self.add(os.getpid(), "python", below=below)

    def look_at(self, pid: int) -> tuple[Process, str, int] | None:
        """Return a process, its name, and what started it."""
        return self._rows.get(pid)

    def arguments(self, pid: int) -> list[str]:
        """Return the command line of a process."""
        return self._arguments.get(pid, [])

    def getppid(self) -> int:
        """Return what started the test's own process."""
        return self._parent
