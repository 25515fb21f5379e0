"""Summary per layer: active items and recent changes."""

from __future__ import annotations

from satchel.base.records import dataclass
from satchel.base.retention import HOUR_MS
from satchel.base.vocabulary import LAYERS
from satchel.keep.projects import Project
from satchel.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class LayerCount:
    """Counts of a layer.

    Attributes:
        layer: its name; None for items without a layer.
        recent_file_changes: number in the last hour.
    """

    layer: str | None
    active_decisions: int
    recent_file_changes: int
    active_constraints: int


@dataclass(frozen=True, slots=True)
class LayerSummary:
    """Counts of all layers, in one snapshot.

    Attributes:
        rows: one per layer in order of creation, then one for items without a layer.
        changes_since: the start of the hour, in milliseconds UTC.
        seq: the project's change counter in this snapshot.
    """

    rows: tuple[LayerCount, ...]
    changes_since: int
    seq: int


# counted separately: joins would multiply the rows
_ACTIVE_DECISIONS = """
    SELECT name_id, decisions FROM decision_counts WHERE project_id = :project AND dimension = 1 AND status = 1
"""
# per layer, so that only the last hour of the index is read; expiry need not be checked, since
# retention.file_changes_hours is at least 1
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
    """Count the items of a project's layers; without a project, those of the predefined layers."""
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
