"""The tables of the search index on PostgreSQL.

``documents_words`` has the words of each document in order: a search reads phrases from it, and everything about a
document that is not packed yet. ``documents_packed`` has the packed postings: which documents have a word, how
often, and the fields that narrow a search.
"""

from __future__ import annotations

INDEX_TABLES: tuple[str, ...] = (
    # place: run, kind and type; marks: one bit for each word. See satchel.find.index_postgres
    """
    CREATE TABLE documents_words (
        project_id INTEGER NOT NULL,
        document INTEGER NOT NULL,
        words TEXT COLLATE "C" NOT NULL,
        parts TEXT COLLATE "C" NOT NULL,
        place BIGINT NOT NULL,
        length INTEGER NOT NULL,
        marks BYTEA,
        PRIMARY KEY (project_id, document)
    )
    """,
    # the documents of a run are close together: the first and the last limit the postings to read
    "CREATE INDEX documents_run ON documents (run_id, id)",
    """
    CREATE TABLE documents_packed (
        project_id INTEGER NOT NULL,
        first INTEGER NOT NULL,
        term TEXT COLLATE "C" NOT NULL,
        postings BIGINT[] NOT NULL,
        places BIGINT[] NOT NULL,
        PRIMARY KEY (project_id, term, first)
    )
    """,
    # last: up to which document those of a project are packed
    "CREATE TABLE documents_packing (project_id INTEGER PRIMARY KEY, last INTEGER NOT NULL)",
)
"""The statements, in order."""
