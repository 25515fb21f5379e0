from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from satchel import Satchel
from satchel.keep.kinds import KINDS

if TYPE_CHECKING:
    from conftest import ManualClock

DAY = 24 * 3_600_000


def test_decisions_and_constraints_are_counted_by_status(satchel: Satchel) -> None:
    for number, status in enumerate(("active", "active", "active", "deprecated", "deprecated", "draft")):
        satchel.decisions.set(f"alpha{number}", number, status=status)
    for number in range(3):
        added = satchel.constraints.add(str(number))
    satchel.corrections.retract(added.ref)
    counted = satchel.housekeeping.statistics()
    assert counted.decisions == (("active", 3), ("deprecated", 2), ("draft", 1))
    assert counted.constraints == (("active", 2), ("inactive", 1))
    assert sum(number for _, number in counted.decisions) == 6


def test_messages_file_changes_and_claims_count_until_they_expire(satchel: Satchel, clock: ManualClock) -> None:
    satchel.files.claim(["src/a.py", "src/b.py", "src/c.py"], minutes=60, agent="ann")
    satchel.files.record("src/a.py", "modified")
    satchel.messages.send("x", to="bob", agent="ann")
    satchel.messages.send("y", agent="ann")
    counted = satchel.housekeeping.statistics()
    assert (counted.messages, counted.file_changes, counted.claims) == (2, 1, 3)
    clock.advance(3_600_000)
    assert satchel.housekeeping.statistics().claims == 0
    clock.advance(7 * DAY)
    counted = satchel.housekeeping.statistics()
    assert (counted.messages, counted.file_changes) == (0, 0)


def test_tags_and_scopes_are_counted(satchel: Satchel) -> None:
    satchel.housekeeping.initialise()
    before = satchel.housekeeping.statistics()
    satchel.decisions.set("key", 1, tags=["api", "new", "newer"], scopes=["gateway"])
    after = satchel.housekeeping.statistics()
    assert (after.tags - before.tags, after.scopes - before.scopes) == (2, 1)


def test_packages_are_counted_by_status(satchel: Satchel) -> None:
    first = satchel.packages.save("one", content="x")
    satchel.packages.save("two", content="x", supersedes=first.ref)
    satchel.packages.save("three", content="x")
    assert satchel.housekeeping.statistics().packages == (("live", 2), ("superseded", 1))


def test_errors_and_their_solutions_count_until_they_expire(satchel: Satchel, clock: ManualClock) -> None:
    for solution in ("look again", "ask somebody"):
        satchel.patterns.report("KeyError", "no id", solution=solution, ttl_days=1)
    satchel.patterns.report("OSError", "no disk", ttl_days=2)
    counted = satchel.housekeeping.statistics()
    assert (counted.error_patterns, counted.solutions) == (2, 2)
    clock.advance(DAY)
    counted = satchel.housekeeping.statistics()
    assert (counted.error_patterns, counted.solutions) == (1, 0)


def test_strategies_and_deliveries_are_counted(satchel: Satchel, deliver: Callable[[Satchel, str], None]) -> None:
    ref = satchel.strategies.save("topic", "say it twice").ref
    deliver(satchel, ref)
    deliver(satchel, satchel.strategies.save("other", "say it once").ref)
    counted = satchel.housekeeping.statistics()
    assert (counted.strategies, counted.deliveries) == (2, 2)


def test_every_kind_is_counted_until_it_expires(satchel: Satchel, clock: ManualClock) -> None:
    satchel.entries.write("discovery", "x")
    satchel.messages.send("x", agent="ann")
    satchel.strategies.save("topic", "say it twice")
    before = dict(satchel.housekeeping.statistics().kinds)
    assert list(before) == [thing.name for thing in KINDS.values()]
    assert {name for name, count in before.items() if count} == {"entry", "message", "strategy"}
    clock.advance(7 * DAY)
    assert dict(satchel.housekeeping.statistics().kinds) == before | {"message": 0}


def test_what_another_project_holds_does_not_count(
    open_in: Callable[..., Satchel], project: Path, deliver: Callable[[Satchel, str], None]
) -> None:
    one, other = open_in(project, project="one"), open_in(project, project="other")
    one.housekeeping.initialise()
    before = one.housekeeping.statistics()
    other.decisions.set("key", 1, tags=["odd"], scopes=["odd"])
    other.constraints.add("x")
    other.messages.send("x", agent="ann")
    other.files.record("src/a.py", "created")
    other.files.claim(["src/a.py"], agent="ann")
    other.packages.save("x", content="x")
    other.patterns.report("KeyError", "no id", solution="look again")
    deliver(other, other.strategies.save("topic", "say it twice").ref)
    after = one.housekeeping.statistics()
    ledger = ("decisions", "constraints", "messages", "file_changes", "claims", "tags", "scopes")
    names = (*ledger, "packages", "error_patterns", "solutions", "strategies", "deliveries")
    assert [getattr(after, name) for name in names] == [getattr(before, name) for name in names]
    assert after.other_projects == 1


def test_the_bytes_are_shared_by_everything_that_can_be_found(satchel: Satchel) -> None:
    satchel.constraints.add("x")
    satchel.decisions.set("key", 1)
    counted = satchel.housekeeping.statistics()
    assert counted.size_bytes is not None
    assert counted.bytes_per_item == round(counted.size_bytes / 2)
