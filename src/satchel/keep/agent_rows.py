"""The lookup of an agent by its name, separate so that callers that only count load little."""

from __future__ import annotations

from satchel.base.text import fold
from satchel.base.vocabulary import AGENT_MARK

TYPE_CHECKING = False  # importing typing is slow
if TYPE_CHECKING:
    from satchel.store.glance import Rows
    from satchel.store.transaction import Row


def find_agent_row(rows: Rows, project_id: int, name: str) -> Row | None:
    """Return the number, name and ``has_acted`` of an agent or person; an agent is found without its mark too."""
    return rows.one(
        """
        SELECT id, name, has_acted FROM agents
        WHERE project_id = :project AND folded IN (:folded, :marked) ORDER BY folded LIMIT 1
        """,
        {"project": project_id, "folded": fold(name), "marked": f"{fold(name)}{AGENT_MARK}"},
    )
