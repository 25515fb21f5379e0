"""The records of briefings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.base.records import dataclass
from satchel.base.vocabulary import PRIORITIES
from satchel.find.kind import Kind

if TYPE_CHECKING:
    from satchel.keep.citations import Citation

CRITICAL = len(PRIORITIES)
"""The number of the priority that is never dropped silently."""


@dataclass(frozen=True, slots=True)
class Briefed:
    """One item of a briefing.

    Attributes:
        ref: its short id.
        kind: what it is, as search names kinds.
        section: one of :data:`satchel.brief.briefing.SECTIONS`.
        priority: low, medium, high or critical.
        is_shortened: whether only part of its text is shown.
        file: the file it is about, if it is about one.
        stands_for: the short ids of other items whose text it says.
        citation: how that file stands by what was cited of it, where that is known.
    """

    ref: str
    kind: str
    section: str
    priority: str
    is_shortened: bool
    file: str | None = None
    stands_for: tuple[str, ...] = ()
    citation: Citation | None = None


COUNTED = 1_000
"""What is left out of a briefing is counted so far."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How much of one kind a briefing does not show although it is new to the agent.

    Attributes:
        kind: in the plural, as in ``error patterns``.
        count: how many, of everything that was eligible; more than :data:`COUNTED` may be any number above it.
        critical: how many of them are critical.
        tool: what to ask for them with.
    """

    kind: str
    count: int
    critical: int
    tool: str

    @property
    def counted(self) -> str:
        """How many there are of the kind, as in ``2 constraints, 1 critical``."""
        noun = self.kind
        if self.count == 1:
            noun = f"{noun[:-3]}y" if noun.endswith("ies") else noun[:-1]
        if not self.critical:
            return f"{count_text(self.count)} {noun}"
        if self.critical == self.count:
            return f"{self.count} critical {noun}"
        return f"{count_text(self.count)} {noun}, {self.critical} critical"

    def __str__(self) -> str:
        return f"{self.counted} ({self.tool})"


def count_text(count: int) -> str:
    """Write how many things were counted, as in ``20`` and ``more than 1,000``."""
    return str(count) if count <= COUNTED else f"more than {COUNTED:,}"


@dataclass(frozen=True, slots=True)
class Briefing:
    """What one agent needs most, inside a budget.

    Attributes:
        text: the briefing; empty where the budget allows none.
        tokens: how many the text has by ``counter``.
        counter: the vocabulary that counted, or estimate.
        budget: the tokens that were asked for.
        zone: how full the agent's window is.
        run_id: the run that was chosen, or None.
        items: what it shows, the most needed first.
        left_out: what it does not show, by kind.
        notes: what went wrong or should be known, such as that nothing is new; in the text too where there is room.
        is_stuck: whether the loop's last attempts all failed.
        is_recorded: whether the items were recorded as delivered.
    """

    text: str
    tokens: int
    counter: str
    budget: int
    zone: str
    role: str | None
    run_id: str | None
    task_id: str | None
    loop_id: str | None
    iteration: int
    items: tuple[Briefed, ...]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]
    is_stuck: bool
    is_recorded: bool


@dataclass(frozen=True, slots=True)
class Candidate:
    """One item that a briefing could show.

    Attributes:
        seq: the number of its last change: a later one makes it new again.
        label: what it is, for where items of several kinds stand together.
        group: the heading that it stands under.
        head: what its line says before the text, never shortened: who, where, how sure.
        text: what it says.
        priority: 1 to 4.
        changed_at: milliseconds UTC.
        is_of_task: whether it belongs to the agent's own task or loop.
        is_for_role: whether it was meant for the agent or its role.
        is_own: whether it belongs to the agent's own loop or review, and is shown whatever was asked for.
        relevance: how well it matches the query, 0 to 1 of the best match.
        file: the file it is about.
        subject: what its text is about where only the head says it, such as the key of a decision.
        series: of a scratchpad whose it is of which task or loop: of these only the newest is shown whole.
        tried: of a scratchpad what was attempted.
        leads: whether it stands before everything but what is critical.
        is_repeated: whether the receiver has got it before, and is only reminded of it.
        is_yours: whether the receiver wrote it in this session.
        stands_for: other items whose text it says, so that they need no line of their own.
        citation: how its file stands by what was cited of it, where that is known.
        is_pinned: whether a person has pinned it, so that it ranks as critical.
    """

    section: str
    kind: Kind
    number: int
    seq: int
    label: str
    group: str
    head: str
    text: str
    priority: int
    changed_at: int
    is_of_task: bool = False
    is_for_role: bool = False
    is_own: bool = False
    relevance: float = 0.0
    file: str | None = None
    subject: str = ""
    series: tuple[object, ...] = ()
    tried: tuple[str, ...] = ()
    stands_for: tuple[Candidate, ...] = ()
    leads: bool = False
    is_repeated: bool = False
    citation: Citation | None = None
    is_yours: bool = False
    is_pinned: bool = False

    def __post_init__(self) -> None:
        """Refuse what another tool may have written: columns have types only as far as those who write keep to them."""
        if not isinstance(self.text, str):
            raise TypeError("its text is no text")
        if not isinstance(self.changed_at, int):
            raise TypeError("its time is no number")

    @property
    def ref(self) -> str:
        """Its short id."""
        return self.kind.ref(self.number)

    @property
    def key(self) -> tuple[int, int]:
        """What tells it from every other item."""
        return self.kind.number, self.number

    @property
    def is_stale(self) -> bool:
        """Whether what it cites is not there any more."""
        return self.citation is not None and self.citation.is_stale

    @property
    def is_critical(self) -> bool:
        """Whether it must not be dropped silently."""
        return self.priority == CRITICAL
