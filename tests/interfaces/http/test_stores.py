"""The open stores of a server: what the server does for each of them besides answering."""

from __future__ import annotations

import queue
from pathlib import Path

import pytest

from satchel.interfaces.http.stores import Stores
from satchel.store import engine as engines
from satchel.store.engine import Engine
from server_process import made_store


@pytest.mark.parametrize(("read_only", "looks"), [(False, 2), (True, 0)])
def test_each_store_that_is_written_is_backed_up_while_it_is_open_and_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_only: bool, looks: int
) -> None:
    looked: queue.SimpleQueue[Engine] = queue.SimpleQueue()
    monkeypatch.setattr(engines, "_FIRST_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(engines, "back_up_when_due", looked.put)
    stores = Stores({})
    opened = stores.opened(made_store(tmp_path), read_only=read_only)
    first = [looked.get(timeout=60)] if looks else []
    stores.close()
    every = [*first, *(looked.get() for _ in range(looked.qsize()))]
    assert every == [opened.workplace.engine] * looks
