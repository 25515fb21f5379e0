"""The tables of a store: ``schema.sql`` as of version 27, and numbered migrations from there on."""

from __future__ import annotations

import os
from pathlib import Path

from satchel import __version__
from satchel.base.records import dataclass

# Marks a SQLite file as a Satchel store (``PRAGMA application_id``).
APPLICATION_ID = 0x5A7C4E1

# The version of a store that ``schema.sql`` makes; Satchel 0.2.0 wrote it. No older store is migrated.
BASE_VERSION = 27


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema; it never changes after its release.

    Attributes:
        statements: the SQL, run in one transaction together with the record of the step.
        min_reader: the lowest schema version whose programs can still read a store after this step.
        min_writer: the lowest schema version whose programs can still write to it.
    """

    name: str
    statements: tuple[str, ...]
    min_reader: int = BASE_VERSION
    min_writer: int = BASE_VERSION


_NAME_TABLES = ("layers", "tags", "scopes", "categories")


def _read_statements() -> tuple[str, ...]:
    text = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith("--")]
    statements = filter(None, map(str.strip, "".join(lines).split(";\n")))
    # a table that stands there once for several names is made for each
    return tuple(
        statement.replace("NAMES", name, 1)
        for statement in statements
        for name in (_NAME_TABLES if "TABLE NAMES" in statement else ("",))
    )


_SMALLER = (
    # no statement reads these; agents, which some of them lead back to, are never deleted
    "DROP INDEX agent_messages_critical",
    "DROP INDEX claim_waiters_agent",
    "DROP INDEX corrections_agent",
    "DROP INDEX pins_agent",
    "DROP INDEX sessions_agent",
    "DROP INDEX sessions_process",
    "DROP INDEX sessions_unnamed",
    "DROP INDEX shared_texts_waiting",
    # most items have no layer, and decisions, rules and messages have no run
    "DROP INDEX decisions_layer",
    """
    CREATE INDEX decisions_layer
    ON decisions (project_id, layer_id, status, created_at, id) WHERE layer_id IS NOT NULL
    """,
    "DROP INDEX constraints_layer",
    "CREATE INDEX constraints_layer ON constraints (project_id, layer_id, active) WHERE layer_id IS NOT NULL",
    "DROP INDEX file_changes_layer",
    """
    CREATE INDEX file_changes_layer
    ON file_changes (project_id, layer_id, created_at, id, expires_at) WHERE layer_id IS NOT NULL
    """,
    "DROP INDEX documents_segment",
    "CREATE INDEX documents_segment ON documents (run_id, segment, id) WHERE run_id IS NOT NULL",
    # the bands of near-duplicates have 32 bits: the lower ones of those that 0.2.0 recorded
    """
    CREATE TEMP TABLE bands AS
    SELECT DISTINCT
        project_id, (mark & 4294967295) - CASE WHEN mark & 2147483648 = 0 THEN 0 ELSE 4294967296 END AS mark,
        kind, item_id
    FROM likenesses
    """,
    "DELETE FROM likenesses",
    """
    INSERT INTO likenesses (project_id, mark, kind, item_id)
    SELECT project_id, mark, kind, item_id FROM bands ORDER BY 1, 2, 3, 4
    """,
    "DROP TABLE bands",
)

# Of a scope: it has a slash, and can be written into JSON as it is.
_IS_FOLDER = " AND ".join(
    ("replace(n.name, '/', '') <> n.name", *(f"replace(n.name, '{sign}', '') = n.name" for sign in '",\\'))
)

_OF_FOLDERS = f"scope_id IN (SELECT n.id FROM scopes n WHERE {_IS_FOLDER})"

_PATHS = (
    *(
        f"ALTER TABLE {table} ADD COLUMN paths TEXT NOT NULL DEFAULT '[]'"
        for table in ("constraints", "decisions", "decision_history")
    ),
    "CREATE INDEX constraints_paths ON constraints (project_id) WHERE paths <> '[]'",
    "CREATE INDEX decisions_paths ON decisions (project_id) WHERE paths <> '[]'",
    f"""
    UPDATE decisions SET paths = '["' || replace((
        SELECT group_concat(name, ', ') FROM (
            SELECT n.name FROM decision_scopes j JOIN scopes n ON n.id = j.scope_id
            WHERE j.decision_id = decisions.id AND {_IS_FOLDER} ORDER BY n.folded)), ', ', '", "') || '"]'
    WHERE id IN (SELECT decision_id FROM decision_scopes WHERE {_OF_FOLDERS})
    """,
    f"DELETE FROM decision_counts WHERE dimension = 3 AND name_id IN (SELECT n.id FROM scopes n WHERE {_IS_FOLDER})",
    f"DELETE FROM decision_scopes WHERE {_OF_FOLDERS}",
)

_DAYS = (
    # plain values by key: see satchel.keep.texts
    *(
        f"ALTER TABLE {table} ADD COLUMN metadata TEXT NOT NULL DEFAULT '{{}}'"
        for table in ("constraints", "decisions", "decision_history")
    ),
    # the days of use: see satchel.keep.jumps
    *(
        f"ALTER TABLE projects ADD COLUMN {column} BIGINT NOT NULL DEFAULT 0"
        for column in ("latest_at", "day_at", "day_seq", "vouched_at", "vouched_seq", "back_at")
    ),
    # renewed_at: since when a claim holds; is_over: 1 once its end is recorded, a day or more before it is deleted
    "ALTER TABLE file_claims ADD COLUMN renewed_at BIGINT",
    "UPDATE file_claims SET renewed_at = created_at",
    "ALTER TABLE file_claims ADD COLUMN is_over SMALLINT NOT NULL DEFAULT 0 CHECK (is_over IN (0, 1))",
    "DROP INDEX file_claims_holder",
    """
    CREATE UNIQUE INDEX file_claims_holder
    ON file_claims (
        project_id, path, worktree, is_key, COALESCE(session_id, 0),
        (CASE WHEN session_id IS NULL THEN agent_id ELSE 0 END)
    ) WHERE is_over = 0
    """,
)

# a type of note more needs a check more; neither engine changes one in place
_BUGS = (
    "ALTER TABLE context ADD COLUMN kind SMALLINT NOT NULL DEFAULT 1 CHECK (kind BETWEEN 1 AND 8)",
    "UPDATE context SET kind = type",
    *(f"DROP INDEX context_{name}" for name in ("one_live_analysis", "type", "loops", "session")),
    "ALTER TABLE context DROP COLUMN type",
    "ALTER TABLE context RENAME COLUMN kind TO type",
    "CREATE UNIQUE INDEX context_one_live_analysis ON context (run_id) WHERE type = 7 AND superseded_by IS NULL",
    "CREATE INDEX context_type ON context (project_id, type, created_at, id, run_id, superseded_by)",
    "CREATE INDEX context_loops ON context (run_id, agent_id, created_at, id) WHERE type IN (2, 5, 6)",
    """
    CREATE INDEX context_session ON context (session_id, created_at, id)
    WHERE session_id IS NOT NULL AND type IN (2, 5, 6)
    """,
)

# answer_by: when the sender needs an answer
_ANSWERS = ("ALTER TABLE agent_messages ADD COLUMN answer_by BIGINT",)

_WORDS_OF_PERSONS = (
    # stated_by: the person whose words a rule is; for_person: the only person whose sessions a preference binds
    "ALTER TABLE constraints ADD COLUMN stated_by BIGINT REFERENCES agents (id)",
    "ALTER TABLE constraints ADD COLUMN unconfirmed SMALLINT NOT NULL DEFAULT 0 CHECK (unconfirmed IN (0, 1))",
    "ALTER TABLE constraints ADD COLUMN for_person BIGINT REFERENCES agents (id)",
    "CREATE INDEX constraints_of_persons ON constraints (project_id) WHERE unconfirmed = 1 OR for_person IS NOT NULL",
    # heard: a JSON list of times and rules; see satchel.keep.sessions.updates
    "ALTER TABLE sessions ADD COLUMN heard TEXT",
    "ALTER TABLE sessions ADD COLUMN heard_at BIGINT",
    "CREATE INDEX sessions_heard ON sessions (heard_at) WHERE heard_at IS NOT NULL",
)

_DOCUMENTS = (
    # texts of documents, such as AGENTS.md, that a person accepted or rejected. line: where it was last; clients: those
    # that load it by themselves, a space around each name, null for an edited text; kind, item_id and seq: what it
    # became, and that item's last change then; 0 for a rejected text
    """
    CREATE TABLE document_texts (
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        path TEXT NOT NULL,
        digest BLOB NOT NULL,
        line BIGINT NOT NULL,
        clients TEXT,
        kind SMALLINT NOT NULL,
        item_id BIGINT NOT NULL,
        seq BIGINT NOT NULL,
        agent_id BIGINT REFERENCES agents (id) ON DELETE SET NULL,
        created_at BIGINT NOT NULL,
        PRIMARY KEY (project_id, path, digest)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX document_texts_item ON document_texts (kind, item_id) WHERE item_id <> 0",
)

_SESSIONS = (
    # session_id: the session that wrote it; null without one
    *(
        f"ALTER TABLE {table} ADD COLUMN session_id BIGINT"
        for table in ("agent_messages", "decisions", "decision_history")
    ),
    # need: what a person's command was started for
    """
    CREATE TABLE notified (
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        need TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        PRIMARY KEY (project_id, need)
    ) WITHOUT ROWID
    """,
    # refusals, ends and extensions of claims, and progress: what a timeline draws, see satchel.brief.room.where
    "CREATE INDEX events_drawn ON events (project_id, created_at) WHERE kind IN (2, 3, 4, 17, 20)",
)

_TURNS = (
    # when the last turn of its agent ended, as a hook of its client told; seen later, it is at work on the next one
    "ALTER TABLE sessions ADD COLUMN turn_ended_at BIGINT",
    # a loop's attempts are looked up by author, task and loop
    "DROP INDEX context_loops",
    """
    CREATE INDEX context_loops ON context (agent_id, task_id, loop_id, created_at, id, type, run_id)
    WHERE type IN (2, 5, 6)
    """,
)

_PARTS = (
    # The stored contents that a turn's prompt is made of, in their order, n counting the runs of consecutive ids, and
    # then its images and PDF. One that is gone makes the prompt unknown: a new thread begins.
    """
    CREATE TABLE conversation_parts (
        turn_id BIGINT NOT NULL REFERENCES conversation_turns (id) ON DELETE CASCADE,
        n INTEGER NOT NULL,
        first_blob BIGINT NOT NULL,
        last_blob BIGINT NOT NULL,
        PRIMARY KEY (turn_id, n)
    ) WITHOUT ROWID
    """,
)

_FILES = """
    SELECT d.conversation_id, d.path || f.name AS path, f.size, f.mtime_ns, f.digest, f.tokens, f.first_turn, f.overflow
    FROM conversation_folders d JOIN conversation_files f ON f.folder_id = d.id
"""

_FILE_STATES = (
    # The files of a conversation are numbered from 0 in the order of these lists, each a JSON array that is compressed,
    # unless this step wrote it: names take most of what files take, and hardly differ.
    """
    CREATE TABLE conversation_paths (
        conversation_id BIGINT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        first INTEGER NOT NULL,
        paths BLOB NOT NULL,
        PRIMARY KEY (conversation_id, first)
    ) WITHOUT ROWID
    """,
    # The columns are those of conversation_files, see schema.sql.
    """
    CREATE TABLE conversation_file_states (
        conversation_id BIGINT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        n INTEGER NOT NULL,
        size BIGINT NOT NULL,
        mtime_ns BIGINT,
        digest BLOB,
        tokens BIGINT NOT NULL,
        first_turn INTEGER NOT NULL,
        overflow SMALLINT CHECK (overflow BETWEEN 1 AND 3),
        PRIMARY KEY (conversation_id, n)
    ) WITHOUT ROWID
    """,
    f"""
    INSERT INTO conversation_paths (conversation_id, first, paths)
    SELECT conversation_id, 0, CAST(json_group_array(path) AS BLOB)
    FROM ({_FILES} ORDER BY 1, 2) AS ordered GROUP BY conversation_id
    """,
    f"""
    INSERT INTO conversation_file_states
        (conversation_id, n, size, mtime_ns, digest, tokens, first_turn, overflow)
    SELECT conversation_id, row_number() OVER (PARTITION BY conversation_id ORDER BY path) - 1,
        size, mtime_ns, digest, tokens, first_turn, overflow
    FROM ({_FILES}) AS files
    """,
    "DROP INDEX conversation_folders_of",
    "DROP TABLE conversation_files",
    "DROP TABLE conversation_folders",
)

# The first makes a new store, at :data:`BASE_VERSION`; each of the others brings a store to the next version.
MIGRATIONS: tuple[Migration, ...] = (
    Migration("the tables of 0.2.0", _read_statements()),
    # 0.2.0 would record bands of 64 bits, which nobody looks for
    Migration("fewer indexes, and bands of 32 bits", _SMALLER, min_writer=28),
    Migration("paths of rules and decisions, which folders among scopes become", _PATHS, min_writer=28),
    Migration("metadata, days of use, and claims that are over", _DAYS, min_writer=28),
    # 0.2.0 could not read a bug
    Migration(
        "texts of documents, words of persons, bugs, and messages that need an answer",
        (*_DOCUMENTS, *_WORDS_OF_PERSONS, *_BUGS, *_ANSWERS),
        min_reader=28,
        min_writer=28,
    ),
    Migration("sessions of messages and decisions, and claims on a timeline", _SESSIONS, min_writer=28),
    Migration("ends of turns, and attempts by their author", _TURNS, min_writer=28),
    Migration("prompts made of stored contents", _PARTS, min_writer=28),
    Migration("compressed paths of the files of conversations", _FILE_STATES, min_writer=28),
)

# The version this program brings a store to.
SCHEMA_VERSION = BASE_VERSION + len(MIGRATIONS) - 1


def steps(version: int, target: int) -> list[tuple[int, Migration]]:
    """Return the migrations between two versions (0 is a new store), each with the version it leads to."""
    return [(number, step) for number, step in enumerate(MIGRATIONS, BASE_VERSION) if version < number <= target]


def records(number: int, step: Migration, now: int, uid: bytes | None = None) -> list[tuple[str, dict[str, object]]]:
    """Return the statements that record a migration, with their parameters; the first one makes the store's row."""
    least: dict[str, object] = {"reader": step.min_reader, "writer": step.min_writer}
    new = (
        "INSERT INTO store (id, uid, min_reader, min_writer, created_at) VALUES (1, :uid, :reader, :writer, :now)",
        {**least, "uid": uid or os.urandom(16), "now": now},
    )
    return [
        *([new] if number == BASE_VERSION else ()),
        (
            "INSERT INTO migrations (version, name, program, applied_at) VALUES (:number, :name, :program, :now)",
            {"number": number, "name": step.name, "program": __version__, "now": now},
        ),
        ("UPDATE store SET min_reader = :reader WHERE min_reader < :reader", least),
        ("UPDATE store SET min_writer = :writer WHERE min_writer < :writer", least),
    ]
