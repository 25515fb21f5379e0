"""Whether any message is alive, and how many an agent has: where none is, callers need not load what inboxes are."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes 4 ms
if TYPE_CHECKING:
    from satchel.store.glance import Rows


PERSONS = """(
    SELECT h.id FROM agents p JOIN agents h ON h.project_id = p.project_id AND h.folded = 'human'
    WHERE p.id = :me AND p.folded LIKE 'human:%'
)"""
"""The number of ``human``, who receives what all persons do, if the reader is a person with a name; else null."""


MESSAGE = "SELECT 1 FROM agent_messages WHERE project_id = :project AND expires_at > :now"
"""Some message of the project that has not expired."""


def is_any_alive(rows: Rows, project_id: int, now: int) -> bool:
    return rows.one(f"{MESSAGE} LIMIT 1", {"project": project_id, "now": now}) is not None


def counts(rows: Rows, project_id: int, agent_id: int, now: int) -> tuple[int, int, int]:
    """Return how many messages an agent can see, how many to it alone are unread, and how many to all, or all persons.

    What it has read is counted in the reads alone, so that no message is looked up: neither for a reader of everything
    nor for one of nothing.
    """
    [row] = rows.all(
        f"""
        SELECT
            (SELECT count(*) FROM agent_messages
             WHERE project_id = :project AND to_agent_id = :me AND expires_at > :now),
            (SELECT count(*) FROM agent_messages
             WHERE project_id = :project AND to_agent_id IS NULL AND expires_at > :now),
            (SELECT count(*) FROM agent_messages
             WHERE project_id = :project AND from_agent_id = :me AND to_agent_id IS NULL AND expires_at > :now),
            (SELECT count(*) FROM agent_messages
             WHERE project_id = :project AND to_agent_id = {PERSONS} AND expires_at > :now
                AND from_agent_id IS DISTINCT FROM :me),
            count(*), count(gone_at), count(*) FILTER (WHERE gone_at <= :now)
        FROM message_reads WHERE agent_id = :me AND expires_at > :now
        """,
        {"project": project_id, "me": agent_id, "now": now},
    )
    own, to_all, sent_to_all, to_persons, read, read_of_all, gone_of_all = row
    to_all += to_persons - sent_to_all
    return own + to_all - gone_of_all, own - (read - read_of_all), to_all - read_of_all
