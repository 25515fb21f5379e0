"""Clients that each have a process of their own, as far as their servers can tell: no process is started."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from agents_here import register
from satchel import Satchel
from satchel.base import processes
from satchel.base.processes import Process
from satchel.keep.sessions.caller import SERVER

_FIRST = 1_000_000


class Clients:
    """Clients at work, and the servers below them.

    Args:
        open_one: opens a Satchel.
        patch: replaces how processes are seen.
    """

    def __init__(self, open_one: Callable[..., Satchel], patch: pytest.MonkeyPatch) -> None:
        self._open = open_one
        self._last = _FIRST
        self._living: set[int] = set()
        self._above: dict[int, tuple[int, int]] = {}
        self._here = (_FIRST, _FIRST)
        patch.setattr(processes, "find_client", lambda *_: Process(self._here[0], 1))
        patch.setattr(processes, "find", lambda pid: Process(self._here[1], 1) if pid == os.getpid() else None)
        patch.setattr(processes, "is_alive", lambda process: process.pid in self._living)

    def start(self, name: str = "claude-code", **options: Any) -> Satchel:
        """Start a client, and return its server, which has a session."""
        return self._serve(self._new_process(), name, options)

    def program(self) -> Satchel:
        """Open the store in a program that belongs to no client."""
        return self._open()

    def restart_server(self, server: Satchel, name: str = "claude-code", **options: Any) -> Satchel:
        """End the server of a client, and return its next one."""
        client, own = self._above.pop(id(server))
        self._living.discard(own)
        return self._serve(client, name, options)

    def turn_to(self, server: Satchel) -> Satchel:
        """Let the calls that follow come from a server."""
        self._here = self._above.get(id(server), self._here)
        return server

    def end(self, *servers: Satchel) -> None:
        """End some clients, or all, with their servers."""
        for server in servers:
            self._living.difference_update(self._above.pop(id(server)))
        if not servers:
            self._living.clear()

    def _new_process(self) -> int:
        self._last += 1
        self._living.add(self._last)
        return self._last

    def _serve(self, client: int, name: str, options: dict[str, Any]) -> Satchel:
        self._here = (client, self._new_process())
        server = self._open(caller=SERVER, **options)
        self._above[id(server)] = self._here
        assert server.workplace.caller is not None
        server.workplace.caller.set_client(name, "1")
        register(server, "somebody")
        server.brief(budget=0)  # its session is made while its process is the one that is found
        return server
