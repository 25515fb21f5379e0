"""The reminder to store what was learned, for a session that changed files and stored nothing."""

from __future__ import annotations

from satchel.brief.working.hook_context import HookContext
from satchel.keep.sessions import updates

_TEXT = (
    "Satchel: this session changed files and stored nothing yet. If others need what you learned or decided, store it "
    "with write_context or `satchel write`."
)


def due(context: HookContext) -> list[str]:
    """Return the reminder as a line if the session needs it, and record it: it comes once."""
    if not _has_only_changed(context):
        return []
    updates.change(context.transaction, context.actor.session or 0, {"nudged_at": context.now})
    return [_TEXT]


def _has_only_changed(context: HookContext) -> bool:
    """Return whether a session changed files, stored nothing but plans, and was not reminded before."""
    row = context.transaction.one(
        """
        SELECT s.created_at FROM sessions s WHERE s.id = :session AND s.nudged_at IS NULL
            AND EXISTS (SELECT 1 FROM file_changes c WHERE c.session_id = s.id)
        """,
        {"session": context.actor.session},
    )
    if row is None:
        return False
    values = {
        "project": context.project_id,
        "since": row[0],
        "agent": context.actor.number,
        "session": context.actor.session,
    }
    # the agents briefed in the session; the second condition allows its index
    agents = "(SELECT agent_id FROM windows WHERE session_id = :session AND session_id <> 0 UNION SELECT :agent)"
    own_item = context.transaction.one(
        f"""
        SELECT 1 FROM context WHERE project_id = :project AND created_at >= :since
            AND (session_id = :session OR agent_id IN {agents}) AND content NOT LIKE '%"approved_plan":%'
        UNION ALL SELECT 1 FROM decisions WHERE project_id = :project AND updated_at >= :since AND agent_id IN {agents}
        UNION ALL SELECT 1 FROM constraints
            WHERE project_id = :project AND created_at >= :since AND created_by IN {agents}
        UNION ALL SELECT 1 FROM agent_messages
            WHERE project_id = :project AND created_at >= :since AND from_agent_id IN {agents}
        UNION ALL SELECT 1 FROM file_changes WHERE session_id = :session AND description IS NOT NULL
        UNION ALL SELECT 1 FROM error_solutions
            WHERE project_id = :project AND created_at >= :since AND agent_id IN {agents}
        LIMIT 1
        """,
        values,
    )
    return own_item is None
