"""The table of sightings: who wrote once more what an entry says already, and where."""

from __future__ import annotations

SIGHTINGS = (
    # said: a digest of type, text and place, by which the same text is found; null where that is not compared, and of
    # what older programs wrote. seen: how often it was written, null once
    "ALTER TABLE context ADD COLUMN said BIGINT",
    "ALTER TABLE context ADD COLUMN seen INTEGER",
    "CREATE INDEX context_said ON context (project_id, said) WHERE said IS NOT NULL",
    """
    CREATE TABLE sightings (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        entry_id BIGINT NOT NULL REFERENCES context (id) ON DELETE CASCADE,
        run_id BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        agent_id BIGINT REFERENCES agents (id) ON DELETE SET NULL,
        session_id BIGINT,
        task_id TEXT,
        loop_id TEXT,
        created_at BIGINT NOT NULL
    )
    """,
    "CREATE INDEX sightings_entry ON sightings (entry_id)",
    "CREATE INDEX sightings_run ON sightings (run_id, entry_id)",
    "CREATE INDEX sightings_agent ON sightings (agent_id, entry_id)",
    "CREATE INDEX sightings_task ON sightings (project_id, task_id, entry_id) WHERE task_id IS NOT NULL",
    "CREATE INDEX sightings_loop ON sightings (project_id, loop_id, entry_id) WHERE loop_id IS NOT NULL",
)
"""The statements of the migration, in order."""
