"""Any sequence of writes, reads, prunes and forgets, beside a model in plain Python."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from satchel import Satchel, open_satchel
from satchel.keep.entries.records import ENTRY_TYPES
from state_machines import short_and_long

RUNS = ("r1", "r2")
TASKS = st.sampled_from([None, "T1", "T2"])
LOOPS = st.sampled_from([None, "L1", "L2"])
FILES = st.sampled_from([None, "a.py", "src/b.py"])
AGENTS = st.sampled_from([None, "Ann", "Bob"])
REVIEW = {"review_issue", "review_verdict"}


@dataclass(frozen=True)
class Kept:
    """What the model knows of one entry."""

    id: int
    run: str
    type: str
    task: str | None
    loop: str | None
    file: str | None
    agent: str | None
    word: str
    created: int
    heir: int | None = None

    @property
    def order(self) -> tuple[int, int]:
        return (self.created, self.id)


def unique_word(number: int) -> str:
    """A word of consonants, which neither stemming nor the parts of identifiers make equal to another."""
    return "zz" + "".join("bcdfghjklm"[int(digit)] for digit in f"{number:04}")


def content(kind: str, word: str) -> str | dict[str, object]:
    if kind not in {*REVIEW, "scratchpad", "codebase_analysis"}:
        return f"note {word}"
    return {"description": word, "passed": True, "summary": word, "iteration": 1}


class Context(RuleBasedStateMachine):
    """The entries of two runs, of seven types, three tasks and loops, under a clock that may stand still or go back."""

    written = Bundle("written")

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
        self.seq = 0
        self.words = 0
        for run in RUNS:
            self.satchel.runs.start(run)
        self.changed()

    def teardown(self) -> None:
        if hasattr(self, "satchel"):
            self.satchel.close()
            self.folder.cleanup()

    def changed(self) -> None:
        seq = self.satchel.housekeeping.statistics().seq
        assert seq > self.seq
        self.seq = seq

    @rule(milliseconds=st.sampled_from([-7, 0, 1, 1_000]))
    def time_passes(self, milliseconds: int) -> None:
        self.now += milliseconds

    @rule(
        target=written,
        run=st.sampled_from(RUNS),
        kind=st.sampled_from(ENTRY_TYPES) | st.sampled_from(["review_issue", "review_verdict", "codebase_analysis"]),
        task=TASKS,
        loop=LOOPS,
        file=FILES,
        agent=AGENTS,
    )
    def write(
        self, run: str, kind: str, task: str | None, loop: str | None, file: str | None, agent: str | None
    ) -> int:
        self.words += 1
        word = unique_word(self.words)
        entry = self.satchel.entries.write(
            kind, content(kind, word), task_id=task, loop_id=loop, file=file, agent=agent, run_id=run
        )
        kept = Kept(entry.id, run, kind, task, loop, file, agent, word, self.now)
        for old in self.replaced_by(kept):
            self.model[old.id] = replace(old, heir=kept.id)
        self.model[kept.id] = kept
        self.changed()
        return kept.id

    def replaced_by(self, new: Kept) -> list[Kept]:
        live = [old for old in self.model.values() if old.run == new.run and old.heir is None]
        if new.type == "codebase_analysis":
            return [old for old in live if old.type == new.type]
        if new.type != "review_verdict":
            return []
        same = [old for old in live if (old.task, old.loop) == (new.task, new.loop)]
        verdicts = [old for old in same if old.type == "review_verdict"]
        last = max((old.id for old in verdicts), default=0)
        return verdicts + [old for old in same if old.type == "review_issue" and old.id < last]

    def drop(self, number: int) -> None:
        gone = self.model.pop(number)
        for old in list(self.model.values()):
            if old.heir == number:
                self.model[old.id] = replace(old, heir=gone.heir)

    @rule(target=written, number=consumes(written), really=st.booleans())
    def forget(self, number: int, really: bool) -> Any:
        if number not in self.model:
            return multiple()
        self.satchel.housekeeping.forget(f"e{number}", dry_run=not really)
        if really:
            self.drop(number)
            return multiple()
        return number

    @rule(run=st.sampled_from(RUNS), keep=st.integers(1, 3), really=st.booleans())
    def prune(self, run: str, keep: int, really: bool) -> None:
        groups: dict[tuple[str, str | None], list[Kept]] = {}
        for kept in self.model.values():
            if kept.run == run:
                groups.setdefault((kept.type, kept.loop), []).append(kept)
        doomed = [
            kept
            for group in groups.values()
            for kept in sorted(group, key=lambda kept: kept.order)[:-keep]
            if kept.heir is not None or kept.type not in {*REVIEW, "codebase_analysis"}
        ]
        result = self.satchel.entries.prune(keep=keep, run_id=run, dry_run=not really)
        assert dict(result.removed) == {
            kind: sum(kept.type == kind for kept in doomed) for kind in {kept.type for kept in doomed}
        }
        if really:
            for kept in doomed:
                self.drop(kept.id)

    @rule(
        run=st.sampled_from(RUNS),
        types=st.none() | st.lists(st.sampled_from(ENTRY_TYPES), min_size=1, max_size=3),
        task=TASKS,
        loop=LOOPS,
        file=FILES,
        agent=AGENTS,
        status=st.sampled_from(["live", "superseded", "all"]),
        order=st.sampled_from(["asc", "desc"]),
        since=st.none() | st.integers(-2_000, 0),
        searching=st.booleans(),
        limit=st.integers(0, 6),
        offset=st.integers(0, 4),
    )
    def read(
        self,
        run: str,
        types: list[str] | None,
        task: str | None,
        loop: str | None,
        file: str | None,
        agent: str | None,
        status: str,
        order: str,
        since: int | None,
        searching: bool,
        limit: int,
        offset: int,
    ) -> None:
        page = self.satchel.entries.read(
            types=types,
            task_id=task,
            loop_id=loop,
            file=file,
            author=agent,
            status=status,
            order=order,
            since=None if since is None else self.now + since,
            query="note" if searching else None,
            limit=limit,
            offset=offset,
            run_id=run,
        )
        expected = [
            kept
            for kept in self.model.values()
            if kept.run == run
            and (types is None or kept.type in types)
            and task in {None, kept.task}
            and loop in {None, kept.loop}
            and file in {None, kept.file}
            and agent in {None, kept.agent}
            and (status == "all" or (kept.heir is None) == (status == "live"))
            and (since is None or kept.created >= self.now + since)
            and (not searching or kept.type in {"discovery", "error", "decision", "bug"})
        ]
        expected.sort(key=lambda kept: kept.order, reverse=order == "desc")
        assert page.total == len(expected)
        assert [entry.id for entry in page] == [kept.id for kept in expected[offset : offset + limit]]

    @rule(run=st.sampled_from(RUNS), limit=st.integers(1, 3))
    def follow_changes(self, run: str, limit: int) -> None:
        cursor, seen, seqs = 0, [], []
        while page := self.satchel.entries.read(run_id=run, after_seq=cursor, status="all", limit=limit):
            seen += [(entry.id, entry.superseded_by) for entry in page]
            seqs += [entry.seq for entry in page]
            cursor = page.cursor
        assert seqs == sorted(set(seqs))
        assert sorted(seen) == sorted((kept.id, kept.heir) for kept in self.model.values() if kept.run == run)

    @rule(run=st.sampled_from(RUNS), newest=st.integers(0, 2))
    def search_for_one_word(self, run: str, newest: int) -> None:
        for kept in sorted(self.model.values(), key=lambda kept: -kept.id)[newest : newest + 1]:
            for status in ("live", "superseded", "all"):
                page = self.satchel.entries.read(query=kept.word, run_id=run, status=status, order="asc")
                fits = kept.run == run and (status == "all" or (kept.heir is None) == (status == "live"))
                assert [entry.id for entry in page] == ([kept.id] if fits else [])

    @rule(word=st.integers(1, 15))
    def search_for_a_word_that_may_be_gone(self, word: int) -> None:
        living = {kept.word for kept in self.model.values()}
        options: dict[str, Any] = {"query": unique_word(word), "status": "all", "order": "asc"}
        found = sum(self.satchel.entries.read(run_id=run, **options).total for run in RUNS)
        assert found == (unique_word(word) in living)

    @invariant()
    def the_index_the_documents_and_the_entries_agree(self) -> None:
        if hasattr(self, "satchel"):
            assert [check for check in self.satchel.housekeeping.doctor() if check.status == "failed"] == []

    @invariant()
    def every_change_has_a_number_of_its_own(self) -> None:
        if not hasattr(self, "satchel"):
            return
        seqs: list[int] = []
        for run in RUNS:
            page = self.satchel.entries.read(run_id=run, status="all", limit=500)
            seqs += [entry.seq for entry in page]
            analyses = [entry for entry in page if entry.type == "codebase_analysis"]
            assert sum(entry.superseded_by is None for entry in analyses) == bool(analyses)
        assert len(seqs) == len(set(seqs)) == len(self.model)
        assert all(seq <= self.satchel.housekeeping.statistics().seq for seq in seqs)


TestContext, TestLongContext = short_and_long(Context, examples=12, steps=40)
