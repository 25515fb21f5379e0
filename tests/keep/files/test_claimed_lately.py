"""What claiming says of the files that were claimed: who changed them lately, and how long it waited."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agents_here import register
from keep.files.claims_shown import MINUTE
from satchel import RecentActivity, Satchel
from satchel.keep.files import checking, claiming, service
from satchel.keep.sessions.caller import SERVER
from satchel.store.transaction import Transaction
from sleeps import Sleeps

if TYPE_CHECKING:
    from conftest import ManualClock


def test_what_others_changed_lately_is_told_as_checking_tells_it(satchel: Satchel, clock: ManualClock) -> None:
    change = satchel.files.record("src/a.py", "modified", agent="ann")
    satchel.files.record("src/b.py", "modified", agent="bob")
    clock.advance(service.WINDOW_SECONDS * 1_000 - 1)
    (checked,) = satchel.files.check(["src/a.py"], agent="bob").files
    claimed = satchel.files.claim(["src/b.py", "src/a.py", "issue:3"], agent="bob")
    assert claimed.lately == (RecentActivity("src/a.py", None, (change,)),)
    assert claimed.lately[0].recent == checked.recent
    satchel.files.release(agent="bob")
    clock.advance(1)
    assert satchel.files.claim(["src/a.py"], agent="bob").lately == ()


def test_of_a_folder_the_files_are_told_that_others_changed(satchel: Satchel) -> None:
    change = satchel.files.record("src/a.py", "modified", agent="ann")
    assert satchel.files.claim(["src/"], agent="bob").lately == (RecentActivity("src/**", None, (change,)),)


def test_a_change_on_disk_that_nobody_recorded_is_told(satchel: Satchel, project: Path, clock: ManualClock) -> None:
    register(satchel, "ann")
    clock.advance(MINUTE)
    (project / "a.py").touch()
    os.utime(project / "a.py", ns=(clock.now * 1_000_000,) * 2)
    assert satchel.files.claim(["a.py"], agent="bob").lately == (RecentActivity("a.py", None, (), clock.now),)


def test_of_what_is_renewed_or_claimed_by_a_hook_nothing_is_told(
    open_in: Callable[..., Satchel], project: Path, satchel: Satchel
) -> None:
    server = open_in(project, caller=SERVER)
    server.files.claim(["a.py"], agent="bob")
    satchel.files.record("a.py", "modified", agent="ann")
    satchel.files.record("b.py", "modified", agent="ann")
    assert [one.file for one in server.files.claim(["a.py", "b.py"], agent="bob").lately] == ["b.py"]


def test_it_says_how_long_it_waited_and_what_was_changed_meanwhile(
    satchel: Satchel, project: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleeps = Sleeps()
    monkeypatch.setattr(claiming, "time", sleeps)
    (project / "a.py").touch()
    satchel.files.claim(["a.py"], agent="ann")

    def release() -> None:
        clock.advance(12_000)
        satchel.files.release(["a.py"], description="split", agent="ann")

    sleeps.actions = [release]
    claimed = satchel.files.claim(["a.py"], wait_seconds=45, agent="bob")
    assert claimed.waited_ms == 12_000
    assert [one.description for one in claimed.lately[0].recent] == ["split"]
    assert satchel.files.claim(["b.py"], wait_seconds=45, agent="bob").waited_ms == 0


def test_what_was_claimed_is_answered_though_what_happened_before_cannot_be_read(
    satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from satchel import Busy

    def refuse(*_: object) -> Transaction:
        raise Busy("the store is busy")

    satchel.files.record("a.py", "modified", agent="ann")
    monkeypatch.setattr(checking, "add_recent_activity", refuse)
    claimed = satchel.files.claim(["a.py"], agent="bob")
    assert ([claim.path for claim in claimed.claims], claimed.lately) == (["a.py"], ())
