"""The tables of what briefings hold: packages, error patterns and solutions, strategies, deliveries."""

from __future__ import annotations

PACK = (
    # task_id null: for the whole run. A package is a file of the project or a stored text, never both
    """
    CREATE TABLE context_packages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid BLOB NOT NULL,
        seq BIGINT NOT NULL,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        run_id BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        task_id TEXT,
        type SMALLINT NOT NULL CHECK (type BETWEEN 1 AND 5),
        priority SMALLINT NOT NULL CHECK (priority BETWEEN 1 AND 4),
        summary TEXT NOT NULL,
        content_path TEXT,
        content TEXT,
        producer_id BIGINT REFERENCES agents (id) ON DELETE SET NULL,
        superseded_by BIGINT REFERENCES context_packages (id) ON DELETE SET NULL,
        created_at BIGINT NOT NULL,
        updated_at BIGINT NOT NULL,
        CHECK ((content_path IS NULL) <> (content IS NULL))
    )
    """,
    """
    CREATE INDEX context_packages_run
    ON context_packages (project_id, run_id, superseded_by, priority, created_at, id)
    """,
    "CREATE INDEX context_packages_seq ON context_packages (project_id, seq)",
    "CREATE INDEX context_packages_superseded ON context_packages (superseded_by) WHERE superseded_by IS NOT NULL",
    """
    CREATE TABLE package_consumers (
        package_id BIGINT NOT NULL REFERENCES context_packages (id) ON DELETE CASCADE,
        role TEXT NOT NULL,
        PRIMARY KEY (package_id, role)
    ) WITHOUT ROWID
    """,
    # the hash alone is no key: two projects may meet the same error
    """
    CREATE TABLE error_patterns (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid BLOB NOT NULL,
        seq BIGINT NOT NULL,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        pattern_hash TEXT NOT NULL,
        error_type TEXT NOT NULL,
        message TEXT NOT NULL,
        example TEXT NOT NULL,
        lang TEXT,
        occurrences BIGINT NOT NULL CHECK (occurrences >= 1),
        ttl_days INTEGER NOT NULL CHECK (ttl_days > 0),
        last_seen BIGINT NOT NULL,
        expires_at BIGINT NOT NULL,
        created_at BIGINT NOT NULL,
        UNIQUE (project_id, pattern_hash)
    )
    """,
    "CREATE INDEX error_patterns_order ON error_patterns (project_id, created_at, id, expires_at)",
    "CREATE INDEX error_patterns_seq ON error_patterns (project_id, seq)",
    # confidence in tenths: a float of .7 - .2 - .2 is .29999
    """
    CREATE TABLE error_solutions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid BLOB NOT NULL,
        seq BIGINT NOT NULL,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        pattern_id BIGINT NOT NULL REFERENCES error_patterns (id) ON DELETE CASCADE,
        solution TEXT NOT NULL,
        confidence SMALLINT NOT NULL CHECK (confidence BETWEEN 1 AND 10),
        confirmed BIGINT NOT NULL DEFAULT 0,
        failed BIGINT NOT NULL DEFAULT 0,
        state SMALLINT NOT NULL DEFAULT 1 CHECK (state BETWEEN 1 AND 3),
        agent_id BIGINT REFERENCES agents (id) ON DELETE SET NULL,
        created_at BIGINT NOT NULL,
        updated_at BIGINT NOT NULL
    )
    """,
    "CREATE INDEX error_solutions_pattern ON error_solutions (pattern_id, confidence)",
    """
    CREATE TABLE strategies (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid BLOB NOT NULL,
        seq BIGINT NOT NULL,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        topic TEXT NOT NULL,
        insight TEXT NOT NULL,
        helped BIGINT NOT NULL DEFAULT 0,
        not_helped BIGINT NOT NULL DEFAULT 0,
        lang TEXT,
        framework TEXT,
        agent_id BIGINT REFERENCES agents (id) ON DELETE SET NULL,
        last_seen BIGINT NOT NULL,
        created_at BIGINT NOT NULL
    )
    """,
    "CREATE INDEX strategies_order ON strategies (project_id, created_at, id)",
    "CREATE INDEX strategies_topic ON strategies (project_id, topic)",
    "CREATE INDEX strategies_seq ON strategies (project_id, seq)",
    # '' and 0 stand for no task and nobody: nulls would be distinct in the key
    """
    CREATE TABLE deliveries (
        run_id BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        task_id TEXT NOT NULL,
        role TEXT NOT NULL,
        agent_id BIGINT NOT NULL,
        iteration INTEGER NOT NULL CHECK (iteration >= 0),
        kind SMALLINT NOT NULL,
        item_id BIGINT NOT NULL,
        created_at BIGINT NOT NULL,
        PRIMARY KEY (run_id, task_id, role, agent_id, iteration, kind, item_id)
    ) WITHOUT ROWID
    """,
)
"""The statements of the migration, in order."""
