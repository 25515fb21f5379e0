"""What tells what memory is worth: the tokens put into windows day by day, and indexes of what has helped."""

from __future__ import annotations

_DAY_MS = 86_400_000

MEMORY = (
    # day: since 1970, UTC; moment: a number of keep/deliveries.py; agent_id 0: nobody. Of 100,000 events the days of
    # three months take 80 ms from an index of all, and 3 ms from here
    """
    CREATE TABLE delivery_days (
        day INTEGER NOT NULL,
        project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
        moment SMALLINT NOT NULL,
        agent_id BIGINT NOT NULL,
        deliveries BIGINT NOT NULL,
        items BIGINT NOT NULL,
        tokens BIGINT NOT NULL,
        PRIMARY KEY (day, project_id, moment, agent_id)
    ) WITHOUT ROWID
    """,
    f"""
    INSERT INTO delivery_days (day, project_id, moment, agent_id, deliveries, items, tokens)
    SELECT day, project_id, moment, agent_id, count(*), sum(items), sum(tokens) FROM (
        SELECT created_at / {_DAY_MS} AS day, project_id, COALESCE(agent_id, 0) AS agent_id,
            CASE json_extract(details, '$.moment')
                WHEN 'briefing' THEN 1 WHEN 'start' THEN 2 WHEN 'resume' THEN 4 WHEN 'compaction' THEN 5
                WHEN 'subagent' THEN 6 END AS moment,
            CAST(json_extract(details, '$.items') AS INTEGER) AS items,
            CAST(json_extract(details, '$.tokens') AS INTEGER) AS tokens
        FROM events WHERE kind = 1 AND json_valid(details)
    ) WHERE moment IS NOT NULL AND items IS NOT NULL AND tokens IS NOT NULL GROUP BY 1, 2, 3, 4
    """,
    # what was put into it; 0 of those from before
    "ALTER TABLE windows ADD COLUMN tokens BIGINT NOT NULL DEFAULT 0",
    "CREATE INDEX windows_seen ON windows (project_id, seen_at, session_id, tokens) WHERE session_id <> 0",
    """
    CREATE INDEX corrections_confirmed ON corrections (project_id, item_kind, item_id, created_at)
    WHERE action = 3 AND undone_at IS NULL
    """,
    "CREATE INDEX error_solutions_confirmed ON error_solutions (project_id, confirmed, id) WHERE confirmed > 0",
    "CREATE INDEX context_seen ON context (project_id, seen, id) WHERE seen IS NOT NULL",
)
"""The statements of the migration, in order."""
