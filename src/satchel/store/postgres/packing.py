"""Packing the postings of the search index on PostgreSQL, in one statement."""

from __future__ import annotations

DOCUMENTS = 256
"""Packing is due with so many documents, and packs at most so many.

Fewer would make the blocks larger; each unpacked document slows a search down.
"""

BYTES = 131_072
"""Packing is also due with so many bytes of words, and packs hardly more, since a write waits for it."""

POSTINGS = 110
"""A larger block is not added to: PostgreSQL leaves rows up to 2 KB uncompressed."""

PACK = """
    WITH fresh AS MATERIALIZED (
        SELECT f.*, sum(f.size) OVER (ORDER BY f.document) - f.size AS before FROM (
            SELECT w.document, w.place, w.length, w.words, w.parts,
                octet_length(w.words) + octet_length(w.parts) AS size
            FROM documents_words w
            WHERE w.project_id = :project
                AND w.document > coalesce((SELECT last FROM documents_packing WHERE project_id = :project), 0)
            ORDER BY w.document LIMIT :documents
        ) AS f
    ), moved AS (
        INSERT INTO documents_packing (project_id, last)
        SELECT :project, max(document) FROM fresh WHERE before < :bytes
        HAVING count(*) >= :documents OR sum(size) >= :bytes
        ON CONFLICT (project_id) DO UPDATE SET last = excluded.last
        RETURNING last
    ), counted AS (
        SELECT s.term, d.place,
            d.document::bigint * 4294967296 + d.length * 65536::bigint
                + least(count(*) FILTER (WHERE NOT s.is_part), 255) * 256
                + least(count(*) FILTER (WHERE s.is_part), 255) AS posting
        FROM moved m CROSS JOIN LATERAL (SELECT * FROM fresh f WHERE f.document <= m.last) AS d
        CROSS JOIN LATERAL (
            SELECT unnest(string_to_array(trim(d.words), '  ')) AS term, false AS is_part
            UNION ALL SELECT unnest(string_to_array(trim(d.parts), '  ')), true
        ) AS s
        GROUP BY s.term, d.place, d.document, d.length
    ), added AS (
        SELECT term, array_agg(posting ORDER BY posting) AS postings, array_agg(place ORDER BY posting) AS places
        FROM counted GROUP BY term
    ), packed AS (
        INSERT INTO documents_packed AS p (project_id, first, term, postings, places)
        SELECT :project, CASE
            WHEN l.first IS NULL THEN 0
            WHEN l.size + cardinality(a.postings) <= :block THEN l.first
            ELSE a.postings[1] >> 32 END, a.term, a.postings, a.places
        FROM added a LEFT JOIN LATERAL (
            SELECT b.first, cardinality(b.postings) AS size FROM documents_packed b
            WHERE b.project_id = :project AND b.term = a.term ORDER BY b.first DESC LIMIT 1
        ) AS l ON true
        ON CONFLICT (project_id, term, first) DO UPDATE
        SET postings = p.postings || excluded.postings, places = p.places || excluded.places
    )
    SELECT last FROM moved
"""
"""Packs the oldest documents of a project that are not packed yet, where it is due, and returns up to which.

A posting is a number of 64 bits: the document above 32, then its counts (see :mod:`satchel.find.index_postgres`). A
block holds those of a word, in order, from its first document up to the first one of the next block; the first block
of a word begins at 0.
"""


def amounts(project: int) -> dict[str, object]:
    """Return the parameters of :data:`PACK` for a project."""
    return {"project": project, "documents": DOCUMENTS, "bytes": BYTES, "block": POSTINGS}
