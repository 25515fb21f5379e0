"""The events of a project, read in their order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ManualClock
from days_of_use import vouch_in
from repositories import git, make_repository
from satchel import Conflict, Satchel
from satchel.base.clock import DAY_MS
from satchel.keep import following
from satchel.keep.following import Happening
from satchel.keep.sessions.caller import SERVER


def after(satchel: Satchel, seq: int = 0, limit: int = 100, kinds: list[str] | None = None) -> list[Happening]:
    """The events of the store's first project."""
    with satchel.workplace.engine.read() as transaction:
        return following.events_after(transaction, 1, seq, limit, kinds)


def test_an_event_says_what_happened_to_what_by_whom_and_when(satchel: Satchel, clock: ManualClock) -> None:
    satchel.patterns.report("KeyError", "'x'", solution="give a default", agent="ann")
    satchel.patterns.outcome("y1", helped=False, agent="ben")
    assert after(satchel) == [
        Happening(
            1, "confidence", "x1", "ben", None, None, {"solution": "y1", "helped": False, "confidence": 3}, clock.now
        )
    ]


def test_an_event_of_a_session_names_it_and_its_client(open_in: Callable[..., Satchel], project: Path) -> None:
    server = open_in(project, caller=SERVER)
    server.entries.write("discovery", "one")
    (started,) = after(server)
    with server.workplace.engine.read() as transaction:
        row = transaction.one("SELECT uid, client FROM sessions")
    assert row is not None
    assert (started.kind, started.session, started.client) == ("session_started", row[0].hex(), row[1])


def test_events_come_after_a_number_by_kind_and_as_many_as_asked(satchel: Satchel) -> None:
    satchel.files.claim(["a.py", "b.py", "c.py"], agent="ann")
    with pytest.raises(Conflict):
        satchel.files.claim(["a.py"], agent="ben")
    satchel.files.release(agent="ann")
    assert [one.kind for one in after(satchel)] == ["refusal", "release", "release", "release"]
    assert [one.seq for one in after(satchel, 2)] == [3, 4]
    assert [one.seq for one in after(satchel, 0, 2)] == [1, 2]
    assert [one.seq for one in after(satchel, 0, 1, ["release"])] == [2]
    assert after(satchel, 0, 1, []) == []


def test_an_event_of_a_claim_says_where_and_until_when_and_names_no_folder_of_the_machine(
    open_in: Callable[..., Satchel], tmp_path: Path, clock: ManualClock
) -> None:
    main, linked = make_repository(tmp_path / "main"), tmp_path / "linked"
    git(main, "worktree", "add", "-q", str(linked))
    satchel = open_in(linked)
    first = satchel.files.claim(["a.py"], minutes=5, reason="rotation", agent="ann").claims[0].expires_at
    with pytest.raises(Conflict):
        satchel.files.claim(["a.py"], agent="ben")
    later = satchel.files.claim(["a.py"], minutes=10, agent="ann").claims[0].expires_at
    clock.now = later
    again = satchel.files.claim(["a.py"], minutes=5, agent="ann").claims[0].expires_at
    satchel.files.release(agent="ann")
    assert later > first
    assert [(one.kind, one.details) for one in after(satchel)] == [
        ("refusal", {"paths": ["a.py"], "holders": ["ann"]}),
        ("extension", {"path": "a.py", "until": later}),
        ("expiry", {"path": "a.py", "until": later}),
        ("release", {"path": "a.py", "until": again}),
    ]


def test_what_was_swept_is_known_by_its_number(satchel: Satchel, clock: ManualClock) -> None:
    def swept() -> int:
        with satchel.workplace.engine.read() as transaction:
            return following.swept_until(transaction, 1)

    satchel.entries.write("discovery", "one")
    assert swept() == 0
    for agent in ("ann", "ben"):
        satchel.files.claim([f"{agent}.py"], agent=agent)
        satchel.files.release(agent=agent)
    assert swept() == 0
    vouch_in(satchel, clock.advance(91 * DAY_MS))
    satchel.files.record("a.py", "modified")
    assert swept() == 2, "all are gone"
    satchel.files.claim(["c.py"], agent="ann")
    satchel.files.release(agent="ann")
    assert (swept(), [one.seq for one in after(satchel)]) == (2, [3])
