"""What warnings and fixes without ceremony need: errors met outside any loop, and what each agent said of a solution.

SQLite cannot take a NOT NULL back, and a table that is renamed keeps quotation marks in its text: the rows wait in a
temporary table while theirs is rebuilt.
"""

from __future__ import annotations

LOOPS = (
    # task_id and loop_id null: met outside any; agent_id null: by somebody without a name
    "CREATE TEMP TABLE kept_reports AS SELECT * FROM error_reports",
    "DROP TABLE error_reports",
    """
    CREATE TABLE error_reports (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        pattern_id BIGINT NOT NULL REFERENCES error_patterns (id) ON DELETE CASCADE,
        run_id BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        task_id TEXT,
        loop_id TEXT,
        agent_id BIGINT REFERENCES agents (id) ON DELETE SET NULL,
        solution_id BIGINT REFERENCES error_solutions (id) ON DELETE SET NULL,
        created_at BIGINT NOT NULL
    )
    """,
    """
    INSERT INTO error_reports
        (id, project_id, pattern_id, run_id, task_id, loop_id, agent_id, solution_id, created_at)
    SELECT id, project_id, pattern_id, run_id, task_id, loop_id, agent_id, solution_id, created_at FROM kept_reports
    """,
    "DROP TABLE kept_reports",
    "CREATE INDEX error_reports_loop ON error_reports (run_id, loop_id, created_at, id)",
    "CREATE INDEX error_reports_agent ON error_reports (run_id, agent_id, created_at, id)",
    "CREATE INDEX error_reports_pattern ON error_reports (pattern_id)",
    "CREATE INDEX error_reports_solution ON error_reports (solution_id) WHERE solution_id IS NOT NULL",
    # an agent confirms a solution once and refutes it once, however often it says so; agent_id null: those without a
    # name, who count as one
    "CREATE TEMP TABLE kept_confirmations AS SELECT * FROM solution_confirmations",
    "DROP TABLE solution_confirmations",
    """
    CREATE TABLE solution_confirmations (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        solution_id BIGINT NOT NULL REFERENCES error_solutions (id) ON DELETE CASCADE,
        agent_id BIGINT REFERENCES agents (id) ON DELETE CASCADE,
        helped SMALLINT NOT NULL CHECK (helped BETWEEN 0 AND 1)
    )
    """,
    """
    INSERT INTO solution_confirmations (solution_id, agent_id, helped)
    SELECT solution_id, agent_id, 1 FROM kept_confirmations ORDER BY solution_id, agent_id
    """,
    "DROP TABLE kept_confirmations",
    """
    CREATE UNIQUE INDEX solution_confirmations_once
    ON solution_confirmations (solution_id, COALESCE(agent_id, 0), helped)
    """,
)
"""The statements of the migration, in order."""
