"""Names in use, and what each agent did, by day."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel import Satchel
from satchel.base.clock import DAY_MS

if TYPE_CHECKING:
    from conftest import ManualClock


def test_names_in_use_are_counted_and_others_left_out(satchel: Satchel) -> None:
    satchel.decisions.set("a", "1", tags=["cache", "speed"], scopes=["api"], layer="data")
    satchel.decisions.set("b", "2", tags=["cache"])
    satchel.constraints.add("be quick", category="performance", tags=["speed"], layer="data")
    old = satchel.constraints.add("be slow", category="style", tags=["old"])
    satchel.corrections.retract(old.ref, "never")
    used = satchel.housekeeping.names_in_use()
    assert [(one.kind, one.name, one.decisions, one.rules) for one in used.names] == [
        ("tag", "cache", 2, 0),
        ("tag", "speed", 1, 1),
        ("scope", "api", 1, 0),
        ("layer", "data", 1, 1),
        ("category", "performance", 0, 1),
    ]
    assert used.total == 5


def test_what_each_agent_did_is_counted_by_day(satchel: Satchel, clock: ManualClock) -> None:
    satchel.entries.write("discovery", "long ago", agent="ann")
    clock.advance(8 * DAY_MS)
    satchel.entries.write("discovery", "a note", agent="ann")
    clock.advance(DAY_MS)
    satchel.decisions.set("a", "1", agent="ann")
    satchel.files.record("src/a.py", "modified", agent="ann")
    satchel.files.claim(["src/a.py"], agent="ann")
    satchel.files.claim(["src/b.py"], agent="ben")
    satchel.files.release(["src/b.py"], agent="ben")
    satchel.messages.send("look", to="ann", agent="ben")
    satchel.patterns.report("ValueError", "no such key", solution="ask first", agent="ben")
    days = satchel.housekeeping.activity().days
    today = clock.now // DAY_MS * DAY_MS
    assert [(one.began_at, one.agent) for one in days] == [(today, "ann"), (today, "ben"), (today - DAY_MS, "ann")]
    counts = [(one.writes, one.changes, one.messages, one.claims, one.solutions) for one in days]
    assert counts == [(1, 1, 0, 1, 0), (0, 0, 1, 1, 1), (1, 0, 0, 0, 0)]


def test_an_empty_project_has_neither(satchel: Satchel) -> None:
    assert satchel.housekeeping.names_in_use().names == ()
    assert satchel.housekeeping.activity().days == ()
