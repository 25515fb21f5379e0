"""What is not claimed or released, and what is said then."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from agents_here import agents
from keep.files.claims_shown import MINUTE, SECRET, held
from satchel import Conflict, InvalidInput, Satchel
from satchel.base.clock import moment_text
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock

YEAR = "2026"


def test_a_refusal_says_who_since_when_until_when_why_and_what_to_do(satchel: Satchel, clock: ManualClock) -> None:
    since = clock.now
    satchel.files.claim(["src/"], minutes=10, reason="moving modules", agent="ann")
    clock.advance(5)
    satchel.files.claim(shared=["README.md"], minutes=1, agent="cat")
    with pytest.raises(Conflict) as refused:
        satchel.files.claim(["src/a.py", "free", "README.md"], agent="bob")
    assert refused.value.problem == (
        f"nothing was claimed: src/a.py is held by ann as src/** since {moment_text(since, '2026')} "
        f'until {moment_text(since + 10 * MINUTE, YEAR)} UTC (9 min left): "moving modules"; '
        f"README.md is held by cat, shared, since {moment_text(since, '2026')} "
        f"until {moment_text(since + MINUTE, '2026')} UTC (1 min left). Free: free"
    )
    assert refused.value.remedy == (
        "You can wait for it with wait_seconds (1 to 45), ask ann or cat by a message, or work on something else; "
        "a later answer tells you when it is free, and the first to claim it gets it"
    )


def test_every_holder_of_a_refused_path_is_named(satchel: Satchel) -> None:
    for agent in ("ann", "cat"):
        satchel.files.claim(shared=["src/a"], agent=agent)
    with pytest.raises(
        Conflict, match=r"src/\*\* is held by ann as src/a, shared, since .* UTC \(30 min left\) and cat as src/a, "
    ):
        satchel.files.claim(["src/"], agent="bob")


def test_where_only_shared_claims_stand_against_it_sharing_is_offered(satchel: Satchel) -> None:
    satchel.files.claim(shared=["a"], agent="ann")
    with pytest.raises(Conflict, match=r"claim it as shared, ask ann"):
        satchel.files.claim(["a"], agent="bob")


def test_a_refusal_of_many_paths_is_cut_short_and_says_so(satchel: Satchel) -> None:
    satchel.files.claim(["."], agent="ann")
    with pytest.raises(Conflict) as refused:
        satchel.files.claim([f"{number}.py" for number in range(100)], agent="bob")
    assert str(refused.value).count(".py") == 20
    assert "19.py and 80 more are held by ann as ** since " in str(refused.value)


def test_one_refusal_and_nothing_is_claimed_or_registered(satchel: Satchel) -> None:
    satchel.files.claim(["b"], agent="ann")
    before = replace(satchel.housekeeping.statistics(), size_bytes=0)
    with pytest.raises(Conflict):
        satchel.files.claim(["a", "b", "c"], agent="bob")
    assert held(satchel) == [("ann", "b")]
    assert replace(satchel.housekeeping.statistics(), size_bytes=0) == before
    assert [agent.name for agent in agents(satchel)] == ["ann"]
    satchel.files.claim(["a", "c"], agent="bob")
    assert [agent.name for agent in agents(satchel)] == ["ann", "bob"]


@pytest.mark.parametrize("call", ["claim", "release"])
def test_without_an_agent_it_is_refused_and_said_how_to_give_one(satchel: Satchel, call: str) -> None:
    with pytest.raises(InvalidInput, match=r"needs an agent\. Name it with agent, or set .* --agent or SATCHEL_AGENT"):
        getattr(satchel.files, call)(["a"])
    assert satchel.housekeeping.statistics().project is None


@in_one_test(
    ("arguments", "problem"),
    [
        ({"paths": []}, "nothing to claim was named"),
        ({"paths": ["a"] * 101}, "paths has 101 paths"),
        ({"paths": ["a"] * 10_000}, "paths has 10,000 paths. Give 1 to 100; one folder such as src/auth/ covers"),
        ({"wait_seconds": -1}, "wait_seconds -1 is out of range"),
        ({"wait_seconds": 46}, "wait_seconds 46 is out of range"),
        ({"wait_seconds": True}, "wait_seconds True is not a whole number"),
        ({"paths": "a"}, "paths is no list"),
        ({"paths": None}, "paths is no list"),
        ({"paths": {"a": 1}}, "paths is no list"),
        ({"paths": ["a", "../x"]}, "paths[1] '../x' names no file"),
        ({"paths": ["a", "/etc/"]}, "paths[1] '/etc/**' is outside the project"),
        ({"paths": ["a", "x" * 10_000]}, "paths[1] has 10000 characters"),
        ({"paths": ["a", f"{SECRET}/"]}, "paths[1] looks like a secret"),
        ({"paths": ["a", 5]}, "paths[1] must be text"),
        ({"paths": ["a", ""]}, "paths[1] is empty"),
        ({"paths": ["a", "src/*.py"]}, "paths[1] 'src/*.py' is a pattern"),
        ({"minutes": 0}, "minutes 0 would end the claim at once. Give 1 to 10080; releasing ends a claim"),
        ({"minutes": -1}, "minutes -1 is out of range"),
        ({"minutes": 10_081}, "minutes 10081 is out of range"),
        ({"minutes": math.nan}, "minutes nan is not a whole number"),
        ({"minutes": 0.0}, "minutes 0.0 is not a whole number"),
        ({"minutes": 1.5}, "minutes 1.5 is not a whole number"),
        ({"minutes": True}, "minutes True is not a whole number"),
        ({"minutes": False}, "minutes False is not a whole number"),
        ({"minutes": "5"}, "minutes '5' is not a whole number"),
        ({"shared": ["new"]}, "new is in paths and in shared"),
        ({"shared": "src/b"}, "shared is no list of paths"),
        ({"reason": ""}, "reason is empty"),
        ({"reason": "x" * 601}, "reason has 601 characters"),
        ({"reason": 5}, "reason must be text"),
        ({"agent": ""}, "agent is empty"),
        ({"agent": SECRET}, "agent looks like a secret"),
    ],
)
def test_a_claim_that_is_not_acceptable_is_refused_and_nothing_is_written(
    satchel: Satchel, arguments: dict[str, Any], problem: str
) -> None:
    satchel.files.claim(["mine"], agent="ann")
    before = replace(satchel.housekeeping.statistics(), size_bytes=0)
    with pytest.raises(InvalidInput) as refused:
        satchel.files.claim(**{"paths": ["new"], "agent": "bob", **arguments})
    assert problem in str(refused.value)
    assert replace(satchel.housekeeping.statistics(), size_bytes=0) == before
    assert held(satchel) == [("ann", "mine")]


@in_one_test("paths", [[], "a", ["../x"], ["a"] * 101, [5]])
def test_releasing_what_is_no_path_is_refused_and_nothing_is_released(satchel: Satchel, paths: Any) -> None:
    satchel.files.claim(["a"], agent="ann")
    with pytest.raises(InvalidInput, match=r"^paths"):
        satchel.files.release(paths, agent="ann")
    assert held(satchel) == [("ann", "a")]
