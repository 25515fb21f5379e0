"""Use of names, activity of agents by day, and what became of the items that briefings delivered."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator

from satchel.base.clock import DAY_MS
from satchel.base.records import dataclass, field
from satchel.base.text import shortened
from satchel.base.tokens import estimate
from satchel.find.documents import until_expiry
from satchel.find.kind import KIND_OF, Kind
from satchel.keep import events, kept
from satchel.keep.corrections.log import CONFIRMED
from satchel.keep.entries.records import REVIEW_VERDICT, SCRATCHPAD
from satchel.keep.kinds import KINDS
from satchel.keep.projects import Project
from satchel.store.transaction import Transaction, first_number

# How many days the activity of agents is counted for, today included.
DAYS = 7

_MOST_NAMES = 500


@dataclass(frozen=True, slots=True)
class NameUse:
    """A tag, scope, layer or category, with the decisions of every status and the rules in force that use it."""

    kind: str
    name: str
    decisions: int
    rules: int


@dataclass(frozen=True, slots=True)
class NamesInUse:
    """The used names by kind, the most used first; ``total`` counts those beyond the limit too."""

    names: tuple[NameUse, ...]
    total: int


@dataclass(frozen=True, slots=True)
class AgentDay:
    """Activity of an agent on a day; ``claims`` are those that it still holds, and those that ended that day."""

    began_at: int
    agent: str | None
    writes: int
    changes: int
    messages: int
    claims: int
    solutions: int


@dataclass(frozen=True, slots=True)
class Activity:
    """The activity of agents, the latest day first."""

    days: tuple[AgentDay, ...]


_RULES_WITH_TAG = (
    "SELECT count(*) FROM constraint_tags j JOIN constraints c ON c.id = j.constraint_id "
    "WHERE j.tag_id = n.id AND c.active = 1"
)
_RULES_WITH = "SELECT count(*) FROM constraints c WHERE c.{} = n.id AND c.active = 1"

# Each kind of names: its table, its dimension in the counts of decisions, and SQL for the number of rules.
_KINDS = (
    ("tag", "tags", 2, _RULES_WITH_TAG),
    ("scope", "scopes", 3, "SELECT 0"),
    ("layer", "layers", 1, _RULES_WITH.format("layer_id")),
    ("category", "categories", None, _RULES_WITH.format("category_id")),
)

_WRITES = (Kind.ENTRY, Kind.DECISION, Kind.CONSTRAINT, Kind.PACKAGE, Kind.STRATEGY)

_ACTIVITY = f"""
    SELECT day, agent_id, sum(writes), sum(changes), sum(messages), sum(claims), sum(solutions) FROM (
        SELECT created_at / {DAY_MS} AS day, agent_id,
            count(*) FILTER (WHERE kind IN ({", ".join(str(kind.number) for kind in _WRITES)})) AS writes,
            count(*) FILTER (WHERE kind = {Kind.FILE_CHANGE.number}) AS changes,
            count(*) FILTER (WHERE kind = {Kind.MESSAGE.number}) AS messages, 0 AS claims, 0 AS solutions
        FROM documents
        WHERE project_id = :project AND created_at >= :since AND kind <> {Kind.ERROR_PATTERN.number} GROUP BY 1, 2
        UNION ALL
        SELECT created_at / {DAY_MS}, agent_id, 0, 0, 0, count(*), 0
        FROM file_claims WHERE project_id = :project AND created_at >= :since AND is_over = 0 GROUP BY 1, 2
        UNION ALL
        SELECT created_at / {DAY_MS}, agent_id, 0, 0, 0, count(*), 0
        FROM events WHERE project_id = :project AND created_at >= :since
            AND kind IN ({events.RELEASE}, {events.EXPIRY}) GROUP BY 1, 2
        UNION ALL
        SELECT created_at / {DAY_MS}, agent_id, 0, 0, 0, 0, count(*)
        FROM error_solutions WHERE project_id = :project AND created_at >= :since GROUP BY 1, 2
    ) AS parts GROUP BY 1, 2
"""


def count_names(transaction: Transaction, project: Project, only: str | None = None) -> NamesInUse:
    names: list[NameUse] = []
    for kind, table, dimension, rules in (one for one in _KINDS if only in (None, one[0])):
        decisions = (
            "SELECT COALESCE(sum(decisions), 0) FROM decision_counts "
            f"WHERE project_id = :project AND dimension = {dimension} AND name_id = n.id"
        )
        rows = transaction.all(
            f"SELECT name, ({decisions if dimension else 'SELECT 0'}), ({rules}) FROM {table} n "
            "WHERE project_id = :project",
            {"project": project.id},
        )
        used = [NameUse(kind, name, int(of_decisions), of_rules) for name, of_decisions, of_rules in rows]
        names += sorted(
            (one for one in used if one.decisions or one.rules), key=lambda one: (-one.decisions - one.rules, one.name)
        )
    return NamesInUse(tuple(names[:_MOST_NAMES]), len(names))


def count_activity(transaction: Transaction, project: Project, now: int) -> Activity:
    since = (now // DAY_MS - DAYS + 1) * DAY_MS
    names: dict[int, str] = dict(
        transaction.all("SELECT id, name FROM agents WHERE project_id = :project", {"project": project.id})
    )
    values = {"project": project.id, "since": since}
    rows = until_expiry(transaction, project.id, now, (_ACTIVITY, since), lambda: transaction.all(_ACTIVITY, values))
    days = [AgentDay(day * DAY_MS, names.get(agent), *map(int, counts)) for day, agent, *counts in rows]
    return Activity(tuple(sorted(days, key=lambda day: (-day.began_at, day.agent is None, day.agent or ""))))


_BRIEFED = (Kind.ENTRY, Kind.DECISION, Kind.CONSTRAINT, Kind.STRATEGY)
_MOST_SHOWN = 10
# Minimum number of deliveries, and of days since the first one, before an item counts as unconfirmed.
OFTEN, FIRST_DAYS = 3, 7

# Maximum number of deliveries examined, newest windows first.
_MAX_DELIVERIES = 200_000

# The numbers of a kind and an item.
Item = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ItemUse:
    """Outcome of one briefed item.

    Attributes:
        confirmed: number of confirming agents; of a strategy, of reported successes.
        corrected: whether it was replaced or retracted after a delivery.
        succeeded: number of deliveries whose session, or else agent, finished or passed a review within a day.
    """

    ref: str
    delivered: int
    confirmed: int
    corrected: bool
    succeeded: int
    text: str


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Outcomes of briefed items, with the most and the least useful ones.

    Attributes:
        tokens: estimated tokens of all texts that delivered items.
        whole_tokens: of the items' whole texts, once for each delivery; messages and claims count only in ``tokens``.
        unused: items delivered at least three times over a week or longer without any such outcome, most delivered
            first. Rules are excluded, since following one leaves no trace.
    """

    items: int
    deliveries: int
    tokens: int
    whole_tokens: int
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


def count_uses(transaction: Transaction, project_id: int, now: int) -> MemoryUse:
    counts = _delivered(transaction, project_id)
    _correct(transaction, project_id, counts)
    there = dict(_texts(transaction, counts))
    counts = {item: use for item, use in counts.items() if item in there}

    def rendered(items: list[Item]) -> tuple[ItemUse, ...]:
        return tuple(
            ItemUse(
                KIND_OF[item[0]].ref(item[1]),
                use.delivered,
                use.confirmed,
                use.corrected,
                use.succeeded,
                shortened(there[item]),
            )
            for item in items[:_MOST_SHOWN]
            for use in (counts[item],)
        )

    useful = sorted((item for item, use in counts.items() if use.use), key=lambda item: (-counts[item].use, item))
    unused = sorted(
        (
            item
            for item, use in counts.items()
            if not use.use
            and use.delivered >= OFTEN
            and now - use.first >= FIRST_DAYS * DAY_MS
            and item[0] != Kind.CONSTRAINT.number
        ),
        key=lambda item: (-counts[item].delivered, item),
    )
    return MemoryUse(
        items=len(counts),
        deliveries=sum(count.delivered for count in counts.values()),
        tokens=first_number(
            transaction, "SELECT sum(tokens) FROM windows WHERE project_id = :project", {"project": project_id}
        ),
        whole_tokens=sum(use.delivered * estimate(there[item]) for item, use in counts.items()),
        confirmed=sum(count.confirmed > 0 for count in counts.values()),
        corrected=sum(count.corrected for count in counts.values()),
        succeeded=sum(count.succeeded > 0 for count in counts.values()),
        useful=rendered(useful),
        unused=rendered(unused),
        unused_total=len(unused),
    )


def _delivered(transaction: Transaction, project_id: int) -> dict[Item, _Count]:
    done = _successes(transaction, project_id)
    kinds = ", ".join(str(kind.number) for kind in _BRIEFED)
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
    for kind in _BRIEFED:
        numbers = [number for of_kind, number in items if of_kind == kind.number]
        for number, text in (kept.display_texts(KINDS[kind], transaction, numbers) if numbers else {}).items():
            yield (kind.number, number), text
