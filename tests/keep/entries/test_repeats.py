"""A note that says nearly the same as another is kept, and the other is pointed out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from find.same_marks import same_marks
from satchel import NewEntry, Satchel
from satchel.keep.entries import repeats

NOTE = "The gateway drops idle connections after sixty seconds without a word"
AGAIN = "After sixty seconds the gateway drops idle connections, without a word"
SAID = f"e1 says nearly the same (100 % alike): {NOTE}"


def test_one_that_says_nearly_the_same_is_kept_and_pointed_to_the_other(satchel: Satchel) -> None:
    first = satchel.entries.write("discovery", NOTE)
    second = satchel.entries.write("discovery", AGAIN)
    assert (first.notes, second.ref, second.notes) == ((), "e2", (SAID,))


def test_one_that_says_something_else_is_not(satchel: Satchel) -> None:
    satchel.entries.write("discovery", NOTE)
    assert satchel.entries.write("discovery", "The gateway restarts after sixty failed probes in a row").notes == ()


@pytest.mark.parametrize("type_", ["error", "decision"])
def test_only_notes_of_one_type_are_compared(satchel: Satchel, type_: str) -> None:
    satchel.entries.write("discovery", NOTE)
    assert satchel.entries.write(type_, AGAIN).notes == ()


def test_scratchpads_are_alike_by_nature(satchel: Satchel) -> None:
    pad: dict[str, Any] = {"iteration": 1, "attempted": [NOTE]}
    satchel.entries.write("scratchpad", pad)
    assert satchel.entries.write("scratchpad", pad).notes == ()


def test_a_note_of_another_run_is_not_pointed_out(satchel: Satchel) -> None:
    satchel.entries.write("discovery", NOTE)
    satchel.runs.start("other")
    assert satchel.entries.write("discovery", AGAIN, run_id="other").notes == ()


def test_a_note_of_another_project_is_not_pointed_out_nor_in_the_way_of_one_that_is(
    open_in: Callable[..., Satchel], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeats, "_LOT", 1)
    one, other = open_in(project, project="one"), open_in(project, project="other")
    with same_marks():
        one.entries.write("discovery", NOTE)
        assert other.entries.write("discovery", AGAIN).notes == ()
        for number in range(8):
            other.entries.write("discovery", f"{NOTE} {'again ' * number}")
        assert one.entries.write("discovery", AGAIN).notes == (SAID,)


def test_what_a_batch_wrote_is_found_by_the_next_single_note_and_by_later_ones(satchel: Satchel) -> None:
    satchel.entries.write_many([NewEntry("discovery", NOTE), NewEntry("discovery", "an ordinary note of its own")])
    assert satchel.entries.write("discovery", AGAIN).notes == (SAID,)
    assert len(satchel.entries.write("discovery", f"{NOTE} indeed").notes) == 2


def test_only_the_newest_notes_of_a_batch_are_caught_up_on(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "_CAUGHT_UP", 1)
    satchel.entries.write_many([NewEntry("discovery", NOTE), NewEntry("discovery", "an ordinary note of its own")])
    assert satchel.entries.write("discovery", AGAIN).notes == ()


def test_bands_are_recorded_in_lots_and_found_like_those_that_are_not_yet(
    satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeats, "_LOT", 3)
    counts = []
    for number in range(5):
        satchel.entries.write("discovery", f"{NOTE} {'again and ' * number}")
        with satchel.workplace.engine.read() as transaction:
            counts.append(len(transaction.all("SELECT DISTINCT item_id FROM likenesses")))
    assert counts == [0, 0, 0, 3, 3]
    monkeypatch.setattr(repeats, "_CAUGHT_UP", 0)
    assert SAID in satchel.entries.write("discovery", AGAIN).notes


def test_a_forgotten_note_leaves_no_bands(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "_LOT", 1)
    satchel.entries.write("discovery", NOTE)
    satchel.entries.write("discovery", "an ordinary note of its own")
    satchel.housekeeping.forget("e1")
    assert satchel.entries.write("discovery", AGAIN).notes == ()
    satchel.entries.prune(keep=1)
    with satchel.workplace.engine.read() as transaction:
        assert len(transaction.all("SELECT DISTINCT item_id FROM likenesses")) <= 1


def test_the_look_is_over_before_the_writers_turn(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    satchel.entries.write("discovery", NOTE)
    writing: list[bool] = []
    look = repeats.find_matches

    def watched(transaction: Any, *rest: Any) -> Any:
        if transaction.database == "sqlite":
            writing.append(transaction.connection.txn_state("main") == apsw.SQLITE_TXN_WRITE)
        else:
            writing.append(transaction.all("SHOW transaction_read_only") != [("on",)])
        return look(transaction, *rest)

    monkeypatch.setattr(repeats, "find_matches", watched)
    satchel.entries.write("discovery", AGAIN)
    assert writing == [False]
