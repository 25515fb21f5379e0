"""The tables of the search index on PostgreSQL.

A posting says that a document holds a word: how often, and what a search is narrowed by. The words of each document,
in order, stand beside them: phrases are looked for in these, and the postings of a document are found by them.
"""

from __future__ import annotations

INDEX_TABLES: tuple[str, ...] = (
    # numbers of four bytes: with eight a note of 21 words took 3.7 KB instead of 3.2. kind: with the type of the item;
    # counts, kind: see satchel.find.index_postgres
    """
    CREATE TABLE documents_postings (
        project_id INTEGER NOT NULL,
        document INTEGER NOT NULL,
        run_id INTEGER,
        counts INTEGER NOT NULL,
        kind SMALLINT NOT NULL,
        term TEXT COLLATE "C" NOT NULL,
        PRIMARY KEY (project_id, term, document) INCLUDE (run_id, counts, kind)
    )
    """,
    """
    CREATE TABLE documents_words (
        project_id INTEGER NOT NULL,
        document INTEGER NOT NULL,
        words TEXT COLLATE "C" NOT NULL,
        parts TEXT COLLATE "C" NOT NULL,
        PRIMARY KEY (project_id, document)
    )
    """,
    # the documents of a run stand close together: the first and the last bound what is read of a word's postings
    "CREATE INDEX documents_run ON documents (run_id, id)",
)
