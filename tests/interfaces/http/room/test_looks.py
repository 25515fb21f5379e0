"""What persons were shown is kept while nothing has changed, and no longer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from satchel import Satchel, open_satchel
from satchel.interfaces.http.room.looks import Looks

if TYPE_CHECKING:
    from conftest import ManualClock


@pytest.fixture
def ann(tmp_path: Path, clock: ManualClock) -> Iterator[Satchel]:
    with open_satchel(tmp_path / "s.db", project="p", agent="human:ann", environ={}, clock=clock) as opened:
        yield opened


def needs(looks: Looks, satchel: Satchel) -> list[str]:
    found = looks.look(satchel, "needs", satchel.room.reached().cursor)
    return [one.text for one in found.items]


def test_what_another_writes_is_shown_at_once(ann: Satchel, tmp_path: Path) -> None:
    looks = Looks()
    assert needs(looks, ann) == []
    with open_satchel(tmp_path / "s.db", project="p", environ={}) as other:
        other.messages.send("May I?", to="human", agent="dev")
    assert needs(looks, ann) == ["May I?"]


def test_the_same_is_shown_for_five_seconds_where_nothing_was_written(ann: Satchel, clock: ManualClock) -> None:
    looks = Looks()
    cursor = ann.room.reached().cursor
    first = looks.look(ann, "where", cursor)
    clock.advance(4_999)
    assert looks.look(ann, "where", cursor) is first
    clock.advance(1)
    assert looks.look(ann, "where", cursor) is not first


def test_each_person_is_shown_their_own(ann: Satchel, tmp_path: Path, clock: ManualClock) -> None:
    looks = Looks()
    ann.messages.send("For Ben alone", to="human:ben", agent="dev")
    with open_satchel(tmp_path / "s.db", project="p", agent="human:ben", environ={}, clock=clock) as ben:
        assert (needs(looks, ben), needs(looks, ann)) == (["For Ben alone"], [])
        assert looks.look(ann, "needs", ann.room.reached().cursor).person == "human:ann"


def test_what_a_person_has_read_is_gone_at_once(ann: Satchel) -> None:
    looks = Looks()
    sent = ann.messages.send("For your information", to="human", agent="dev")
    assert needs(looks, ann) == ["For your information"]
    ann.messages.mark_read([sent.ref])
    assert needs(looks, ann) == []
