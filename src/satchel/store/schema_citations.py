"""The table of citations: what an entry's file held where it was cited, which readers compare with their own tree."""

from __future__ import annotations

CITATIONS = (
    # the lines that are cited go from line to last_line; null: one line, or the whole file
    "ALTER TABLE context ADD COLUMN last_line INTEGER",
    # size: bytes of the cited text; places: how often it stood in the file, null for a whole file; standing: 1 as git's
    # index has it, 2 dirty, 3 untracked, null where that is not known; blob: git's hash of the file as the index has it
    """
    CREATE TABLE citations (
        entry_id INTEGER PRIMARY KEY REFERENCES context (id) ON DELETE CASCADE,
        digest BLOB NOT NULL,
        size BIGINT NOT NULL,
        places SMALLINT,
        standing SMALLINT CHECK (standing BETWEEN 1 AND 3),
        blob BLOB,
        branch TEXT,
        commit_id TEXT
    )
    """,
)
"""The statements of the migration, in order."""
