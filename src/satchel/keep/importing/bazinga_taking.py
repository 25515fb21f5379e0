"""Taking over what bazinga kept: checked, given its lasting identity, and kept where it is not here already."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from satchel.base.errors import InvalidInput
from satchel.base.records import replace
from satchel.base.text import fold, shortened
from satchel.base.vocabulary import MAIN_RUN, PRIORITIES
from satchel.find.kind import Kind
from satchel.keep import deliveries, names, past_runs, runs
from satchel.keep.deliveries import Window
from satchel.keep.importing.bazinga_records import (
    BazingaStore,
    ForeignDelivery,
    ForeignPackage,
    ForeignPattern,
    ForeignRun,
    ForeignStrategy,
)
from satchel.keep.importing.taking import ADDED, PRESENT, UPDATED, Ready, Step, Taking, Verdict, conflict
from satchel.keep.importing.values import identity
from satchel.keep.packages import records as package_records
from satchel.keep.packages import updates as package_writing
from satchel.keep.past_runs import PastRun
from satchel.keep.patterns import meeting as pattern_meeting
from satchel.keep.patterns import past as pattern_past
from satchel.keep.patterns import preparing as pattern_preparing
from satchel.keep.patterns import updates as pattern_writing
from satchel.keep.patterns.past import PastSolution
from satchel.keep.patterns.records import LEAST, SOLUTION_LETTER, ErrorPattern
from satchel.keep.projects import Workplace
from satchel.keep.strategies import updates as strategy_writing
from satchel.keep.texts import check_short
from satchel.store.transaction import Row, Transaction

_TOOL = "bazinga"
_TRIED = "it was tried here since it was imported, and there too"

ReadyRun = Ready[ForeignRun, PastRun]

ReadyPackage = Ready[ForeignPackage, package_writing.Prepared]
"""Its source names the producer only where that is a name."""

ReadyPattern = Ready[ForeignPattern, pattern_preparing.Prepared]
"""Its uid is that of its solution."""

ReadyStrategy = Ready[ForeignStrategy, strategy_writing.Prepared]

ReadyDelivery = Ready[ForeignDelivery, tuple[str | None, str]]
"""Its task, and its role, folded."""


class BazingaTaking(Taking):
    """Takes over a bazinga database; the life of errors counts from the time of the import."""

    def __init__(self, store: BazingaStore, workplace: Workplace, now: int, *, write: bool) -> None:
        super().__init__(store, workplace, now, write=write)
        self._store = store
        self._has_patterns = False
        # the sessions that are taken, and the sessions of packages by their ids: of all, and of those that are taken
        self._sessions: set[str] = set()
        self._places = {one.id: one.session for one in store.packages}
        self._taken: dict[str, str] = {}
        self._superseding: list[ReadyPackage] = []
        # our numbers by the ids there; None where only a preview says that it is new
        self._runs: dict[str, int | None] = {}
        self._packages: dict[str, int | None] = {}
        # what this import brings: errors' hashes with what fixed them, folded, or None; topics with insights; uids
        self._fixes: set[tuple[str, str | None]] = set()
        self._insights: set[tuple[str, str]] = set()
        self._handed: set[bytes] = set()
        self._got: dict[Window, dict[int, int]] = {}

    def steps(self) -> Sequence[Step]:
        """Prepare everything, and return what is taken, in order."""
        store = self._store
        of_runs, of_packages, of_patterns, of_strategies, of_deliveries = store.tables
        sessions = self.each(of_runs, store.runs, self._prepare_run)
        self._sessions = {one.source.session for one in sessions}
        packages = self.each(of_packages, store.packages, self._prepare_package)
        self._taken = {one.source.id: one.source.session for one in packages}
        patterns = self.each(of_patterns, store.patterns, self._prepare_pattern)
        self._has_patterns = bool(patterns)
        strategies = self.each(of_strategies, store.strategies, self._prepare_strategy)
        handed = self.each(of_deliveries, store.deliveries, self._prepare_delivery)
        known = "id, topic, insight, helped, not_helped, last_seen"
        return (
            Step("runs", sessions, self._run),
            Step("packages", packages, self._package, Kind.PACKAGE.table, "id, summary, priority"),
            Step(None, self._superseding, self._supersede),
            Step("error_patterns", patterns, self._pattern, "error_solutions", "id, pattern_id"),
            Step("strategies", strategies, self._strategy, Kind.STRATEGY.table, known),
            Step("deliveries", handed, self._delivery),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What is true of what was prepared, whatever becomes of it."""
        if not self._has_patterns:
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

    def _prepare_run(self, one: ForeignRun) -> ReadyRun:
        title: str | None = None
        name = names.check_identifier(one.session, "session_id")
        if one.requirements is not None:
            short = check_short(
                one.requirements,
                "title",
                runs.MAX_TITLE_CHARS,
                len(one.requirements) * 4,  # however long, since all that is kept of it is a title
                one_line=True,
            )
            title = short.text
            self.note(short.notes)
        uid = identity(_TOOL, "run", one.session)
        if name == MAIN_RUN:  # which never ends
            return Ready(uid, one, PastRun(uid, name, title, "active", one.created_at, None))
        # none else comes as active: nobody works in it here
        status = "failed" if one.status == "failed" else "completed"
        return Ready(uid, one, PastRun(uid, name, title, status, one.created_at, one.ended_at))

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

    def _prepare_package(self, one: ForeignPackage) -> ReadyPackage:
        self._check_session(one.session)
        summary = one.summary or f"no summary was kept of {PurePosixPath(one.path).name}"
        kind, priority = self._known(one)
        consumers = [
            role for given in one.consumers if (role := self.name(given, "a consumer's agent_type")) is not None
        ]
        content = package_writing.prepare(summary, one.path, None, kind, priority, one.group, consumers, self.workplace)
        producer = self.name(one.producer, "producer_agent")
        self.note(content.notes)
        uid = identity(_TOOL, "package", one.session, one.id, one.path)
        ready = Ready(uid, replace(one, producer=producer), content)
        if one.supersedes is not None:
            if self._places.get(one.supersedes) != one.session or one.supersedes == one.id:
                self.note([f"it supersedes {one.supersedes}, which is no package of its session"])
            else:
                self._superseding.append(ready)
        return ready

    def _known(self, one: ForeignPackage) -> tuple[str, str]:
        """Return the type and the priority of a package; what is none of ours is reported."""
        kind = fold(one.type or package_records.DEFAULT_TYPE)
        priority = fold(one.priority or package_records.DEFAULT_PRIORITY)
        if kind not in package_records.TYPES:
            kind = package_records.DEFAULT_TYPE
            self.note([f"its package_type is {one.type!r}; {kind} here"])
        if priority not in PRIORITIES:
            priority = package_records.DEFAULT_PRIORITY
            self.note([f"its priority is {one.priority!r}; {priority} here"])
        return kind, priority

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

    def _prepare_pattern(self, one: ForeignPattern) -> ReadyPattern:
        content = pattern_preparing.prepare(
            one.error_type,
            one.message,
            "\n".join(one.stack) or None,
            None,
            self.name(one.lang, "lang"),
            one.solution,
            one.ttl_days,
            self.workplace.max_content_bytes,
        )
        self.note(content.notes)
        return Ready(identity(_TOOL, "solution", self._store.project, one.hash), one, content, weight=3)

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
            number, is_new = pattern_meeting.meet(transaction, project, one.content, self.now).number, True
            pattern_past.set_seen(
                transaction,
                project,
                number,
                seen,
                identity(_TOOL, "error_pattern", self._store.project, one.content.hash),
            )
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

    def _prepare_strategy(self, one: ForeignStrategy) -> ReadyStrategy:
        lang, framework = self.name(one.lang, "lang"), self.name(one.framework, "framework")
        content = strategy_writing.prepare(one.topic, one.insight, lang, framework, self.workplace)
        self.note(content.notes)
        return Ready(identity(_TOOL, "strategy", self._store.project, one.id), one, content)

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

    def _prepare_delivery(self, one: ForeignDelivery) -> ReadyDelivery:
        self._check_session(one.session)
        if self._taken.get(one.package) != one.session:
            raise InvalidInput(f"its package {one.package} is none of its session that was taken", "It is left out")
        task = None if one.group is None else names.check_identifier(one.group, "group_id")
        role = fold(names.check_identifier(one.role, "agent_type"))
        said = one.session, task, role, one.iteration, one.package, one.consumed_at
        return Ready(identity(_TOOL, "delivery", *said), one, (task, role))

    def _check_session(self, session: str) -> None:
        if session not in self._sessions:
            raise InvalidInput("its session could not be taken", "It is left out")

    def _delivery(self, one: ReadyDelivery, _: Row | None) -> Verdict:
        """Record that a package was delivered, as it stands now: what has come since is news."""
        run, package = self._runs.get(one.source.session), self._packages.get(one.source.package)
        if one.uid in self._handed:
            return PRESENT
        self._handed.add(one.uid)
        if run is None or package is None:
            return ADDED
        window = Window(self.project, None, 0, None, one.source.iteration, run, *one.content)
        if window not in self._got:
            self._got[window] = deliveries.delivered(self.transaction, window).get(Kind.PACKAGE.number, {})
        if package in self._got[window]:
            return PRESENT
        if self.write:
            current = package_writing.load(self.transaction, self.project, package)
            assert current is not None
            item = (Kind.PACKAGE.number, package, current.seq)
            deliveries.record(self.transaction, window, [item], one.source.consumed_at)
        return ADDED
