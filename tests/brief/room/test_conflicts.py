"""Conflicts: what different workers claim, want or edit, each file once, and what two decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples import examples
from satchel import Conflict, Satchel
from satchel.base.clock import DAY_MS
from satchel.base.records import replace
from satchel.brief.room import conflicts as module
from satchel.brief.room.conflicts import RECENT_MS
from satchel.keep import paths

if TYPE_CHECKING:
    from conftest import ManualClock


def conflicts(satchel: Satchel) -> list[tuple[str, ...]]:
    found = satchel.room.conflicts()
    assert found.total == len(found.files)
    return sorted((one.path, *sorted(party.agent or "" for party in one.parties)) for one in found.files)


@pytest.fixture
def linked(satchel: Satchel) -> Satchel:
    """The same store, from a linked worktree."""
    workplace = replace(satchel.workplace, worktree="/elsewhere/feature")
    return Satchel(workplace, satchel.place, satchel.config, satchel.environ)


def test_claims_in_two_worktrees_collide(satchel: Satchel, linked: Satchel, clock: ManualClock) -> None:
    satchel.files.claim(["src/"], agent="ann")
    clock.advance(1)
    linked.files.claim(["src/a.py", "issue:3"], agent="ben")
    (one,) = satchel.room.conflicts().files
    assert (one.path, one.same_tree) == ("src/a.py", False)
    assert [(party.path, party.worktree) for party in one.parties] == [
        ("src/**", None),
        ("src/a.py", "/elsewhere/feature"),
    ]


def test_an_edit_of_what_another_claims_collides_for_an_hour(satchel: Satchel, clock: ManualClock) -> None:
    satchel.files.claim(["src/"], agent="ann", minutes=120)
    satchel.files.record("src/a.py", "modified", agent="ben")
    satchel.files.record("src/a.py", "modified", agent="ann")
    satchel.files.record("docs/a.md", "modified", agent="ann")
    assert conflicts(satchel) == [("src/a.py", "ann", "ben")]
    (one,) = satchel.room.conflicts().files
    assert {party.kind for party in one.parties} == {"claim", "edit"}
    clock.advance(RECENT_MS)
    assert conflicts(satchel) == []


def test_what_both_share_does_not_collide(satchel: Satchel) -> None:
    for agent in ("ann", "ben"):
        satchel.files.claim(shared=["a.py"], agent=agent)
    assert conflicts(satchel) == []


def test_a_collision_is_over_with_the_claim(satchel: Satchel, linked: Satchel) -> None:
    satchel.files.claim(["a.py"], agent="ann")
    linked.files.claim(["a.py"], agent="ben")
    assert conflicts(satchel) == [("a.py", "ann", "ben")]
    linked.files.release(["a.py"], agent="ben")
    assert conflicts(satchel) == []


NAMES = ("ann", "ben", "cat")
FILES = ("a.py", "src/a.py", "src/b.py", "src/deep/c.py")
edits = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(FILES)), max_size=8)


@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(done=edits, folder=st.sampled_from([None, "src/**", "src/deep/**", "**"]))
def test_every_pair_that_overlaps_is_shown_once(
    open_in: Callable[..., Satchel],
    tmp_path_factory: pytest.TempPathFactory,
    done: list[tuple[str, str]],
    folder: str | None,
) -> None:
    project: Path = tmp_path_factory.mktemp("tree")
    (project / ".git").mkdir()
    satchel = open_in(project)
    held = [*done, *([("ann", folder)] if folder else [])]
    if folder:
        satchel.files.claim([folder], agent="ann")
    for agent, file in done:
        satchel.files.record(file, "modified", agent=agent)
    expected: dict[str, set[str]] = {}
    for (agent, file), (another, other) in combinations(held, 2):
        if agent != another and paths.overlap(file, other):
            path = min((file, other), key=lambda path: (path.endswith("**"), path))
            expected.setdefault(path, set()).update((agent, another))
    assert conflicts(satchel) == sorted((path, *sorted(agents)) for path, agents in expected.items())


def test_who_was_refused_a_file_is_in_its_conflict(satchel: Satchel, clock: ManualClock) -> None:
    satchel.files.claim(["src/"], agent="ann")
    clock.advance(1_000)
    with pytest.raises(Conflict):
        satchel.files.claim(["src/a.py"], agent="ben")
    (one,) = satchel.room.conflicts().files
    assert (one.path, one.same_tree) == ("src/a.py", True)
    assert [(party.kind, party.agent, party.path, party.began_at) for party in one.parties] == [
        ("claim", "ann", "src/**", clock.now - 1_000),
        ("refused", "ben", "src/a.py", clock.now),
    ]


def test_a_decision_that_two_agents_set_is_a_conflict_for_a_day(satchel: Satchel, clock: ManualClock) -> None:
    satchel.decisions.set("port", 80, agent="ann")
    changed = satchel.decisions.set("port", 443, agent="ben")
    (one,) = satchel.room.conflicts().decided
    assert (one.ref, one.title) == (changed.ref, "port")
    assert [(version.text, version.agent) for version in (one.first, one.second)] == [("80", "ann"), ("443", "ben")]
    satchel.decisions.set("port", 443, rationale="again", agent="ben")
    (one,) = satchel.room.conflicts().decided
    assert one.first.text == "80"
    clock.advance(DAY_MS)
    assert satchel.room.conflicts().decided == ()


def test_a_decision_that_one_agent_changed_is_no_conflict(satchel: Satchel) -> None:
    for value in (80, 443):
        satchel.decisions.set("port", value, agent="ann")
    assert satchel.room.conflicts().decided == ()


def test_a_rule_that_another_replaced_is_a_conflict(satchel: Satchel) -> None:
    old = satchel.constraints.add("Tests come first", category="style", agent="ann")
    new = satchel.constraints.add("Tests come last", category="style", agent="ben", supersedes=old.ref)
    (one,) = satchel.room.conflicts().decided
    assert (one.ref, one.first.text, one.second.text) == (new.ref, "Tests come first", "Tests come last")


def test_pages_of_one_state_of_the_store_compare_its_claims_once(
    satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each page works with a workplace of its own."""
    satchel.files.claim(["src/a.py"], agent="a")
    compared: list[int] = []
    overlaps = module._overlaps

    def count(holds: list[module._Hold]) -> Iterator[tuple[module._Hold, module._Hold]]:
        compared.append(len(holds))
        return overlaps(holds)

    monkeypatch.setattr(module, "_overlaps", count)
    clock = satchel.workplace.clock
    for _ in range(2):
        workplace = replace(satchel.workplace, clock=partial(clock))
        Satchel(workplace, satchel.place, satchel.config, satchel.environ).room.conflicts()
    assert compared == [1]
    satchel.files.claim(["src/b.py"], agent="a")
    satchel.room.conflicts()
    assert compared == [1, 2]
