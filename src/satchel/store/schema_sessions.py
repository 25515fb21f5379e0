"""What working without a chosen run needs: the run ``main`` stays active, and lists of a whole project have indexes."""

from __future__ import annotations

_MAIN_HAD_ENDED = "run_id = 'main' AND status <> 1"

SESSIONS = (
    # a run named main that was there before is the one that never ends
    f"UPDATE projects SET seq = seq + 1 WHERE id IN (SELECT project_id FROM runs WHERE {_MAIN_HAD_ENDED})",
    f"""
    UPDATE runs SET status = 1, ended_at = NULL, seq = (SELECT p.seq FROM projects p WHERE p.id = runs.project_id)
    WHERE {_MAIN_HAD_ENDED}
    """,
    # run_id and superseded_by stand last, so that live entries of a project or a run are counted in the index
    "DROP INDEX context_run",
    "DROP INDEX context_type",
    "DROP INDEX context_task",
    "DROP INDEX context_loop",
    "DROP INDEX context_file",
    "CREATE INDEX context_time ON context (project_id, created_at, id, run_id, superseded_by)",
    # led by the run alone: where a filter has an index of its own, SQLite prefers that, which fixes two columns
    "CREATE INDEX context_run ON context (run_id, created_at, id, project_id, superseded_by)",
    "CREATE INDEX context_type ON context (project_id, type, created_at, id, run_id, superseded_by)",
    """
    CREATE INDEX context_task ON context (project_id, task_id, created_at, id, run_id, superseded_by)
    WHERE task_id IS NOT NULL
    """,
    """
    CREATE INDEX context_loop ON context (project_id, loop_id, created_at, id, run_id, superseded_by)
    WHERE loop_id IS NOT NULL
    """,
    """
    CREATE INDEX context_file ON context (project_id, file, created_at, id, run_id, superseded_by)
    WHERE file IS NOT NULL
    """,
    "DROP INDEX context_packages_run",
    "DROP INDEX context_packages_ranked",
    "DROP INDEX context_packages_task",
    """
    CREATE INDEX context_packages_order
    ON context_packages (project_id, superseded_by, priority, created_at, id, run_id)
    """,
    """
    CREATE INDEX context_packages_ranked
    ON context_packages (project_id, superseded_by, priority, updated_at, id, run_id, task_id)
    """,
    "CREATE INDEX context_packages_task ON context_packages (project_id, task_id, run_id) WHERE task_id IS NOT NULL",
)
"""The statements of the migration, in order."""
