"""The migration that keeps what persons have pinned."""

from __future__ import annotations

PINS = (
    # kind and item_id name what is pinned, agent_id the person; the numbers of items are never used again
    """
    CREATE TABLE pins (
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        kind SMALLINT NOT NULL,
        item_id BIGINT NOT NULL,
        agent_id BIGINT REFERENCES agents (id) ON DELETE SET NULL,
        created_at BIGINT NOT NULL,
        PRIMARY KEY (project_id, kind, item_id)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX pins_agent ON pins (agent_id)",
)
"""The statements of the migration, in order."""
