"""What learning needs beyond the tables of briefings: where errors were met, and who confirmed what fixed them."""

from __future__ import annotations

LEARNING = (
    # an error that was met in a loop waits here until the loop succeeds; solution_id says what had fixed it
    """
    CREATE TABLE error_reports (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        pattern_id BIGINT NOT NULL REFERENCES error_patterns (id) ON DELETE CASCADE,
        run_id BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        task_id TEXT,
        loop_id TEXT NOT NULL,
        agent_id BIGINT REFERENCES agents (id) ON DELETE SET NULL,
        solution_id BIGINT REFERENCES error_solutions (id) ON DELETE SET NULL,
        created_at BIGINT NOT NULL
    )
    """,
    "CREATE INDEX error_reports_loop ON error_reports (run_id, loop_id, created_at, id)",
    "CREATE INDEX error_reports_pattern ON error_reports (pattern_id)",
    "CREATE INDEX error_reports_solution ON error_reports (solution_id) WHERE solution_id IS NOT NULL",
    # an agent confirms a fix by finding it again once, however often it says so
    """
    CREATE TABLE solution_confirmations (
        solution_id BIGINT NOT NULL REFERENCES error_solutions (id) ON DELETE CASCADE,
        agent_id BIGINT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
        PRIMARY KEY (solution_id, agent_id)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX context_packages_task ON context_packages (project_id, run_id, task_id) WHERE task_id IS NOT NULL",
    # the seq of the item when it was delivered: what changed since is new again
    "ALTER TABLE deliveries ADD COLUMN seq BIGINT NOT NULL DEFAULT 0",
    # what a briefing draws on, in the order in which it does
    """
    CREATE INDEX context_packages_ranked
    ON context_packages (project_id, run_id, superseded_by, priority, updated_at, id, task_id)
    """,
    "CREATE INDEX error_patterns_seen ON error_patterns (project_id, last_seen, id, expires_at)",
    "CREATE INDEX strategies_helpful ON strategies (project_id, helped - not_helped, last_seen, id)",
    "CREATE INDEX deliveries_agent ON deliveries (run_id, agent_id, created_at)",
)
"""The statements of the migration, in order."""
