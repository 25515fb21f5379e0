"""The tables of who is at work: sessions of clients, their windows, what was delivered there, and events.

What refers to a session by a plain number, 0 or null for none, may outlive it: numbers are never given again.
"""

from __future__ import annotations

CLIENT_SESSIONS = (
    # agent_id: whose the session is; is_chosen: that agent was chosen for it; unnamed_id: whose calls are that name
    # nobody. process: the client's, and server: that of our server in it, as base/processes.py names processes
    """
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
        created_at BIGINT NOT NULL
    )
    """,
    "CREATE INDEX sessions_seen ON sessions (project_id, seen_at)",
    "CREATE INDEX sessions_process ON sessions (process, machine) WHERE process IS NOT NULL",
    "CREATE INDEX sessions_predecessor ON sessions (predecessor_id) WHERE predecessor_id IS NOT NULL",
    "CREATE INDEX sessions_agent ON sessions (agent_id) WHERE agent_id IS NOT NULL",
    "CREATE INDEX sessions_unnamed ON sessions (unnamed_id) WHERE unnamed_id IS NOT NULL",
    "CREATE INDEX sessions_run ON sessions (run_id) WHERE run_id IS NOT NULL",
    # what a client calls a session: after /clear it has another id, and is the same session
    """
    CREATE TABLE session_hosts (
        host_id TEXT NOT NULL,
        session_id BIGINT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        client TEXT NOT NULL,
        PRIMARY KEY (host_id, session_id)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX session_hosts_session ON session_hosts (session_id)",
    # one for each agent that was briefed in a window of a session; without a session one for each iteration of an agent
    # at a task of a run. 0 and '' stand for none: nulls would be distinct in the key
    """
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
        seen_at BIGINT NOT NULL
    )
    """,
    """
    CREATE UNIQUE INDEX windows_key ON windows
        (project_id, agent_id, session_id, COALESCE(run_id, 0), number, iteration, task_id, role)
    """,
    "CREATE INDEX windows_session ON windows (session_id, seen_at) WHERE session_id <> 0",
    "CREATE INDEX windows_run ON windows (run_id) WHERE run_id IS NOT NULL",
    "DROP TABLE deliveries",
    """
    CREATE TABLE deliveries (
        window_id BIGINT NOT NULL REFERENCES windows (id) ON DELETE CASCADE,
        kind SMALLINT NOT NULL,
        item_id BIGINT NOT NULL,
        seq BIGINT NOT NULL,
        created_at BIGINT NOT NULL,
        PRIMARY KEY (window_id, kind, item_id)
    ) WITHOUT ROWID
    """,
    # kind: see keep/events.py; item_kind: a number of find/kind.py; details: a small JSON object
    """
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
    )
    """,
    "CREATE INDEX events_time ON events (created_at)",
    # what a session holds is one holder's, whatever its agents are called; session_id null: held by name
    "CREATE TEMP TABLE kept_claims AS SELECT * FROM file_claims",
    "DROP TABLE file_claims",
    """
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
        created_at BIGINT NOT NULL
    )
    """,
    """
    INSERT INTO file_claims
        (id, uid, seq, project_id, path, agent_id, worktree, exclusive, reason, expires_at, created_at)
    SELECT id, uid, seq, project_id, path, agent_id, worktree, exclusive, reason, expires_at, created_at
    FROM kept_claims
    """,
    "DROP TABLE kept_claims",
    """
    CREATE UNIQUE INDEX file_claims_holder ON file_claims
        (project_id, path, worktree, COALESCE(session_id, 0), (CASE WHEN session_id IS NULL THEN agent_id ELSE 0 END))
    """,
    "CREATE INDEX file_claims_agent ON file_claims (agent_id)",
    "CREATE INDEX file_claims_session ON file_claims (session_id) WHERE session_id IS NOT NULL",
    "CREATE INDEX file_claims_expiring ON file_claims (expires_at)",
    "ALTER TABLE context ADD COLUMN session_id BIGINT",
    # what a session tried is found without reading its notes, which pay nothing for it
    "CREATE INDEX context_session ON context (session_id, created_at, id) "
    "WHERE session_id IS NOT NULL AND type IN (2, 5, 6)",
    "ALTER TABLE error_reports ADD COLUMN session_id BIGINT",
    # that an error was met again is looked up by the error: by its author it took 3.5 ms where one had met 16,000
    "DROP INDEX error_reports_pattern",
    "CREATE INDEX error_reports_pattern ON error_reports (pattern_id, run_id, agent_id, loop_id, task_id)",
    # a session confirms a solution once and refutes it once; without one an agent does
    "ALTER TABLE solution_confirmations ADD COLUMN session_id BIGINT",
    "DROP INDEX solution_confirmations_once",
    """
    CREATE UNIQUE INDEX solution_confirmations_once ON solution_confirmations (
        solution_id, COALESCE(session_id, 0),
        (CASE WHEN session_id IS NULL THEN COALESCE(agent_id, 0) ELSE 0 END), helped
    )
    """,
    # to whom it was sent, where its successor inherited it
    "ALTER TABLE agent_messages ADD COLUMN first_to_id BIGINT",
)
"""The statements of the migration, in order."""
