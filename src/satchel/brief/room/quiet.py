"""Since when nothing needs a person: the last time that something ended which may have needed them."""

from __future__ import annotations

from satchel.brief.room.looking import PERSONS, Look
from satchel.keep import events
from satchel.keep.entries.records import REVIEW_VERDICT, SCRATCHPAD

_LOOKED_AT = 100

_ENDINGS = (
    # what the person read, and what persons answered
    f"""
    SELECT max(r.read_at) FROM (
        SELECT id FROM agent_messages WHERE project_id = :project AND to_agent_id = :everybody
        ORDER BY created_at DESC LIMIT {_LOOKED_AT}
    ) m JOIN message_reads r ON r.agent_id = :me AND r.message_id = m.id
    """,
    f"""
    SELECT max(r.read_at) FROM (
        SELECT id FROM agent_messages WHERE project_id = :project AND to_agent_id = :me
        ORDER BY created_at DESC LIMIT {_LOOKED_AT}
    ) m JOIN message_reads r ON r.agent_id = :me AND r.message_id = m.id
    """,
    f"""
    SELECT max(created_at) FROM (
        SELECT r.created_at FROM (
            SELECT id FROM agent_messages WHERE project_id = :project AND to_agent_id IN (:me, :everybody)
            ORDER BY created_at DESC LIMIT {_LOOKED_AT}
        ) m JOIN agent_messages r ON r.reply_to = m.id WHERE r.from_agent_id IN {PERSONS}
    )
    """,
    "SELECT max(created_at) FROM seen WHERE person_id = :me",
    *(
        f"""
        SELECT created_at FROM context WHERE project_id = :project AND type = {kind}
        ORDER BY created_at DESC LIMIT 1
        """
        for kind in (SCRATCHPAD, REVIEW_VERDICT)
    ),
    f"""
    SELECT max(ended_at) FROM (
        SELECT ended_at FROM sessions WHERE project_id = :project ORDER BY seen_at DESC LIMIT {_LOOKED_AT}
    )
    """,
    f"""
    SELECT max(created_at) FROM (
        SELECT kind, created_at FROM events WHERE project_id = :project ORDER BY seq DESC LIMIT {_LOOKED_AT}
    ) WHERE kind IN ({events.RELEASE}, {events.EXPIRY})
    """,
    "SELECT updated_at FROM decisions WHERE project_id = :project ORDER BY updated_at DESC LIMIT 1",
    "SELECT updated_at FROM error_solutions WHERE project_id = :project ORDER BY seq DESC LIMIT 1",
)


def since(look: Look) -> int | None:
    """Return since when at the latest nothing has needed a person; None where nothing is recorded that says so."""
    ends = [row[0] for ending in _ENDINGS for row in look.rows(ending) if row[0] is not None]
    return max(ends, default=None)
