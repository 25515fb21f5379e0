"""What persons have seen: of every kind up to which change, and single items beyond that."""

from __future__ import annotations

SEEN = (
    # kind and item_id: 0 and 0 is everything, a kind and 0 all of that, else one item; kinds: see brief/room/since.py.
    # seq: the change of the project that was seen last; created_at: when
    """
    CREATE TABLE seen (
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        person_id BIGINT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
        kind SMALLINT NOT NULL,
        item_id BIGINT NOT NULL,
        seq BIGINT NOT NULL,
        created_at BIGINT NOT NULL,
        PRIMARY KEY (person_id, kind, item_id)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX seen_item ON seen (kind, item_id) WHERE item_id <> 0",
    "CREATE INDEX seen_project ON seen (project_id)",
    # the project's change counter when it was recorded or taken back; 0 for what was there before
    "ALTER TABLE corrections ADD COLUMN seq BIGINT NOT NULL DEFAULT 0",
    "CREATE INDEX corrections_seq ON corrections (project_id, seq)",
    "CREATE INDEX error_solutions_seq ON error_solutions (project_id, seq)",
    # when a session was at work: of a day with 100,000 events and edits the quarters took 8 s without these two, and
    # take 15 ms with them
    "CREATE INDEX events_session ON events (session_id, created_at) WHERE session_id IS NOT NULL",
    "DROP INDEX file_changes_session",
    "CREATE INDEX file_changes_session ON file_changes (session_id, created_at) WHERE session_id IS NOT NULL",
    # failures of hooks are few among events: 7 ms without it, 0.1 with it
    "CREATE INDEX events_hooks ON events (project_id, created_at) WHERE kind = 10",
)
"""The statements of the migration, in order."""
