"""How many round trips a call makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel, open_satchel
from satchel.base.records import replace
from satchel.store.postgres.engine import PostgresEngine
from satchel.store.postgres.transaction import StoreConnection
from store.postgres.places import Place

_CALLS: dict[str, tuple[int, Callable[[Satchel, int], object]]] = {
    "a note": (5, lambda satchel, number: satchel.entries.write("error", f"note {number} of the cache token")),
    "a rule of one word": (6, lambda satchel, number: satchel.constraints.add("typed" + "x" * number)),
    # a whole one is compared with those in force
    "a rule": (11, lambda satchel, number: satchel.constraints.add(f"every function of module {number} is typed")),
    "a decision": (8, lambda satchel, number: satchel.decisions.set(f"key-{number}", "value")),
    "a page": (2, lambda satchel, _: satchel.entries.read(limit=20)),
    "a question": (5, lambda satchel, _: satchel.entries.read(query="what about the cache token?")),
    "an identifier": (13, lambda satchel, _: satchel.finding.search("parse_config cache")),
    "a phrase": (7, lambda satchel, _: satchel.finding.search('cache AND "the cache"', syntax="operators")),
}


@pytest.fixture
def satchel(own_place: Place, tmp_path: Path) -> Iterator[Satchel]:
    """A store as the server opens it: bound to its project."""
    with open_satchel(f"{own_place.url}&schema={own_place.schema}", "p", cwd=tmp_path, environ={}) as opened:
        opened.runs.start("night")
        engine = opened.workplace.engine
        assert isinstance(engine, PostgresEngine)
        yield Satchel(replace(opened.workplace, engine=engine.of_project("p")), opened.place, opened.config, {})


@pytest.mark.parametrize("call", _CALLS)
def test_a_call_makes_few_round_trips(satchel: Satchel, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    most, act = _CALLS[call]
    for number in range(2):
        act(satchel, number)
    trips: list[int] = []
    exchange = StoreConnection.exchange

    def counted(self: StoreConnection, messages: Sequence[Any], on_wait: Callable[[], None] = lambda: None) -> object:
        trips.append(len(messages))
        return exchange(self, messages, on_wait)

    monkeypatch.setattr(StoreConnection, "exchange", counted)
    act(satchel, 2)
    assert len(trips) <= most
