"""When the other agents at work were last heard of, for one that waits in vain for a message."""

from __future__ import annotations

from satchel.base.clock import span_in_words
from satchel.base.text import fold, quoted_line
from satchel.brief.room.states import SILENT_MS
from satchel.keep import projects
from satchel.keep.entries.records import SCRATCHPAD
from satchel.keep.loop_scope import OF_LOOPS
from satchel.keep.projects import Workplace
from satchel.keep.sessions.team import last_scratchpad

# How many sessions are looked at, and how many agents are named.
_MOST_SESSIONS, _MOST_NAMED = 20, 3


def last_heard(work: Workplace, name: str) -> list[str]:
    """Return in words when the agents that may still answer were last heard of, and which of them are done."""
    others: dict[str, str] = {}
    with projects.reading(work) as (transaction, project):
        now = work.clock()
        rows = transaction.all(
            f"""
            SELECT a.name, s.seen_at, c.id, c.content, c.created_at
            FROM sessions s JOIN agents a ON a.id = COALESCE(s.agent_id, s.unnamed_id)
            LEFT JOIN context c ON c.id = (
                SELECT n.id FROM context n
                WHERE n.session_id = s.id AND n.{OF_LOOPS} AND n.type = {SCRATCHPAD} AND n.superseded_by IS NULL
                ORDER BY n.created_at DESC, n.id DESC LIMIT 1
            )
            WHERE s.project_id = :project AND s.ended_at IS NULL AND s.seen_at > :since AND a.folded <> :name
            ORDER BY s.seen_at DESC LIMIT {_MOST_SESSIONS}
            """,
            {"project": project.id, "since": now - SILENT_MS, "name": fold(name)},
        )
    for other, seen_at, number, content, created in rows:
        # a name of several words is quoted, so that it cannot pass for a sentence
        who, pad = other if " " not in other else quoted_line(other), last_scratchpad(number, other, content, created)
        is_done = f" is done ({pad.ref}) and" if pad is not None and pad.done else ""
        others.setdefault(other, f"{who}{is_done} was last heard of {span_in_words(now - seen_at)} ago")
    return list(others.values())[:_MOST_NAMED]
