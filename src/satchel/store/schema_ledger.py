"""The tables of the ledger: names, decisions, constraints, messages, files, and views for people."""

from __future__ import annotations

from satchel.base.vocabulary import CATEGORIES, LAYERS, TAGS

_NAMES = """
    CREATE TABLE {table} (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid BLOB NOT NULL,
        seq BIGINT NOT NULL,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        folded TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        UNIQUE (project_id, folded)
    )
"""


def _seed(table: str, names: tuple[str, ...]) -> str:
    listed = ", ".join(f"({place}, '{name}')" for place, name in enumerate(names))
    return f"""
        INSERT INTO {table} (uid, seq, project_id, name, folded, created_at)
        SELECT randomblob(16), 0, p.id, seeds.column2, seeds.column2, p.created_at
        FROM projects p CROSS JOIN (VALUES {listed}) AS seeds ORDER BY p.id, seeds.column1
    """


_TABLES = (
    "ALTER TABLE agents ADD COLUMN has_acted SMALLINT NOT NULL DEFAULT 1 CHECK (has_acted IN (0, 1))",
    "ALTER TABLE documents ADD COLUMN expires_at BIGINT",
    "CREATE INDEX documents_expiring ON documents (expires_at) WHERE expires_at IS NOT NULL",
    *(_NAMES.format(table=table) for table in ("layers", "tags", "scopes", "categories")),
    _seed("layers", LAYERS),
    _seed("tags", TAGS),
    _seed("categories", CATEGORIES),
    """
    CREATE TABLE files (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid BLOB NOT NULL,
        seq BIGINT NOT NULL,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        path TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        UNIQUE (project_id, path)
    )
    """,
    """
    CREATE TABLE decisions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid BLOB NOT NULL,
        seq BIGINT NOT NULL,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        key TEXT NOT NULL,
        value_text TEXT,
        value_number DOUBLE PRECISION,
        agent_id BIGINT REFERENCES agents (id) ON DELETE SET NULL,
        layer_id BIGINT REFERENCES layers (id) ON DELETE SET NULL,
        version TEXT NOT NULL,
        revision INTEGER NOT NULL CHECK (revision >= 1),
        status SMALLINT NOT NULL CHECK (status BETWEEN 1 AND 3),
        rationale TEXT,
        created_at BIGINT NOT NULL,
        updated_at BIGINT NOT NULL,
        UNIQUE (project_id, key),
        CHECK ((value_text IS NULL) <> (value_number IS NULL))
    )
    """,
    "CREATE INDEX decisions_order ON decisions (project_id, status, created_at, id)",
    "CREATE INDEX decisions_layer ON decisions (project_id, layer_id, status, created_at, id)",
    "CREATE INDEX decisions_updated ON decisions (project_id, updated_at)",
    "CREATE INDEX decisions_seq ON decisions (project_id, seq)",
    "CREATE INDEX decisions_number ON decisions (project_id, value_number) WHERE value_number IS NOT NULL",
    # the order of a list stands in the key, so that a page by tag is one range, whatever the tag holds
    """
    CREATE TABLE decision_tags (
        tag_id BIGINT NOT NULL REFERENCES tags (id) ON DELETE CASCADE,
        status SMALLINT NOT NULL,
        created_at BIGINT NOT NULL,
        decision_id BIGINT NOT NULL REFERENCES decisions (id) ON DELETE CASCADE,
        PRIMARY KEY (tag_id, status, created_at, decision_id)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX decision_tags_of ON decision_tags (decision_id)",
    """
    CREATE TABLE decision_scopes (
        scope_id BIGINT NOT NULL REFERENCES scopes (id) ON DELETE CASCADE,
        status SMALLINT NOT NULL,
        created_at BIGINT NOT NULL,
        decision_id BIGINT NOT NULL REFERENCES decisions (id) ON DELETE CASCADE,
        PRIMARY KEY (scope_id, status, created_at, decision_id)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX decision_scopes_of ON decision_scopes (decision_id)",
    # how many decisions a layer (1), tag (2) or scope (3) has, and the project (0): a count of 30,000 costs a
    # millisecond each time it is read, this a few microseconds when it is written
    """
    CREATE TABLE decision_counts (
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        dimension SMALLINT NOT NULL CHECK (dimension BETWEEN 0 AND 3),
        name_id BIGINT NOT NULL,
        status SMALLINT NOT NULL CHECK (status BETWEEN 1 AND 3),
        decisions BIGINT NOT NULL,
        PRIMARY KEY (project_id, dimension, name_id, status)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE decision_history (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid BLOB NOT NULL,
        seq BIGINT NOT NULL,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        decision_id BIGINT NOT NULL REFERENCES decisions (id) ON DELETE CASCADE,
        revision INTEGER NOT NULL,
        value_text TEXT,
        value_number DOUBLE PRECISION,
        version TEXT NOT NULL,
        status SMALLINT NOT NULL CHECK (status BETWEEN 1 AND 3),
        layer_id BIGINT REFERENCES layers (id) ON DELETE SET NULL,
        agent_id BIGINT REFERENCES agents (id) ON DELETE SET NULL,
        rationale TEXT,
        tags TEXT NOT NULL,
        scopes TEXT NOT NULL,
        set_at BIGINT NOT NULL,
        created_at BIGINT NOT NULL,
        UNIQUE (decision_id, revision),
        CHECK ((value_text IS NULL) <> (value_number IS NULL))
    )
    """,
    # the MinHash bands that near-duplicates share: see satchel.find.likeness
    """
    CREATE TABLE likenesses (
        mark BIGINT NOT NULL,
        kind SMALLINT NOT NULL,
        item_id BIGINT NOT NULL,
        PRIMARY KEY (mark, kind, item_id)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE constraints (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid BLOB NOT NULL,
        seq BIGINT NOT NULL,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        category_id BIGINT NOT NULL REFERENCES categories (id) ON DELETE CASCADE,
        text TEXT NOT NULL,
        priority SMALLINT NOT NULL CHECK (priority BETWEEN 1 AND 4),
        layer_id BIGINT REFERENCES layers (id) ON DELETE SET NULL,
        created_by BIGINT REFERENCES agents (id) ON DELETE SET NULL,
        active SMALLINT NOT NULL DEFAULT 1 CHECK (active IN (0, 1)),
        reason TEXT,
        deactivated_by BIGINT REFERENCES agents (id) ON DELETE SET NULL,
        deactivated_at BIGINT,
        created_at BIGINT NOT NULL
    )
    """,
    "CREATE INDEX constraints_order ON constraints (project_id, active, priority, created_at, id)",
    "CREATE INDEX constraints_layer ON constraints (project_id, layer_id, active)",
    "CREATE INDEX constraints_seq ON constraints (project_id, seq)",
    """
    CREATE TABLE constraint_tags (
        tag_id BIGINT NOT NULL REFERENCES tags (id) ON DELETE CASCADE,
        constraint_id BIGINT NOT NULL REFERENCES constraints (id) ON DELETE CASCADE,
        PRIMARY KEY (tag_id, constraint_id)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX constraint_tags_of ON constraint_tags (constraint_id)",
    # expires_at: when it is gone for everyone; read_expires_at: when it is gone for those who have read it
    """
    CREATE TABLE agent_messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid BLOB NOT NULL,
        seq BIGINT NOT NULL,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        from_agent_id BIGINT REFERENCES agents (id) ON DELETE SET NULL,
        to_agent_id BIGINT REFERENCES agents (id) ON DELETE CASCADE,
        type SMALLINT NOT NULL CHECK (type BETWEEN 1 AND 4),
        priority SMALLINT NOT NULL CHECK (priority BETWEEN 1 AND 4),
        message TEXT NOT NULL,
        payload TEXT,
        reply_to BIGINT REFERENCES agent_messages (id) ON DELETE SET NULL,
        thread_id BIGINT,
        expires_at BIGINT NOT NULL,
        read_expires_at BIGINT NOT NULL,
        created_at BIGINT NOT NULL
    )
    """,
    # a list and its count under any filter are read from this index alone
    """
    CREATE INDEX agent_messages_inbox ON agent_messages
        (project_id, to_agent_id, created_at, id, expires_at, from_agent_id, type, priority)
    """,
    # the unfiltered counts read half as much in one of their own
    "CREATE INDEX agent_messages_alive ON agent_messages (project_id, to_agent_id, expires_at)",
    """
    CREATE INDEX agent_messages_critical ON agent_messages (project_id, to_agent_id, expires_at, from_agent_id)
    WHERE priority = 4
    """,
    """
    CREATE INDEX agent_messages_from ON agent_messages
        (project_id, from_agent_id, to_agent_id, created_at, id, expires_at)
    """,
    "CREATE INDEX agent_messages_seq ON agent_messages (project_id, to_agent_id, seq, expires_at, from_agent_id)",
    "CREATE INDEX agent_messages_thread ON agent_messages (thread_id) WHERE thread_id IS NOT NULL",
    "CREATE INDEX agent_messages_reply ON agent_messages (reply_to) WHERE reply_to IS NOT NULL",
    # expires_at is the message's own; gone_at says when a message to all is gone for this reader, and is null for one
    # to the reader alone. Both stand here so that counting what was read needs no look at the messages
    """
    CREATE TABLE message_reads (
        agent_id BIGINT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
        message_id BIGINT NOT NULL REFERENCES agent_messages (id) ON DELETE CASCADE,
        read_at BIGINT NOT NULL,
        expires_at BIGINT NOT NULL,
        gone_at BIGINT,
        PRIMARY KEY (agent_id, message_id)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX message_reads_alive ON message_reads (agent_id, expires_at, gone_at)",
    "CREATE INDEX message_reads_of ON message_reads (message_id)",
    """
    CREATE TABLE file_changes (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid BLOB NOT NULL,
        seq BIGINT NOT NULL,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        file_id BIGINT NOT NULL REFERENCES files (id) ON DELETE CASCADE,
        agent_id BIGINT REFERENCES agents (id) ON DELETE SET NULL,
        worktree TEXT,
        change SMALLINT NOT NULL CHECK (change BETWEEN 1 AND 3),
        layer_id BIGINT REFERENCES layers (id) ON DELETE SET NULL,
        description TEXT,
        expires_at BIGINT NOT NULL,
        created_at BIGINT NOT NULL
    )
    """,
    # what a list may be filtered by stands in the index of its order, so that its total is counted from that alone
    """
    CREATE INDEX file_changes_order
    ON file_changes (project_id, created_at, id, expires_at, file_id, agent_id, change)
    """,
    "CREATE INDEX file_changes_file ON file_changes (file_id, created_at, id)",
    "CREATE INDEX file_changes_layer ON file_changes (project_id, layer_id, created_at, id, expires_at)",
    "CREATE INDEX file_changes_seq ON file_changes (project_id, seq)",
    # worktree is '' for the main one: null would make two claims of one path distinct
    """
    CREATE TABLE file_claims (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid BLOB NOT NULL,
        seq BIGINT NOT NULL,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        path TEXT NOT NULL,
        agent_id BIGINT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
        worktree TEXT NOT NULL DEFAULT '',
        exclusive SMALLINT NOT NULL CHECK (exclusive IN (0, 1)),
        reason TEXT,
        expires_at BIGINT NOT NULL,
        created_at BIGINT NOT NULL,
        UNIQUE (project_id, path, agent_id, worktree)
    )
    """,
    "CREATE INDEX file_claims_agent ON file_claims (agent_id)",
    "CREATE INDEX file_claims_expiring ON file_claims (expires_at)",
)

_NOW = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
_HOUR_AGO = f"({_NOW} - 3600000)"
_STATUS = "CASE d.status WHEN 1 THEN 'active' WHEN 2 THEN 'deprecated' ELSE 'draft' END"
_PRIORITY = "CASE {column} WHEN 1 THEN 'low' WHEN 2 THEN 'medium' WHEN 3 THEN 'high' ELSE 'critical' END"


def _joined(junction: str, table: str, column: str, item: str, owner: str) -> str:
    return f"""
        (SELECT group_concat(name, ', ') FROM (
            SELECT n.name FROM {junction} j JOIN {table} n ON n.id = j.{column}
            WHERE j.{item} = {owner} ORDER BY n.folded))
    """


def _in_layer(table: str, condition: str, layer: str) -> str:
    return f"(SELECT count(*) FROM {table} x WHERE x.project_id = p.id AND x.layer_id {layer} AND {condition})"


def _layer_rows(layer: str) -> str:
    return f"""
        {_in_layer("decisions", "x.status = 1", layer)} AS active_decisions,
        {_in_layer("file_changes", f"x.created_at >= {_HOUR_AGO} AND x.expires_at > {_NOW}", layer)}
            AS recent_file_changes,
        {_in_layer("constraints", "x.active = 1", layer)} AS active_constraints
    """


_DECISION_COLUMNS = f"""
    p.name AS project, d.id, d.key, COALESCE(d.value_text, d.value_number) AS value, {_STATUS} AS status, d.version,
    d.revision, l.name AS layer, a.name AS agent,
    {_joined("decision_tags", "tags", "tag_id", "decision_id", "d.id")} AS tags,
    {_joined("decision_scopes", "scopes", "scope_id", "decision_id", "d.id")} AS scopes,
    d.rationale, d.created_at, d.updated_at
    FROM decisions d JOIN projects p ON p.id = d.project_id
    LEFT JOIN layers l ON l.id = d.layer_id LEFT JOIN agents a ON a.id = d.agent_id
"""

_VIEWS = (
    f"CREATE VIEW tagged_decisions AS SELECT {_DECISION_COLUMNS}",
    f"""
    CREATE VIEW active_context AS SELECT {_DECISION_COLUMNS}
    WHERE d.status = 1 AND d.updated_at >= {_HOUR_AGO}
    """,
    f"""
    CREATE VIEW layer_summary AS
    SELECT p.name AS project, l.name AS layer, {_layer_rows("= l.id")}
    FROM projects p JOIN layers l ON l.project_id = p.id
    UNION ALL
    SELECT p.name, NULL, {_layer_rows("IS NULL")}
    FROM projects p
    """,
    f"""
    CREATE VIEW unread_messages_by_priority AS
    SELECT p.name AS project, a.name AS recipient, {_PRIORITY.format(column="m.priority")} AS priority,
        count(*) AS messages
    FROM agents a JOIN projects p ON p.id = a.project_id
    JOIN agent_messages m ON m.project_id = a.project_id
        AND (m.to_agent_id = a.id OR (m.to_agent_id IS NULL AND m.from_agent_id IS NOT a.id))
    WHERE m.expires_at > {_NOW}
        AND NOT EXISTS (SELECT 1 FROM message_reads r WHERE r.agent_id = a.id AND r.message_id = m.id)
    GROUP BY p.name, a.id, m.priority
    """,
    f"""
    CREATE VIEW recent_file_changes AS
    SELECT p.name AS project, c.id, f.path AS file,
        CASE c.change WHEN 1 THEN 'created' WHEN 2 THEN 'modified' ELSE 'deleted' END AS change,
        a.name AS agent, c.worktree, l.name AS layer, c.description, c.created_at
    FROM file_changes c JOIN files f ON f.id = c.file_id JOIN projects p ON p.id = c.project_id
    LEFT JOIN agents a ON a.id = c.agent_id LEFT JOIN layers l ON l.id = c.layer_id
    WHERE c.created_at >= {_HOUR_AGO} AND c.expires_at > {_NOW}
    """,
    f"""
    CREATE VIEW tagged_constraints AS
    SELECT p.name AS project, c.id, g.name AS category, c.text, {_PRIORITY.format(column="c.priority")} AS priority,
        l.name AS layer, a.name AS created_by,
        {_joined("constraint_tags", "tags", "tag_id", "constraint_id", "c.id")} AS tags, c.created_at
    FROM constraints c JOIN projects p ON p.id = c.project_id JOIN categories g ON g.id = c.category_id
    LEFT JOIN layers l ON l.id = c.layer_id LEFT JOIN agents a ON a.id = c.created_by
    WHERE c.active = 1
    """,
)

LEDGER = (*_TABLES, *_VIEWS)
"""The statements of the migration, in order."""
