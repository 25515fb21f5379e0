"""A caller's last write, set decision or pin, for undo."""

from __future__ import annotations

import json

from satchel.base.records import NamedTuple
from satchel.find.kind import KIND_OF, Kind
from satchel.keep import events
from satchel.keep.corrections.log import Corrector
from satchel.store.transaction import Transaction

WRITTEN, SET, PINNED = "written", "set", "pinned"

_MOST = 50
"""Maximum number of the newest changes of each kind searched for one that was not undone."""

_AUTHORS = {Kind.ENTRY: "agent_id", Kind.CONSTRAINT: "created_by", Kind.STRATEGY: "agent_id"}


class Change(NamedTuple):
    """A change by a caller.

    Attributes:
        revision: the decision's revision after it; 0 for other kinds.
        seq: the project's change counter, which orders changes of one millisecond.
    """

    action: str
    kind: Kind
    item: int
    made_at: int
    revision: int = 0
    seq: int = 0


def last_of(transaction: Transaction, project_id: int, by: Corrector) -> Change | None:
    """Return the last change by an agent or person that was not undone, or None."""
    values = {"project": project_id, "agent": by.agent, "most": _MOST}
    changes: list[Change] = []
    for kind, author in _AUTHORS.items():
        rows = transaction.all(
            f"SELECT id, created_at, 0, seq FROM {kind.table} WHERE project_id = :project AND {author} = :agent "
            "ORDER BY id DESC LIMIT :most",
            values,
        )
        changes += [Change(WRITTEN, kind, *row) for row in rows]
    decisions = transaction.all(
        """
        SELECT id, at, max(revision), max(seq) FROM (
            SELECT id, updated_at AS at, revision, seq FROM decisions WHERE project_id = :project AND agent_id = :agent
            UNION ALL
            SELECT h.decision_id, h.set_at, h.revision, 0
            FROM decision_history h JOIN decisions d ON d.id = h.decision_id
            WHERE d.project_id = :project AND h.agent_id = :agent
        ) AS mine GROUP BY id, at ORDER BY at DESC, 3 DESC LIMIT :most
        """,
        values,
    )
    # only the last change of each decision, since an undo is not undone in turn
    newest: dict[int, Change] = {}
    for item, at, revision, seq in decisions:
        newest.setdefault(item, Change(SET, Kind.DECISION, item, at, revision, seq))
    changes += newest.values()
    pins = transaction.all(
        "SELECT kind, item_id, created_at FROM pins WHERE project_id = :project AND agent_id = :agent "
        "ORDER BY created_at DESC LIMIT :most",
        values,
    )
    changes += [Change(PINNED, KIND_OF[number], item, at) for number, item, at in pins]
    changes.sort(key=lambda one: (one.made_at, one.seq), reverse=True)
    return next((one for one in changes if not _is_taken_back(transaction, project_id, one)), None)


def record_taken_back(transaction: Transaction, project_id: int, change: Change, by: Corrector) -> None:
    """Record that a change was undone; for a decision it has the current revision."""
    events.record(
        transaction,
        project_id,
        events.TAKEN_BACK,
        by.now,
        session=by.session,
        agent=by.agent,
        item=(change.kind, change.item),
        details={"action": change.action, "revision": change.revision},
    )


def _is_taken_back(transaction: Transaction, project_id: int, change: Change) -> bool:
    if change.action == PINNED:
        return False
    rows = transaction.all(
        "SELECT details FROM events WHERE project_id = :project AND kind = :kind AND item_kind = :of "
        "AND item_id = :item AND details IS NOT NULL",
        {"project": project_id, "kind": events.TAKEN_BACK, "of": change.kind.number, "item": change.item},
    )
    revisions = [json.loads(details)["revision"] for (details,) in rows]
    return change.revision in revisions
