"""Layer by layer: what holds, and what was changed just now."""

from __future__ import annotations

from satchel.base.records import dataclass
from satchel.base.retention import HOUR_MS
from satchel.base.vocabulary import LAYERS
from satchel.keep.projects import Project
from satchel.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class LayerCount:
    """What a layer holds.

    Attributes:
        layer: its name; None is for what has no layer.
        recent_file_changes: of the last hour.
    """

    layer: str | None
    active_decisions: int
    recent_file_changes: int
    active_constraints: int


@dataclass(frozen=True, slots=True)
class LayerSummary:
    """What every layer of a project holds, counted in one snapshot.

    Attributes:
        rows: one for each layer in the order they were named, then one for what has none.
        changes_since: after which time file changes count, in milliseconds UTC.
        seq: the project's change counter in this snapshot.
    """

    rows: tuple[LayerCount, ...]
    changes_since: int
    seq: int


# each is counted for itself: joined to one another, they would multiply
_ACTIVE_DECISIONS = """
    SELECT name_id, decisions FROM decision_counts WHERE project_id = :project AND dimension = 1 AND status = 1
"""
# and layer by layer, so that the index is read from an hour ago on, not through all that is kept; nothing is kept for
# less than an hour (retention.file_changes_hours is 1 or more), so whether it has expired need not be asked
_RECENT_FILE_CHANGES = """
    SELECT COALESCE(l.id, 0), (
        SELECT count(*) FROM file_changes c
        WHERE c.project_id = :project AND c.layer_id IS NOT DISTINCT FROM l.id
            AND c.created_at > :since
    )
    FROM (SELECT id FROM layers WHERE project_id = :project UNION ALL SELECT NULL) AS l
"""
_ACTIVE_CONSTRAINTS = """
    SELECT COALESCE(layer_id, 0), count(*) FROM constraints
    WHERE project_id = :project AND active = 1 GROUP BY layer_id
"""


def by_layer(transaction: Transaction, project: Project | None, now: int) -> LayerSummary:
    """Count what the layers of a project hold.

    Args:
        project: None for one that nothing was written for; it has the layers that every project begins with.
        now: the time in milliseconds UTC.
    """
    since = now - HOUR_MS
    if project is None:
        return LayerSummary(tuple(LayerCount(layer, 0, 0, 0) for layer in (*LAYERS, None)), since, 0)
    values = {"project": project.id, "since": since}
    layers: list[tuple[int, str | None]] = transaction.all(
        "SELECT id, name FROM layers WHERE project_id = :project ORDER BY id", values
    )
    decisions: dict[int, int] = dict(transaction.all(_ACTIVE_DECISIONS, values))
    changes: dict[int, int] = dict(transaction.all(_RECENT_FILE_CHANGES, values))
    constraints: dict[int, int] = dict(transaction.all(_ACTIVE_CONSTRAINTS, values))
    rows = tuple(
        LayerCount(name, decisions.get(number, 0), changes.get(number, 0), constraints.get(number, 0))
        for number, name in (*layers, (0, None))
    )
    return LayerSummary(rows, since, project.seq)
