"""Sessions of clients whose hooks are called in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.base import processes
from satchel.base.processes import Process
from satchel.keep.sessions.caller import Caller

Begin = Callable[..., Satchel]


@pytest.fixture
def begin(open_in: Callable[..., Satchel], project: Path, monkeypatch: pytest.MonkeyPatch) -> Begin:
    """Begin a session of a client, in a process of its own, and return the Satchel of its hooks."""
    begun: dict[str, Process] = {}
    here = [Process(1_000_000, 1)]
    monkeypatch.setattr(processes, "find_client", lambda *_: here[0])
    monkeypatch.setattr(processes, "is_alive", lambda _: True)

    def call(identity: str = "s1", client: str = "claude", person: str = "ann") -> Satchel:
        here[0] = begun.setdefault(identity, Process(1_000_000 + len(begun), 1))
        environ = {"SATCHEL_PERSON": person}
        satchel = open_in(project, environ=environ, caller=Caller.of_hook({}, client, identity, begins=True))
        satchel.sessions.enter()
        return satchel

    return call
