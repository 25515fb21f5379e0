"""The tables of the search index on PostgreSQL.

The words of each document, in order: phrases are looked for in these, the postings of a document are found by them, and
a document that is new is looked for in them alone. A posting says that a document holds a word: how often, and what a
search is narrowed by.
"""

from __future__ import annotations

INDEX_TABLES: tuple[str, ...] = (
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
"""The tables as a store begins with them; documents_run is the index that searches of a run need."""

PACKED: tuple[str, ...] = (
    "DROP TABLE documents_postings",
    # place: run, kind and type; marks: one bit for each word. See satchel.find.index_postgres
    "ALTER TABLE documents_words ADD COLUMN place BIGINT, ADD COLUMN length INTEGER, ADD COLUMN marks BYTEA",
    """
    UPDATE documents_words w SET
        place = coalesce((
            SELECT coalesce(d.run_id, 0) * 65536 + d.kind * 256 + coalesce(d.type, 0) FROM documents d
            WHERE d.id = w.document
        ), 0),
        length = least((octet_length(words) - octet_length(replace(words, ' ', ''))) / 2, 65535)
    """,
    "ALTER TABLE documents_words ALTER COLUMN place SET NOT NULL, ALTER COLUMN length SET NOT NULL",
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
"""What puts postings into blocks; the words that are there are packed then."""
