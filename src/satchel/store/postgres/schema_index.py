"""The tables of the search index on PostgreSQL.

A posting says that a document holds a word: how often, and what a search is narrowed by. The words of each document,
in order, stand beside them: phrases are looked for in these, and the postings of a document are found by them.
"""

from __future__ import annotations

INDEX_TABLES: tuple[str, ...] = (
    # columns by their size, so that no byte is lost between them; counts: see satchel.find.index_postgres
    """
    CREATE TABLE documents_postings (
        document BIGINT NOT NULL,
        project_id BIGINT NOT NULL,
        run_id BIGINT,
        counts INTEGER NOT NULL,
        kind SMALLINT NOT NULL,
        type SMALLINT NOT NULL,
        term TEXT COLLATE "C" NOT NULL,
        PRIMARY KEY (project_id, term, document) INCLUDE (run_id, counts, kind, type)
    )
    """,
    """
    CREATE TABLE documents_words (
        project_id BIGINT NOT NULL,
        document BIGINT NOT NULL,
        words TEXT COLLATE "C" NOT NULL,
        parts TEXT COLLATE "C" NOT NULL,
        PRIMARY KEY (project_id, document)
    )
    """,
    # the documents of a run stand close together: the first and the last bound what is read of a word's postings
    "CREATE INDEX documents_run ON documents (run_id, id)",
)
