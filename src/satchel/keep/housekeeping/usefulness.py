"""Usefulness of briefed items: confirmed, corrected, followed by success, or none of these."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator

from satchel.base.clock import DAY_MS
from satchel.base.records import dataclass, field
from satchel.base.text import shortened
from satchel.find.kind import KIND_OF, Kind
from satchel.keep import kept
from satchel.keep.corrections.log import CONFIRMED
from satchel.keep.entries.records import REVIEW_VERDICT, SCRATCHPAD
from satchel.keep.kinds import KINDS
from satchel.store.transaction import Transaction

_KINDS = (Kind.ENTRY, Kind.DECISION, Kind.CONSTRAINT, Kind.STRATEGY)
_MOST_SHOWN = 10
OFTEN, FIRST_DAYS = 3, 7
"""Minimum number of deliveries, and of days since the first one, before an item counts as unconfirmed."""

_MAX_DELIVERIES = 200_000
"""Maximum number of deliveries examined, newest windows first."""

Item = tuple[int, int]
"""The numbers of a kind and an item."""


@dataclass(frozen=True, slots=True)
class ItemUse:
    """Outcome of one briefed item.

    Attributes:
        ref: its short id.
        delivered: number of context windows it was delivered to.
        confirmed: number of confirming agents; of a strategy, of reported successes.
        corrected: whether it was replaced or retracted after a delivery.
        succeeded: number of deliveries whose session, or else agent, finished or passed a review within a day.
        text: the start of its text.
    """

    ref: str
    delivered: int
    confirmed: int
    corrected: bool
    succeeded: int
    text: str


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Outcomes of briefed items.

    Attributes:
        items: number of delivered items; ``deliveries``: of deliveries.
        confirmed, corrected, succeeded: number of items with that outcome.
        useful: the items most often confirmed or followed by success.
        unused: items delivered at least three times over a week or longer without any such outcome, most delivered
            first. Rules are excluded, since following one leaves no trace.
        unused_total: number of all such items.
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


def count(transaction: Transaction, project_id: int, now: int) -> MemoryUse:
    """Count the outcomes of a project's briefed items."""
    counts = _delivered(transaction, project_id)
    _correct(transaction, project_id, counts)
    there = dict(_texts(transaction, counts))
    counts = {item: one for item, one in counts.items() if item in there}

    def rendered(items: list[Item]) -> tuple[ItemUse, ...]:
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
        useful=rendered(useful),
        unused=rendered(unused),
        unused_total=len(unused),
    )


def _delivered(transaction: Transaction, project_id: int) -> dict[Item, _Count]:
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
    rows = transaction.all(
        "SELECT session_id, agent_id, content, created_at FROM context "
        f"WHERE project_id = :project AND type IN ({SCRATCHPAD}, {REVIEW_VERDICT}) ORDER BY created_at",
        {"project": project_id},
    )
    by_holder: dict[tuple[str, int], list[int]] = defaultdict(list)
    for session, agent, content, moment in rows:
        fields = json.loads(content)
        if fields.get("done") is True or fields.get("passed") is True:
            if session:
                by_holder["session", session].append(moment)
            elif agent is not None:
                by_holder["agent", agent].append(moment)
    return by_holder


def _correct(transaction: Transaction, project_id: int, counts: dict[Item, _Count]) -> None:
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
    for kind in _KINDS:
        numbers = [number for of_kind, number in items if of_kind == kind.number]
        for number, text in (kept.shown_texts(KINDS[kind], transaction, numbers) if numbers else {}).items():
            yield (kind.number, number), shortened(text)
