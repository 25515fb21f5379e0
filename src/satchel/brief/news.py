"""News for the receiver of an answer, once: others' changes of items it was shown, and of files it holds or read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from satchel.base.records import NamedTuple
from satchel.base.text import quoted_line
from satchel.brief.fields import by, name_text
from satchel.find.kind import Kind
from satchel.keep import deliveries
from satchel.keep.entries import updates as entries
from satchel.keep.files.records import CHANGES
from satchel.keep.projects import Workplace
from satchel.keep.sessions.actors import UNKNOWN, reading
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Row, Transaction

# How many pieces of news of each kind one answer brings.
_MOST = 10

_CHARS, _MOST_CHARS = 1_000, 4_000
"""The longest quoted text, and the most that the news of one answer has; the next has the others."""


class News(NamedTuple):
    """A piece of news, and the deliveries by which it is marked as shown: kind, number and seq of each item."""

    text: str
    items: Sequence[tuple[int, int, int]]


def find(transaction: Transaction, project_id: int, actor: Actor, now: int) -> list[News]:
    """Return the news of others' work that was not delivered to an agent yet."""
    values = {"project": project_id, "agent": actor.number, "session": actor.session or 0, "now": now}
    delivered = transaction.all(_DELIVERED, {**values, "window": actor.window}) if actor.number is not None else []
    news = [*map(_changed, delivered), *_news_of_files(transaction.all(_ON_FILES, values))]
    lengths = accumulate(len(one.text) for one in news)
    return [
        one for place, (one, length) in enumerate(zip(news, lengths, strict=True)) if not place or length <= _MOST_CHARS
    ]


def is_waiting(transaction: Transaction, work: Workplace, project_id: int, agent: str) -> bool:
    """Return whether there is news for an agent in a session."""
    actor = reading(transaction, work, project_id, agent)
    is_known = actor.session is not None and actor.number not in {None, UNKNOWN}
    return is_known and bool(find(transaction, project_id, actor, work.clock()))


def mark(
    transaction: Transaction, project_id: int, actor: Actor, items: Sequence[tuple[int, int, int]], now: int
) -> None:
    """Record that the items of news were delivered to an agent."""
    number = actor.window if actor.session is not None else 0
    window = deliveries.Window(project_id, actor.session, number, actor.number, 0)
    deliveries.record(transaction, window, items, now)


_OWN_WINDOWS = """
    SELECT d.kind, d.item_id, max(d.seq) AS seq FROM windows w JOIN deliveries d ON d.window_id = w.id
    WHERE w.project_id = :project AND w.agent_id = :agent AND w.session_id = :session
        AND (:session = 0 OR w.number = :window) AND d.kind = {kind}
    GROUP BY d.kind, d.item_id
"""

# Decisions and rules that were changed or retracted by others after the agent was shown them.
_DELIVERED = f"""
    SELECT {Kind.DECISION.number}, c.id, c.seq, c.key, c.value_text, c.value_number, c.status = 1, a.name, c.rationale
    FROM ({_OWN_WINDOWS.format(kind=Kind.DECISION.number)}) s JOIN decisions c ON c.id = s.item_id AND c.seq > s.seq
    LEFT JOIN agents a ON a.id = c.agent_id
    WHERE c.agent_id IS DISTINCT FROM :agent
    UNION ALL
    SELECT {Kind.CONSTRAINT.number}, c.id, c.seq, '', c.text, NULL, c.active = 1, a.name, c.reason
    FROM ({_OWN_WINDOWS.format(kind=Kind.CONSTRAINT.number)}) s JOIN constraints c ON c.id = s.item_id AND c.seq > s.seq
    LEFT JOIN agents a ON a.id = COALESCE(c.deactivated_by, c.created_by)
    WHERE COALESCE(c.deactivated_by, c.created_by) IS DISTINCT FROM :agent
    LIMIT {_MOST}
"""

_CLAIMED = """
    SELECT path, created_at, 1 AS is_held FROM file_claims
    WHERE project_id = :project AND expires_at > :now AND is_key = 0
        AND (session_id = :session OR :session = 0 AND agent_id = :agent)
"""
# Files that the agent holds, or of which hooks have shown it something, as it read or edited them.
_HELD_OR_READ = f"""
    {_CLAIMED} UNION ALL
    SELECT f.path, max(d.created_at), 0 FROM windows w JOIN deliveries d ON d.window_id = w.id
    JOIN files f ON f.id = d.item_id
    WHERE w.project_id = :project AND w.agent_id = :agent AND w.session_id = :session AND :session <> 0
        AND d.kind = {deliveries.SPENT_ON_FILE}
        AND NOT EXISTS (SELECT 1 FROM ({_CLAIMED}) h WHERE h.path = f.path)
    GROUP BY f.path
"""
_NEW = """
    NOT EXISTS (SELECT 1 FROM windows w JOIN deliveries d ON d.window_id = w.id
        WHERE w.project_id = :project AND w.agent_id = :agent AND w.session_id = :session AND d.kind = {kind}
            AND d.item_id = {item})
"""
_OTHERS = "c.agent_id IS DISTINCT FROM :agent AND (:session = 0 OR c.session_id IS DISTINCT FROM :session)"

# Others' changes of such files and notes on them, since it claimed or read them, and claims of those that it holds.
_ON_FILES = f"""
    SELECT {Kind.FILE_CHANGE.number}, c.id, c.seq, h.path, h.is_held, c.change, a.name, c.description
    FROM ({_HELD_OR_READ}) h JOIN files f ON f.project_id = :project AND f.path = h.path
    JOIN file_changes c ON c.file_id = f.id AND c.created_at > h.created_at AND c.expires_at > :now
    LEFT JOIN agents a ON a.id = c.agent_id
    WHERE {_OTHERS} AND {_NEW.format(kind=Kind.FILE_CHANGE.number, item="c.id")}
    UNION ALL
    SELECT {Kind.ENTRY.number}, c.id, c.seq, h.path, h.is_held, c.type, a.name, c.content
    FROM ({_HELD_OR_READ}) h
    JOIN context c ON c.project_id = :project AND c.file = h.path AND c.created_at > h.created_at
    LEFT JOIN agents a ON a.id = c.agent_id
    WHERE c.superseded_by IS NULL AND {_OTHERS} AND {_NEW.format(kind=Kind.ENTRY.number, item="c.id")}
    UNION ALL
    SELECT {deliveries.CLAIM}, c.id, c.seq, h.path, 1, 0, a.name, c.reason
    FROM ({_CLAIMED}) h JOIN file_claims c ON c.project_id = :project AND c.path = h.path AND c.is_key = 0
        AND c.created_at > h.created_at AND c.expires_at > :now
    LEFT JOIN agents a ON a.id = c.agent_id
    WHERE {_OTHERS} AND {_NEW.format(kind=deliveries.CLAIM, item="c.id")}
    LIMIT {_MOST}
"""


def _changed(row: Row) -> News:
    kind, number, seq, key, text, value, is_live, agent, reason = row
    who, why = _who(agent), f" because {_quoted(reason)}" if reason else ""
    if kind == Kind.CONSTRAINT.number:
        what = "holds again" if is_live else f"was retracted {who}{why}"
        return News(f"{Kind.CONSTRAINT.ref(number)} {what}: {_quoted(text)}", [(kind, number, seq)])
    # a value that is no plain word could pass for the rest of the sentence
    value_now = f"{value:g}" if text is None else text if name_text(text) == text else _quoted(text)
    now = f"is now {value_now}" if is_live else "no longer holds"
    return News(f"{Kind.DECISION.ref(number)} {name_text(key)} {now}, set {who}{why}", [(kind, number, seq)])


def _news_of_files(rows: Sequence[Row]) -> list[News]:
    # a claim or a change of several files is one piece of news, so that its text comes once
    together: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        kind, number, _, _, is_held, subtype, agent, text = row
        same = (kind, number) if kind == Kind.ENTRY.number else (kind, agent, text, is_held, subtype)
        together.setdefault(same, []).append(row)
    return [News(_on_files(some), [row[:3] for row in some]) for some in together.values()]


def _on_files(rows: Sequence[Row]) -> str:
    kind, number, _, _, is_held, subtype, agent, text = rows[0]
    who = _who(agent)
    files = f"{', '.join(str(name_text(row[3])) for row in rows)}, which you {'hold' if is_held else 'read'},"
    if kind == Kind.ENTRY.number:
        return f"{Kind.ENTRY.ref(number)} on {files} {who}: {_quoted(entries.labelled(subtype, text))}"
    refs = ", ".join(Kind.FILE_CHANGE.ref(row[1]) for row in rows)
    changed = f"{'were' if len(rows) > 1 else 'was'} {CHANGES[subtype - 1]} {who} ({refs})"
    what = changed if subtype else f"{'are' if len(rows) > 1 else 'is'} now shared {who}"
    return f"{files} {what}{f': {_quoted(text)}' if text else ''}"


def _who(agent: str | None) -> str:
    return by(agent) or "by somebody unnamed"


def _quoted(text: str) -> str:
    return quoted_line(text, _CHARS)
