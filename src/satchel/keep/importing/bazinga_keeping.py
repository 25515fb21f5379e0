"""Bringing what was kept in bazinga into the store through each kind's own writing, where it is not there already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from satchel.base.text import fold, shortened
from satchel.base.vocabulary import PRIORITIES
from satchel.find.kind import Kind
from satchel.keep import deliveries, names, past_runs
from satchel.keep.deliveries import Receiver
from satchel.keep.importing.bazinga_preparing import (
    ReadyDelivery,
    ReadyPackage,
    ReadyPattern,
    ReadyRun,
    ReadyStrategy,
    ReadySuperseding,
)
from satchel.keep.importing.verdicts import ADDED, PRESENT, UPDATED, Verdict, conflict, there
from satchel.keep.packages import updates as package_writing
from satchel.keep.patterns import past as pattern_past
from satchel.keep.patterns import updates as pattern_writing
from satchel.keep.patterns.past import PastSolution
from satchel.keep.patterns.records import LEAST, SOLUTION_LETTER, ErrorPattern
from satchel.keep.strategies import updates as strategy_writing
from satchel.store.transaction import Transaction


@dataclass(slots=True)
class Links:
    """What the items of one import refer to each other by, across its transactions.

    Attributes:
        runs: the runs' numbers by the ids of the sessions; None in a preview of a new one.
        packages: the same for packages.
        fixes: pairs of an error's hash and what fixed it, folded, that this import brings; None for no fix.
        insights: topics and insights of the strategies that this import brings.
        handed: the deliveries that this import brings.
    """

    runs: dict[str, int | None] = field(default_factory=dict)
    packages: dict[str, int | None] = field(default_factory=dict)
    fixes: set[tuple[str, str | None]] = field(default_factory=set)
    insights: set[tuple[str, str]] = field(default_factory=set)
    handed: set[ReadyDelivery] = field(default_factory=set)


class BazingaKeeping:
    """Judges the items of one import against one project inside one transaction, and keeps what is to be kept.

    Args:
        project_id: None before the first write for the project.
        now: the time of the import, in milliseconds UTC; the life of errors counts from it.
        links: what the import knows so far.
        write: False for a preview.
    """

    def __init__(
        self, transaction: Transaction, project_id: int | None, now: int, links: Links, *, write: bool
    ) -> None:
        self._transaction = transaction
        self._project = -1 if project_id is None else project_id
        self._now = now
        self._links = links
        self._write = write
        self._got: dict[Receiver, dict[int, int]] = {}

    def runs(self, items: Sequence[ReadyRun]) -> list[Verdict]:
        """Keep runs; one of the same name that was started here takes in what belongs to it."""
        return [self._run(one) for one in items]

    def _run(self, one: ReadyRun) -> Verdict:
        known = past_runs.find(self._transaction, self._project, one.past.run_id)
        if known is None:
            number = past_runs.upsert(self._transaction, self._project, one.past) if self._write else None
            self._links.runs[one.session] = number
            return ADDED
        self._links.runs[one.session] = known.number
        if known.uid != one.past.uid:
            return conflict(one.past.run_id, "run", "it was started here, not imported; its packages are put there")
        if one.past.ended_at is None or one.past.ended_at <= (known.ended_at or 0):
            return PRESENT
        if self._write:
            past_runs.bring_up_to_date(self._transaction, self._project, known.number, one.past)
        return UPDATED

    def packages(self, items: Sequence[ReadyPackage]) -> list[Verdict]:
        """Keep packages; one that says something else here is left alone, since bazinga records no change."""
        columns = "id, summary, priority"
        here = there(self._transaction, Kind.PACKAGE.table, columns, self._project, [one.uid for one in items])
        verdicts: list[Verdict] = []
        for one in items:
            known = here.get(one.uid)
            if known is None:
                self._links.packages[one.id] = self._package(one) if self._write else None
                verdicts.append(ADDED)
                continue
            number, summary, priority = known
            self._links.packages[one.id] = number
            differs = []
            if priority != one.content.priority:
                differs.append(
                    f"its priority is {PRIORITIES[priority - 1]} here, {PRIORITIES[one.content.priority - 1]} there"
                )
            if summary != one.content.summary:
                differs.append("its summary is another one there")
            if differs:
                verdicts.append(conflict(Kind.PACKAGE.ref(number), summary[:80], "; ".join(differs)))
            else:
                verdicts.append(PRESENT)
        return verdicts

    def _package(self, one: ReadyPackage) -> int:
        run = self._links.runs[one.session]
        assert run is not None
        producer = None
        if one.producer is not None:
            producer = names.ensure_agent(self._transaction, self._project, one.producer, self._now)[0]
        return package_writing.insert(
            self._transaction, self._project, run, producer, one.content, one.created_at, one.uid
        )

    def supersede(self, items: Sequence[ReadySuperseding]) -> None:
        """Record which packages replaced which, where both are here and live."""
        for one in items:
            old, new = self._links.packages.get(one.old), self._links.packages.get(one.new)
            if old is None or new is None or not self._write:
                continue
            pair = [package_writing.load(self._transaction, self._project, number) for number in (old, new)]
            if all(package is not None and package.superseded_by is None for package in pair):
                package_writing.set_superseded(self._transaction, self._project, [old], new, one.at)

    def patterns(self, items: Sequence[ReadyPattern]) -> list[Verdict]:
        """Keep error patterns, each with what solved it there.

        A solution that an earlier import brought, and nobody tried here since, follows what was seen later there.
        """
        here = there(
            self._transaction,
            "error_solutions",
            "id, pattern_id",
            self._project,
            [one.solution_uid for one in items],
        )
        return [self._pattern(one, here.get(one.solution_uid)) for one in items]

    def _pattern(self, one: ReadyPattern, solution: tuple[int, ...] | None) -> Verdict:
        if solution is not None:
            alive = pattern_writing.load(self._transaction, self._project, solution[1], self._now, LEAST)
            if alive is not None:
                return self._again(one, alive, solution[0])
        pattern = pattern_writing.load(self._transaction, self._project, one.content.hash, self._now, LEAST)
        fix = None if one.content.solution is None else fold(one.content.solution.text)
        known = {fold(each.text) for each in pattern.solutions} if pattern is not None else set()
        said = (one.content.hash, fix)
        if said in self._links.fixes or fix in known or (fix is None and pattern is not None):
            return PRESENT
        self._links.fixes.add(said)
        if self._write:
            self._upsert(one, pattern)
        return ADDED

    def _upsert(self, one: ReadyPattern, pattern: ErrorPattern | None) -> None:
        transaction, project = self._transaction, self._project
        seen = pattern_past.Seen(one.occurrences, one.created_at, one.last_seen)
        if pattern is None:
            number, is_new = pattern_writing.meet(transaction, project, one.content, self._now)[0], True
            pattern_past.set_seen(transaction, project, number, seen, one.uid)
        else:
            number, is_new = pattern.id, False
            pattern_past.add_seen(transaction, project, number, seen)
        if one.content.solution is not None:
            fix, _, _ = pattern_writing.solve(transaction, project, number, one.content.solution, None, self._now)
            pattern_past.set_solution(transaction, project, fix, _solution(one, one.created_at), one.solution_uid)
        pattern_writing.index(transaction, project, number, is_new=is_new)

    def _again(self, one: ReadyPattern, pattern: ErrorPattern, number: int) -> Verdict:
        """Judge a solution that an earlier import brought."""
        before = next(each for each in pattern.solutions if each.id == number)
        fix = one.content.solution
        if fix is None or one.last_seen <= before.updated_at:
            return PRESENT
        if before.confirmed or before.failed:
            if (fold(fix.text), one.tenths) == (fold(before.text), before.confidence):
                return PRESENT
            ref = f"{SOLUTION_LETTER}{number}"
            return conflict(ref, shortened(before.text, 80), "it was tried here since it was imported, and there too")
        if self._write:
            transaction, project = self._transaction, self._project
            pattern_past.set_solution(transaction, project, number, _solution(one, before.created_at), None)
            pattern_past.renew(
                transaction, project, pattern.id, one.occurrences, one.last_seen, self._now, one.content.ttl_days
            )
            pattern_writing.index(transaction, project, pattern.id, is_new=False)
        return UPDATED

    def strategies(self, items: Sequence[ReadyStrategy]) -> list[Verdict]:
        """Keep strategies; one that helped more often there, and later, follows unless it failed here."""
        columns = "id, topic, insight, helped, not_helped, last_seen"
        here = there(self._transaction, Kind.STRATEGY.table, columns, self._project, [one.uid for one in items])
        verdicts: list[Verdict] = []
        for one in items:
            known = here.get(one.uid)
            if known is None:
                verdicts.append(self._strategy(one))
                continue
            number, topic, insight, helped, not_helped, seen = known
            said = Kind.STRATEGY.ref(number), topic
            if (topic, insight) != (one.content.topic, one.content.insight):
                verdicts.append(conflict(*said, "it says something else there"))
            elif one.last_seen <= seen:
                verdicts.append(PRESENT)
            elif not_helped or helped > one.helped:
                verdicts.append(conflict(*said, "it was tried here since it was imported, and there too"))
            else:
                if self._write:
                    strategy_writing.set_tried(self._transaction, self._project, number, one.helped, one.last_seen)
                verdicts.append(UPDATED)
        return verdicts

    def _strategy(self, one: ReadyStrategy) -> Verdict:
        new = one.content
        said = new.topic, new.insight
        if said in self._links.insights or strategy_writing.is_there(self._transaction, self._project, new):
            return PRESENT
        self._links.insights.add(said)
        if self._write:
            number = strategy_writing.insert(self._transaction, self._project, None, new, one.created_at, one.uid)
            strategy_writing.set_tried(self._transaction, self._project, number, one.helped, one.last_seen)
        return ADDED

    def deliveries(self, items: Sequence[ReadyDelivery]) -> list[Verdict]:
        """Record which packages were delivered to whom, each as it stands now: what has come since is news."""
        return [self._delivery(one) for one in items]

    def _delivery(self, one: ReadyDelivery) -> Verdict:
        run, package = self._links.runs.get(one.session), self._links.packages.get(one.package)
        if one in self._links.handed:
            return PRESENT
        self._links.handed.add(one)
        if run is None or package is None:
            return ADDED
        receiver = Receiver(run, one.task_id, one.role, None, one.iteration)
        if receiver not in self._got:
            self._got[receiver] = deliveries.delivered(self._transaction, receiver).get(Kind.PACKAGE.number, {})
        if package in self._got[receiver]:
            return PRESENT
        if self._write:
            current = package_writing.load(self._transaction, self._project, package)
            assert current is not None
            deliveries.record(self._transaction, receiver, [(Kind.PACKAGE.number, package, current.seq)], one.at)
        return ADDED


def _solution(one: ReadyPattern, created_at: int) -> PastSolution:
    assert one.content.solution is not None
    return PastSolution(one.content.solution.text, one.tenths, created_at, one.last_seen)
