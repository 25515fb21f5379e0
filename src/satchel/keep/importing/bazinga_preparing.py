"""What was read of a bazinga database, made ready to be kept: checked, cleaned, and given its lasting identity."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeVar

from satchel.base.errors import InvalidInput, SatchelError
from satchel.base.text import fold
from satchel.base.vocabulary import MAIN_RUN, PRIORITIES
from satchel.keep import names, runs
from satchel.keep.importing.bazinga_records import (
    BazingaStore,
    ForeignDelivery,
    ForeignPackage,
    ForeignPattern,
    ForeignRun,
    ForeignStrategy,
)
from satchel.keep.importing.records import Trouble
from satchel.keep.importing.values import identity
from satchel.keep.packages import records as package_records
from satchel.keep.packages import updates as package_writing
from satchel.keep.past_runs import PastRun
from satchel.keep.patterns import preparing as pattern_preparing
from satchel.keep.projects import Workplace
from satchel.keep.strategies import updates as strategy_writing
from satchel.keep.texts import check_short

_TOOL = "bazinga"

Foreign = TypeVar("Foreign", ForeignRun, ForeignPackage, ForeignPattern, ForeignStrategy, ForeignDelivery)
Ready = TypeVar("Ready")


@dataclass(frozen=True, slots=True)
class ReadyRun:
    """A run, ready to be stored."""

    session: str
    past: PastRun
    weight: int = 1


@dataclass(frozen=True, slots=True)
class ReadyPackage:
    """A package, ready to be stored.

    Attributes:
        id: its id there; so for ``session``.
    """

    uid: bytes
    id: str
    session: str
    content: package_writing.Prepared
    producer: str | None
    created_at: int
    weight: int = 1


@dataclass(frozen=True, slots=True)
class ReadySuperseding:
    """One package replaced another, by their ids there.

    Attributes:
        at: when, in milliseconds UTC.
    """

    old: str
    new: str
    at: int
    weight: int = 1


@dataclass(frozen=True, slots=True)
class ReadyPattern:
    """An error pattern, ready to be stored.

    Attributes:
        uid: of the pattern; so for ``solution_uid``.
        tenths: how sure its solution is.
        last_seen: milliseconds UTC; so for ``created_at``.
    """

    uid: bytes
    solution_uid: bytes
    content: pattern_preparing.Prepared
    tenths: int
    occurrences: int
    last_seen: int
    created_at: int
    weight: int = 3


@dataclass(frozen=True, slots=True)
class ReadyStrategy:
    """A strategy, ready to be stored.

    Attributes:
        last_seen: milliseconds UTC; so for ``created_at``.
    """

    uid: bytes
    content: strategy_writing.Prepared
    helped: int
    last_seen: int
    created_at: int
    weight: int = 1


@dataclass(frozen=True, slots=True)
class ReadyDelivery:
    """A delivery, ready to be recorded.

    Attributes:
        package: its id there; so for ``session``.
        role: folded.
        at: when, in milliseconds UTC.
    """

    session: str
    task_id: str | None
    role: str
    iteration: int
    package: str
    at: int
    weight: int = 1


class BazingaPreparation:
    """Everything of a bazinga database that can be kept, and what cannot.

    Attributes:
        superseding: which package replaced which.
        troubles: what could not be read, or only in part.
        notes: what else should be known.
    """

    def __init__(self, store: BazingaStore, workplace: Workplace) -> None:
        self._workplace = workplace
        self._project = store.project
        self.troubles = list(store.troubles)
        self.superseding: list[ReadySuperseding] = []
        sessions, packages, patterns, strategies, deliveries = store.tables
        self.runs = list(self._each(sessions, store.runs, self._run))
        self._sessions = {one.session for one in self.runs}
        self._places = {one.id: one.session for one in store.packages}
        self.packages = list(self._each(packages, store.packages, self._package))
        self._taken = {one.id: one.session for one in self.packages}
        self.patterns = list(self._each(patterns, store.patterns, self._pattern))
        self.strategies = list(self._each(strategies, store.strategies, self._strategy))
        self.deliveries = list(self._each(deliveries, store.deliveries, lambda one, _: self._delivery(one)))

    @property
    def total(self) -> int:
        """How many items there are."""
        listed = len(self.runs) + len(self.packages) + len(self.patterns)
        return listed + len(self.strategies) + len(self.deliveries)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is true of what was prepared, whatever becomes of it."""
        if not self.patterns:
            return ()
        return (
            "bazinga leaves quoted names out of errors: one without them is recognised again, the others are found by "
            "search alone",
        )

    def _each(self, table: str, items: Iterable[Foreign], prepare: Callable[[Foreign, str], Ready]) -> Iterable[Ready]:
        for item in items:
            try:
                ready = prepare(item, table)
            except SatchelError as error:
                self.troubles.append(Trouble(table, item.row, error.problem))
                continue
            yield ready

    def _note(self, table: str, row: str, notes: Iterable[str]) -> None:
        self.troubles.extend(Trouble(table, row, note, left_out=False) for note in notes)

    def _name(self, table: str, row: str, value: str | None, field: str) -> str | None:
        """Return a name that is not essential; one that is none is reported and left out."""
        if value is None:
            return None
        try:
            return names.check_identifier(value, field)
        except InvalidInput as error:
            self._note(table, row, (f"{error.problem}; left out",))
            return None

    def _run(self, one: ForeignRun, table: str) -> ReadyRun:
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
            self._note(table, one.row, short.notes)
        uid = identity(_TOOL, "run", one.session)
        if name == MAIN_RUN:  # which never ends
            return ReadyRun(one.session, PastRun(uid, name, title, "active", one.created_at, None))
        # none else comes as active: nobody works in it here
        status = "failed" if one.status == "failed" else "completed"
        return ReadyRun(one.session, PastRun(uid, name, title, status, one.created_at, one.ended_at))

    def _package(self, one: ForeignPackage, table: str) -> ReadyPackage:
        if one.session not in self._sessions:
            raise _without_session()
        summary = one.summary or f"no summary was kept of {PurePosixPath(one.path).name}"
        kind, priority = self._known(one, table)
        consumers = [
            role
            for given in one.consumers
            if (role := self._name(table, one.row, given, "a consumer's agent_type")) is not None
        ]
        content = package_writing.prepare(
            summary, one.path, None, kind, priority, one.group, consumers, self._workplace
        )
        producer = self._name(table, one.row, one.producer, "producer_agent")
        self._note(table, one.row, content.notes)
        if one.supersedes is not None:
            if self._places.get(one.supersedes) != one.session or one.supersedes == one.id:
                self._note(table, one.row, (f"it supersedes {one.supersedes}, which is no package of its session",))
            else:
                self.superseding.append(ReadySuperseding(one.supersedes, one.id, one.created_at))
        uid = identity(_TOOL, "package", one.session, one.id, one.path)
        return ReadyPackage(uid, one.id, one.session, content, producer, one.created_at)

    def _known(self, one: ForeignPackage, table: str) -> tuple[str, str]:
        """Return the type and the priority of a package; what is none of ours is reported."""
        kind = fold(one.type or package_records.DEFAULT_TYPE)
        priority = fold(one.priority or package_records.DEFAULT_PRIORITY)
        if kind not in package_records.TYPES:
            kind = package_records.DEFAULT_TYPE
            self._note(table, one.row, (f"its package_type is {one.type!r}; {kind} here",))
        if priority not in PRIORITIES:
            priority = package_records.DEFAULT_PRIORITY
            self._note(table, one.row, (f"its priority is {one.priority!r}; {priority} here",))
        return kind, priority

    def _pattern(self, one: ForeignPattern, table: str) -> ReadyPattern:
        content = pattern_preparing.prepare(
            one.error_type,
            one.message,
            "\n".join(one.stack) or None,
            None,
            self._name(table, one.row, one.lang, "lang"),
            one.solution,
            one.ttl_days,
            self._workplace.max_content_bytes,
        )
        self._note(table, one.row, content.notes)
        return ReadyPattern(
            uid=identity(_TOOL, "error_pattern", self._project, content.hash),
            solution_uid=identity(_TOOL, "solution", self._project, one.hash),
            content=content,
            tenths=one.tenths,
            occurrences=one.occurrences,
            last_seen=one.last_seen,
            created_at=one.created_at,
        )

    def _strategy(self, one: ForeignStrategy, table: str) -> ReadyStrategy:
        content = strategy_writing.prepare(
            one.topic,
            one.insight,
            self._name(table, one.row, one.lang, "lang"),
            self._name(table, one.row, one.framework, "framework"),
            self._workplace,
        )
        self._note(table, one.row, content.notes)
        uid = identity(_TOOL, "strategy", self._project, one.id)
        return ReadyStrategy(uid, content, one.helpfulness, one.last_seen, one.created_at)

    def _delivery(self, one: ForeignDelivery) -> ReadyDelivery:
        if one.session not in self._sessions:
            raise _without_session()
        if self._taken.get(one.package) != one.session:
            raise InvalidInput(f"its package {one.package} is none of its session that was taken", "It is left out")
        task = None if one.group is None else names.check_identifier(one.group, "group_id")
        role = fold(names.check_identifier(one.role, "agent_type"))
        return ReadyDelivery(one.session, task, role, one.iteration, one.package, one.consumed_at)


def _without_session() -> InvalidInput:
    return InvalidInput("its session could not be taken", "It is left out")
