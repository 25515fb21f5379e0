"""The table of corrections: which item was replaced, retracted or confirmed, by whom, and what was taken back."""

from __future__ import annotations

CORRECTIONS = (
    # action: 1 superseded by heir_id, 2 retracted, 3 confirmed; session_id null: without a session
    """
    CREATE TABLE corrections (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid BLOB NOT NULL,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        action SMALLINT NOT NULL CHECK (action BETWEEN 1 AND 3),
        item_kind SMALLINT NOT NULL,
        item_id BIGINT NOT NULL,
        heir_id BIGINT,
        agent_id BIGINT REFERENCES agents (id) ON DELETE SET NULL,
        session_id BIGINT,
        reason TEXT,
        created_at BIGINT NOT NULL,
        undone_at BIGINT,
        CHECK ((action = 1) = (heir_id IS NOT NULL))
    )
    """,
    "CREATE INDEX corrections_item ON corrections (item_kind, item_id)",
    "CREATE INDEX corrections_heir ON corrections (item_kind, heir_id) WHERE heir_id IS NOT NULL",
    "CREATE INDEX corrections_agent ON corrections (agent_id)",
    "CREATE INDEX corrections_project ON corrections (project_id, id)",
    "ALTER TABLE strategies ADD COLUMN superseded_by BIGINT REFERENCES strategies (id) ON DELETE SET NULL",
)
"""The statements of the migration, in order."""
