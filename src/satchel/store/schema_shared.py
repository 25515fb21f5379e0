"""The tables of the shared text: what is known of each item's file, and what was read when."""

from __future__ import annotations

SHARED = (
    # in_step: the digest of our text when it was last in step with the file, null for what is not shared from here;
    # taken: that of the file which ours was made of, where ours says it differently; tip: of the text on the default
    # branch when it was read last; waiting: of one that a person has not accepted, and why: 1 new, 2 changed, 3 changed
    # on both sides, 4 another of the same key; ours and seq: of our text, as of a change of the item; stood: the time
    # in the text that was last in step; merged: a file that is to become a tombstone, its item being one with another
    """
    CREATE TABLE shared_texts (
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        uid BLOB NOT NULL,
        kind TEXT NOT NULL,
        file TEXT,
        in_step BLOB,
        taken BLOB,
        tip BLOB,
        waiting BLOB,
        why SMALLINT CHECK (why BETWEEN 1 AND 4),
        ours BLOB,
        seq BIGINT,
        stood BIGINT,
        merged SMALLINT NOT NULL DEFAULT 0 CHECK (merged IN (0, 1)),
        PRIMARY KEY (project_id, uid),
        CHECK ((waiting IS NULL) = (why IS NULL))
    ) WITHOUT ROWID
    """,
    "CREATE INDEX shared_texts_waiting ON shared_texts (project_id) WHERE waiting IS NOT NULL",
    """
    CREATE TABLE shared_seen (
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        uid BLOB NOT NULL,
        digest BLOB NOT NULL,
        PRIMARY KEY (project_id, uid, digest)
    ) WITHOUT ROWID
    """,
    # commit_id: the furthest commit of the default branch that was read; look: what told that something may have
    # changed; stamp: of the folder's files; seq: the project's change counter when all was in step
    """
    CREATE TABLE shared_readings (
        project_id BIGINT NOT NULL PRIMARY KEY REFERENCES projects (id) ON DELETE CASCADE,
        commit_id TEXT,
        look BLOB NOT NULL,
        stamp BLOB NOT NULL,
        seq BIGINT NOT NULL
    )
    """,
)
"""The statements of the migration, in order."""
