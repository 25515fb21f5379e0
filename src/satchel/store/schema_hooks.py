"""What hooks remember of a session at work: what was put in when, what it changed, and which commands failed."""

from __future__ import annotations

HOOKS = (
    # told_at: when messages were put in last; nudged_at: when it was asked to keep what it learned
    "ALTER TABLE sessions ADD COLUMN told_at BIGINT",
    "ALTER TABLE sessions ADD COLUMN nudged_at BIGINT",
    "ALTER TABLE file_changes ADD COLUMN session_id BIGINT",
    "CREATE INDEX file_changes_session ON file_changes (session_id) WHERE session_id IS NOT NULL",
    # the last failure of each command of a session, until it succeeds; solution_id: the fix that was shown then
    """
    CREATE TABLE failed_commands (
        session_id BIGINT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        command TEXT NOT NULL,
        pattern_id BIGINT NOT NULL REFERENCES error_patterns (id) ON DELETE CASCADE,
        solution_id BIGINT REFERENCES error_solutions (id) ON DELETE SET NULL,
        created_at BIGINT NOT NULL,
        PRIMARY KEY (session_id, command)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX failed_commands_pattern ON failed_commands (pattern_id)",
    "CREATE INDEX failed_commands_solution ON failed_commands (solution_id) WHERE solution_id IS NOT NULL",
)
"""The statements of the migration, in order."""

DOING = ("ALTER TABLE sessions ADD COLUMN doing TEXT",)
"""The statements of the migration that keeps what a session says it is about to do."""

ACTS = (
    # a command is known by a digest; what stands there as text may hold a secret
    "DELETE FROM failed_commands",
    # when something was done about the failure: a file was edited, or a command was run that a fix names
    "ALTER TABLE failed_commands ADD COLUMN acted_at BIGINT",
)
"""The statements of the migration that keeps whether anything was done about a command that failed."""
