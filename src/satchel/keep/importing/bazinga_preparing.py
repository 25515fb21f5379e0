"""What was read of a bazinga database, made ready to be kept: checked, cleaned, and given its lasting identity."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath

from satchel.base.errors import InvalidInput
from satchel.base.text import fold
from satchel.base.vocabulary import PRIORITIES
from satchel.keep import names, runs
from satchel.keep.importing.bazinga_records import (
    BazingaStore,
    ForeignDelivery,
    ForeignPackage,
    ForeignPattern,
    ForeignRun,
    ForeignStrategy,
)
from satchel.keep.importing.keeping import Preparation, Ready
from satchel.keep.importing.values import identity
from satchel.keep.packages import records as package_records
from satchel.keep.packages import updates as package_writing
from satchel.keep.past_runs import PastRun
from satchel.keep.patterns import preparing as pattern_preparing
from satchel.keep.projects import Workplace
from satchel.keep.strategies import updates as strategy_writing
from satchel.keep.texts import check_short

_TOOL = "bazinga"

ReadyRun = Ready[ForeignRun, PastRun]

ReadyPackage = Ready[ForeignPackage, package_writing.Prepared]
"""Its source names the producer only where that is a name."""

ReadyPattern = Ready[ForeignPattern, pattern_preparing.Prepared]
"""Its uid is that of its solution."""

ReadyStrategy = Ready[ForeignStrategy, strategy_writing.Prepared]

ReadyDelivery = Ready[ForeignDelivery, tuple[str | None, str]]
"""Its task, and its role, folded."""


class BazingaPreparation(Preparation):
    """Everything of a bazinga database that can be kept, and what cannot.

    Attributes:
        superseding: the packages that replaced another one.
    """

    def __init__(self, store: BazingaStore, workplace: Workplace) -> None:
        super().__init__(store, workplace)
        self._project = store.project
        self.superseding: list[ReadyPackage] = []
        sessions, packages, patterns, strategies, deliveries = store.tables
        self.runs = self.each(sessions, store.runs, self._run)
        self._sessions = {one.source.session for one in self.runs}
        self._places = {one.id: one.session for one in store.packages}
        self.packages = self.each(packages, store.packages, self._package)
        self._taken = {one.source.id: one.source.session for one in self.packages}
        self.patterns = self.each(patterns, store.patterns, self._pattern)
        self.strategies = self.each(strategies, store.strategies, self._strategy)
        self.deliveries = self.each(deliveries, store.deliveries, self._delivery)

    def pattern_uid(self, one: ReadyPattern) -> bytes:
        """Return the lasting identity of an error pattern; that of an item is its solution's."""
        return identity(_TOOL, "error_pattern", self._project, one.content.hash)

    def _run(self, one: ForeignRun) -> ReadyRun:
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
        # none comes as active: a call that names no run is about the only active one
        status = "failed" if one.status == "failed" else "completed"
        uid = identity(_TOOL, "run", one.session)
        return Ready(uid, one, PastRun(uid, name, title, status, one.created_at, one.ended_at))

    def _package(self, one: ForeignPackage) -> ReadyPackage:
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
                self.superseding.append(ready)
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

    def _pattern(self, one: ForeignPattern) -> ReadyPattern:
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
        return Ready(identity(_TOOL, "solution", self._project, one.hash), one, content, weight=3)

    def _strategy(self, one: ForeignStrategy) -> ReadyStrategy:
        lang, framework = self.name(one.lang, "lang"), self.name(one.framework, "framework")
        content = strategy_writing.prepare(one.topic, one.insight, lang, framework, self.workplace)
        self.note(content.notes)
        return Ready(identity(_TOOL, "strategy", self._project, one.id), one, content)

    def _delivery(self, one: ForeignDelivery) -> ReadyDelivery:
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
