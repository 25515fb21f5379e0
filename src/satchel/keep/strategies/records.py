"""Records of strategies, and their construction from rows."""

from __future__ import annotations

from satchel.base.paging import KeptPage
from satchel.base.records import dataclass
from satchel.find.kind import Kind
from satchel.store.transaction import Row

MAX_INSIGHT_CHARS = 500


@dataclass(frozen=True, slots=True)
class Strategy:
    """An approach that worked.

    Attributes:
        id: the store's number; ``ref`` is its short id.
        uid: 32 hexadecimal digits, stable across export and import.
        seq: the number of its last change.
        topic: its subject, in lower case and hyphenated, as in ``react-native-offline``.
        insight: the advice and why it works.
        lang: the programming language in lower case; None is any.
        framework: the framework in lower case; None is any.
        helped: number of reported successes; ``not_helped``: of failures.
        agent: its author, or None.
        superseded_by: the number of its replacement; its own if retracted; None while it is live.
        last_seen: when it was saved or last tried, in milliseconds UTC.
        created_at: milliseconds UTC.
        score: how well it matched a search, higher is better; None without one.
        notes: what the writer should know; empty when read.
    """

    id: int
    uid: str
    seq: int
    topic: str
    insight: str
    lang: str | None
    framework: str | None
    helped: int
    not_helped: int
    agent: str | None
    superseded_by: int | None
    last_seen: int
    created_at: int
    score: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def ref(self) -> str:
        return Kind.STRATEGY.ref(self.id)


@dataclass(frozen=True, slots=True)
class StrategyPage(KeptPage[Strategy]):
    """A page of strategies, counted and read in one snapshot."""

    @property
    def strategies(self) -> tuple[Strategy, ...]:
        return self.items


COLUMNS = """
    t.id, t.uid, t.seq, t.topic, t.insight, t.lang, t.framework, t.helped, t.not_helped, a.name,
    t.superseded_by, t.last_seen, t.created_at
"""
"""Columns of :data:`SOURCE` for :func:`strategy_of`."""

SOURCE = "strategies t LEFT JOIN agents a ON a.id = t.agent_id"


def strategy_of(row: Row, *, score: float | None = None, notes: tuple[str, ...] = ()) -> Strategy:
    """Build a record from a row of :data:`COLUMNS`, which are in field order."""
    number, uid, *rest = row[:13]
    rest += [score, notes]
    return Strategy(number, uid.hex(), *rest)
