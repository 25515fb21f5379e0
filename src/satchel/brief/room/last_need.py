"""The time when the last need of a person ended, as far as it is recorded.

Shared texts that were accepted, and items that only became old, leave no time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress

from satchel.base.errors import InvalidInput
from satchel.brief.loop_history import fails
from satchel.brief.room.looking import Look
from satchel.find.kind import Kind
from satchel.keep import events
from satchel.keep.decisions.records import STATUSES
from satchel.keep.entries import structured
from satchel.keep.entries.records import REVIEW_VERDICT, SCRATCHPAD
from satchel.keep.files.places import Place
from satchel.keep.loop_scope import ATTEMPTS
from satchel.keep.moving.marks import EVERYTHING, HOOK
from satchel.keep.names import PERSONS

_LOOKED_AT = 100
_SESSIONS, _PADS, _EVENTS, _REFUSED = 20, 10, 500, 100
_DRAFT = STATUSES.index("draft") + 1

_OVERTAKEN = f"""
    SELECT x.id, x.seq, x.updated_at FROM (
        SELECT * FROM decisions WHERE project_id = :project ORDER BY updated_at DESC LIMIT {_LOOKED_AT}
    ) x JOIN decision_history h ON h.decision_id = x.id AND h.revision = x.revision - 1
    WHERE x.agent_id IS DISTINCT FROM h.agent_id AND h.agent_id IS NOT NULL
"""

_ENDINGS = (
    # messages that the person read, or persons answered
    *(
        f"""
        SELECT max(r.read_at) FROM (
            SELECT id FROM agent_messages WHERE project_id = :project AND to_agent_id = {to}
            ORDER BY created_at DESC LIMIT {_LOOKED_AT}
        ) m JOIN message_reads r ON r.agent_id = :me AND r.message_id = m.id
        """
        for to in (":everybody", ":me")
    ),
    f"""
    SELECT max(r.created_at) FROM (
        SELECT id FROM agent_messages WHERE project_id = :project AND to_agent_id IN (:me, :everybody)
        ORDER BY created_at DESC LIMIT {_LOOKED_AT}
    ) m JOIN agent_messages r ON r.reply_to = m.id WHERE r.from_agent_id IN {PERSONS}
    """,
    # needs that they marked as seen
    f"""
    SELECT max(created_at) FROM seen
    WHERE person_id = :me AND kind IN ({Kind.ENTRY.number}, {Kind.ERROR_PATTERN.number}, {HOOK}) AND item_id <> 0
    """,
    f"""
    SELECT max(s.created_at) FROM ({_OVERTAKEN}) x JOIN seen s ON s.person_id = :me AND s.seq >= x.seq AND (
        s.kind = {Kind.DECISION.number} AND s.item_id IN (0, x.id) OR s.kind = {EVERYTHING} AND s.item_id = 0
    )
    """,
    # drafts accepted or rejected, and changed decisions that persons set again
    f"""
    SELECT max(x.updated_at) FROM (
        SELECT * FROM decisions WHERE project_id = :project ORDER BY updated_at DESC LIMIT {_LOOKED_AT}
    ) x JOIN decision_history h ON h.decision_id = x.id AND h.revision = x.revision - 1
    LEFT JOIN decision_history g ON g.decision_id = x.id AND g.revision = x.revision - 2
    WHERE h.status = {_DRAFT} AND x.status <> {_DRAFT}
        OR h.agent_id IS DISTINCT FROM g.agent_id AND g.agent_id IS NOT NULL AND x.agent_id IN {PERSONS}
    """,
    # the first solutions of errors that were met again
    f"""
    SELECT max(y.created_at) FROM (
        SELECT * FROM error_solutions WHERE project_id = :project ORDER BY seq DESC LIMIT {_LOOKED_AT}
    ) y JOIN error_patterns p ON p.id = y.pattern_id
    WHERE p.occurrences > 1 AND NOT EXISTS (
        SELECT 1 FROM error_solutions z WHERE z.pattern_id = y.pattern_id AND z.id < y.id
    )
    """,
)

# When a scratchpad was answered, its run ended, or its task was continued.
_SETTLED = """
    SELECT (
        SELECT min(m.created_at) FROM agent_messages m WHERE m.project_id = :project AND m.to_agent_id = c.agent_id
            AND m.from_agent_id IS DISTINCT FROM c.agent_id AND m.created_at > c.created_at
    ) FROM context c WHERE c.id = :pad
    UNION ALL
    SELECT r.ended_at FROM context c JOIN runs r ON r.id = c.run_id WHERE c.id = :pad
    UNION ALL
    SELECT min(n.created_at) FROM context c JOIN context n ON n.project_id = c.project_id AND n.task_id = c.task_id
        AND n.run_id = c.run_id AND n.session_id IS DISTINCT FROM c.session_id AND n.created_at > c.created_at
    WHERE c.id = :pad
"""


def since(look: Look) -> int | None:
    """Return since when nothing has needed a person; None if nothing is recorded."""
    ends = [row[0] for ending in _ENDINGS for row in look.rows(ending) if row[0] is not None]
    return max([*ends, *_agents(look), *_verdicts(look), *_events(look)], default=None)


def _agents(look: Look) -> Iterator[int]:
    rows = look.rows(
        f"""
        SELECT s.id, c.content, c.created_at, c.id FROM (
            SELECT * FROM sessions WHERE project_id = :project ORDER BY seen_at DESC LIMIT {_SESSIONS}
        ) s JOIN context c ON c.id IN (
            SELECT n.id FROM context n WHERE n.session_id = s.id AND n.type = {SCRATCHPAD}
            ORDER BY n.created_at DESC, n.id DESC LIMIT {_PADS}
        ) ORDER BY s.id, c.created_at, c.id
        """
    )
    last, waits, failures = None, False, 0
    for place, (session, content, at, number) in enumerate(rows):
        if session != last:
            last, waits, failures = session, False, 0
        with suppress(InvalidInput):
            pad = structured.scratchpad(content)
            failures = failures + 1 if fails(pad.test_status) else 0
            waited, waits = waits, (not pad.done and bool(pad.blockers)) or failures >= ATTEMPTS
            if waited and not waits:
                yield at
        is_last = place + 1 == len(rows) or rows[place + 1][0] != session
        if is_last and waits:
            yield from (end for (end,) in look.rows(_SETTLED, pad=number) if end is not None)


def _verdicts(look: Look) -> Iterator[int]:
    rows = look.rows(
        f"""
        SELECT x.content, x.run_id, x.task_id, x.loop_id, x.agent_id, x.created_at, r.ended_at FROM (
            SELECT * FROM context WHERE project_id = :project AND type = {REVIEW_VERDICT}
            ORDER BY created_at DESC, id DESC LIMIT {_LOOKED_AT}
        ) x JOIN runs r ON r.id = x.run_id ORDER BY x.created_at, x.id
        """
    )
    failed: dict[tuple[object, ...], int | None] = {}
    for content, run, task, loop, agent, at, ended in rows:
        place = (run, task, None if task else loop, None if task or loop else agent)
        if place in failed:
            yield at
        failed.pop(place, None)
        with suppress(InvalidInput):
            if not structured.review_verdict(content).passed:
                failed[place] = ended
    yield from (ended for ended in failed.values() if ended is not None)


def _events(look: Look) -> Iterator[int]:
    kinds = (events.REFUSAL, events.RELEASE, events.EXPIRY, events.HOOK_FAILED)
    rows = look.rows(
        f"""
        SELECT kind, details, created_at FROM (
            SELECT * FROM events WHERE project_id = :project ORDER BY seq DESC LIMIT {_EVENTS}
        ) AS newest WHERE kind IN ({", ".join(map(str, kinds))}) AND details IS NOT NULL ORDER BY seq
        """
    )
    refused: list[Place] = []
    for kind, details, at in rows:
        fields = json.loads(details)
        worktree = fields.get("worktree")
        if kind == events.REFUSAL:
            refused = [*refused, *(Place(path, worktree) for path in fields.get("paths", ()))][-_REFUSED:]
        elif kind == events.HOOK_FAILED:
            if fields.get("works"):
                yield at
        elif "path" in fields and any(Place(fields["path"], worktree).meets(one) for one in refused):
            yield at
