"""What became of what was briefed: what was confirmed, corrected, or followed by success, and what never was."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator

from satchel.base.clock import DAY_MS
from satchel.base.records import dataclass, field
from satchel.base.text import shortened
from satchel.find.kind import Kind
from satchel.keep.corrections.log import CONFIRMED
from satchel.keep.entries.records import REVIEW_VERDICT, SCRATCHPAD
from satchel.keep.kinds import KIND_OF, KINDS
from satchel.store.transaction import Transaction

_KINDS = (Kind.ENTRY, Kind.DECISION, Kind.CONSTRAINT, Kind.STRATEGY)
_MOST_SHOWN = 10
OFTEN, FIRST_DAYS = 3, 7
"""An item is called unconfirmed only after so many deliveries, and so many days after the first of them."""

_MAX_DELIVERIES = 200_000
"""So many deliveries are looked at, the newest windows first: a project of years has more, and the new ones tell."""

Item = tuple[int, int]
"""The numbers of a kind and of an item."""


@dataclass(frozen=True, slots=True)
class ItemUse:
    """What became of one item that was briefed.

    Attributes:
        ref: its short id.
        delivered: to how many windows of agents.
        confirmed: by how many agents; of a strategy, how often it was said to help.
        corrected: whether it was replaced or retracted after it was delivered.
        succeeded: after how many of those deliveries its session, or without one its agent, was done or passed a review
            within a day.
        text: the beginning of what it says.
    """

    ref: str
    delivered: int
    confirmed: int
    corrected: bool
    succeeded: int
    text: str


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """What became of what was briefed.

    Attributes:
        items: how many items were delivered; ``deliveries`` how often.
        confirmed, corrected, succeeded: how many of the items were so.
        useful: the items that were confirmed or followed by success most often.
        unused: those that were delivered three times or more since a week or longer, and never were, the most
            delivered first; rules are never among them, since keeping to one leaves no trace.
        unused_total: how many those are.
    """

    items: int
    deliveries: int
    confirmed: int
    corrected: int
    succeeded: int
    useful: tuple[ItemUse, ...]
    unused: tuple[ItemUse, ...]
    unused_total: int


@dataclass(slots=True)
class _Count:
    delivered: int = 0
    succeeded: int = 0
    confirmed: int = 0
    corrected: bool = False
    first: int = field(default=2**62)

    @property
    def use(self) -> int:
        return self.confirmed + self.succeeded


def count(transaction: Transaction, project_id: int | None, now: int) -> MemoryUse:
    """Count what became of what was briefed in a project.

    Args:
        now: milliseconds UTC.
    """
    if project_id is None:
        return MemoryUse(0, 0, 0, 0, 0, (), (), 0)
    counts = _delivered(transaction, project_id)
    _correct(transaction, project_id, counts)
    there = dict(_texts(transaction, counts))
    counts = {item: one for item, one in counts.items() if item in there}

    def shown(items: list[Item]) -> tuple[ItemUse, ...]:
        return tuple(
            ItemUse(
                KIND_OF[item[0]].ref(item[1]), one.delivered, one.confirmed, one.corrected, one.succeeded, there[item]
            )
            for item in items[:_MOST_SHOWN]
            for one in (counts[item],)
        )

    useful = sorted((item for item, one in counts.items() if one.use), key=lambda item: (-counts[item].use, item))
    unused = sorted(
        (
            item
            for item, one in counts.items()
            if not one.use
            and one.delivered >= OFTEN
            and now - one.first >= FIRST_DAYS * DAY_MS
            and item[0] != Kind.CONSTRAINT.number
        ),
        key=lambda item: (-counts[item].delivered, item),
    )
    return MemoryUse(
        items=len(counts),
        deliveries=sum(one.delivered for one in counts.values()),
        confirmed=sum(one.confirmed > 0 for one in counts.values()),
        corrected=sum(one.corrected for one in counts.values()),
        succeeded=sum(one.succeeded > 0 for one in counts.values()),
        useful=shown(useful),
        unused=shown(unused),
        unused_total=len(unused),
    )


def _delivered(transaction: Transaction, project_id: int) -> dict[Item, _Count]:
    """Return how often items were delivered, and followed by success."""
    done = _successes(transaction, project_id)
    kinds = ", ".join(str(kind.number) for kind in _KINDS)
    rows = transaction.all(
        f"""
        SELECT d.kind, d.item_id, d.created_at, w.session_id, w.agent_id
        FROM windows w JOIN deliveries d ON d.window_id = w.id
        WHERE w.project_id = :project AND d.kind IN ({kinds}) ORDER BY w.id DESC LIMIT {_MAX_DELIVERIES}
        """,
        {"project": project_id},
    )
    counts: dict[Item, _Count] = defaultdict(_Count)
    for kind, item, moment, session, agent in rows:
        one = counts[kind, item]
        one.delivered += 1
        one.first = min(one.first, moment)
        times = done.get(("session", session) if session else ("agent", agent), ())
        place = bisect_right(times, moment)
        one.succeeded += place < len(times) and times[place] - moment <= DAY_MS
    return dict(counts)


def _successes(transaction: Transaction, project_id: int) -> dict[tuple[str, int], list[int]]:
    """Return when each session, and each agent without one, was done or passed a review, in order."""
    rows = transaction.all(
        "SELECT session_id, agent_id, content, created_at FROM context "
        f"WHERE project_id = :project AND type IN ({SCRATCHPAD}, {REVIEW_VERDICT}) ORDER BY created_at",
        {"project": project_id},
    )
    found: dict[tuple[str, int], list[int]] = defaultdict(list)
    for session, agent, content, moment in rows:
        said = json.loads(content)
        if said.get("done") is True or said.get("passed") is True:
            if session:
                found["session", session].append(moment)
            elif agent is not None:
                found["agent", agent].append(moment)
    return found


def _correct(transaction: Transaction, project_id: int, counts: dict[Item, _Count]) -> None:
    """Count who confirmed items, and which were corrected after they were delivered."""
    rows = transaction.all(
        "SELECT item_kind, item_id, action, created_at FROM corrections "
        "WHERE project_id = :project AND undone_at IS NULL",
        {"project": project_id},
    )
    for kind, item, action, moment in rows:
        one = counts.get((kind, item))
        if one is not None and action == CONFIRMED:
            one.confirmed += 1
        elif one is not None and moment >= one.first:
            one.corrected = True
    helped = transaction.all(
        "SELECT id, helped FROM strategies WHERE project_id = :project AND helped > 0", {"project": project_id}
    )
    for item, times in helped:
        if (Kind.STRATEGY.number, item) in counts:
            counts[Kind.STRATEGY.number, item].confirmed += times


def _texts(transaction: Transaction, items: dict[Item, _Count]) -> Iterator[tuple[Item, str]]:
    """Return the beginnings of the texts of items; those that are gone are left out."""
    for kind in _KINDS:
        numbers = [number for of_kind, number in items if of_kind == kind.number]
        spec = KINDS[kind]
        for number, text in ((spec.shown or spec.texts)(transaction, numbers) if numbers else {}).items():
            yield (kind.number, number), shortened(text)
