"""The filters of every list act in every list."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from satchel import Satchel
from satchel.base.clock import DAY_MS
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock

LISTS: dict[str, Callable[..., Any]] = {
    "entries": lambda satchel, **since: satchel.entries.read(**since),
    "decisions": lambda satchel, **since: satchel.decisions.find(**since),
    "rules": lambda satchel, **since: satchel.constraints.find(**since),
    "errors": lambda satchel, **since: satchel.patterns.find(**since),
    "strategies": lambda satchel, **since: satchel.strategies.find(**since),
    "packages": lambda satchel, **since: satchel.packages.find(**since),
    "messages": lambda satchel, **since: satchel.messages.inbox(agent="ben", **since),
    "file changes": lambda satchel, **since: satchel.files.changes(**since),
    "claims": lambda satchel, **since: satchel.files.claims(**since),
    "runs": lambda satchel, **since: satchel.runs.list(**since),
    "pins": lambda satchel, **since: satchel.pins.list(**since),
    "search": lambda satchel, **since: satchel.finding.search("alpha", **since).results,
    "proposals": lambda satchel, **since: satchel.shared.standing(all=True, **since).items,
}


@pytest.fixture
def written(satchel: Satchel) -> Satchel:
    """Return a store in which every list has an item of now."""
    decision = satchel.decisions.set("db", "alpha")
    satchel.entries.write("discovery", "alpha")
    satchel.constraints.add("alpha")
    satchel.patterns.report("KeyError", "alpha", solution="beta")
    satchel.strategies.save("alpha", "beta")
    satchel.packages.save("alpha", content="beta")
    satchel.messages.send("alpha", to="ben", agent="ann")
    satchel.files.record("src/a.py", "modified")
    satchel.files.claim(["src/b.py"], minutes=7 * 24 * 60, agent="ann")
    satchel.pins.pin(decision.ref)
    satchel.shared.share([decision.ref])
    return satchel


def test_since_leaves_out_what_did_not_change(written: Satchel, clock: ManualClock) -> None:
    clock.advance(DAY_MS // 12)

    @in_one_test("name", LISTS)
    def check(name: str) -> None:
        assert len(LISTS[name](written, since=clock.now - DAY_MS)) == len(LISTS[name](written)) > 0
        assert len(LISTS[name](written, since="1h")) == 0

    check()
