"""Any sequence of saves, replacements, changes of priority and forgets, beside a model in plain Python."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from satchel import Conflict, Satchel, open_satchel
from satchel.base.vocabulary import PRIORITIES
from state_machines import short_and_long

RUNS = ("r1", "r2")
URGENCY = {name: place for place, name in enumerate(PRIORITIES)}
ROLES = st.sampled_from([(), ("qa",), ("dev", "qa")])
TASKS = st.sampled_from([None, "T1", "T2"])


@dataclass(frozen=True)
class Kept:
    """What the model knows of one package."""

    id: int
    run: str
    task: str | None
    roles: tuple[str, ...]
    priority: str
    created: int
    updated: int
    heir: int | None = None


class Shelf(RuleBasedStateMachine):
    """The packages of two runs, under a clock that may stand still or go back."""

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        (Path(self.folder.name) / ".git").mkdir()
        self.now = 1_795_000_000_000
        self.satchel: Satchel = open_satchel(
            cwd=self.folder.name,
            environ={},
            clock=lambda: self.now,
            settings={"store.durability": "relaxed"},
        )
        self.model: dict[int, Kept] = {}
        self.seqs: dict[int, int] = {}
        for run in RUNS:
            self.satchel.runs.start(run)

    def teardown(self) -> None:
        if hasattr(self, "satchel"):
            self.satchel.close()
            self.folder.cleanup()

    def chosen(self, place: int) -> Kept:
        return list(self.model.values())[place % len(self.model)]

    @rule(milliseconds=st.sampled_from([-7, 0, 1, 1_000]))
    def time_passes(self, milliseconds: int) -> None:
        self.now += milliseconds

    def save(self, run: str, task: str | None, roles: tuple[str, ...], priority: str, old: Kept | None = None) -> None:
        saved = self.satchel.packages.save(
            "a word",
            content="text",
            task_id=task,
            consumers=roles,
            priority=priority,
            run_id=run,
            supersedes=None if old is None else f"p{old.id}",
        )
        if old is not None:
            self.model[old.id] = replace(old, heir=saved.id, updated=self.now)
        self.model[saved.id] = Kept(saved.id, run, task, roles, priority, self.now, self.now)

    @rule(run=st.sampled_from(RUNS), task=TASKS, roles=ROLES, priority=st.sampled_from(PRIORITIES))
    def save_one(self, run: str, task: str | None, roles: tuple[str, ...], priority: str) -> None:
        self.save(run, task, roles, priority)

    @precondition(lambda self: self.model)
    @rule(place=st.integers(0, 20), run=st.sampled_from(RUNS), priority=st.sampled_from(PRIORITIES))
    def replace_one(self, place: int, run: str, priority: str) -> None:
        old = self.chosen(place)
        if old.run == run and old.heir is None:
            self.save(run, None, (), priority, old)
            return
        with pytest.raises(Conflict, match=f"p{old.heir} already" if old.run == run else f"belongs to run {old.run}"):
            self.save(run, None, (), priority, old)

    @precondition(lambda self: self.model)
    @rule(place=st.integers(0, 20), priority=st.sampled_from(PRIORITIES))
    def set_priority(self, place: int, priority: str) -> None:
        self.change(self.chosen(place), priority, None)

    @precondition(lambda self: self.model)
    @rule(place=st.integers(0, 20), event=st.sampled_from(["error", "blocker", "finding", "resolved", "stale"]))
    def react(self, place: int, event: str) -> None:
        one = self.chosen(place)
        least = {"error": "critical", "blocker": "critical", "finding": "high"}.get(event)
        self.change(one, "low" if least is None else max(least, one.priority, key=URGENCY.__getitem__), event)

    def change(self, one: Kept, priority: str, event: str | None) -> None:
        def ask() -> str:
            packages = self.satchel.packages
            asked = packages.set_priority(one.id, priority) if event is None else packages.react(one.id, event)
            return asked.priority

        if one.heir is not None:
            with pytest.raises(Conflict, match=f"p{one.heir} already"):
                ask()
            return
        assert ask() == priority
        if priority != one.priority:
            self.model[one.id] = replace(one, priority=priority, updated=self.now)

    @precondition(lambda self: self.model)
    @rule(place=st.integers(0, 20), really=st.booleans())
    def forget(self, place: int, really: bool) -> None:
        gone = self.chosen(place)
        self.satchel.housekeeping.forget(f"p{gone.id}", dry_run=not really)
        if really:
            del self.model[gone.id]
            for old in list(self.model.values()):
                if old.heir == gone.id:
                    self.model[old.id] = replace(old, heir=gone.heir)

    @rule(
        run=st.sampled_from(RUNS),
        task=TASKS,
        role=st.sampled_from([None, "qa", "dev"]),
        priority=st.sampled_from([None, "medium", "high"]),
        status=st.sampled_from(["live", "superseded", "all"]),
        order=st.sampled_from([None, "asc", "desc"]),
        searching=st.booleans(),
        limit=st.integers(0, 6),
        offset=st.integers(0, 4),
    )
    def find(
        self,
        run: str,
        task: str | None,
        role: str | None,
        priority: str | None,
        status: str,
        order: str | None,
        searching: bool,
        limit: int,
        offset: int,
    ) -> None:
        if searching:
            order = order or "asc"
        page = self.satchel.packages.find(
            run_id=run,
            task_id=task,
            role=role,
            priority=priority,
            status=status,
            order=order,
            query="word" if searching else None,
            limit=limit,
            offset=offset,
        )
        expected = [
            one
            for one in self.model.values()
            if one.run == run
            and (task is None or one.task in {None, task})
            and (role is None or not one.roles or role in one.roles)
            and (priority is None or URGENCY[one.priority] >= URGENCY[priority])
            and (status == "all" or (one.heir is None) == (status == "live"))
        ]
        expected.sort(key=lambda one: (one.created, one.id), reverse=order != "asc")
        if order is None:
            expected.sort(key=lambda one: -URGENCY[one.priority])
        assert [one.id for one in page] == [one.id for one in expected[offset : offset + limit]]
        assert page.total == len(expected)
        assert dict(page.by_priority) == {
            name: count for name in PRIORITIES if (count := sum(one.priority == name for one in expected))
        }

    @invariant()
    def every_package_is_as_the_model_has_it(self) -> None:
        if not hasattr(self, "satchel"):
            return
        kept = [one for run in RUNS for one in self.satchel.packages.find(run_id=run, status="all", limit=500)]
        assert {
            one.id: Kept(
                one.id,
                one.run_id,
                one.task_id,
                one.consumers,
                one.priority,
                one.created_at,
                one.updated_at,
                one.superseded_by,
            )
            for one in kept
        } == self.model
        seqs = {one.id: one.seq for one in kept}
        assert len(set(seqs.values())) == len(seqs)
        assert all(seq >= self.seqs.get(number, 0) for number, seq in seqs.items())
        self.seqs = seqs

    @invariant()
    def the_index_and_the_spine_agree_with_them(self) -> None:
        if not hasattr(self, "satchel"):
            return
        found = self.satchel.finding.search("word", status="all", limit=500).results
        assert {one.ref: one.status for one in found} == {
            f"p{one.id}": "live" if one.heir is None else "superseded" for one in self.model.values()
        }
        with self.satchel.workplace.engine.read() as transaction:
            kept = transaction.all("SELECT id, seq FROM context_packages ORDER BY id")
            known = transaction.all("SELECT item_id, seq FROM documents ORDER BY item_id")
        assert kept == known


TestShelf, TestLongShelf = short_and_long(Shelf, examples=18, steps=30)
