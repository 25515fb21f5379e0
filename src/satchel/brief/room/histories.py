"""Histories of items and errors, and past briefings."""

from __future__ import annotations

import json

from satchel.base.errors import NotFound
from satchel.base.records import dataclass
from satchel.base.text import shortened
from satchel.brief.room.looking import LINE_CHARS, Look
from satchel.find.kind import KIND_OF, Kind
from satchel.keep import deliveries, events, kept
from satchel.keep.corrections import log
from satchel.keep.kinds import KINDS
from satchel.keep.patterns import updates as patterns
from satchel.keep.patterns.records import LEAST, SOLUTION_LETTER, ErrorPattern
from satchel.store.transaction import grouped, set_of

MOST_DELIVERIES = 20
MOST_WORDS = 200
MOST_REPORTS = 20

_ACTIONS = {log.SUPERSEDED: "replaced", log.RETRACTED: "retracted", log.CONFIRMED: "confirmed"}
# The kinds whose table names the replacement of an item.
_SUPERSEDED = {Kind.ENTRY, Kind.PACKAGE, Kind.STRATEGY}


@dataclass(frozen=True, slots=True)
class Delivered:
    """A delivery of an item to an agent.

    Attributes:
        session: the uid of the session, in hexadecimal, with its client and branch; None without one.
        delivered_at: in milliseconds UTC.
    """

    agent: str | None
    session: str | None
    client: str | None
    branch: str | None
    delivered_at: int


@dataclass(frozen=True, slots=True)
class ItemCorrection:
    """A correction of an item by an agent or a person.

    Attributes:
        action: replaced, retracted or confirmed.
        reason: why, or None.
        heir: the short id of its replacement, or None.
        corrected_at: in milliseconds UTC.
    """

    action: str
    agent: str | None
    reason: str | None
    heir: str | None
    corrected_at: int


@dataclass(frozen=True, slots=True)
class ItemHistory:
    """The history of an item.

    Attributes:
        item: its short id.
        corrections: those in force, in order.
        replaces: the short ids of at most 20 items that it replaced.
        replaced_by: the short id of its replacement, or None.
        deliveries: the latest first, at most 20.
    """

    item: str
    corrections: tuple[ItemCorrection, ...]
    replaces: tuple[str, ...]
    replaced_by: str | None
    deliveries: tuple[Delivered, ...]


@dataclass(frozen=True, slots=True)
class BriefedItem:
    """An item of a past delivery.

    Attributes:
        ref: its short id.
        seq: the number of its last change then; ``is_changed`` tells whether it was changed since.
        text: its text now, in one line; None if it is gone.
    """

    ref: str
    seq: int
    text: str | None
    is_changed: bool


@dataclass(frozen=True, slots=True)
class PastBriefing:
    """A briefing, or what a hook added to the context of an agent.

    Attributes:
        session: the uid of the session, in hexadecimal; None without one.
        moment: one of :data:`satchel.keep.deliveries.MOMENTS`.
        items: those it held, at most 60 of ``total``, which also counts files, fixes and claims; none of those
            delivered before Satchel recorded them.
        delivered_at: in milliseconds UTC.
    """

    agent: str | None
    session: str | None
    moment: str
    tokens: int
    items: tuple[BriefedItem, ...]
    total: int
    delivered_at: int


@dataclass(frozen=True, slots=True)
class SolutionWord:
    """An agent's report on whether a solution helped.

    Attributes:
        solution: its short id.
        said_at: in milliseconds UTC.
    """

    solution: str
    agent: str | None
    helped: bool
    said_at: int


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """A report of an error.

    Attributes:
        solution: the short id of its fix there, or None.
        reported_at: in milliseconds UTC.
    """

    agent: str | None
    task_id: str | None
    solution: str | None
    reported_at: int


@dataclass(frozen=True, slots=True)
class ErrorHistory:
    """An error with the reports on its solutions.

    Attributes:
        words: the newest first, at most 200, of the last 90 days.
        reports: of the error, the newest first, at most 20.
        asked_at: in milliseconds UTC.
    """

    pattern: ErrorPattern
    words: tuple[SolutionWord, ...]
    reports: tuple[ErrorReport, ...]
    asked_at: int


@dataclass(frozen=True, slots=True)
class PastBriefings:
    """Briefings and hook texts of the past, the latest first; ``asked_at`` is in milliseconds UTC."""

    items: tuple[PastBriefing, ...]
    asked_at: int


def of_item(look: Look, kind: Kind, number: int) -> ItemHistory:
    """Return the history of an item."""
    if not look.rows(f"SELECT 1 FROM {kind.table} WHERE id = :id AND project_id = :project", id=number):
        raise NotFound(f"the project has no {kind.ref(number)}", "Results of a search and lists show the ids")
    corrections = []
    for one in log.of_item(look.transaction, kind, number):
        heir = None if one.heir is None else kind.ref(one.heir)
        corrections.append(ItemCorrection(_ACTIONS[one.action], one.agent, one.reason, heir, one.created_at))
    if kind is Kind.PACKAGE:
        replaced = f"SELECT id FROM {kind.table} WHERE superseded_by = :id"
    else:
        of_kind = f"item_kind = {kind.number} AND undone_at IS NULL"
        replaced = f"SELECT item_id FROM corrections WHERE heir_id = :id AND {of_kind}"
    rows = look.rows(f"{replaced} ORDER BY id DESC LIMIT {MOST_DELIVERIES}", id=number)
    heir = next((one.heir for one in reversed(corrections) if one.heir is not None), None)
    if kind in _SUPERSEDED:
        ((superseded_by,),) = look.rows(f"SELECT superseded_by FROM {kind.table} WHERE id = :id", id=number)
        if superseded_by is not None:
            heir = None if superseded_by == number else kind.ref(superseded_by)
    replaces = tuple(map(kind.ref, dict.fromkeys(row[0] for row in rows)))
    delivered = deliveries.of_item(look.transaction, look.project_id, kind, number, MOST_DELIVERIES)
    uses = tuple(
        Delivered(agent, uid and uid.hex(), client, branch, at) for agent, uid, client, branch, at in delivered
    )
    return ItemHistory(kind.ref(number), tuple(corrections), replaces, heir, uses)


def briefings(look: Look, session: str | None, most: int) -> PastBriefings:
    """Return what was added to the context of a session, or of all, the latest first."""
    past = deliveries.past(look.transaction, look.project_id, session, most)
    numbers = grouped((KIND_OF[kind], number) for one in past for kind, number, _ in one.contents if kind in KIND_OF)
    texts: dict[tuple[Kind, int], str] = {}
    seqs: dict[tuple[Kind, int], int] = {}
    for kind, items in numbers.items():
        there = look.rows(f"SELECT id, seq FROM {kind.table} WHERE id IN {set_of(items)}")
        seqs |= {(kind, number): seq for number, seq in there}
        lines = kept.display_texts(KINDS[kind], look.transaction, [number for number, _ in there])
        texts |= {(kind, number): shortened(text, LINE_CHARS) for number, text in lines.items()}
    briefed = []
    for one in past:
        contents = [(KIND_OF[kind], item, seq) for kind, item, seq in one.contents if kind in KIND_OF]
        briefed_items = tuple(
            BriefedItem(kind.ref(item), seq, texts.get((kind, item)), seqs.get((kind, item)) != seq)
            for kind, item, seq in contents
        )
        uid = one.session.hex() if one.session else None
        briefed.append(PastBriefing(one.agent, uid, one.moment, one.tokens, briefed_items, one.items, one.delivered_at))
    return PastBriefings(tuple(briefed), look.now)


def of_error(look: Look, number: int) -> ErrorHistory:
    """Return an error, and the reports on it and on its solutions."""
    pattern = patterns.load(look.transaction, look.project_id, number, look.now, LEAST)
    if pattern is None:
        raise NotFound(f"the project has no {Kind.ERROR_PATTERN.ref(number)}, or it has expired")
    rows = look.rows(
        f"""
        SELECT a.name, e.details, e.created_at FROM events e LEFT JOIN agents a ON a.id = e.agent_id
        WHERE e.project_id = :project AND e.kind = {events.CONFIDENCE}
            AND e.item_kind = {Kind.ERROR_PATTERN.number} AND e.item_id = :id
        ORDER BY e.seq DESC LIMIT {MOST_WORDS}
        """,
        id=number,
    )
    words = tuple(_word(agent, details, at) for agent, details, at in rows)
    reports = look.rows(
        f"""
        SELECT a.name, r.task_id, r.solution_id, r.created_at
        FROM error_reports r LEFT JOIN agents a ON a.id = r.agent_id
        WHERE r.pattern_id = :id ORDER BY r.id DESC LIMIT {MOST_REPORTS}
        """,
        id=number,
    )
    meetings = tuple(
        ErrorReport(agent, task, fix and f"{SOLUTION_LETTER}{fix}", at) for agent, task, fix, at in reports
    )
    return ErrorHistory(pattern, words, meetings, look.now)


def _word(agent: str | None, text: str | None, at: int) -> SolutionWord:
    try:
        read = json.loads(text or "{}")
    except (ValueError, RecursionError):  # another program may have written the row
        read = {}
    details: dict[str, object] = read if isinstance(read, dict) else {}
    return SolutionWord(str(details.get("solution")), agent, details.get("helped") is True, at)
