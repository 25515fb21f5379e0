"""The records of what memory is worth."""

from __future__ import annotations

from satchel.base.records import dataclass

SPENT_BY = ("moment", "agent")
"""What tokens are told apart by."""

REASONS = ("delivered", "said", "zone", "packages", "room", "rank")
"""Why a briefing leaves something out: it was delivered in this window; another item says it; the window is too full
for its priority; it is one package too many; it did not fit; or the room was used up before its turn."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What was put into windows.

    Attributes:
        name: a moment or an agent; of agents without a name ``nobody``, and of the many beyond the first ``others``.
    """

    name: str
    tokens: int
    deliveries: int


@dataclass(frozen=True, slots=True)
class Day:
    """What was put into windows on one day.

    Attributes:
        began_at: its midnight, milliseconds UTC.
        tokens: for each name of :class:`Spending`.
    """

    began_at: int
    tokens: tuple[int, ...]
    deliveries: int


@dataclass(frozen=True, slots=True)
class Spending:
    """The tokens put into windows, day by day.

    Attributes:
        by: one of :data:`SPENT_BY`.
        names: moments or agents with their sums, the most tokens first.
        days: every day in order, the last is today.
        tokens, deliveries, items: in all.
        sessions: how many sessions got something in these days; ``per_session`` the tokens that one got on average,
            None without any.
    """

    by: str
    names: tuple[Spent, ...]
    days: tuple[Day, ...]
    tokens: int
    deliveries: int
    items: int
    sessions: int
    per_session: int | None


@dataclass(frozen=True, slots=True)
class Worth:
    """One item, with what is known of its use.

    Attributes:
        ref: the short id of what can be opened.
        kind: what it is, as search names kinds.
        text: the beginning of what it says.
        facts: what is known, in a few words each.
    """

    ref: str
    kind: str
    text: str
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Worths:
    """Items of which the same is known.

    Attributes:
        items: at most 20 of ``total``, the most telling first.
        rests_on: what was looked at, in a sentence.
    """

    items: tuple[Worth, ...]
    total: int
    rests_on: str


@dataclass(frozen=True, slots=True)
class Memory:
    """What memory is worth.

    Attributes:
        helped: what agents confirmed, reported as helping, or had before they succeeded.
        unused: what was delivered again and again without any of that.
        stale: notes on files that were edited since.
        delivered: what was delivered most often.
        sighted: what several wrote.
        asked_at: in milliseconds UTC.
    """

    spending: Spending
    helped: Worths
    unused: Worths
    stale: Worths
    delivered: Worths
    sighted: Worths
    asked_at: int


@dataclass(frozen=True, slots=True)
class Previewed:
    """One item of a previewed briefing.

    Attributes:
        kind: what it is, as search names kinds.
        line: how the briefing says it.
        tokens: what that takes.
        why: why it is there, the first reason first.
    """

    ref: str
    kind: str
    line: str
    tokens: int
    is_shortened: bool
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """What a previewed briefing leaves out for one reason.

    Attributes:
        reason: one of :data:`REASONS`.
        why: the same in a sentence.
        total: how many items.
        refs: the short ids of at most 20, the most needed first; none of what was only counted.
    """

    reason: str
    why: str
    total: int
    refs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """The briefing that an agent would get now.

    Attributes:
        agent: whose; None is one without a name.
        session: the uid of the session that it works in, in hexadecimal, and ``window`` its context window; None where
            no session of it is at work.
        moment: what it would get it for.
        text: as the agent gets it.
        tokens: how many that are by ``counter``.
        items: the most needed first.
        missing: what is left out, and why.
        notes: what the reader should know.
    """

    agent: str | None
    session: str | None
    window: int | None
    moment: str
    text: str
    tokens: int
    budget: int
    counter: str
    items: tuple[Previewed, ...]
    missing: tuple[Missing, ...]
    notes: tuple[str, ...]
    asked_at: int
