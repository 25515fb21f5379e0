from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.processes import Child
from faults.rows import add
from satchel.store import turnstile as turnstiles
from satchel.store.opening import Access
from satchel.store.sqlite import SqliteEngine
from satchel.store.turnstile import Turnstile


@pytest.fixture
def turnstile(store_file: Path) -> Iterator[Turnstile]:
    one = Turnstile(store_file)
    yield one
    one.close()


@pytest.fixture
def another(store_file: Path) -> Iterator[Turnstile]:
    one = Turnstile(store_file)
    yield one
    one.close()


def test_a_turn_is_taken_and_given(turnstile: Turnstile, another: Turnstile) -> None:
    assert turnstile.enter(0)
    turnstile.leave()
    assert another.enter(0)


def test_two_turnstiles_of_one_process_exclude_each_other(turnstile: Turnstile, another: Turnstile) -> None:
    assert turnstile.enter(0)
    assert not another.enter(0)


def test_closing_one_turnstile_leaves_the_turn_of_another(
    turnstile: Turnstile, another: Turnstile, store_file: Path
) -> None:
    assert turnstile.enter(0)
    another.enter(0)
    another.close()
    third = Turnstile(store_file)
    assert not third.enter(0)
    third.close()


def test_leaving_without_a_turn_gives_nobody_elses_away(turnstile: Turnstile, another: Turnstile) -> None:
    assert turnstile.enter(0)
    assert not another.enter(0)
    another.leave()
    assert not another.enter(0)


def test_a_closed_turnstile_gives_its_turn_back_and_may_be_used_again(turnstile: Turnstile, another: Turnstile) -> None:
    assert turnstile.enter(0)
    turnstile.close()
    assert another.enter(0)
    another.leave()
    assert turnstile.enter(0)


def test_another_process_waits_until_the_turn_is_given(turnstile: Turnstile, store_file: Path) -> None:
    assert turnstile.enter(0)
    with Child("wait-for-turn", store_file) as child:
        assert child.hear() == "waiting"
        turnstile.leave()
        assert child.hear() == "held"


def test_while_one_waits_the_turn_cannot_be_overtaken(turnstile: Turnstile, another: Turnstile) -> None:
    # the first lock file is what a waiting process holds: its holder goes first, whatever the polling brings
    assert another.enter(0)
    assert not turnstile.enter(0)
    another.leave()
    waiting = os.open(turnstile._paths[0], os.O_RDWR)
    import fcntl

    fcntl.flock(waiting, fcntl.LOCK_EX)
    try:
        assert not another.enter(0)
    finally:
        os.close(waiting)
    assert another.enter(0)


def test_a_killed_holder_gives_its_turn_back(turnstile: Turnstile, store_file: Path) -> None:
    with Child("hold-turn", store_file) as child:
        assert child.hear() == "held"
        assert not turnstile.enter(0)
        child.kill()
        assert turnstile.enter(0)


def test_a_forked_child_does_not_keep_the_turn_of_its_killed_parent(turnstile: Turnstile, store_file: Path) -> None:
    with Child("hold-turn-and-fork", store_file) as child:
        assert child.hear() == "forked"
        assert not turnstile.enter(0)
        # the forked process lives on, with the pipes; only the holder is killed
        child.process.kill()
        child.process.wait()
        assert turnstile.enter(0)


def test_a_signal_handler_that_raises_while_waiting_leaves_no_lock_behind(
    turnstile: Turnstile, another: Turnstile, store_file: Path
) -> None:
    class Alarm(Exception):
        pass

    def ring(*_: object) -> None:
        raise Alarm

    assert another.enter(0)
    previous = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Alarm):
            turnstile.enter(60)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    another.leave()
    third = Turnstile(store_file)
    assert third.enter(0)
    third.close()


def test_a_signal_handler_that_raises_once_the_lock_is_taken_gives_it_back(
    turnstile: Turnstile, another: Turnstile, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = turnstiles._take

    def take_and_ring(descriptor: int, deadline: float, *pauses: float) -> bool:
        taken = take(descriptor, deadline, *pauses)
        if descriptor == turnstile._lock:
            raise KeyboardInterrupt
        return taken

    with monkeypatch.context() as patch:
        patch.setattr(turnstiles, "_take", take_and_ring)
        with pytest.raises(KeyboardInterrupt):
            turnstile.enter(0)
    assert another.enter(0)


def test_a_writer_that_gets_no_turn_in_time_writes_all_the_same(store_file: Path, turnstile: Turnstile) -> None:
    engine = SqliteEngine(Access(store_file, wait_ms=200))
    add(engine, "before")
    assert turnstile.enter(60)
    add(engine, "without a turn")
    engine.close()


def test_a_writer_whose_lock_files_cannot_be_opened_writes_all_the_same(store_file: Path) -> None:
    for path in (f"{store_file}-turn", f"{store_file}-lock"):
        Path(path).mkdir()
    engine = SqliteEngine(Access(store_file))
    add(engine, "without a turn")
    engine.close()


def test_the_lock_files_are_private(turnstile: Turnstile, tmp_path: Path) -> None:
    turnstile.enter(0)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


class _Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_a_stopped_holder_costs_one_wait_and_not_one_for_every_write(
    turnstile: Turnstile, store_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = _Clock()
    with Child("hold-turn", store_file) as child:
        assert child.hear() == "held"
        os.kill(child.process.pid, signal.SIGSTOP)
        monkeypatch.setattr("satchel.store.turnstile.time", clock)
        assert not any(turnstile.enter(2.0) for _ in range(100))
    assert 2 <= clock.now < 3


def test_once_a_stopped_holder_has_left_turns_are_waited_for_again(turnstile: Turnstile, another: Turnstile) -> None:
    assert another.enter(0)
    assert not turnstile.enter(0.01)
    another.leave()
    assert turnstile.enter(0.01)
    turnstile.leave()
    assert turnstile._stuck_until == 0


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EBADF, errno.EIO, errno.EINTR])
def test_a_file_system_without_working_locks_gives_no_turn_and_no_error(
    turnstile: Turnstile, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", refuse)
        assert not turnstile.enter(60)
    assert turnstile.enter(0)
    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", refuse)
        turnstile.leave()
    assert turnstile.enter(0)
