"""Conflicts with ended sessions: an edit counts until it is committed, and never against the one that continues."""

from __future__ import annotations

from pathlib import Path

import pytest

from clients_at_work import Clients
from conftest import ManualClock
from repositories import commit_all, make_repository
from satchel import Satchel


def edit(clients: Clients, satchel: Satchel) -> None:
    clients.turn_to(satchel).files.record("a.py", "modified")


@pytest.mark.parametrize("is_committed", [False, True])
def test_what_an_ended_session_left_uncommitted_meets_a_session_at_work(
    clients: Clients, person: Satchel, project: Path, clock: ManualClock, is_committed: bool
) -> None:
    make_repository(project)
    ended, other = clients.start(), clients.start("codex")
    (project / "a.py").write_text("ended\n")
    edit(clients, ended)
    if is_committed:
        commit_all(project, "a")
    clients.end(ended)
    edit(clients, other)
    assert bool(person.room.conflicts().files) is not is_committed
    clients.end(other)
    clock.advance(60_000)
    assert person.room.conflicts().files == ()


def test_a_session_does_not_conflict_with_the_one_that_it_continues(
    clients: Clients, person: Satchel, project: Path
) -> None:
    make_repository(project)
    first = clients.start()
    (project / "a.py").write_text("edited\n")
    edit(clients, first)
    clients.end(first)
    edit(clients, clients.start())
    assert person.room.conflicts().files == ()
