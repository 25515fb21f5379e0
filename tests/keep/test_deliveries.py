"""What was delivered in which window, and at which seq each item was shown."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.base.tokens import PROSE_MARGIN
from satchel.keep import deliveries
from satchel.keep.deliveries import Window
from tables import in_one_test

WINDOW = Window(1, None, 0, agent=1, iteration=2, run=1, task_id="T1", role="developer")
OF_SESSION = Window(1, session=7, number=3, agent=1, iteration=0)
ITEMS = [(1, 7, 70), (1, 8, 80), (3, 7, 90)]
GOT = {1: {7: 70, 8: 80}, 3: {7: 90}}


@pytest.fixture
def store(satchel: Satchel) -> Satchel:
    """A Satchel with the runs 1 and 2 and the agents 1 and 2."""
    for name in ("first", "second"):
        satchel.runs.start(name)
        satchel.entries.write("discovery", "a note", run_id=name, agent=name)
    return satchel


def record(store: Satchel, window: Window, items: list[tuple[int, int, int]], now: int = 5) -> None:
    with store.workplace.engine.write() as transaction:
        deliveries.record(transaction, window, items, now)


def delivered(store: Satchel, window: Window) -> dict[int, dict[int, int]]:
    with store.workplace.engine.read() as transaction:
        return deliveries.delivered(transaction, window)


def test_what_was_recorded_in_a_window_was_delivered_there(store: Satchel) -> None:
    record(store, WINDOW, ITEMS)
    assert delivered(store, WINDOW) == GOT


@in_one_test(
    "other",
    [
        replace(WINDOW, run=2),
        replace(WINDOW, task_id="T2"),
        replace(WINDOW, task_id=None),
        replace(WINDOW, role="qa_expert"),
        replace(WINDOW, role=None),
        replace(WINDOW, agent=2),
        replace(WINDOW, agent=None),
        replace(WINDOW, agent=-1),
        replace(WINDOW, iteration=3),
        OF_SESSION,
    ],
)
def test_in_another_window_nothing_was(store: Satchel, other: Window) -> None:
    record(store, WINDOW, ITEMS)
    assert delivered(store, other) == {}


@pytest.mark.parametrize(
    "window",
    [WINDOW, replace(WINDOW, task_id=None, role=None, agent=None), replace(WINDOW, role=None)],
    ids=["all", "nothing", "no role"],
)
def test_what_is_recorded_again_is_kept_once_at_its_last_state(store: Satchel, window: Window) -> None:
    record(store, window, ITEMS)
    record(store, window, [(1, 7, 71)], now=9)
    assert delivered(store, window) == {**GOT, 1: {7: 71, 8: 80}}
    with store.workplace.engine.read() as transaction:
        assert transaction.one("SELECT count(*), max(created_at) FROM deliveries") == (3, 9)


@pytest.mark.parametrize("other", [{"session": 8}, {"number": 4}, {"agent": 2}, {"iteration": 1}])
def test_windows_of_a_session_are_told_apart(store: Satchel, other: dict[str, int]) -> None:
    record(store, OF_SESSION, ITEMS)
    assert delivered(store, replace(OF_SESSION, **other)) == {}  # type: ignore[arg-type]
    assert delivered(store, OF_SESSION) == GOT


def test_a_role_is_the_same_whatever_its_case(store: Satchel) -> None:
    record(store, replace(WINDOW, role="Developer"), ITEMS)
    assert delivered(store, WINDOW) == GOT


def test_nothing_can_be_recorded(store: Satchel) -> None:
    record(store, WINDOW, [])
    assert delivered(store, WINDOW) == {}


def test_deliveries_go_with_their_run(store: Satchel, open_in: Callable[..., Satchel], project: Path) -> None:
    record(store, WINDOW, ITEMS)
    record(store, replace(WINDOW, run=2), ITEMS)
    with store.workplace.engine.write() as transaction:
        transaction.run("DELETE FROM runs WHERE id = 1")
    again = open_in(project)
    assert (delivered(again, WINDOW), delivered(again, replace(WINDOW, run=2))) == ({}, GOT)


def test_what_hooks_have_spent_in_a_window_is_summed_and_a_requested_briefing_is_none_of_it(store: Satchel) -> None:
    with store.workplace.engine.write() as transaction:
        for moment, tokens in (("start", 2_200), ("briefing", 4_000), ("edit", 250)):
            deliveries.deliver(transaction, OF_SESSION, ITEMS, 5, moment=moment, tokens=tokens)
    left = deliveries.tokens_left(delivered(store, OF_SESSION))
    assert left == deliveries.SESSION_TOKENS - math.ceil((2_200 + 250) * PROSE_MARGIN)
    assert deliveries.tokens_left(delivered(store, replace(OF_SESSION, number=4))) == deliveries.SESSION_TOKENS


def test_what_hooks_have_spent_counts_in_the_windows_after_a_compaction_until_the_conversation_is_cleared(
    store: Satchel,
) -> None:
    left = []
    with store.workplace.engine.write() as transaction:
        for number, moment, tokens in (
            (1, "start", 1_500),
            (2, "compaction", 1_200),
            (3, "prompt", 10),
            (4, "clear", 5),
        ):
            window = replace(OF_SESSION, number=number)
            for _ in range(2):
                deliveries.deliver(transaction, window, ITEMS, 5, moment=moment, tokens=tokens // 2)
            left.append(deliveries.tokens_left(deliveries.delivered(transaction, window)))
    # the third window has what a compaction gives back, however much was spent before
    assert left == pytest.approx(
        [4_000 - 1_500 * 1.08, 4_000 - 2_700 * 1.08, 2_050 - 10 * 1.08, 4_000 - 4 * 1.08], abs=2
    )
