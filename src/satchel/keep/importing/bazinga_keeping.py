"""Bringing what was kept in bazinga into the store through each kind's own writing, where it is not there already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from satchel.base.text import fold, shortened
from satchel.base.vocabulary import PRIORITIES
from satchel.find.kind import Kind
from satchel.keep import deliveries, past_runs
from satchel.keep.deliveries import Receiver
from satchel.keep.importing.bazinga_preparing import (
    BazingaPreparation,
    ReadyDelivery,
    ReadyPackage,
    ReadyPattern,
    ReadyRun,
    ReadyStrategy,
)
from satchel.keep.importing.keeping import ADDED, PRESENT, UPDATED, Keeping, Ready, Step, Verdict, conflict
from satchel.keep.packages import updates as package_writing
from satchel.keep.patterns import past as pattern_past
from satchel.keep.patterns import updates as pattern_writing
from satchel.keep.patterns.past import PastSolution
from satchel.keep.patterns.records import LEAST, SOLUTION_LETTER, ErrorPattern
from satchel.keep.strategies import updates as strategy_writing
from satchel.store.transaction import Row, Transaction

_TRIED = "it was tried here since it was imported, and there too"


class BazingaKeeping(Keeping):
    """Keeps what a bazinga database holds; the life of errors counts from the time of the import."""

    def __init__(self, ready: BazingaPreparation, now: int, *, write: bool) -> None:
        super().__init__(ready, now, write=write)
        self._ready = ready
        # what items refer to each other by, across transactions: our numbers by the ids there; None where only a
        # preview says that it is new
        self._runs: dict[str, int | None] = {}
        self._packages: dict[str, int | None] = {}
        # what this import brings: errors' hashes with what fixed them, folded, or None; topics with insights; uids
        self._fixes: set[tuple[str, str | None]] = set()
        self._insights: set[tuple[str, str]] = set()
        self._handed: set[bytes] = set()
        self._got: dict[Receiver, dict[int, int]] = {}

    def steps(self) -> Sequence[Step]:
        """Return what is taken, in order."""
        ready = self._ready
        strategy = "id, topic, insight, helped, not_helped, last_seen"
        return (
            Step("runs", ready.runs, self._run),
            Step("packages", ready.packages, self._package, Kind.PACKAGE.table, "id, summary, priority"),
            Step(None, ready.superseding, self._supersede),
            Step("error_patterns", ready.patterns, self._pattern, "error_solutions", "id, pattern_id"),
            Step("strategies", ready.strategies, self._strategy, Kind.STRATEGY.table, strategy),
            Step("deliveries", ready.deliveries, self._delivery),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What is true of what was prepared, whatever becomes of it."""
        if not self._ready.patterns:
            return ()
        return (
            "bazinga leaves quoted names out of errors: one without them is recognised again, the others are found by "
            "search alone",
        )

    def take(
        self, transaction: Transaction, project_id: int | None, step: Step, batch: Sequence[Ready[Any, Any]]
    ) -> list[Verdict]:
        """Judge some items; what receivers have got is looked up anew in each transaction."""
        self._got.clear()
        return super().take(transaction, project_id, step, batch)

    def _run(self, one: ReadyRun, _: Row | None) -> Verdict:
        """Keep a run; one of the same name that was started here takes in what belongs to it."""
        session, past = one.source.session, one.content
        known = past_runs.find(self.transaction, self.project, past.run_id)
        if known is None:
            self._runs[session] = past_runs.upsert(self.transaction, self.project, past) if self.write else None
            return ADDED
        self._runs[session] = known.number
        if known.uid != past.uid:
            return conflict(past.run_id, "run", "it was started here, not imported; its packages are put there")
        if past.ended_at is None or past.ended_at <= (known.ended_at or 0):
            return PRESENT
        if self.write:
            past_runs.bring_up_to_date(self.transaction, self.project, known.number, past)
        return UPDATED

    def _package(self, one: ReadyPackage, known: Row | None) -> Verdict:
        """Keep a package; one that says something else here is left alone, since bazinga records no change."""
        there, content = one.source, one.content
        if known is None:
            self._packages[there.id] = None
            if self.write:
                run, producer = self._runs[there.session], self.agent(there.producer)
                assert run is not None
                self._packages[there.id] = package_writing.insert(
                    self.transaction,
                    self.project,
                    run,
                    None if producer is None else producer[0],
                    content,
                    there.created_at,
                    one.uid,
                )
            return ADDED
        number, summary, priority = known
        self._packages[there.id] = number
        differs = []
        if priority != content.priority:
            differs.append(f"its priority is {PRIORITIES[priority - 1]} here, {PRIORITIES[content.priority - 1]} there")
        if summary != content.summary:
            differs.append("its summary is another one there")
        return conflict(Kind.PACKAGE.ref(number), summary[:80], "; ".join(differs)) if differs else PRESENT

    def _supersede(self, one: ReadyPackage, _: Row | None) -> Verdict:
        """Record that a package replaced another one, where both are here and live."""
        assert one.source.supersedes is not None
        old, new = (self._packages.get(name) for name in (one.source.supersedes, one.source.id))
        if old is None or new is None or not self.write:
            return PRESENT
        pair = [package_writing.load(self.transaction, self.project, number) for number in (old, new)]
        if any(package is None or package.superseded_by is not None for package in pair):
            return PRESENT
        package_writing.set_superseded(self.transaction, self.project, [old], new, one.source.created_at)
        return UPDATED

    def _pattern(self, one: ReadyPattern, known: Row | None) -> Verdict:
        """Keep an error pattern with what solved it there.

        A solution that an earlier import brought, and nobody tried here since, follows what was seen later there.
        """
        if known is not None:
            alive = pattern_writing.load(self.transaction, self.project, known[1], self.now, LEAST)
            if alive is not None:
                return self._again(one, alive, known[0])
        content = one.content
        pattern = pattern_writing.load(self.transaction, self.project, content.hash, self.now, LEAST)
        fix = None if content.solution is None else fold(content.solution.text)
        fixes = {fold(each.text) for each in pattern.solutions} if pattern is not None else set()
        said = (content.hash, fix)
        if said in self._fixes or fix in fixes or (fix is None and pattern is not None):
            return PRESENT
        self._fixes.add(said)
        if self.write:
            self._upsert(one, pattern)
        return ADDED

    def _upsert(self, one: ReadyPattern, pattern: ErrorPattern | None) -> None:
        transaction, project, there = self.transaction, self.project, one.source
        seen = pattern_past.Seen(there.occurrences, there.created_at, there.last_seen)
        if pattern is None:
            number, is_new = pattern_writing.meet(transaction, project, one.content, self.now)[0], True
            pattern_past.set_seen(transaction, project, number, seen, self._ready.pattern_uid(one))
        else:
            number, is_new = pattern.id, False
            pattern_past.add_seen(transaction, project, number, seen)
        if one.content.solution is not None:
            fix, _, _ = pattern_writing.solve(transaction, project, number, one.content.solution, None, self.now)
            past = PastSolution(one.content.solution.text, there.tenths, there.created_at, there.last_seen)
            pattern_past.set_solution(transaction, project, fix, past, one.uid)
        pattern_writing.index(transaction, project, number, is_new=is_new)

    def _again(self, one: ReadyPattern, pattern: ErrorPattern, number: int) -> Verdict:
        """Judge a solution that an earlier import brought."""
        before = next(each for each in pattern.solutions if each.id == number)
        there, fix = one.source, one.content.solution
        if fix is None or there.last_seen <= before.updated_at:
            return PRESENT
        if before.confirmed or before.failed:
            if (fold(fix.text), there.tenths) == (fold(before.text), before.confidence):
                return PRESENT
            return conflict(f"{SOLUTION_LETTER}{number}", shortened(before.text, 80), _TRIED)
        if self.write:
            transaction, project = self.transaction, self.project
            past = PastSolution(fix.text, there.tenths, before.created_at, there.last_seen)
            pattern_past.set_solution(transaction, project, number, past, None)
            pattern_past.renew(
                transaction, project, pattern.id, there.occurrences, there.last_seen, self.now, one.content.ttl_days
            )
            pattern_writing.index(transaction, project, pattern.id, is_new=False)
        return UPDATED

    def _strategy(self, one: ReadyStrategy, known: Row | None) -> Verdict:
        """Keep a strategy; one that helped more often there, and later, follows unless it failed here."""
        if known is None:
            return self._new_strategy(one)
        number, topic, insight, helped, not_helped, seen = known
        said = Kind.STRATEGY.ref(number), topic
        if (topic, insight) != (one.content.topic, one.content.insight):
            return conflict(*said, "it says something else there")
        if one.source.last_seen <= seen:
            return PRESENT
        if not_helped or helped > one.source.helpfulness:
            return conflict(*said, _TRIED)
        if self.write:
            self._set_tried(one, number)
        return UPDATED

    def _new_strategy(self, one: ReadyStrategy) -> Verdict:
        new = one.content
        said = new.topic, new.insight
        if said in self._insights or strategy_writing.is_there(self.transaction, self.project, new):
            return PRESENT
        self._insights.add(said)
        if self.write:
            made = one.source.created_at
            number = strategy_writing.insert(self.transaction, self.project, None, new, made, one.uid)
            self._set_tried(one, number)
        return ADDED

    def _set_tried(self, one: ReadyStrategy, number: int) -> None:
        there = one.source
        strategy_writing.set_tried(self.transaction, self.project, number, there.helpfulness, there.last_seen)

    def _delivery(self, one: ReadyDelivery, _: Row | None) -> Verdict:
        """Record that a package was delivered, as it stands now: what has come since is news."""
        run, package = self._runs.get(one.source.session), self._packages.get(one.source.package)
        if one.uid in self._handed:
            return PRESENT
        self._handed.add(one.uid)
        if run is None or package is None:
            return ADDED
        receiver = Receiver(run, *one.content, None, one.source.iteration)
        if receiver not in self._got:
            self._got[receiver] = deliveries.delivered(self.transaction, receiver).get(Kind.PACKAGE.number, {})
        if package in self._got[receiver]:
            return PRESENT
        if self.write:
            current = package_writing.load(self.transaction, self.project, package)
            assert current is not None
            item = (Kind.PACKAGE.number, package, current.seq)
            deliveries.record(self.transaction, receiver, [item], one.source.consumed_at)
        return ADDED
