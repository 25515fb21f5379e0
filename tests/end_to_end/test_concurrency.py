"""Many processes on one store at once, as agents' servers and hooks are."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from faults.processes import Child
from satchel import Satchel, open_satchel

pytestmark = pytest.mark.slow

_PROCESSES = 8
_WRITES = 50


@pytest.fixture
def store_file(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


def _open(store_file: Path) -> Satchel:
    return open_satchel(store_file, "p", cwd=store_file.parent, environ={})


def _failed(satchel: Satchel) -> list[str]:
    return [f"{check.name}: {check.detail}" for check in satchel.housekeeping.doctor() if check.status == "failed"]


def test_what_many_processes_write_at_once_is_all_there_in_each_ones_order(store_file: Path) -> None:
    with ExitStack() as stack:
        names = [f"agent-{number}" for number in range(_PROCESSES)]
        children = [stack.enter_context(Child("write-many", store_file, name, _WRITES)) for name in names]
        for child in children:
            assert child.hear() == "ready"
        for child in children:
            child.tell()
        assert [child.finish() for child in children] == [["written"]] * _PROCESSES
    with _open(store_file) as satchel:
        entries = [
            entry
            for offset in range(0, _PROCESSES * _WRITES, 100)
            for entry in satchel.entries.read(order="asc", limit=100, offset=offset)
        ]
        assert satchel.runs.list().total == 1, "all joined the one run that the first write started"
        assert _failed(satchel) == []
    for name in names:
        mine = [entry.content for entry in entries if entry.agent == name]
        assert mine == [f"{name} {number}" for number in range(_WRITES)]
    assert len(entries) == _PROCESSES * _WRITES
    seqs = [entry.seq for entry in sorted(entries, key=lambda entry: entry.id)]
    assert seqs == sorted(set(seqs)), "seq is unique and grows with the order of the writes"


def test_a_satchel_is_used_on_both_sides_of_a_fork_and_nothing_is_lost(store_file: Path) -> None:
    with Child("fork", store_file) as child:
        assert child.finish() == [
            "child 0",
            "parent before",
            "child at once",
            "parent after the child",
            "child after the parent closed",
        ]
    with _open(store_file) as satchel:
        assert satchel.entries.read().total == 4
        assert _failed(satchel) == []


def test_a_child_forked_inside_a_transaction_is_refused_and_the_parents_is_kept(store_file: Path) -> None:
    with Child("fork-inside", store_file) as child:
        assert child.finish() == [
            "inside refused",
            "inside refused",
            "leaving refused",
            "again refused",
            "child 0, [('parent',)]",
        ]
    with _open(store_file) as satchel:
        assert _failed(satchel) == []
