"""A person and clients at work in one project, and what needs the person."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from clients_at_work import Clients
from satchel import Satchel
from satchel.brief.room.records import Need
from satchel.keep.sessions.caller import COMMAND


@pytest.fixture
def clients(open_in: Callable[..., Satchel], project: Path, monkeypatch: pytest.MonkeyPatch) -> Clients:
    return Clients(partial(open_in, project), monkeypatch)


@pytest.fixture
def person(open_in: Callable[..., Satchel], project: Path) -> Satchel:
    return open_in(project, caller=COMMAND)


KINDS = set(
    "stuck blocked message waiting refusal overtaken draft rule rules verdict error shared hook proposal".split()
)
ACTIONS = set("answer read release decide accept reject solve see".split())


def needs(satchel: Satchel, person: str | None = None) -> list[tuple[str, str | None]]:
    """What needs a person: of each the kind and the id."""
    found = satchel.room.needs(person)
    assert all(one.kind in KINDS and set(one.actions) <= ACTIONS for one in found.items)
    return [(one.kind, one.ref) for one in found.items]


def only(satchel: Satchel, person: str | None = None) -> Need:
    (need,) = satchel.room.needs(person).items
    return need


def write_pad(satchel: Satchel, **fields: object) -> str:
    return satchel.entries.write("scratchpad", {"done": False, **fields}, task_id="T1").ref


def verdict(satchel: Satchel, task: str, *, passed: bool) -> str:
    return satchel.entries.write(
        "review_verdict", {"passed": passed, "summary": "no tests"}, task_id=task, agent="qa"
    ).ref
