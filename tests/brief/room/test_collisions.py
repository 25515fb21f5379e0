"""Collisions: claims and recent edits of different workers that overlap, each pair once for each file."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples import examples
from satchel import Satchel
from satchel.base.records import replace
from satchel.brief.room.collisions import RECENT_MS
from satchel.keep import paths

if TYPE_CHECKING:
    from conftest import ManualClock


def pairs(satchel: Satchel) -> list[tuple[str, ...]]:
    found = satchel.room.collisions()
    assert found.total == len(found.items)
    return sorted((one.path, *sorted((one.first.agent or "", one.second.agent or ""))) for one in found.items)


@pytest.fixture
def linked(satchel: Satchel) -> Satchel:
    """The same store, from a linked worktree."""
    workplace = replace(satchel.workplace, worktree="/elsewhere/feature")
    return Satchel(workplace, satchel.place, satchel.config, satchel.environ)


def test_claims_in_two_worktrees_collide(satchel: Satchel, linked: Satchel, clock: ManualClock) -> None:
    satchel.files.claim(["src/"], agent="ann")
    clock.advance(1)
    linked.files.claim(["src/a.py", "issue:3"], agent="ben")
    (one,) = satchel.room.collisions().items
    assert (one.path, one.same_tree, one.first.path, one.second.path) == ("src/a.py", False, "src/**", "src/a.py")
    assert (one.first.worktree, one.second.worktree) == (None, "/elsewhere/feature")


def test_an_edit_of_what_another_claims_collides_for_an_hour(satchel: Satchel, clock: ManualClock) -> None:
    satchel.files.claim(["src/"], agent="ann", minutes=120)
    satchel.files.record("src/a.py", "modified", agent="ben")
    satchel.files.record("src/a.py", "modified", agent="ann")
    satchel.files.record("docs/a.md", "modified", agent="ann")
    assert pairs(satchel) == [("src/a.py", "ann", "ben")]
    (one,) = satchel.room.collisions().items
    assert {one.first.kind, one.second.kind} == {"claim", "edit"}
    clock.advance(RECENT_MS)
    assert pairs(satchel) == []


def test_what_both_share_does_not_collide(satchel: Satchel) -> None:
    for agent in ("ann", "ben"):
        satchel.files.claim(shared=["a.py"], agent=agent)
    assert pairs(satchel) == []


def test_a_collision_is_over_with_the_claim(satchel: Satchel, linked: Satchel) -> None:
    satchel.files.claim(["a.py"], agent="ann")
    linked.files.claim(["a.py"], agent="ben")
    assert pairs(satchel) == [("a.py", "ann", "ben")]
    linked.files.release(["a.py"], agent="ben")
    assert pairs(satchel) == []


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
    expected = {
        (min((file, other), key=lambda path: (path.endswith("**"), path)), *sorted((agent, another)))
        for (agent, file), (another, other) in combinations(held, 2)
        if agent != another and paths.overlap(file, other)
    }
    assert pairs(satchel) == sorted(expected)
