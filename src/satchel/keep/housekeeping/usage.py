"""Counts of how often a project's tags, scopes, layers and categories are used, and of what agents did, by day."""

from __future__ import annotations

from satchel.base.clock import DAY_MS
from satchel.base.records import dataclass
from satchel.find.kind import Kind
from satchel.keep import events
from satchel.keep.projects import Project
from satchel.store.transaction import Transaction

DAYS = 7
"""How many days the activity of agents is counted for, today included."""

_MOST_NAMES = 500


@dataclass(frozen=True, slots=True)
class NameUse:
    """A name and where it is used.

    Attributes:
        kind: tag, scope, layer or category.
        decisions: number of decisions of every status; ``rules``: of rules in force.
    """

    kind: str
    name: str
    decisions: int
    rules: int


@dataclass(frozen=True, slots=True)
class NamesInUse:
    """The used names by kind, the most used first.

    Attributes:
        total: their number, including those beyond the limit.
    """

    names: tuple[NameUse, ...]
    total: int


@dataclass(frozen=True, slots=True)
class AgentDay:
    """What an agent did on a day, as far as it is stored.

    Attributes:
        began_at: midnight, in milliseconds UTC.
        agent: its name; None for those without one.
        writes: notes, decisions, rules, packages and strategies that it made.
        claims: those that it made and still holds, and those that ended on that day.
        solutions: solutions of errors.
    """

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

_KINDS = (
    ("tag", "tags", 2, _RULES_WITH_TAG),
    ("scope", "scopes", 3, "SELECT 0"),
    ("layer", "layers", 1, _RULES_WITH.format("layer_id")),
    ("category", "categories", None, _RULES_WITH.format("category_id")),
)
"""Each kind of names: its table, its dimension in the counts of decisions, and SQL for the number of rules."""

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


def count_names(transaction: Transaction, project: Project) -> NamesInUse:
    """Count the decisions and rules of each name of a project."""
    names: list[NameUse] = []
    for kind, table, dimension, rules in _KINDS:
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
            (one for one in used if one.decisions or one.rules),
            key=lambda one: (-one.decisions - one.rules, one.name),
        )
    return NamesInUse(tuple(names[:_MOST_NAMES]), len(names))


def count_activity(transaction: Transaction, project: Project, now: int) -> Activity:
    """Count what each agent did in the last days."""
    since = (now // DAY_MS - DAYS + 1) * DAY_MS
    names: dict[int, str] = dict(
        transaction.all("SELECT id, name FROM agents WHERE project_id = :project", {"project": project.id})
    )
    days = [
        AgentDay(day * DAY_MS, names.get(agent), *map(int, counts))
        for day, agent, *counts in transaction.all(_ACTIVITY, {"project": project.id, "since": since})
    ]
    return Activity(tuple(sorted(days, key=lambda one: (-one.began_at, one.agent is None, one.agent or ""))))
