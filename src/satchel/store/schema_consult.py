"""The tables of consultations: conversations with their turns and files, contents, and vector stores to sweep."""

from __future__ import annotations

CONSULT = (
    # a row without turns is a first call under way, or what a crash left of one. lease_token names the call that holds
    # the conversation; thread_start is the turn that the provider's thread begins with; expires_at is null before the
    # first turn is answered
    """
    CREATE TABLE conversations (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid BLOB NOT NULL,
        seq BIGINT NOT NULL,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        owner TEXT NOT NULL,
        assistant TEXT NOT NULL,
        session_id TEXT NOT NULL,
        turns INTEGER NOT NULL DEFAULT 0 CHECK (turns >= 0),
        thread_start INTEGER NOT NULL DEFAULT 1,
        held_tokens BIGINT NOT NULL DEFAULT 0,
        sent_tokens BIGINT NOT NULL DEFAULT 0,
        resent_tokens BIGINT NOT NULL DEFAULT 0,
        answer_tokens BIGINT NOT NULL DEFAULT 0,
        has_overflowed SMALLINT NOT NULL DEFAULT 0 CHECK (has_overflowed IN (0, 1)),
        provider_ref TEXT,
        lease_token BLOB,
        lease_holder TEXT,
        lease_since BIGINT,
        lease_until BIGINT,
        lease_process TEXT,
        created_at BIGINT NOT NULL,
        updated_at BIGINT NOT NULL,
        expires_at BIGINT,
        UNIQUE (project_id, owner, assistant, session_id)
    )
    """,
    "CREATE INDEX conversations_seq ON conversations (project_id, seq)",
    "CREATE INDEX conversations_expiry ON conversations (expires_at, id)",
    # prompt is compressed: it holds the files of the turn, and the question, which stands alone too
    """
    CREATE TABLE conversation_turns (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation_id BIGINT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        n INTEGER NOT NULL CHECK (n >= 1),
        question TEXT NOT NULL,
        prompt BLOB NOT NULL,
        answer TEXT NOT NULL,
        provider_ref TEXT,
        sent_tokens BIGINT NOT NULL,
        resent_tokens BIGINT NOT NULL,
        answer_tokens BIGINT NOT NULL,
        created_at BIGINT NOT NULL,
        UNIQUE (conversation_id, n)
    )
    """,
    # folders stand apart, each once, and no index repeats them: a thousand files are to take less than 100 KB
    """
    CREATE TABLE conversation_folders (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation_id BIGINT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        path TEXT NOT NULL
    )
    """,
    "CREATE INDEX conversation_folders_of ON conversation_folders (conversation_id)",
    # mtime_ns null: it tells nothing. digest null: the file was removed. overflow null: the file is in the prompt;
    # else why not: 1 no room beside others, 2 too large alone, 3 others had overflowed before
    """
    CREATE TABLE conversation_files (
        folder_id BIGINT NOT NULL REFERENCES conversation_folders (id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        size BIGINT NOT NULL,
        mtime_ns BIGINT,
        digest BLOB,
        tokens BIGINT NOT NULL,
        first_turn INTEGER NOT NULL,
        overflow SMALLINT CHECK (overflow BETWEEN 1 AND 3),
        PRIMARY KEY (folder_id, name)
    ) WITHOUT ROWID
    """,
    # size comes before bytes, so that what is too much is found without reading any content
    """
    CREATE TABLE blobs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        digest BLOB NOT NULL,
        last_used BIGINT NOT NULL,
        size BIGINT NOT NULL,
        bytes BLOB NOT NULL,
        UNIQUE (project_id, digest)
    )
    """,
    "CREATE INDEX blobs_used ON blobs (last_used, id, size)",
    # the uid is in the name that the provider is told, so that a store is found whose id was never recorded
    """
    CREATE TABLE vector_stores (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid BLOB NOT NULL UNIQUE,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        conversation_id BIGINT REFERENCES conversations (id) ON DELETE SET NULL,
        provider TEXT NOT NULL,
        external_id TEXT,
        state SMALLINT NOT NULL CHECK (state BETWEEN 1 AND 3),
        attempts INTEGER NOT NULL DEFAULT 0,
        expires_at BIGINT NOT NULL,
        created_at BIGINT NOT NULL
    )
    """,
    "CREATE INDEX vector_stores_due ON vector_stores (project_id, provider, expires_at)",
    "CREATE INDEX vector_stores_of ON vector_stores (conversation_id) WHERE conversation_id IS NOT NULL",
)
"""The statements of the migration, in order."""
