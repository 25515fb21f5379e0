"""Automatic backups: when they are made, and which go."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import ManualClock
from satchel import Satchel
from satchel.base.clock import DAY_MS
from satchel.base.errors import SatchelError
from satchel.store import backups
from satchel.store import engine as engines
from satchel.store.engine import automatic_backups, back_up_when_due
from satchel.store.opening import Access
from satchel.store.sqlite import SqliteEngine
from satchel.store.turnstile import only_one

RECENT_MS = 600_000


class Store:
    """A store of a project, with files that change only when a test dates them."""

    def __init__(self, satchel: Satchel, clock: ManualClock) -> None:
        self.satchel, self.clock = satchel, clock
        assert satchel.workplace.root is not None
        self.file = Path(satchel.workplace.root, ".satchel", "satchel.db")
        satchel.entries.write("discovery", "x")

    def date(self, *files: Path) -> None:
        """Set the times of files to that of the clock, which tests move."""
        for file in files:
            os.utime(file, ns=(self.clock.now * 1_000_000,) * 2)

    def back_up(self, *, changed: bool = True) -> Path | None:
        """Make a backup if one is due; ``changed`` is whether the store has changed just before."""
        if changed:
            self.date(*self.file.parent.glob("satchel.db*"))
        made = back_up_when_due(self.satchel.workplace.engine)
        if made is None:
            return None
        self.date(made.file)
        return made.file

    def backups(self) -> list[Path]:
        """Return the backups, oldest first."""
        return [one.file for one in self.satchel.housekeeping.backups()]


@pytest.fixture
def store(satchel: Satchel, clock: ManualClock) -> Store:
    return Store(satchel, clock)


def test_a_backup_is_due_a_day_after_the_last_one_if_something_changed(store: Store) -> None:
    made = []
    for _ in range(2):
        store.clock.advance(DAY_MS)
        made.append(store.back_up())
    assert [one and one.name.partition("-")[0] for one in made] == ["daily", "daily"]
    store.clock.advance(DAY_MS)
    assert store.back_up(changed=False) is None


def test_the_first_backup_is_due_a_minute_after_the_store_was_made(store: Store) -> None:
    assert store.back_up() is None
    store.clock.advance(59_999)
    assert store.back_up() is None
    store.clock.advance(1)
    made = store.back_up()
    assert made is not None
    assert made.name.startswith("daily-")


def test_a_recent_backup_is_due_ten_minutes_after_any_other_and_three_stay(store: Store) -> None:
    store.clock.advance(DAY_MS)
    assert store.back_up() is not None
    store.clock.advance(RECENT_MS - 1)
    assert store.back_up() is None
    store.clock.advance(1)
    first = store.back_up()
    assert first is not None
    assert first.name.startswith("recent-")
    later = []
    for _ in range(3):
        store.clock.advance(RECENT_MS - 1)
        assert store.back_up() is None
        store.clock.advance(1)
        later.append(store.back_up())
    assert store.backups()[1:] == later


def test_recent_backups_do_not_put_off_the_one_of_the_day(store: Store) -> None:
    store.clock.advance(DAY_MS)
    assert store.back_up() is not None
    store.clock.advance(DAY_MS - RECENT_MS)
    assert store.back_up() is not None
    store.clock.advance(RECENT_MS)
    made = store.back_up()
    assert made is not None
    assert made.name.startswith("daily-")


def test_a_large_store_is_copied_less_often(store: Store) -> None:
    store.clock.advance(DAY_MS)
    assert store.back_up() is not None
    with store.file.open("r+b") as stream:
        stream.truncate(20 << 20)
    store.clock.advance(2 * RECENT_MS - 1)
    assert store.back_up() is None


@pytest.mark.parametrize(("pause", "looks"), [(0.0, 2), (60.0, 0)])
def test_a_server_looks_when_it_ends_if_it_has_looked_before(
    store: Store, monkeypatch: pytest.MonkeyPatch, pause: float, looks: int
) -> None:
    looked: queue.SimpleQueue[SqliteEngine] = queue.SimpleQueue()
    monkeypatch.setattr(engines, "_FIRST_PAUSE_SECONDS", pause)
    monkeypatch.setattr(engines, "back_up_when_due", looked.put)
    with automatic_backups(store.satchel.workplace.engine):
        first = [looked.get(timeout=60)] if looks else []
    assert len(first) + looked.qsize() == looks


def test_the_oldest_automatic_backups_go_and_those_that_were_asked_for_stay(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    store = Store(open_in(project, settings={"store.backups_keep": 2}), clock)
    requested = store.satchel.housekeeping.backup().file
    store.date(requested)
    made = []
    for _ in range(4):
        clock.advance(DAY_MS)
        made.append(store.back_up())
    assert store.backups() == [requested, *made[-2:]]


def test_beyond_the_limit_of_the_state_folder_only_the_newest_stays(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backups, "_MAX_BYTES_IN_STATE", 1)
    for _ in range(2):
        store.clock.advance(DAY_MS)
        newest = store.back_up()
    assert store.backups() == [newest]


def test_the_limit_leaves_each_project_its_newest_backup(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backups, "_MAX_BYTES_IN_STATE", 1)
    store.clock.advance(DAY_MS)
    made = store.back_up()
    assert made is not None
    idle = made.parent.with_name("idle")
    idle.mkdir()
    older, only = idle / "daily-1.db", idle / "daily-2.db"
    for file in (older, only):
        file.write_bytes(b"x")
        store.date(file)
    store.clock.advance(DAY_MS)
    newest = store.back_up()
    assert [*made.parent.glob("*.db"), *idle.glob("*.db")] == [newest, only]


def test_whether_a_backup_is_due_is_asked_again_under_the_lock(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.clock.advance(DAY_MS)
    others = []

    @contextmanager
    def locked_after_another(file: Path) -> Iterator[bool]:
        monkeypatch.setattr(backups, "only_one", only_one)
        others.append(store.back_up())
        yield True

    monkeypatch.setattr(backups, "only_one", locked_after_another)
    assert store.back_up() is None
    assert store.backups() == others


def test_while_another_process_makes_the_backup_none_is_made(store: Store) -> None:
    store.clock.advance(DAY_MS)
    engine = store.satchel.workplace.engine
    assert isinstance(engine, SqliteEngine)
    assert engine.trust is not None
    folder = engine.trust.backup_folder
    assert folder is not None
    folder.mkdir(parents=True)
    with only_one(folder / "daily-lock") as is_mine:
        assert is_mine
        assert store.back_up() is None
    assert store.back_up() is not None


def test_a_store_that_was_named_by_its_path_gets_none(tmp_path: Path, clock: ManualClock) -> None:
    engine = SqliteEngine(Access(tmp_path / "s.db"), clock=clock)
    with engine.write():
        pass
    clock.advance(DAY_MS)
    assert back_up_when_due(engine) is None
    engine.close()


def test_a_server_tries_again_after_a_backup_failed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts: list[object] = []
    tried_again = threading.Event()

    def fail_once(engine: object) -> None:
        attempts.append(engine)
        if len(attempts) == 1:
            raise SatchelError("the disk is full")
        tried_again.set()

    monkeypatch.setattr(engines, "_FIRST_PAUSE_SECONDS", 0)
    monkeypatch.setattr(engines, "_PAUSE_SECONDS", 0)
    monkeypatch.setattr(engines, "back_up_when_due", fail_once)
    with automatic_backups(store.satchel.workplace.engine):
        assert tried_again.wait(60)


def test_a_backup_that_is_dated_in_the_future_stops_nothing_and_goes_first(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    store = Store(open_in(project, settings={"store.backups_keep": 2}), clock)
    clock.advance(400 * DAY_MS)
    ahead = store.back_up()
    assert ahead is not None
    clock.advance(-398 * DAY_MS)
    made = [store.back_up()]
    clock.advance(DAY_MS)
    made.append(store.back_up())
    assert None not in made
    assert not ahead.exists()
