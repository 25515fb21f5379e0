"""Records of briefings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.base.errors import InvalidInput
from satchel.base.records import TypedDict, dataclass
from satchel.base.vocabulary import PRIORITIES, priority_number
from satchel.find.kind import Kind

if TYPE_CHECKING:
    from satchel.keep.citations import Citation


_LOWEST, _HIGH, _CRITICAL = priority_number("low"), priority_number("high"), priority_number("critical")


@dataclass(frozen=True, slots=True)
class Zone:
    """One state of an agent's window.

    Attributes:
        begins: the share of the window in use from which it applies.
        least_priority: the lowest priority that is shown.
        advice: for the agent; empty in the normal zone.
    """

    name: str
    begins: float
    least_priority: int
    advice: str = ""

    @property
    def titles_only(self) -> bool:
        """Whether only rules, decisions and what is critical are shown whole."""
        return self.begins > 0


ZONES = (
    Zone("normal", 0.0, _LOWEST),
    Zone("soft warning", 0.60, _LOWEST, "window filling: titles only, except rules and decisions"),
    Zone("conservative", 0.75, _HIGH, "window three quarters full: only high and critical items"),
    Zone("wrap-up", 0.85, _CRITICAL, "window nearly full: finish this step, only critical items"),
    Zone(
        "emergency",
        0.95,
        _CRITICAL,
        "checkpoint: the window is full. Write a scratchpad now (done, attempted, next_step, blockers), stop, and "
        "call get_briefing with again=true in a fresh window",
    ),
)
NORMAL, EMERGENCY = ZONES[0], ZONES[-1]
# Not of the window, but of the tokens of hooks: only critical items are shown once they are spent.
SPENT = Zone("spent", 0.0, _CRITICAL)


def zone_of(window_used: float | None) -> Zone:
    """Return the zone of a window.

    ``window_used`` is 0 to 1 of the 85 % of a window that can be used; None, unknown, is the normal zone.
    """
    if window_used is None:
        return NORMAL
    if type(window_used) not in {int, float} or not 0 <= window_used <= 1:
        raise InvalidInput(
            f"window_used {repr(window_used)[:80]} is out of range",
            "Give 0 to 1: the tokens in use over 85 % of the model's window, or 1 beyond that",
        )
    return next(zone for zone in reversed(ZONES) if window_used >= zone.begins)


class BriefingRequest(TypedDict, total=False):
    """The arguments of a briefing, apart from the role.

    Keys:
        task_id, loop_id: the agent's task and loop.
        iteration: its attempt, from 0; a new one sees everything again.
        query: the planned work, in the agent's words.
        budget: tokens, 0 to 1,000,000; None takes ``brief.budget``. Counted exactly with the tokens extra, else
            estimated with a margin of 30 %.
        window_used: 0 to 1 of the 85 % of its window that can be used; the fuller, the shorter the briefing.
        again: repeat delivered items, as after a compaction.
        dry_run: record nothing.
        run_id: the run of the loop and the task; None takes the default; without one the loop is of the run ``main``,
            and the task of any, as with ``*``. Notes of all runs are shown.
        agent: the receiver; None takes the default, which may be nobody.
    """

    task_id: str | None
    loop_id: str | None
    iteration: int
    query: str | None
    budget: int | None
    window_used: float | None
    again: bool
    dry_run: bool
    run_id: str | None
    agent: str | None


@dataclass(frozen=True, slots=True)
class Request:
    """The checked arguments of a briefing.

    Attributes:
        role: folded, or None; ``role_as_given`` as it was written.
        budget: tokens; more candidates than fill it are not collected.
        again: whether delivered items are shown again.
        since: only later changes are shown, in milliseconds UTC; None is everything.
        reminds: whether a line of critical items stays after their delivery.
        within_session: whether the budget is also limited by what hooks have left in the window.
        counts: whether everything left out is counted; otherwise only rules, decisions and critical items.
        begins: whether its session begins: then it gets what the last one did.
    """

    budget: int
    role: str | None = None
    task_id: str | None = None
    loop_id: str | None = None
    iteration: int = 0
    query: str | None = None
    run_id: str | None = None
    agent: str | None = None
    again: bool = False
    since: int | None = None
    reminds: bool = True
    counts: bool = True
    begins: bool = False
    role_as_given: str | None = None
    within_session: bool = False


# The number of the priority that is never dropped silently.
CRITICAL = len(PRIORITIES)


@dataclass(frozen=True, slots=True)
class Briefed:
    """One item of a briefing.

    Attributes:
        ref: its short id.
        kind: as search names kinds.
        section: attempts, rules, reviews, packages, messages, errors or entries.
        priority: low, medium, high or critical.
        is_shortened: whether only part of its text is shown.
        file: the file it is about, or None.
        stands_for: the short ids of other items with the same text.
        citation: whether its file still matches the citation, if known.
    """

    ref: str
    kind: str
    section: str
    priority: str
    is_shortened: bool
    file: str | None = None
    stands_for: tuple[str, ...] = ()
    citation: Citation | None = None


# The kinds that bind, as :class:`LeftOut` names them.
BINDING = frozenset({"rules", "decisions"})

# The limit for counting items left out of a briefing.
COUNTED = 1_000


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The new items of one kind that a briefing does not show.

    Attributes:
        kind: in the plural, as in ``error patterns``.
        count: how many; more than :data:`COUNTED` may be any higher number.
        critical: how many of them are critical.
        tool: the tool that returns them.
    """

    kind: str
    count: int
    critical: int
    tool: str

    @property
    def counted(self) -> str:
        """The count with its noun, as in ``2 constraints, 1 critical``."""
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
    """Return a count as text, as in ``20`` and ``more than 1,000``."""
    return str(count) if count <= COUNTED else f"more than {COUNTED:,}"


@dataclass(frozen=True, slots=True)
class Briefing:
    """The items that one agent needs most, within a budget.

    Attributes:
        text: the briefing; empty if the budget allows none.
        tokens: its length by ``counter``.
        counter: the vocabulary that counted, or estimate.
        budget: the allowed tokens.
        zone: how full the agent's window is.
        run_id: the run that was chosen, or None.
        items: the items shown, the most needed first.
        left_out: items not shown, by kind.
        notes: problems and hints, such as that nothing is new; in the text too if there is room.
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
        label: what it is called among other kinds, if not as its kind.
        group: its heading.
        head: the part of its line before the text, never shortened: author, place, certainty.
        priority: 1 to 4.
        changed_at: milliseconds UTC.
        is_of_task: whether it belongs to the agent's own task or loop.
        is_for_role: whether it was meant for the agent or its role.
        is_own: whether it belongs to the agent's own loop or review, and is shown whatever the query.
        relevance: to the query, 0 to 1 of the best match.
        file: the file it is about.
        subject: its subject if only the head names it, such as the key of a decision.
        series: the author, task and loop of a scratchpad; only the newest of a series is shown whole.
        tried: the attempts of a scratchpad.
        leads: whether it precedes everything that is not critical.
        is_repeated: whether the receiver has it already, and this is a reminder.
        is_yours: whether the receiver wrote it in this session.
        stands_for: other items with the same text, which need no line of their own.
        citation: whether its file still matches the citation, if known.
        is_pinned: whether a person has pinned it, so that it ranks as critical.
        is_persons: whether a person wrote it.
        times: how often an error was met.
        reason: that of a decision, shown if everything has room with it.
    """

    section: str
    kind: Kind
    number: int
    seq: int
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
    is_persons: bool = False
    reason: str = ""
    times: int = 1
    label: str = ""

    def __post_init__(self) -> None:
        """Refuse values of other types, which rows written by other programs may have."""
        if not isinstance(self.text, str):
            raise TypeError("its text is no text")
        if not isinstance(self.changed_at, int):
            raise TypeError("its time is no number")

    @property
    def ref(self) -> str:
        return self.kind.ref(self.number)

    @property
    def key(self) -> tuple[int, int]:
        return self.kind.number, self.number

    @property
    def binds(self) -> bool:
        """Whether it is a rule or a decision."""
        return self.section == "rules"

    @property
    def is_stale(self) -> bool:
        return self.citation is not None and self.citation.is_stale

    @property
    def is_critical(self) -> bool:
        return self.priority == CRITICAL
