"""Processes killed in the middle of writing: what was acknowledged is there, and the others go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.processes import Child
from satchel import Satchel, open_satchel

pytestmark = pytest.mark.slow

_ROUNDS = 30


def _uids(satchel: Satchel) -> set[str]:
    found: set[str] = set()
    offset: int | None = 0
    while offset is not None:
        page = satchel.entries.read(limit=500, offset=offset)
        found.update(entry.uid for entry in page)
        offset = page.next_offset
    return found


def test_no_acknowledged_write_is_lost_when_writers_are_killed_and_others_go_on(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    acknowledged: set[str] = set()
    with open_satchel(file, "p", cwd=tmp_path, environ={}) as other:
        for number in range(_ROUNDS):
            with Child("write-for-ever", file) as child:
                # let it write a few, a different number each round, so that the kill falls somewhere else
                heard = [child.hear() for _ in range(1 + number % 5)]
                heard += child.kill()
            acknowledged.update(heard)
            acknowledged.add(other.entries.write("discovery", f"after round {number}").uid)
        assert acknowledged <= _uids(other)
        assert [check.detail for check in other.housekeeping.doctor() if check.status == "failed"] == []
    with open_satchel(file, "p", cwd=tmp_path, environ={}) as again:
        assert acknowledged <= _uids(again)


def test_a_store_whose_only_writer_was_killed_is_whole_for_the_next(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    with Child("write-for-ever", file) as child:
        heard = [child.hear() for _ in range(20)]
        heard += child.kill()
    with open_satchel(file, "p", cwd=tmp_path, environ={}) as satchel:
        assert set(heard) <= _uids(satchel)
        assert [check.detail for check in satchel.housekeeping.doctor() if check.status == "failed"] == []
