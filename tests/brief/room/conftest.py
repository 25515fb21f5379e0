"""A person and clients at work in one project."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from clients_at_work import Clients
from satchel import Satchel
from satchel.keep.sessions.caller import COMMAND


@pytest.fixture
def clients(open_in: Callable[..., Satchel], project: Path, monkeypatch: pytest.MonkeyPatch) -> Clients:
    return Clients(partial(open_in, project), monkeypatch)


@pytest.fixture
def person(open_in: Callable[..., Satchel], project: Path) -> Satchel:
    return open_in(project, caller=COMMAND)
