from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from satchel import FileLock, InvalidInput, Satchel

if TYPE_CHECKING:
    from conftest import ManualClock

SECOND = 1_000
MINUTE = 60 * SECOND


def test_a_file_that_nobody_claims_or_changed_is_free(satchel: Satchel) -> None:
    satchel.files.record("b.py", "created", agent="ann")
    assert satchel.files.check_lock("a.py", agent="Bob") == FileLock("a.py", "Bob", False, None, (), (), (), ())


def test_anothers_exclusive_claim_locks_until_it_ends(satchel: Satchel, clock: ManualClock) -> None:
    (claim,) = satchel.files.claim(["src/"], minutes=3, agent="ann").claims
    lock = satchel.files.check_lock("src/a.py", agent="bob")
    assert lock == FileLock("src/a.py", "bob", True, claim.expires_at, (claim,), (), (), ())
    clock.now = claim.expires_at
    assert not satchel.files.check_lock("src/a.py", agent="bob").locked


def test_ones_own_claim_and_changes_lock_nothing(satchel: Satchel) -> None:
    own = satchel.files.claim(["src/", "src/a.py"], agent="ann").claims
    satchel.files.record("src/a.py", "modified", agent="ann")
    assert satchel.files.check_lock("src/a.py", agent="ANN") == FileLock(
        "src/a.py", "ANN", False, None, (), (), own, ()
    )


def test_the_default_agent_is_exempt_and_an_argument_comes_first(
    open_in: Callable[..., Satchel], project: Path
) -> None:
    satchel = open_in(project, agent="ann")
    satchel.files.claim(["a.py"])
    assert not satchel.files.check_lock("a.py").locked
    assert satchel.files.check_lock("a.py", agent="bob").locked


def test_without_any_agent_nobody_is_exempt(satchel: Satchel) -> None:
    (claim,) = satchel.files.claim(["a.py"], agent="ann").claims
    change = satchel.files.record("b.py", "modified")
    lock = satchel.files.check_lock("a.py")
    assert (lock.agent, lock.locked, lock.claims, lock.own) == (None, True, (claim,), ())
    assert satchel.files.check_lock("b.py").recent == (change,)


def test_a_change_by_nobody_is_anothers(satchel: Satchel) -> None:
    satchel.files.record("a.py", "modified")
    satchel.agents.register("ann")
    assert satchel.files.check_lock("a.py", agent="ann").locked


def test_a_shared_claim_is_named_but_does_not_lock(satchel: Satchel) -> None:
    (claim,) = satchel.files.claim(["a.py"], exclusive=False, agent="ann").claims
    lock = satchel.files.check_lock("a.py", agent="bob")
    assert (lock.locked, lock.until, lock.claims) == (False, None, (claim,))


def test_a_change_by_another_locks_for_the_window(satchel: Satchel, clock: ManualClock) -> None:
    change = satchel.files.record("a.py", "modified", agent="ann")
    assert satchel.files.check_lock("a.py", agent="bob") == FileLock(
        "a.py", "bob", True, change.created_at + 300 * SECOND, (), (), (), (change,)
    )
    clock.advance(299_999)
    assert satchel.files.check_lock("a.py", agent="bob").locked
    clock.advance(1)
    lock = satchel.files.check_lock("a.py", agent="bob")
    assert (lock.locked, lock.until, lock.recent) == (False, None, ())


@pytest.mark.parametrize(("seconds", "locked"), [(60, False), (61, True), (86_400, True)])
def test_the_window_is_as_long_as_asked(satchel: Satchel, clock: ManualClock, seconds: int, locked: bool) -> None:
    satchel.files.record("a.py", "modified", agent="ann")
    clock.advance(MINUTE)
    assert satchel.files.check_lock("a.py", window_seconds=seconds, agent="bob").locked == locked


def test_a_window_of_0_leaves_changes_out_even_those_of_this_moment(satchel: Satchel, clock: ManualClock) -> None:
    satchel.files.record("a.py", "modified", agent="ann")
    clock.advance(-5)
    lock = satchel.files.check_lock("a.py", window_seconds=0, agent="bob")
    assert (lock.locked, lock.recent) == (False, ())
    satchel.files.claim(["a.py"], agent="ann")
    assert satchel.files.check_lock("a.py", window_seconds=0, agent="bob").locked


@pytest.mark.parametrize(("minutes", "seconds", "latest"), [(10, 300, 10 * MINUTE), (1, 300, 5 * MINUTE)])
def test_a_lock_ends_when_the_last_of_its_reasons_does(
    satchel: Satchel, clock: ManualClock, minutes: int, seconds: int, latest: int
) -> None:
    start = clock.now
    satchel.files.claim(["a.py"], minutes=minutes, agent="ann")
    satchel.files.record("a.py", "modified", agent="ann")
    assert satchel.files.check_lock("a.py", window_seconds=seconds, agent="bob").until == start + latest


def test_a_shared_claim_does_not_prolong_a_lock(satchel: Satchel, clock: ManualClock) -> None:
    satchel.files.claim(["a.py"], exclusive=False, minutes=60, agent="ann")
    satchel.files.record("a.py", "modified", agent="ann")
    assert satchel.files.check_lock("a.py", agent="bob").until == clock.now + 300 * SECOND


def test_the_newest_twenty_changes_are_named_newest_first(satchel: Satchel, clock: ManualClock) -> None:
    made = []
    for _ in range(22):
        clock.advance(SECOND)
        made.append(satchel.files.record("a.py", "modified", agent="ann", description="note", layer="data"))
    lock = satchel.files.check_lock("a.py", agent="bob")
    assert lock.recent == tuple(made[:1:-1])
    assert lock.until == made[-1].created_at + 300 * SECOND


def test_an_expired_change_does_not_lock(open_in: Callable[..., Satchel], project: Path, clock: ManualClock) -> None:
    satchel = open_in(project, settings={"retention.file_changes_hours": 1})
    satchel.files.record("a.py", "modified", agent="ann")
    clock.advance(60 * MINUTE)
    assert not satchel.files.check_lock("a.py", window_seconds=86_400, agent="bob").locked


@pytest.mark.parametrize("spelling", ["src/a.py", "./src/a.py", "src//x/../a.py", "{root}/src/a.py"])
@pytest.mark.parametrize("claimed", ["src/a.py", "./src/a.py", "{root}/src/a.py", "src/", "."])
def test_every_spelling_of_a_path_is_the_same_file(
    satchel: Satchel, project: Path, spelling: str, claimed: str
) -> None:
    satchel.files.claim([claimed.format(root=project)], agent="ann")
    satchel.files.record("./src/a.py", "modified", agent="ann")
    lock = satchel.files.check_lock(spelling.format(root=project), agent="bob")
    assert (lock.file, lock.locked, len(lock.claims), len(lock.recent)) == ("src/a.py", True, 1, 1)


def test_a_folder_is_locked_by_what_is_in_it(satchel: Satchel) -> None:
    satchel.files.claim(["src/a.py", "srcs"], agent="ann")
    change = satchel.files.record("src/x/b.py", "created", agent="ann")
    satchel.files.record("srcs", "created", agent="ann")
    lock = satchel.files.check_lock("src/", agent="bob")
    assert (lock.file, lock.locked) == ("src/**", True)
    assert ([claim.path for claim in lock.claims], lock.recent) == (["src/a.py"], (change,))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"file": "../x"}, "names no file"),
        ({"file": "/etc/passwd"}, "outside the project"),
        ({"file": "x" * 10_000}, "file has 10000 characters"),
        ({"file": "*.py"}, "is a pattern"),
        ({"file": None}, "file must be text"),
        ({"window_seconds": -1}, "window_seconds -1 is out of range"),
        ({"window_seconds": 86_401}, "window_seconds 86401 is out of range"),
        ({"window_seconds": math.nan}, "window_seconds nan is not a whole number"),
        ({"window_seconds": True}, "window_seconds True is not a whole number"),
        ({"agent": ""}, "agent is empty"),
    ],
)
def test_what_is_not_acceptable_is_refused(satchel: Satchel, arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        satchel.files.check_lock(**{"file": "a.py", **arguments})
    assert problem in str(refused.value)


def test_asking_writes_and_registers_nothing(satchel: Satchel, project: Path) -> None:
    satchel.files.check_lock("a.py", agent="bob")
    assert not (project / ".satchel").exists()
    satchel.files.claim(["a.py"], minutes=1, agent="ann")
    before = satchel.housekeeping.statistics()
    with satchel.workplace.engine.read() as transaction:
        files = transaction.all("SELECT count(*) FROM files")
    satchel.files.check_lock("a.py", agent="bob")
    assert satchel.housekeeping.statistics() == before
    assert [agent.name for agent in satchel.agents.list()] == ["ann"]
    with satchel.workplace.engine.read() as transaction:
        assert transaction.all("SELECT count(*) FROM files") == files


def test_a_store_that_cannot_be_written_still_answers(open_in: Callable[..., Satchel], project: Path) -> None:
    open_in(project).files.claim(["a.py"], agent="ann")
    assert open_in(project, read_only=True).files.check_lock("a.py", agent="bob").locked
