"""The tables, as a numbered list of migrations. Each is one step that never changes once it was released."""

from __future__ import annotations

from satchel.base.records import dataclass
from satchel.store.schema_brief import PACK
from satchel.store.schema_citations import CITATIONS
from satchel.store.schema_claims import CLAIMS
from satchel.store.schema_clients import CLIENT_SESSIONS
from satchel.store.schema_consult import CONSULT
from satchel.store.schema_corrections import CORRECTIONS
from satchel.store.schema_hooks import ACTS, DOING, HOOKS
from satchel.store.schema_learning import LEARNING
from satchel.store.schema_ledger import LEDGER
from satchel.store.schema_loops import LOOPS
from satchel.store.schema_memory import MEMORY
from satchel.store.schema_moving import MOVING
from satchel.store.schema_pins import PINS
from satchel.store.schema_seen import SEEN
from satchel.store.schema_sessions import SESSIONS
from satchel.store.schema_shared import SHARED
from satchel.store.schema_sightings import SIGHTINGS
from satchel.store.schema_signatures import SIGNATURES

APPLICATION_ID = 0x5A7C4E1
"""Marks a SQLite file as a Satchel store (``PRAGMA application_id``)."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema.

    Attributes:
        name: what it brings.
        statements: the SQL, run in one transaction together with the record of the step.
        min_reader: the lowest schema version whose programs can still read a store after this step.
        min_writer: the lowest schema version whose programs can still write to it.
    """

    name: str
    statements: tuple[str, ...]
    min_reader: int = 1
    min_writer: int = 1


_BASE = (
    """
    CREATE TABLE projects (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid BLOB NOT NULL,
        name TEXT NOT NULL UNIQUE,
        root TEXT,
        seq BIGINT NOT NULL DEFAULT 0,
        created_at BIGINT NOT NULL
    )
    """,
    """
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid BLOB NOT NULL,
        seq BIGINT NOT NULL,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        run_id TEXT NOT NULL,
        title TEXT,
        spec_path TEXT,
        effort TEXT,
        status SMALLINT NOT NULL DEFAULT 1 CHECK (status BETWEEN 1 AND 3),
        created_at BIGINT NOT NULL,
        ended_at BIGINT,
        UNIQUE (project_id, run_id)
    )
    """,
    "CREATE INDEX runs_active ON runs (project_id) WHERE status = 1",
    """
    CREATE TABLE agents (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid BLOB NOT NULL,
        seq BIGINT NOT NULL,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        folded TEXT NOT NULL,
        role TEXT,
        created_at BIGINT NOT NULL,
        UNIQUE (project_id, folded)
    )
    """,
    """
    CREATE TABLE context (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid BLOB NOT NULL,
        seq BIGINT NOT NULL,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        run_id BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        type SMALLINT NOT NULL CHECK (type BETWEEN 1 AND 7),
        content TEXT NOT NULL,
        task_id TEXT,
        loop_id TEXT,
        file TEXT,
        line INTEGER CHECK (line >= 1),
        agent_id BIGINT REFERENCES agents (id) ON DELETE SET NULL,
        superseded_by BIGINT REFERENCES context (id) ON DELETE NO ACTION,
        created_at BIGINT NOT NULL
    )
    """,
    # superseded_by stands last in each, so that live entries are counted without a look at the table
    "CREATE INDEX context_run ON context (project_id, run_id, created_at, id, superseded_by)",
    "CREATE INDEX context_type ON context (project_id, run_id, type, created_at, id, superseded_by)",
    """
    CREATE INDEX context_task ON context (project_id, run_id, task_id, created_at, id, superseded_by)
    WHERE task_id IS NOT NULL
    """,
    """
    CREATE INDEX context_loop ON context (project_id, run_id, loop_id, created_at, id, superseded_by)
    WHERE loop_id IS NOT NULL
    """,
    """
    CREATE INDEX context_file ON context (project_id, run_id, file, created_at, id, superseded_by)
    WHERE file IS NOT NULL
    """,
    "CREATE INDEX context_seq ON context (project_id, seq)",
    "CREATE INDEX context_superseded ON context (superseded_by) WHERE superseded_by IS NOT NULL",
    """
    CREATE UNIQUE INDEX context_one_live_analysis ON context (run_id)
    WHERE type = 7 AND superseded_by IS NULL
    """,
    """
    CREATE TABLE documents (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        seq BIGINT NOT NULL,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        run_id BIGINT REFERENCES runs (id) ON DELETE CASCADE,
        kind SMALLINT NOT NULL,
        item_id BIGINT NOT NULL,
        type SMALLINT,
        agent_id BIGINT REFERENCES agents (id) ON DELETE SET NULL,
        task_id TEXT,
        loop_id TEXT,
        segment TEXT,
        file TEXT,
        status SMALLINT NOT NULL DEFAULT 1,
        created_at BIGINT NOT NULL,
        UNIQUE (kind, item_id)
    )
    """,
    "CREATE INDEX documents_segment ON documents (run_id, segment, id)",
    "CREATE INDEX documents_not_live ON documents (project_id, run_id) WHERE status <> 1",
    # contentless_delete keeps deletes honest without a copy of the text; only SQLite's own tokenizers, so that any
    # SQLite tool can open the file
    """
    CREATE VIRTUAL TABLE documents_fts USING fts5 (
        text, parts, scope,
        content = '', contentless_delete = 1, tokenize = "porter unicode61 remove_diacritics 2"
    )
    """,
    "INSERT INTO documents_fts (documents_fts, rank) VALUES ('automerge', 0)",
)

_DOCUMENT_COUNTS = (
    "ALTER TABLE projects ADD COLUMN documents BIGINT NOT NULL DEFAULT 0",
    "UPDATE projects SET documents = (SELECT count(*) FROM documents d WHERE d.project_id = projects.id)",
)

_LOOPS_BY_AUTHOR = (
    # what a loop did is read by its author: with 40,000 entries in one run a briefing took 17 ms for that from the
    # index of the run, and 0.3 from this one; entries of other types pay nothing for it
    "CREATE INDEX context_loops ON context (run_id, agent_id, created_at, id) WHERE type IN (2, 5, 6)",
)

KEPT_CALLS = (
    # call: the key that a caller elsewhere gave a call that writes, kept with the first thing that it wrote
    """
    CREATE TABLE kept_calls (
        call BLOB PRIMARY KEY,
        kept_at BIGINT NOT NULL
    ) WITHOUT ROWID
    """,
    "CREATE INDEX kept_calls_kept_at ON kept_calls (kept_at)",
)

_EXPIRY = (
    # a sweep touches the project alone that is written to, whose writers take turns. events_swept: the number up to
    # which its events may be gone, for who follows them
    "ALTER TABLE projects ADD COLUMN events_swept BIGINT NOT NULL DEFAULT 0",
    """
    UPDATE projects SET events_swept = COALESCE(
        (SELECT min(seq) - 1 FROM events), (SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0
    )
    """,
    "DROP INDEX documents_expiring",
    "CREATE INDEX documents_expiring ON documents (project_id, expires_at) WHERE expires_at IS NOT NULL",
    "DROP INDEX file_claims_expiring",
    "CREATE INDEX file_claims_expiring ON file_claims (project_id, expires_at)",
    "DROP INDEX conversations_expiry",
    "CREATE INDEX conversations_expiry ON conversations (project_id, expires_at, id)",
    "DROP INDEX events_time",
    "CREATE INDEX events_order ON events (project_id, seq)",
    "DROP INDEX blobs_used",
    "CREATE INDEX blobs_used ON blobs (project_id, last_used, id, size)",
)

OF_PROJECTS = (
    # what another project holds is neither read nor swept; a band is of the project of its item
    """
    CREATE TEMP TABLE kept_likenesses AS
    SELECT d.project_id, l.mark, l.kind, l.item_id
    FROM likenesses l JOIN documents d ON d.kind = l.kind AND d.item_id = l.item_id
    """,
    "DROP TABLE likenesses",
    """
    CREATE TABLE likenesses (
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        mark BIGINT NOT NULL,
        kind SMALLINT NOT NULL,
        item_id BIGINT NOT NULL,
        PRIMARY KEY (project_id, mark, kind, item_id)
    ) WITHOUT ROWID
    """,
    "INSERT INTO likenesses SELECT project_id, mark, kind, item_id FROM kept_likenesses",
    "DROP TABLE kept_likenesses",
    # of which project a call was is not known: those of the last day are any project's, for who lost an answer when the
    # program was changed
    "CREATE TEMP TABLE calls_before AS SELECT call, kept_at FROM kept_calls",
    "DROP TABLE kept_calls",
    """
    CREATE TABLE kept_calls (
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        call BLOB NOT NULL,
        kept_at BIGINT NOT NULL,
        PRIMARY KEY (project_id, call)
    ) WITHOUT ROWID
    """,
    """
    INSERT INTO kept_calls (project_id, call, kept_at)
    SELECT p.id, c.call, c.kept_at FROM projects p CROSS JOIN calls_before c
    WHERE c.kept_at > (SELECT max(kept_at) - 86400000 FROM calls_before)
    """,
    "DROP TABLE calls_before",
    "CREATE INDEX kept_calls_kept_at ON kept_calls (project_id, kept_at)",
)

MIGRATIONS: tuple[Migration, ...] = (
    Migration("the base: projects, runs, agents, context, search", _BASE),
    Migration(
        "the ledger: decisions, constraints, messages, file changes and claims", LEDGER, min_reader=2, min_writer=2
    ),
    Migration("packages, error patterns, strategies and deliveries", PACK, min_reader=3, min_writer=3),
    Migration("learning: where errors were met, who confirmed a fix, what a delivery showed", LEARNING, 3, 3),
    Migration("consultations: conversations, their contents, and vector stores to sweep", CONSULT, 3, 3),
    Migration("documents are counted for each project", _DOCUMENT_COUNTS, 3, 6),
    Migration("one run that never ends, and lists of a whole project", SESSIONS, 3, 7),
    Migration("errors are met without a loop too, and each agent judges a solution once", LOOPS, 3, 8),
    Migration("the attempts of an author are found without reading the run", _LOOPS_BY_AUTHOR, 3, 8),
    Migration("sessions of clients, their windows and claims, and events", CLIENT_SESSIONS, 10, 10),
    Migration("claims of keys, waiting for a claim, and refusals that are told", CLAIMS, 10, 11),
    Migration("what was corrected: items that were replaced, retracted or confirmed", CORRECTIONS, 12, 12),
    Migration("what files held where entries cite them", CITATIONS, 12, 13),
    Migration("signatures of errors have a version", SIGNATURES, 12, 13),
    Migration("notes that say the same are one, and who wrote it again is counted", SIGHTINGS, 12, 15),
    Migration("what hooks remember of a session at work", HOOKS, 12, 15),
    Migration("what a session is about to do", DOING, 12, 15),
    Migration("whether anything was done about a command that failed", ACTS, 12, 15),
    Migration("what moves between stores: states that were seen, links to what is not there", MOVING, 12, 15),
    Migration("the shared text: what is known of each item's file", SHARED, 12, 15),
    Migration("calls from elsewhere that were kept, for those who did not hear of it", KEPT_CALLS, 12, 15),
    # a program of before would give corrections no number, and no person would be shown them
    Migration("what persons have seen", SEEN, 12, 22),
    Migration("what persons have pinned", PINS, 12, 22),
    # a program of before would not count what it delivers
    Migration("what was put into windows day by day, and what has helped", MEMORY, 12, 24),
    # a program of before would sweep events and not say so
    Migration("what expires is found in its project", _EXPIRY, 12, 25),
    Migration("bands of likeness, and calls that were kept, are of a project", OF_PROJECTS, 12, 26),
)

SCHEMA_VERSION = len(MIGRATIONS)
"""The version this program brings a store to."""

BEING_FILLED = 1_000_000
"""The version that a store says it needs while the rows of another are moved into it."""

STORE_TABLES = (
    """
    CREATE TABLE store (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        uid BLOB NOT NULL,
        min_reader INTEGER NOT NULL,
        min_writer INTEGER NOT NULL,
        created_at BIGINT NOT NULL
    )
    """,
    """
    CREATE TABLE migrations (
        version INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        program TEXT NOT NULL,
        applied_at BIGINT NOT NULL
    )
    """,
)
"""What records the store itself; made before the first migration, in its transaction."""
