-- The tables of a store at version 27, which Satchel 0.2.0 wrote; later changes are migrations in schema.py.
--
-- A statement ends with ";" at the end of a line, and a comment has lines of its own. postgres/schema.py translates the
-- statements for PostgreSQL.

CREATE TABLE store (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    uid BLOB NOT NULL,
    min_reader INTEGER NOT NULL,
    min_writer INTEGER NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE migrations (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    program TEXT NOT NULL,
    applied_at BIGINT NOT NULL
);

CREATE TABLE projects (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid BLOB NOT NULL,
    name TEXT NOT NULL UNIQUE,
    root TEXT,
    seq BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    documents BIGINT NOT NULL DEFAULT 0,
    events_swept BIGINT NOT NULL DEFAULT 0
);

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
);
CREATE INDEX runs_active ON runs (project_id) WHERE status = 1;

CREATE TABLE agents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid BLOB NOT NULL,
    seq BIGINT NOT NULL,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    folded TEXT NOT NULL,
    role TEXT,
    created_at BIGINT NOT NULL,
    has_acted SMALLINT NOT NULL DEFAULT 1 CHECK (has_acted IN (0, 1)),
    UNIQUE (project_id, folded)
);

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
    created_at BIGINT NOT NULL,
    session_id BIGINT,
    last_line INTEGER,
    said BIGINT,
    seen INTEGER
);
CREATE INDEX context_seq ON context (project_id, seq);
CREATE INDEX context_superseded ON context (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE UNIQUE INDEX context_one_live_analysis ON context (run_id) WHERE type = 7 AND superseded_by IS NULL;
CREATE INDEX context_time ON context (project_id, created_at, id, run_id, superseded_by);

-- superseded_by is the last column of each index, so that live entries are counted from the index alone. This one
-- begins with the run: SQLite then prefers the index of a filter, where there is one.
CREATE INDEX context_run ON context (run_id, created_at, id, project_id, superseded_by);
CREATE INDEX context_type ON context (project_id, type, created_at, id, run_id, superseded_by);
CREATE INDEX context_task
ON context (project_id, task_id, created_at, id, run_id, superseded_by) WHERE task_id IS NOT NULL;
CREATE INDEX context_loop
ON context (project_id, loop_id, created_at, id, run_id, superseded_by) WHERE loop_id IS NOT NULL;
CREATE INDEX context_file ON context (project_id, file, created_at, id, run_id, superseded_by) WHERE file IS NOT NULL;

-- A briefing reads what an author did in a loop. Entries of other types are not in this index.
CREATE INDEX context_loops ON context (run_id, agent_id, created_at, id) WHERE type IN (2, 5, 6);

-- The attempts of a session; its notes are not in this index.
CREATE INDEX context_session ON context (session_id, created_at, id) WHERE session_id IS NOT NULL AND type IN (2, 5, 6);
CREATE INDEX context_said ON context (project_id, said) WHERE said IS NOT NULL;
CREATE INDEX context_uid ON context (uid);
CREATE INDEX context_seen ON context (project_id, seen, id) WHERE seen IS NOT NULL;

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
    expires_at BIGINT,
    UNIQUE (kind, item_id)
);
CREATE INDEX documents_segment ON documents (run_id, segment, id);
CREATE INDEX documents_not_live ON documents (project_id, run_id) WHERE status <> 1;
CREATE INDEX documents_expiring ON documents (project_id, expires_at) WHERE expires_at IS NOT NULL;

-- contentless_delete removes a text from the index without a copy of it. The tokenizers are SQLite's own, so that any
-- SQLite tool can open the file.
CREATE VIRTUAL TABLE documents_fts USING fts5 (
    text, parts, scope,
    content = '', contentless_delete = 1, tokenize = "porter unicode61 remove_diacritics 2"
);
INSERT INTO documents_fts (documents_fts, rank) VALUES ('automerge', 0);

-- One table each for layers, tags, scopes and categories.
CREATE TABLE NAMES (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid BLOB NOT NULL,
    seq BIGINT NOT NULL,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    folded TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (project_id, folded)
);

CREATE TABLE files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid BLOB NOT NULL,
    seq BIGINT NOT NULL,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (project_id, path)
);

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
);
CREATE INDEX decisions_order ON decisions (project_id, status, created_at, id);
CREATE INDEX decisions_layer ON decisions (project_id, layer_id, status, created_at, id);
CREATE INDEX decisions_updated ON decisions (project_id, updated_at);
CREATE INDEX decisions_seq ON decisions (project_id, seq);
CREATE INDEX decisions_number ON decisions (project_id, value_number) WHERE value_number IS NOT NULL;
CREATE INDEX decisions_uid ON decisions (uid);

-- The key has the order of a list, so that a page of one tag is one range of it.
CREATE TABLE decision_tags (
    tag_id BIGINT NOT NULL REFERENCES tags (id) ON DELETE CASCADE,
    status SMALLINT NOT NULL,
    created_at BIGINT NOT NULL,
    decision_id BIGINT NOT NULL REFERENCES decisions (id) ON DELETE CASCADE,
    PRIMARY KEY (tag_id, status, created_at, decision_id)
) WITHOUT ROWID;
CREATE INDEX decision_tags_of ON decision_tags (decision_id);

CREATE TABLE decision_scopes (
    scope_id BIGINT NOT NULL REFERENCES scopes (id) ON DELETE CASCADE,
    status SMALLINT NOT NULL,
    created_at BIGINT NOT NULL,
    decision_id BIGINT NOT NULL REFERENCES decisions (id) ON DELETE CASCADE,
    PRIMARY KEY (scope_id, status, created_at, decision_id)
) WITHOUT ROWID;
CREATE INDEX decision_scopes_of ON decision_scopes (decision_id);

-- The number of decisions of the project (dimension 0), a layer (1), a tag (2) or a scope (3): counting them at each
-- read takes longer.
CREATE TABLE decision_counts (
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    dimension SMALLINT NOT NULL CHECK (dimension BETWEEN 0 AND 3),
    name_id BIGINT NOT NULL,
    status SMALLINT NOT NULL CHECK (status BETWEEN 1 AND 3),
    decisions BIGINT NOT NULL,
    PRIMARY KEY (project_id, dimension, name_id, status)
) WITHOUT ROWID;

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
);

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
);
CREATE INDEX constraints_order ON constraints (project_id, active, priority, created_at, id);
CREATE INDEX constraints_layer ON constraints (project_id, layer_id, active);
CREATE INDEX constraints_seq ON constraints (project_id, seq);

CREATE TABLE constraint_tags (
    tag_id BIGINT NOT NULL REFERENCES tags (id) ON DELETE CASCADE,
    constraint_id BIGINT NOT NULL REFERENCES constraints (id) ON DELETE CASCADE,
    PRIMARY KEY (tag_id, constraint_id)
) WITHOUT ROWID;
CREATE INDEX constraint_tags_of ON constraint_tags (constraint_id);

-- expires_at: when it expires for everyone; read_expires_at: when it expires for those who have read it.
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
    created_at BIGINT NOT NULL,
    first_to_id BIGINT
);

-- A list and its count under any filter are read from this index alone.
CREATE INDEX agent_messages_inbox
ON agent_messages (project_id, to_agent_id, created_at, id, expires_at, from_agent_id, type, priority);

-- Smaller than the one above, for counts without a filter.
CREATE INDEX agent_messages_alive ON agent_messages (project_id, to_agent_id, expires_at);
CREATE INDEX agent_messages_critical
ON agent_messages (project_id, to_agent_id, expires_at, from_agent_id) WHERE priority = 4;
CREATE INDEX agent_messages_from ON agent_messages (project_id, from_agent_id, to_agent_id, created_at, id, expires_at);
CREATE INDEX agent_messages_seq ON agent_messages (project_id, to_agent_id, seq, expires_at, from_agent_id);
CREATE INDEX agent_messages_thread ON agent_messages (thread_id) WHERE thread_id IS NOT NULL;
CREATE INDEX agent_messages_reply ON agent_messages (reply_to) WHERE reply_to IS NOT NULL;
CREATE INDEX agent_messages_uid ON agent_messages (uid);

-- expires_at is a copy of the message's; gone_at is when a message to all expires for this reader, null for a message
-- to this reader alone. With both, read messages are counted without reading agent_messages.
CREATE TABLE message_reads (
    agent_id BIGINT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    message_id BIGINT NOT NULL REFERENCES agent_messages (id) ON DELETE CASCADE,
    read_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    gone_at BIGINT,
    PRIMARY KEY (agent_id, message_id)
) WITHOUT ROWID;
CREATE INDEX message_reads_alive ON message_reads (agent_id, expires_at, gone_at);
CREATE INDEX message_reads_of ON message_reads (message_id);

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
    created_at BIGINT NOT NULL,
    session_id BIGINT
);

-- Has every column that a list can be filtered by, so that its total is counted from this index alone.
CREATE INDEX file_changes_order ON file_changes (project_id, created_at, id, expires_at, file_id, agent_id, change);
CREATE INDEX file_changes_file ON file_changes (file_id, created_at, id);
CREATE INDEX file_changes_layer ON file_changes (project_id, layer_id, created_at, id, expires_at);
CREATE INDEX file_changes_seq ON file_changes (project_id, seq);
CREATE INDEX file_changes_uid ON file_changes (uid);
CREATE INDEX file_changes_session ON file_changes (session_id, created_at) WHERE session_id IS NOT NULL;

-- task_id null: for the whole run. A package is either a file of the project or a stored text.
CREATE TABLE context_packages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid BLOB NOT NULL,
    seq BIGINT NOT NULL,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    run_id BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    task_id TEXT,
    type SMALLINT NOT NULL CHECK (type BETWEEN 1 AND 5),
    priority SMALLINT NOT NULL CHECK (priority BETWEEN 1 AND 4),
    summary TEXT NOT NULL,
    content_path TEXT,
    content TEXT,
    producer_id BIGINT REFERENCES agents (id) ON DELETE SET NULL,
    superseded_by BIGINT REFERENCES context_packages (id) ON DELETE SET NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    CHECK ((content_path IS NULL) <> (content IS NULL))
);
CREATE INDEX context_packages_seq ON context_packages (project_id, seq);
CREATE INDEX context_packages_superseded ON context_packages (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX context_packages_order ON context_packages (project_id, superseded_by, priority, created_at, id, run_id);

-- The order in which a briefing reads packages.
CREATE INDEX context_packages_ranked
ON context_packages (project_id, superseded_by, priority, updated_at, id, run_id, task_id);
CREATE INDEX context_packages_task ON context_packages (project_id, task_id, run_id) WHERE task_id IS NOT NULL;
CREATE INDEX context_packages_uid ON context_packages (uid);

CREATE TABLE package_consumers (
    package_id BIGINT NOT NULL REFERENCES context_packages (id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    PRIMARY KEY (package_id, role)
) WITHOUT ROWID;

-- The hash alone is not unique: two projects may have the same error.
CREATE TABLE error_patterns (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid BLOB NOT NULL,
    seq BIGINT NOT NULL,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    pattern_hash TEXT NOT NULL,
    error_type TEXT NOT NULL,
    message TEXT NOT NULL,
    example TEXT NOT NULL,
    lang TEXT,
    occurrences BIGINT NOT NULL CHECK (occurrences >= 1),
    ttl_days INTEGER NOT NULL CHECK (ttl_days > 0),
    last_seen BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    signed_by SMALLINT NOT NULL DEFAULT 1,
    UNIQUE (project_id, pattern_hash)
);
CREATE INDEX error_patterns_order ON error_patterns (project_id, created_at, id, expires_at);
CREATE INDEX error_patterns_seq ON error_patterns (project_id, seq);
CREATE INDEX error_patterns_seen ON error_patterns (project_id, last_seen, id, expires_at);
CREATE INDEX error_patterns_signed ON error_patterns (project_id, signed_by, error_type, id);

-- confidence in tenths, as floats do not add up: .7 - .2 - .2 is .29999.
CREATE TABLE error_solutions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid BLOB NOT NULL,
    seq BIGINT NOT NULL,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    pattern_id BIGINT NOT NULL REFERENCES error_patterns (id) ON DELETE CASCADE,
    solution TEXT NOT NULL,
    confidence SMALLINT NOT NULL CHECK (confidence BETWEEN 1 AND 10),
    confirmed BIGINT NOT NULL DEFAULT 0,
    failed BIGINT NOT NULL DEFAULT 0,
    state SMALLINT NOT NULL DEFAULT 1 CHECK (state BETWEEN 1 AND 3),
    agent_id BIGINT REFERENCES agents (id) ON DELETE SET NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX error_solutions_pattern ON error_solutions (pattern_id, confidence);
CREATE INDEX error_solutions_seq ON error_solutions (project_id, seq);
CREATE INDEX error_solutions_confirmed ON error_solutions (project_id, confirmed, id) WHERE confirmed > 0;

CREATE TABLE strategies (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid BLOB NOT NULL,
    seq BIGINT NOT NULL,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    topic TEXT NOT NULL,
    insight TEXT NOT NULL,
    helped BIGINT NOT NULL DEFAULT 0,
    not_helped BIGINT NOT NULL DEFAULT 0,
    lang TEXT,
    framework TEXT,
    agent_id BIGINT REFERENCES agents (id) ON DELETE SET NULL,
    last_seen BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    superseded_by BIGINT REFERENCES strategies (id) ON DELETE SET NULL
);
CREATE INDEX strategies_order ON strategies (project_id, created_at, id);
CREATE INDEX strategies_topic ON strategies (project_id, topic);
CREATE INDEX strategies_seq ON strategies (project_id, seq);
CREATE INDEX strategies_helpful ON strategies (project_id, helped - not_helped, last_seen, id);

-- A row without turns is a first call that is running, or one that crashed. lease_token names the call that holds the
-- conversation; thread_start is the turn that the provider's thread begins with; expires_at is null until the first
-- turn is answered.
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
);
CREATE INDEX conversations_seq ON conversations (project_id, seq);
CREATE INDEX conversations_expiry ON conversations (project_id, expires_at, id);

-- prompt is compressed: it has the files of the turn and the question; the question is also in its own column. It is
-- empty where the provider keeps the thread. A zero byte stands for each content in conversation_parts.
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
);

-- Folders have a table of their own, so that a thousand files take less than 100 KB.
CREATE TABLE conversation_folders (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation_id BIGINT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    path TEXT NOT NULL
);
CREATE INDEX conversation_folders_of ON conversation_folders (conversation_id);

-- mtime_ns null: unknown. digest null: the file was removed. overflow null: the file is in the prompt; else the reason
-- why it is not: 1 no room beside others, 2 too large alone, 3 others had overflowed before.
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
) WITHOUT ROWID;

-- size comes before bytes, so that sizes are read without the content.
CREATE TABLE blobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    digest BLOB NOT NULL,
    last_used BIGINT NOT NULL,
    size BIGINT NOT NULL,
    bytes BLOB NOT NULL,
    UNIQUE (project_id, digest)
);
CREATE INDEX blobs_used ON blobs (project_id, last_used, id, size);

-- The uid is part of the name at the provider, so that a store whose id was never recorded can be found there.
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
);
CREATE INDEX vector_stores_due ON vector_stores (project_id, provider, expires_at);
CREATE INDEX vector_stores_of ON vector_stores (conversation_id) WHERE conversation_id IS NOT NULL;

-- An error in a loop stays here until the loop succeeds; solution_id is the fix that was tried.
CREATE TABLE error_reports (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    pattern_id BIGINT NOT NULL REFERENCES error_patterns (id) ON DELETE CASCADE,
    run_id BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    task_id TEXT,
    loop_id TEXT,
    agent_id BIGINT REFERENCES agents (id) ON DELETE SET NULL,
    solution_id BIGINT REFERENCES error_solutions (id) ON DELETE SET NULL,
    created_at BIGINT NOT NULL,
    session_id BIGINT
);
CREATE INDEX error_reports_loop ON error_reports (run_id, loop_id, created_at, id);
CREATE INDEX error_reports_agent ON error_reports (run_id, agent_id, created_at, id);
CREATE INDEX error_reports_solution ON error_reports (solution_id) WHERE solution_id IS NOT NULL;
CREATE INDEX error_reports_pattern ON error_reports (pattern_id, run_id, agent_id, loop_id, task_id);

-- An agent's confirmations of a fix count once.
CREATE TABLE solution_confirmations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    solution_id BIGINT NOT NULL REFERENCES error_solutions (id) ON DELETE CASCADE,
    agent_id BIGINT REFERENCES agents (id) ON DELETE CASCADE,
    helped SMALLINT NOT NULL CHECK (helped BETWEEN 0 AND 1),
    session_id BIGINT
);
CREATE UNIQUE INDEX solution_confirmations_once
ON solution_confirmations (
    solution_id, COALESCE(session_id, 0), (CASE WHEN session_id IS NULL THEN COALESCE(agent_id, 0) ELSE 0 END), helped
);

-- agent_id: the agent of the session; is_chosen: that agent was chosen for it; unnamed_id: the agent of calls that name
-- none. process: the client's, server: that of our server in it, as base/processes.py names processes.
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid BLOB NOT NULL UNIQUE,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    client TEXT,
    version TEXT,
    agent_id BIGINT REFERENCES agents (id) ON DELETE SET NULL,
    is_chosen SMALLINT NOT NULL DEFAULT 0 CHECK (is_chosen IN (0, 1)),
    unnamed_id BIGINT REFERENCES agents (id) ON DELETE SET NULL,
    run_id BIGINT REFERENCES runs (id) ON DELETE SET NULL,
    task_id TEXT,
    predecessor_id BIGINT REFERENCES sessions (id) ON DELETE SET NULL,
    worktree TEXT NOT NULL DEFAULT '',
    branch TEXT,
    commit_id TEXT,
    machine TEXT,
    process BIGINT,
    process_started BIGINT,
    server BIGINT,
    server_started BIGINT,
    window BIGINT NOT NULL DEFAULT 1,
    seen_at BIGINT NOT NULL,
    ended_at BIGINT,
    created_at BIGINT NOT NULL,
    told_at BIGINT,
    nudged_at BIGINT,
    doing TEXT,
    doing_at BIGINT
);
CREATE INDEX sessions_seen ON sessions (project_id, seen_at);
CREATE INDEX sessions_process ON sessions (process, machine) WHERE process IS NOT NULL;
CREATE INDEX sessions_predecessor ON sessions (predecessor_id) WHERE predecessor_id IS NOT NULL;
CREATE INDEX sessions_agent ON sessions (agent_id) WHERE agent_id IS NOT NULL;
CREATE INDEX sessions_unnamed ON sessions (unnamed_id) WHERE unnamed_id IS NOT NULL;
CREATE INDEX sessions_run ON sessions (run_id) WHERE run_id IS NOT NULL;

-- The ids that a client has for a session: /clear changes the id, and the session stays the same.
CREATE TABLE session_hosts (
    host_id TEXT NOT NULL,
    session_id BIGINT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    client TEXT NOT NULL,
    PRIMARY KEY (host_id, session_id)
) WITHOUT ROWID;
CREATE INDEX session_hosts_session ON session_hosts (session_id);

-- One row for each agent that was briefed in a context window of a session; without a session, one for each iteration
-- of an agent at a task of a run. 0 and '' mean none, as nulls would be distinct in the key.
CREATE TABLE windows (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    session_id BIGINT NOT NULL,
    number BIGINT NOT NULL,
    run_id BIGINT REFERENCES runs (id) ON DELETE CASCADE,
    task_id TEXT NOT NULL,
    role TEXT NOT NULL,
    agent_id BIGINT NOT NULL,
    iteration BIGINT NOT NULL CHECK (iteration >= 0),
    seen_at BIGINT NOT NULL,
    tokens BIGINT NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX windows_key
ON windows (project_id, agent_id, session_id, COALESCE(run_id, 0), number, iteration, task_id, role);
CREATE INDEX windows_session ON windows (session_id, seen_at) WHERE session_id <> 0;
CREATE INDEX windows_run ON windows (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX windows_seen ON windows (project_id, seen_at, session_id, tokens) WHERE session_id <> 0;

-- '' and 0 mean no task and no agent, as nulls would be distinct in the key.
CREATE TABLE deliveries (
    window_id BIGINT NOT NULL REFERENCES windows (id) ON DELETE CASCADE,
    kind SMALLINT NOT NULL,
    item_id BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (window_id, kind, item_id)
) WITHOUT ROWID;

-- kind: see keep/events.py; item_kind: a number of find/kind.py; details: a small JSON object.
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    session_id BIGINT,
    agent_id BIGINT,
    kind SMALLINT NOT NULL,
    item_kind SMALLINT,
    item_id BIGINT,
    details TEXT,
    created_at BIGINT NOT NULL
);

-- When a session worked; file_changes_session is for the same list.
CREATE INDEX events_session ON events (session_id, created_at) WHERE session_id IS NOT NULL;

-- Failures of hooks, which are few among the events.
CREATE INDEX events_hooks ON events (project_id, created_at) WHERE kind = 10;
CREATE INDEX events_order ON events (project_id, seq);

-- worktree is '' for the main one, as null would make two claims of one path distinct.
CREATE TABLE file_claims (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid BLOB NOT NULL,
    seq BIGINT NOT NULL,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    agent_id BIGINT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    session_id BIGINT,
    worktree TEXT NOT NULL DEFAULT '',
    exclusive SMALLINT NOT NULL CHECK (exclusive IN (0, 1)),
    reason TEXT,
    expires_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    is_key SMALLINT NOT NULL DEFAULT 0 CHECK (is_key IN (0, 1)),
    automatic SMALLINT NOT NULL DEFAULT 0 CHECK (automatic IN (0, 1)),
    existed SMALLINT CHECK (existed IN (0, 1))
);
CREATE INDEX file_claims_agent ON file_claims (agent_id);
CREATE INDEX file_claims_session ON file_claims (session_id) WHERE session_id IS NOT NULL;
CREATE UNIQUE INDEX file_claims_holder
ON file_claims (
    project_id, path, worktree, is_key, COALESCE(session_id, 0), (CASE WHEN session_id IS NULL THEN agent_id ELSE 0 END)
);
CREATE INDEX file_claims_expiring ON file_claims (project_id, expires_at);

-- places: JSON, [path, worktree or "", whether it is a key] of each; process: as base/processes.py names it.
CREATE TABLE claim_waiters (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    agent_id BIGINT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    session_id BIGINT,
    places TEXT NOT NULL,
    exclusive SMALLINT NOT NULL CHECK (exclusive IN (0, 1)),
    machine TEXT,
    process BIGINT,
    process_started BIGINT,
    expires_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX claim_waiters_project ON claim_waiters (project_id, id);
CREATE INDEX claim_waiters_agent ON claim_waiters (agent_id);

-- agent: the name as written, since a refusal registers no agent; folded: the name as it is compared.
CREATE TABLE claim_refusals (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    session_id BIGINT,
    agent TEXT NOT NULL,
    folded TEXT NOT NULL,
    path TEXT NOT NULL,
    worktree TEXT NOT NULL DEFAULT '',
    is_key SMALLINT NOT NULL CHECK (is_key IN (0, 1)),
    exclusive SMALLINT NOT NULL CHECK (exclusive IN (0, 1)),
    created_at BIGINT NOT NULL,
    told_at BIGINT
);
CREATE UNIQUE INDEX claim_refusals_once
ON claim_refusals (project_id, COALESCE(session_id, 0), folded, path, worktree, is_key);

-- action: 1 superseded by heir_id, 2 retracted, 3 confirmed; session_id null: without a session.
CREATE TABLE corrections (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid BLOB NOT NULL,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    action SMALLINT NOT NULL CHECK (action BETWEEN 1 AND 3),
    item_kind SMALLINT NOT NULL,
    item_id BIGINT NOT NULL,
    heir_id BIGINT,
    agent_id BIGINT REFERENCES agents (id) ON DELETE SET NULL,
    session_id BIGINT,
    reason TEXT,
    created_at BIGINT NOT NULL,
    undone_at BIGINT,
    seq BIGINT NOT NULL DEFAULT 0,
    CHECK ((action = 1) = (heir_id IS NOT NULL))
);
CREATE INDEX corrections_item ON corrections (item_kind, item_id);
CREATE INDEX corrections_heir ON corrections (item_kind, heir_id) WHERE heir_id IS NOT NULL;
CREATE INDEX corrections_agent ON corrections (agent_id);
CREATE INDEX corrections_project ON corrections (project_id, id);
CREATE INDEX corrections_seq ON corrections (project_id, seq);
CREATE INDEX corrections_confirmed
ON corrections (project_id, item_kind, item_id, created_at) WHERE action = 3 AND undone_at IS NULL;

-- size: bytes of the cited text; places: how often it occurred in the file, null for a whole file; standing: 1 as in
-- git's index, 2 dirty, 3 untracked, null if unknown; blob: git's hash of the file in the index.
CREATE TABLE citations (
    entry_id INTEGER PRIMARY KEY REFERENCES context (id) ON DELETE CASCADE,
    digest BLOB NOT NULL,
    size BIGINT NOT NULL,
    places SMALLINT,
    standing SMALLINT CHECK (standing BETWEEN 1 AND 3),
    blob BLOB,
    branch TEXT,
    commit_id TEXT
);

CREATE TABLE sightings (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    entry_id BIGINT NOT NULL REFERENCES context (id) ON DELETE CASCADE,
    run_id BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    agent_id BIGINT REFERENCES agents (id) ON DELETE SET NULL,
    session_id BIGINT,
    task_id TEXT,
    loop_id TEXT,
    created_at BIGINT NOT NULL
);
CREATE INDEX sightings_entry ON sightings (entry_id);
CREATE INDEX sightings_run ON sightings (run_id, entry_id);
CREATE INDEX sightings_agent ON sightings (agent_id, entry_id);
CREATE INDEX sightings_task ON sightings (project_id, task_id, entry_id) WHERE task_id IS NOT NULL;
CREATE INDEX sightings_loop ON sightings (project_id, loop_id, entry_id) WHERE loop_id IS NOT NULL;

-- The last failure of each command of a session, until it succeeds; solution_id: the fix that was shown then.
CREATE TABLE failed_commands (
    session_id BIGINT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    command TEXT NOT NULL,
    pattern_id BIGINT NOT NULL REFERENCES error_patterns (id) ON DELETE CASCADE,
    solution_id BIGINT REFERENCES error_solutions (id) ON DELETE SET NULL,
    created_at BIGINT NOT NULL,
    acted_at BIGINT,
    PRIMARY KEY (session_id, command)
) WITHOUT ROWID;
CREATE INDEX failed_commands_pattern ON failed_commands (pattern_id);
CREATE INDEX failed_commands_solution ON failed_commands (solution_id) WHERE solution_id IS NOT NULL;

-- rounds: the number of imports from it; written_at: when the latest imported line was written, null if unknown.
CREATE TABLE moving_sources (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    rounds BIGINT NOT NULL DEFAULT 0,
    written_at BIGINT,
    UNIQUE (project_id, name)
);

-- in_step: 1 for the state of ours that was last equal to the source's; round: the round of that; mark: the first bytes
-- of the uid as a number, since an index of whole uids, which come in no order, makes an import write four times as
-- many pages.
CREATE TABLE moving_states (
    id INTEGER PRIMARY KEY,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    mark BIGINT NOT NULL,
    uid BLOB NOT NULL,
    digest BLOB NOT NULL,
    source_id BIGINT NOT NULL REFERENCES moving_sources (id) ON DELETE CASCADE,
    in_step SMALLINT NOT NULL CHECK (in_step IN (0, 1)),
    round BIGINT NOT NULL
);
CREATE INDEX moving_states_mark ON moving_states (mark);

-- kind and field: as in lines; target: the uid of the item that is missing.
CREATE TABLE unresolved_links (
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    item_id BIGINT NOT NULL,
    field TEXT NOT NULL,
    target BLOB NOT NULL,
    PRIMARY KEY (kind, item_id, field)
) WITHOUT ROWID;
CREATE INDEX unresolved_links_target ON unresolved_links (project_id, target);

-- line: a state that lost a merge, as a line, where its kind has no history; source_id: what was imported then;
-- is_ours: 1 for the state that was in this store before.
CREATE TABLE kept_states (
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    uid BLOB NOT NULL,
    digest BLOB NOT NULL,
    line TEXT NOT NULL,
    source_id BIGINT NOT NULL REFERENCES moving_sources (id) ON DELETE CASCADE,
    is_ours SMALLINT NOT NULL CHECK (is_ours IN (0, 1)),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (project_id, uid, digest)
) WITHOUT ROWID;

-- Digests: in_step, of our text when it was last equal to the file, null for what is not shared from here; taken, of
-- the file that ours was made from, where the two differ in form; tip, of the text on the default branch when it was
-- last read; waiting, of a text that a person has not accepted, with why: 1 new, 2 changed, 3 changed on both sides, 4
-- another of the same key; ours, of our text at the change seq of the item. stood: the time in the text of in_step;
-- merged: 1 for a file that becomes a tombstone, as its item was merged into another.
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
) WITHOUT ROWID;
CREATE INDEX shared_texts_waiting ON shared_texts (project_id) WHERE waiting IS NOT NULL;

CREATE TABLE shared_seen (
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    uid BLOB NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (project_id, uid, digest)
) WITHOUT ROWID;

-- commit_id: the last commit of the default branch that was read; look and stamp: the state of the repository and of
-- the folder's files then; seq: the project's change counter when both sides were equal.
CREATE TABLE shared_readings (
    project_id BIGINT NOT NULL PRIMARY KEY REFERENCES projects (id) ON DELETE CASCADE,
    commit_id TEXT,
    look BLOB NOT NULL,
    stamp BLOB NOT NULL,
    seq BIGINT NOT NULL
);

-- kind and item_id: 0 and 0 for everything, a kind and 0 for all of that kind, else one item; kinds: see
-- brief/room/since.py. seq: the last change of the project that the person has seen; created_at: when.
CREATE TABLE seen (
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    person_id BIGINT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    kind SMALLINT NOT NULL,
    item_id BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (person_id, kind, item_id)
) WITHOUT ROWID;
CREATE INDEX seen_item ON seen (kind, item_id) WHERE item_id <> 0;
CREATE INDEX seen_project ON seen (project_id);

-- kind and item_id: the pinned item, whose number is never used again; agent_id: the person.
CREATE TABLE pins (
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    kind SMALLINT NOT NULL,
    item_id BIGINT NOT NULL,
    agent_id BIGINT REFERENCES agents (id) ON DELETE SET NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (project_id, kind, item_id)
) WITHOUT ROWID;
CREATE INDEX pins_agent ON pins (agent_id);

-- Counts for each day, so that a chart of three months does not read every event. day: since 1970, UTC; moment: a
-- number of keep/deliveries.py; agent_id 0: no agent.
CREATE TABLE delivery_days (
    day INTEGER NOT NULL,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    moment SMALLINT NOT NULL,
    agent_id BIGINT NOT NULL,
    deliveries BIGINT NOT NULL,
    items BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    PRIMARY KEY (day, project_id, moment, agent_id)
) WITHOUT ROWID;

-- The MinHash bands that near-duplicates share: see find/likeness.py.
CREATE TABLE likenesses (
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    mark BIGINT NOT NULL,
    kind SMALLINT NOT NULL,
    item_id BIGINT NOT NULL,
    PRIMARY KEY (project_id, mark, kind, item_id)
) WITHOUT ROWID;

-- call: the key of a call from another machine, stored in the transaction of its first write, so that repeating the
-- call writes nothing twice.
CREATE TABLE kept_calls (
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    call BLOB NOT NULL,
    kept_at BIGINT NOT NULL,
    PRIMARY KEY (project_id, call)
) WITHOUT ROWID;
CREATE INDEX kept_calls_kept_at ON kept_calls (project_id, kept_at);

-- The views below are for people who read the store with another tool: Satchel itself reads none of them. Times are
-- milliseconds since 1970, UTC; "recent" is the last hour.

CREATE VIEW tagged_decisions AS
SELECT
    p.name AS project, d.id, d.key, COALESCE(d.value_text, d.value_number) AS value,
    CASE d.status WHEN 1 THEN 'active' WHEN 2 THEN 'deprecated' ELSE 'draft' END AS status, d.version,
    d.revision, l.name AS layer, a.name AS agent,
    (SELECT group_concat(name, ', ') FROM (
        SELECT n.name FROM decision_tags j JOIN tags n ON n.id = j.tag_id
        WHERE j.decision_id = d.id ORDER BY n.folded)) AS tags,
    (SELECT group_concat(name, ', ') FROM (
        SELECT n.name FROM decision_scopes j JOIN scopes n ON n.id = j.scope_id
        WHERE j.decision_id = d.id ORDER BY n.folded)) AS scopes,
    d.rationale, d.created_at, d.updated_at
FROM decisions d JOIN projects p ON p.id = d.project_id
LEFT JOIN layers l ON l.id = d.layer_id LEFT JOIN agents a ON a.id = d.agent_id;

CREATE VIEW active_context AS
SELECT
    p.name AS project, d.id, d.key, COALESCE(d.value_text, d.value_number) AS value,
    CASE d.status WHEN 1 THEN 'active' WHEN 2 THEN 'deprecated' ELSE 'draft' END AS status, d.version,
    d.revision, l.name AS layer, a.name AS agent,
    (SELECT group_concat(name, ', ') FROM (
        SELECT n.name FROM decision_tags j JOIN tags n ON n.id = j.tag_id
        WHERE j.decision_id = d.id ORDER BY n.folded)) AS tags,
    (SELECT group_concat(name, ', ') FROM (
        SELECT n.name FROM decision_scopes j JOIN scopes n ON n.id = j.scope_id
        WHERE j.decision_id = d.id ORDER BY n.folded)) AS scopes,
    d.rationale, d.created_at, d.updated_at
FROM decisions d JOIN projects p ON p.id = d.project_id
LEFT JOIN layers l ON l.id = d.layer_id LEFT JOIN agents a ON a.id = d.agent_id
WHERE d.status = 1 AND d.updated_at >= (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) - 3600000);

CREATE VIEW layer_summary AS
SELECT
    p.name AS project, l.name AS layer,
    (SELECT count(*) FROM decisions x
        WHERE x.project_id = p.id AND x.layer_id = l.id AND x.status = 1) AS active_decisions,
    (SELECT count(*) FROM file_changes x
        WHERE x.project_id = p.id AND x.layer_id = l.id
            AND x.created_at >= (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) - 3600000)
            AND x.expires_at > CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)) AS recent_file_changes,
    (SELECT count(*) FROM constraints x
        WHERE x.project_id = p.id AND x.layer_id = l.id AND x.active = 1) AS active_constraints
FROM projects p JOIN layers l ON l.project_id = p.id
UNION ALL
SELECT
    p.name, NULL,
    (SELECT count(*) FROM decisions x
        WHERE x.project_id = p.id AND x.layer_id IS NULL AND x.status = 1) AS active_decisions,
    (SELECT count(*) FROM file_changes x
        WHERE x.project_id = p.id AND x.layer_id IS NULL
            AND x.created_at >= (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) - 3600000)
            AND x.expires_at > CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)) AS recent_file_changes,
    (SELECT count(*) FROM constraints x
        WHERE x.project_id = p.id AND x.layer_id IS NULL AND x.active = 1) AS active_constraints
FROM projects p;

CREATE VIEW unread_messages_by_priority AS
SELECT
    p.name AS project, a.name AS recipient,
    CASE m.priority WHEN 1 THEN 'low' WHEN 2 THEN 'medium' WHEN 3 THEN 'high' ELSE 'critical' END AS priority,
    count(*) AS messages
FROM agents a JOIN projects p ON p.id = a.project_id
JOIN agent_messages m ON m.project_id = a.project_id
    AND (m.to_agent_id = a.id OR (m.to_agent_id IS NULL AND m.from_agent_id IS NOT a.id))
WHERE m.expires_at > CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)
    AND NOT EXISTS (SELECT 1 FROM message_reads r WHERE r.agent_id = a.id AND r.message_id = m.id)
GROUP BY p.name, a.id, m.priority;

CREATE VIEW recent_file_changes AS
SELECT
    p.name AS project, c.id, f.path AS file,
    CASE c.change WHEN 1 THEN 'created' WHEN 2 THEN 'modified' ELSE 'deleted' END AS change,
    a.name AS agent, c.worktree, l.name AS layer, c.description, c.created_at
FROM file_changes c JOIN files f ON f.id = c.file_id JOIN projects p ON p.id = c.project_id
LEFT JOIN agents a ON a.id = c.agent_id LEFT JOIN layers l ON l.id = c.layer_id
WHERE c.created_at >= (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) - 3600000)
    AND c.expires_at > CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER);

CREATE VIEW tagged_constraints AS
SELECT
    p.name AS project, c.id, g.name AS category, c.text,
    CASE c.priority WHEN 1 THEN 'low' WHEN 2 THEN 'medium' WHEN 3 THEN 'high' ELSE 'critical' END AS priority,
    l.name AS layer, a.name AS created_by,
    (SELECT group_concat(name, ', ') FROM (
        SELECT n.name FROM constraint_tags j JOIN tags n ON n.id = j.tag_id
        WHERE j.constraint_id = c.id ORDER BY n.folded)) AS tags,
    c.created_at
FROM constraints c JOIN projects p ON p.id = c.project_id JOIN categories g ON g.id = c.category_id
LEFT JOIN layers l ON l.id = c.layer_id LEFT JOIN agents a ON a.id = c.created_by
WHERE c.active = 1;
