"""The tables of what moves between stores: states of items that were seen, links to what is not there, states kept."""

from __future__ import annotations

# what has few rows, or another unique column that lines are found by, needs none
_BY_UID = ("context", "decisions", "agent_messages", "file_changes", "context_packages")

MOVING = (
    *(f"CREATE INDEX {table}_uid ON {table} (uid)" for table in _BY_UID),
    # rounds: how often something was taken from it; written_at: when the latest of that was written, null: not known
    """
    CREATE TABLE moving_sources (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        rounds BIGINT NOT NULL DEFAULT 0,
        written_at BIGINT,
        UNIQUE (project_id, name)
    )
    """,
    # in_step: 1 for the state of ours that was last in step with the source; round: in which of its rounds; mark: the
    # beginning of the uid as a number. By the uid itself, which comes in no order, an import of 500 wrote four times as
    # many pages
    """
    CREATE TABLE moving_states (
        id INTEGER PRIMARY KEY,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        mark BIGINT NOT NULL,
        uid BLOB NOT NULL,
        digest BLOB NOT NULL,
        source_id BIGINT NOT NULL REFERENCES moving_sources (id) ON DELETE CASCADE,
        in_step SMALLINT NOT NULL CHECK (in_step IN (0, 1)),
        round BIGINT NOT NULL
    )
    """,
    "CREATE INDEX moving_states_mark ON moving_states (mark)",
    # kind and field: as lines name them; target: the uid of what is not there
    """
    CREATE TABLE unresolved_links (
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        kind TEXT NOT NULL,
        item_id BIGINT NOT NULL,
        field TEXT NOT NULL,
        target BLOB NOT NULL,
        PRIMARY KEY (kind, item_id, field)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX unresolved_links_target ON unresolved_links (project_id, target)",
    # line: a state that lost against another, as lines have it, where its kind keeps no history; source_id: what was
    # taken then, is_ours: 1 for the state that was here before
    """
    CREATE TABLE kept_states (
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        uid BLOB NOT NULL,
        digest BLOB NOT NULL,
        line TEXT NOT NULL,
        source_id BIGINT NOT NULL REFERENCES moving_sources (id) ON DELETE CASCADE,
        is_ours SMALLINT NOT NULL CHECK (is_ours IN (0, 1)),
        created_at BIGINT NOT NULL,
        PRIMARY KEY (project_id, uid, digest)
    ) WITHOUT ROWID
    """,
)
"""The statements of the migration, in order."""
