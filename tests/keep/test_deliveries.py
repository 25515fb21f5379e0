"""What was delivered to whom: the key, with nothing for no task, role and agent, and the seq that it was shown at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.keep import deliveries
from satchel.keep.deliveries import Receiver

RECEIVER = Receiver(run=1, task_id="T1", role="developer", agent=1, iteration=2)
ITEMS = [(1, 7, 70), (1, 8, 80), (3, 7, 90)]
GOT = {1: {7: 70, 8: 80}, 3: {7: 90}}


@pytest.fixture
def store(satchel: Satchel) -> Satchel:
    """A Satchel with the runs 1 and 2 and the agents 1 and 2."""
    for name in ("first", "second"):
        satchel.runs.start(name)
        satchel.entries.write("discovery", "a note", run_id=name, agent=name)
    return satchel


def record(store: Satchel, receiver: Receiver, items: list[tuple[int, int, int]], now: int = 5) -> None:
    with store.workplace.engine.write() as transaction:
        deliveries.record(transaction, receiver, items, now)


def delivered(store: Satchel, receiver: Receiver) -> dict[int, dict[int, int]]:
    with store.workplace.engine.read() as transaction:
        return deliveries.delivered(transaction, receiver)


def test_a_receiver_has_got_what_was_recorded_for_it(store: Satchel) -> None:
    record(store, RECEIVER, ITEMS)
    assert delivered(store, RECEIVER) == GOT


@pytest.mark.parametrize(
    "other",
    [
        replace(RECEIVER, run=2),
        replace(RECEIVER, task_id="T2"),
        replace(RECEIVER, task_id=None),
        replace(RECEIVER, role="qa_expert"),
        replace(RECEIVER, role=None),
        replace(RECEIVER, agent=2),
        replace(RECEIVER, agent=None),
        replace(RECEIVER, agent=-1),
        replace(RECEIVER, iteration=3),
    ],
)
def test_another_receiver_has_got_nothing(store: Satchel, other: Receiver) -> None:
    record(store, RECEIVER, ITEMS)
    assert delivered(store, other) == {}


@pytest.mark.parametrize(
    "receiver",
    [RECEIVER, replace(RECEIVER, task_id=None, role=None, agent=None), replace(RECEIVER, role=None)],
    ids=["all", "nothing", "no role"],
)
def test_what_is_recorded_again_is_kept_once_at_its_last_state(store: Satchel, receiver: Receiver) -> None:
    record(store, receiver, ITEMS)
    record(store, receiver, [(1, 7, 71)], now=9)
    assert delivered(store, receiver) == {**GOT, 1: {7: 71, 8: 80}}
    with store.workplace.engine.read() as transaction:
        assert transaction.one("SELECT count(*), max(created_at) FROM deliveries") == (3, 9)


def test_a_role_is_the_same_whatever_its_case(store: Satchel) -> None:
    record(store, replace(RECEIVER, role="Developer"), ITEMS)
    assert delivered(store, RECEIVER) == GOT


def test_nothing_can_be_recorded(store: Satchel) -> None:
    record(store, RECEIVER, [])
    assert delivered(store, RECEIVER) == {}


def test_deliveries_go_with_their_run(store: Satchel, open_in: Callable[..., Satchel], project: Path) -> None:
    record(store, RECEIVER, ITEMS)
    record(store, replace(RECEIVER, run=2), ITEMS)
    with store.workplace.engine.write() as transaction:
        transaction.execute("DELETE FROM runs WHERE id = 1")
    again = open_in(project)
    assert (delivered(again, RECEIVER), delivered(again, replace(RECEIVER, run=2))) == ({}, GOT)
