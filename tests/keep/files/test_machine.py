"""Claims of three agents in any order under a moving clock, and overlap as the store decides it, beside a model."""

from __future__ import annotations

import itertools
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from examples import examples
from keep.files.claims_shown import claim_automatically
from satchel import Conflict, Satchel, open_satchel
from satchel.keep.files.claims import Claimant, claims_of_others
from satchel.keep.sessions.records import Actor
from state_machines import short_and_long

MINUTE = 60_000
AGENTS = ("ann", "bob", "cat")

# names that are beginnings of each other, that LIKE would confuse, and that sort around the slash
STEPS = st.sampled_from(["a", "ab", "a-", "a.", "a0", "a_", "b%", "é"])
FILES = st.lists(STEPS, min_size=1, max_size=4).map("/".join)
FOLDERS = st.lists(STEPS, max_size=3).map(lambda steps: "/".join([*steps, "**"]))
PATHS = FILES | FOLDERS


def reaches(path: str) -> Callable[[str], bool]:
    """What a claimed path stands for, told step by step: the model that the store is compared with."""
    steps = path.split("/")
    if steps[-1] != "**":
        return lambda name: name == path
    return lambda name: name.split("/")[: len(steps) - 1] == steps[:-1]


def overlaps(one: str, other: str) -> bool:
    """Whether some name is reached by both: their own, or those of the folders; a key is reached by itself alone."""
    if ":" in one or ":" in other:
        return one == other
    names = [path.removesuffix("/**") for path in (one, other)]
    return any(reaches(one)(name) and reaches(other)(name) for name in names)


@pytest.fixture(scope="module")
def shared_satchel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    folder = tmp_path_factory.mktemp("overlap")
    (folder / ".git").mkdir()
    with open_satchel(cwd=folder, environ={}, settings={"store.durability": "relaxed"}, clock=lambda: 1) as satchel:
        yield satchel


@settings(deadline=None, max_examples=examples(300), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stored=st.lists(PATHS, min_size=1, max_size=12, unique=True), wanted=st.lists(PATHS, min_size=1, max_size=4))
def test_the_store_finds_exactly_the_claims_that_overlap(
    shared_satchel: Satchel, stored: list[str], wanted: list[str]
) -> None:
    shared_satchel.files.release(agent="ann")
    shared_satchel.files.claim(stored, agent="ann")
    with shared_satchel.workplace.engine.read() as transaction:
        found = [claim.path for claim in claims_of_others(Claimant(transaction, 1, Actor(), 1), wanted)]
    assert sorted(found) == sorted(path for path in stored if any(overlaps(path, one) for one in wanted))


@settings(deadline=None, max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=st.lists(FILES, min_size=1, max_size=8, unique=True), wanted=PATHS)
def test_the_changes_of_a_folder_are_those_of_the_files_in_it(
    shared_satchel: Satchel, files: list[str], wanted: str
) -> None:
    with shared_satchel.workplace.engine.write() as transaction:
        transaction.run("DELETE FROM file_changes")
        transaction.run("DELETE FROM documents")
    for file in files:
        shared_satchel.files.record(file, "modified")
    found = [change.file for change in shared_satchel.files.changes(file=wanted)]
    steps = wanted.split("/")
    inside = [
        file for file in files if file.split("/")[: len(steps) - 1] == steps[:-1] and len(file.split("/")) >= len(steps)
    ]
    assert sorted(found) == sorted(inside if steps[-1] == "**" else [file for file in files if file == wanted])


@dataclass(frozen=True)
class Lease:
    """What the model knows of one claim."""

    exclusive: bool
    expires: int
    since: int
    reason: str | None
    automatic: bool


class Claims(RuleBasedStateMachine):
    """Three agents claim, renew, share and release a few paths that lie in each other and a key, by hand and by hooks.

    Who was refused is told once, with the first answer after that at which it is free.
    """

    WANTED = st.lists(
        st.sampled_from(["a", "a/**", "a/b", "a/b/**", "a/b/c", "ab", "**", "d/e", "k:a", "k:a/b"]),
        min_size=1,
        max_size=3,
        unique=True,
    )

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        (Path(self.folder.name) / ".git").mkdir()
        self.now = 1_795_000_000_000
        self.satchel: Satchel = open_satchel(
            cwd=self.folder.name,
            environ={},
            clock=lambda: self.now,
            settings={"store.durability": "relaxed", "claims.minutes": 3},
        )
        self.model: dict[tuple[str, str], Lease] = {}
        self.claimed_once: set[tuple[str, str]] = set()
        self.refused: dict[tuple[str, str], bool] = {}

    def teardown(self) -> None:
        if hasattr(self, "satchel"):
            self.satchel.close()
            self.folder.cleanup()

    def live(self) -> dict[tuple[str, str], Lease]:
        return {key: lease for key, lease in self.model.items() if lease.expires > self.now}

    @rule(milliseconds=st.sampled_from([0, 1, MINUTE - 1, MINUTE, 3 * MINUTE]))
    def time_passes(self, milliseconds: int) -> None:
        self.now += milliseconds

    def against(self, agent: str | None, path: str, *, exclusive: bool) -> set[str]:
        """Who holds what stands against an agent's claim."""
        return {
            holder
            for (holder, claimed), lease in self.live().items()
            if holder != agent and overlaps(path, claimed) and (exclusive or lease.exclusive)
        }

    @rule(
        agent=st.sampled_from(AGENTS),
        wanted=WANTED,
        exclusive=st.booleans(),
        minutes=st.sampled_from([None, 1, 5]),
        reason=st.sampled_from([None, "x", "y"]),
    )
    def claim(
        self,
        agent: str,
        wanted: list[str],
        exclusive: bool,
        minutes: int | None,
        reason: str | None,
    ) -> None:
        self.model = self.live()
        refused = {path: self.against(agent, path, exclusive=exclusive) for path in wanted}
        options: dict[str, Any] = {
            "paths" if exclusive else "shared": wanted,
            "minutes": minutes,
            "reason": reason,
            "agent": agent,
        }
        if any(refused.values()):
            with pytest.raises(Conflict) as error:
                self.satchel.files.claim(**options)
            for path, holders in refused.items():
                assert not holders or re.search(
                    rf"[ ,]{re.escape(path)}(?:, [^ ]+)* (?:is|are) held by ", error.value.problem
                )
                assert all(holder in error.value.problem for holder in holders)
                if holders:
                    self.refused[agent, path] = exclusive
            return
        claimed = self.satchel.files.claim(**options)
        assert list(claimed.renewed) == [path for path in wanted if (agent, path) in self.model]
        assert {(claim.agent, claim.path) for claim in claimed.shared} == {
            key for key in self.model if key[0] != agent and any(overlaps(key[1], path) for path in wanted)
        }
        expires = self.now + (minutes or 3) * MINUTE
        for path in wanted:
            new = Lease(exclusive, expires, self.now, reason, automatic=False)
            old = self.model.get((agent, path))
            if old is not None:
                new = replace(new, since=old.since, reason=reason or old.reason)
            self.model[agent, path] = new
            self.claimed_once.add((agent, path))
        for key in [key for key in self.refused if key[0] == agent and any(overlaps(key[1], path) for path in wanted)]:
            del self.refused[key]

    @rule(agent=st.sampled_from(AGENTS), wanted=WANTED)
    def edit(self, agent: str, wanted: list[str]) -> None:
        self.model = self.live()
        if any(self.against(agent, path, exclusive=True) for path in wanted):
            return
        claim_automatically(self.satchel, *wanted, agent=agent)
        expires = self.now + 5 * MINUTE
        for path in wanted:
            old = self.model.get((agent, path))
            new = Lease(True, expires, self.now, None, automatic=True)
            if old is not None:
                new = replace(old, exclusive=True, expires=max(expires, old.expires))
            self.model[agent, path] = new
            self.claimed_once.add((agent, path))

    @rule(agent=st.sampled_from(AGENTS))
    def answer(self, agent: str) -> None:
        line = self.satchel.notices.line(agent=agent) or ""
        free = [
            path
            for (refused, path), exclusive in self.refused.items()
            if refused == agent and not self.against(agent, path, exclusive=exclusive)
        ]
        named = {path for paths in re.findall(r"([^;\n]+) (?:is|are) free now", line) for path in paths.split(", ")}
        told = [path for path in free if path in {name.removeprefix("notice: ").strip() for name in named}]
        assert len(told) == min(len(free), 5) == len(named)
        for path in told:
            del self.refused[agent, path]

    @rule(agent=st.sampled_from(AGENTS), wanted=st.none() | WANTED)
    def release(self, agent: str, wanted: list[str] | None) -> None:
        own = [path for holder, path in self.live() if holder == agent]
        released = self.satchel.files.release(wanted, agent=agent)
        expected = sorted(own) if wanted is None else [path for path in wanted if path in own]
        assert list(released.released) == expected
        # a claim that has expired is said to have expired as long as the store knows of it
        others = {path for path in wanted or [] if path not in own}
        assert others >= set(released.not_held) >= {path for path in others if (agent, path) not in self.claimed_once}
        for path in expected:
            del self.model[agent, path]
        assert {(wish.agent, wish.path) for wish in released.wished} == {
            (refused, wish)
            for (refused, wish), exclusive in self.refused.items()
            if refused != agent
            and any(overlaps(wish, path) for path in expected)
            and not self.against(refused, wish, exclusive=exclusive)
        }

    @rule(agent=st.none() | st.sampled_from(AGENTS), path=st.sampled_from(["a", "a/b", "a/b/c/d", "ab", "z", "k:a"]))
    def check(self, agent: str | None, path: str) -> None:
        (one,) = self.satchel.files.check([path], agent=agent).files
        covering = {key: lease for key, lease in self.live().items() if overlaps(key[1], path)}
        against = [lease.expires for (holder, _), lease in covering.items() if holder != agent and lease.exclusive]
        own = [lease.expires for (holder, _), lease in covering.items() if holder == agent]
        assert one.state == ("held" if against else "yours" if own else "free")
        assert one.until == max(against or own, default=None)
        assert {(claim.agent, claim.path) for claim in one.claims} == {key for key in covering if key[0] != agent}
        assert {(claim.agent, claim.path) for claim in one.own} == {key for key in covering if key[0] == agent}

    @invariant()
    def the_store_holds_what_the_model_does(self) -> None:
        if hasattr(self, "satchel"):
            kept = {
                (claim.agent, claim.path): Lease(
                    claim.exclusive, claim.expires_at, claim.created_at, claim.reason, claim.automatic
                )
                for claim in self.satchel.files.claims(limit=500)
            }
            assert kept == self.live()

    @invariant()
    def no_two_agents_hold_what_overlaps_unless_both_share(self) -> None:
        if hasattr(self, "satchel"):
            for one, other in itertools.combinations(self.satchel.files.claims(limit=500), 2):
                if one.agent != other.agent and (one.exclusive or other.exclusive):
                    assert not overlaps(one.path, other.path)


TestClaims, TestLongClaims = short_and_long(Claims, examples=30, steps=30)
