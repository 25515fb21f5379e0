"""A connection that is cut in the middle of a write: what was acknowledged is stored, what was refused is not."""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from accepting import FIN, RST
from postgres_proxy import AFTER, BEFORE, INSIDE, CutHere, Message, PostgresProxy
from satchel.base.errors import Busy, Unreachable
from satchel.store.postgres.engine import PostgresEngine
from store.postgres.notes import notes, write_note
from store.postgres.places import Place

_WRITES = int(os.environ.get("SATCHEL_CUT_WRITES", "400"))
"""How many writes the cuts at random meet; 10,000 are run by hand."""


def _cut_at(number: int, cut: CutHere) -> Callable[[Message], CutHere | None]:
    """Cut once, at the message of a number from here on."""
    left = number

    def decide(_: Message) -> CutHere | None:
        nonlocal left
        left -= 1
        return cut if left == 0 else None

    return decide


def _outcome(engine: PostgresEngine, text: str) -> str:
    try:
        write_note(engine, text)
    except (Unreachable, Busy):
        return "refused"
    return "acknowledged"


@pytest.mark.slow
def test_wherever_a_write_is_cut_it_is_stored_exactly_if_it_was_acknowledged(
    place: Place, proxy: PostgresProxy, proxied: str
) -> None:
    engine = place.engine(proxied).of_project(place.new_project())
    write_note(engine, "before")
    acknowledged = ["before"]
    outcomes = Counter[str]()
    for where in (BEFORE, INSIDE, AFTER):
        number = 0
        while True:
            number += 1
            cuts = proxy.cuts
            proxy.decide = _cut_at(number, CutHere(where, (FIN, RST)[number % 2]))
            outcome = _outcome(engine, f"{where} {number}")
            proxy.decide = None
            if outcome == "acknowledged":
                acknowledged.append(f"{where} {number}")
            if proxy.cuts == cuts:
                break
            outcomes[outcome] += 1
    assert notes(engine) == acknowledged
    # a cut before the lock is tried again, one in the commit's answer is asked about; those between are refused
    assert outcomes["acknowledged"] > 20
    assert outcomes["refused"] > 20


@pytest.mark.slow
def test_random_cuts_lose_nothing_acknowledged_and_keep_nothing_refused(
    place: Place, proxy: PostgresProxy, proxied: str
) -> None:
    projects = [place.new_project() for _ in range(2)]
    engines = [place.engine(proxied).of_project(name) for name in (*projects, projects[0])]
    for engine in engines:
        write_note(engine, f"first {id(engine)}")
    chance = random.Random(21)
    lock = threading.Lock()
    left = _WRITES
    outcomes = Counter[str]()
    acknowledged: dict[str, set[str]] = {name: set(notes(engines[number])) for number, name in enumerate(projects)}

    def decide(_: Message) -> CutHere | None:
        with lock:
            if chance.random() > 1 / 120:
                return None
            return CutHere(chance.choice((BEFORE, INSIDE, AFTER)), chance.choice((FIN, RST)))

    def work(number: int) -> None:
        nonlocal left
        engine = engines[number % len(engines)]
        while True:
            with lock:
                left -= 1
                text = f"{number} {left}"
                if left < 0:
                    return
            outcome = _outcome(engine, text)
            with lock:
                outcomes[outcome] += 1
                if outcome == "acknowledged":
                    assert engine.project is not None
                    acknowledged[engine.project].add(text)

    proxy.decide = decide
    with ThreadPoolExecutor(12) as pool:
        for each in [pool.submit(work, number) for number in range(12)]:
            each.result()
    proxy.decide = None
    for number, name in enumerate(projects):
        assert set(notes(engines[number])) == acknowledged[name]
    assert outcomes["refused"] > _WRITES / 50
    print(dict(outcomes), proxy.cuts)  # noqa: T201 -- for who runs it by hand
