"""The tables of working together: claims of keys, who waits for a claim, and who was refused one."""

from __future__ import annotations

CLAIMS = (
    "ALTER TABLE file_claims ADD COLUMN is_key SMALLINT NOT NULL DEFAULT 0 CHECK (is_key IN (0, 1))",
    "ALTER TABLE file_claims ADD COLUMN automatic SMALLINT NOT NULL DEFAULT 0 CHECK (automatic IN (0, 1))",
    # whether the file was there when it was claimed; null where that is not known
    "ALTER TABLE file_claims ADD COLUMN existed SMALLINT CHECK (existed IN (0, 1))",
    "DROP INDEX file_claims_holder",
    """
    CREATE UNIQUE INDEX file_claims_holder ON file_claims (
        project_id, path, worktree, is_key, COALESCE(session_id, 0),
        (CASE WHEN session_id IS NULL THEN agent_id ELSE 0 END)
    )
    """,
    # places: JSON, [path, worktree or "", whether it is a key] of each; process: as base/processes.py names it
    """
    CREATE TABLE claim_waiters (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        agent_id BIGINT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
        session_id BIGINT,
        places TEXT NOT NULL,
        exclusive SMALLINT NOT NULL CHECK (exclusive IN (0, 1)),
        machine TEXT,
        process BIGINT,
        process_started BIGINT,
        expires_at BIGINT NOT NULL,
        created_at BIGINT NOT NULL
    )
    """,
    "CREATE INDEX claim_waiters_project ON claim_waiters (project_id, id)",
    "CREATE INDEX claim_waiters_agent ON claim_waiters (agent_id)",
    # agent: as it was written, for an agent is not registered for being refused, and folded: as names are compared
    """
    CREATE TABLE claim_refusals (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        session_id BIGINT,
        agent TEXT NOT NULL,
        folded TEXT NOT NULL,
        path TEXT NOT NULL,
        worktree TEXT NOT NULL DEFAULT '',
        is_key SMALLINT NOT NULL CHECK (is_key IN (0, 1)),
        exclusive SMALLINT NOT NULL CHECK (exclusive IN (0, 1)),
        created_at BIGINT NOT NULL
    )
    """,
    """
    CREATE UNIQUE INDEX claim_refusals_once ON claim_refusals
        (project_id, COALESCE(session_id, 0), folded, path, worktree, is_key)
    """,
)
"""The statements of the migration, in order."""
