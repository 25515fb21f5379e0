"""The records of what a bazinga database holds."""

from __future__ import annotations

from dataclasses import dataclass

from satchel.keep.importing.records import ForeignStore


@dataclass(frozen=True, slots=True)
class ForeignRun:
    """One session.

    Attributes:
        row: what tells it from others, for a report; so in every record here.
        session: its id.
        requirements: what it was asked to do, or None.
        status: active, completed or failed.
        is_listed: whether the table of sessions has it; False for one that only other tables name.
        created_at: milliseconds UTC; so for ``ended_at``, which is None where that is not recorded.
    """

    row: str
    session: str
    requirements: str | None
    status: str
    is_listed: bool
    created_at: int
    ended_at: int | None


@dataclass(frozen=True, slots=True)
class ForeignPackage:
    """One context package.

    Attributes:
        id: its number or UUID there, as text.
        group: the task group, or None for the whole session.
        consumers: the kinds of agents that it is meant for.
        supersedes: the id of the package that it replaces, or None.
        created_at: milliseconds UTC.
    """

    row: str
    id: str
    session: str
    group: str | None
    path: str
    type: str | None
    priority: str | None
    summary: str | None
    producer: str | None
    consumers: tuple[str, ...]
    supersedes: str | None
    created_at: int


@dataclass(frozen=True, slots=True)
class ForeignPattern:
    """One error pattern with its only solution.

    Attributes:
        hash: what identifies it there.
        message: as bazinga keeps it, quoted names and paths left out.
        stack: the lines of its stack pattern.
        solution: None where there is none.
        tenths: the confidence, 1 to 10.
        last_seen: milliseconds UTC; so for ``created_at``.
    """

    row: str
    hash: str
    error_type: str
    message: str
    stack: tuple[str, ...]
    solution: str | None
    tenths: int
    occurrences: int
    lang: str | None
    ttl_days: int
    last_seen: int
    created_at: int


@dataclass(frozen=True, slots=True)
class ForeignStrategy:
    """One strategy.

    Attributes:
        helpfulness: how often it helped, at least 0.
        last_seen: milliseconds UTC; so for ``created_at``.
    """

    row: str
    id: str
    topic: str
    insight: str
    helpfulness: int
    lang: str | None
    framework: str | None
    last_seen: int
    created_at: int


@dataclass(frozen=True, slots=True)
class ForeignDelivery:
    """One package that was consumed.

    Attributes:
        group: the task group, or None for none.
        role: the kind of agent.
        package: the id of the package.
        consumed_at: milliseconds UTC.
    """

    row: str
    session: str
    group: str | None
    role: str
    iteration: int
    package: str
    consumed_at: int


@dataclass(frozen=True, slots=True)
class BazingaStore(ForeignStore):
    """Everything that can be read of a bazinga database."""

    runs: tuple[ForeignRun, ...]
    packages: tuple[ForeignPackage, ...]
    patterns: tuple[ForeignPattern, ...]
    strategies: tuple[ForeignStrategy, ...]
    deliveries: tuple[ForeignDelivery, ...]
