"""Simulated power failures under the real engine and the real entries: what was acknowledged is there."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from faults.disks import PowerDisk
from satchel.base.clock import system_clock
from satchel.keep.entries.service import Entries
from satchel.keep.housekeeping.service import Housekeeping
from satchel.keep.projects import Workplace
from satchel.store.sqlite import SqliteEngine

pytestmark = pytest.mark.slow

OpenEngine = Callable[..., SqliteEngine]

_WRITES = 60
_CUTS = 16


@pytest.fixture
def disk() -> Iterator[PowerDisk]:
    vfs = PowerDisk("satchel-power")
    yield vfs
    vfs.unregister()


def _workplace(engine: SqliteEngine) -> Workplace:
    return Workplace(engine, system_clock, "p", "p", None, None, None, None, 1 << 20, None)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What the simulated failures of one run of writes brought.

    Attributes:
        lost: uids that were acknowledged before a failure and not there after it, over all failures.
        faults: what doctor found wrong.
    """

    lost: list[str]
    faults: list[str]


def _write_and_cut(disk: PowerDisk, folder: Path, open_engine: OpenEngine, durability: str, seed: int) -> _Outcome:
    chance = random.Random(seed)
    engine = open_engine(durability=durability, vfs="satchel-power")
    entries = Entries(_workplace(engine))
    acknowledged: list[tuple[int, str]] = []
    for number in range(_WRITES):
        uid = entries.write("discovery", f"entry {number} " + "x" * chance.randint(1, 3_000)).uid
        acknowledged.append((len(disk.log), uid))
        if number == 0:
            with engine.exclusive() as connection:
                connection.pragma("wal_autocheckpoint", 20)  # so that failures fall into checkpoints too
    outcome = _Outcome([], [])
    for place, cut in enumerate(sorted(chance.sample(range(acknowledged[0][0], len(disk.log) + 1), _CUTS))):
        wreck = folder / f"wreck-{place}"
        wreck.mkdir()
        disk.after_power_failure(cut, chance, wreck)
        after = open_engine(file=wreck / "s.db")
        workplace = _workplace(after)
        found = {entry.uid for entry in Entries(workplace).read(limit=500)}
        outcome.lost.extend(uid for end, uid in acknowledged if end <= cut and uid not in found)
        outcome.faults.extend(
            f"cut {cut}: {check.detail}" for check in Housekeeping(workplace).doctor() if check.status == "failed"
        )
    return outcome


@pytest.mark.parametrize("seed", range(3))
def test_no_acknowledged_write_is_lost_at_power_failure_and_the_store_is_whole(
    disk: PowerDisk, tmp_path: Path, open_engine: OpenEngine, seed: int
) -> None:
    outcome = _write_and_cut(disk, tmp_path, open_engine, "full", seed)
    assert outcome == _Outcome([], [])
    checkpoints = [operation for operation in disk.log if operation.file == "s.db" and operation.kind == "sync"]
    assert len(checkpoints) > 5, "the simulation is to reach checkpoints"


def test_with_relaxed_durability_the_same_simulation_loses_writes_and_breaks_nothing(
    disk: PowerDisk, tmp_path: Path, open_engine: OpenEngine
) -> None:
    outcome = _write_and_cut(disk, tmp_path, open_engine, "relaxed", 0)
    assert outcome.lost, "a simulation that loses nothing without syncs proves nothing"
    assert outcome.faults == []


def test_a_power_failure_while_the_store_is_made_leaves_one_that_can_be_used(
    disk: PowerDisk, tmp_path: Path, open_engine: OpenEngine
) -> None:
    entries = Entries(_workplace(open_engine(vfs="satchel-power")))
    entries.write("discovery", "first")
    chance = random.Random(0)
    for cut in range(0, len(disk.log), 5):
        wreck = tmp_path / f"wreck-{cut}"
        wreck.mkdir()
        disk.after_power_failure(cut, chance, wreck)
        again = Entries(_workplace(open_engine(file=wreck / "s.db")))
        again.write("discovery", "after the failure")
        assert again.read(limit=1).entries[0].content == "after the failure"
