"""News for an agent at work, once: rules and decisions of others that are new or changed, and changes of its files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate

from satchel.base.records import NamedTuple
from satchel.base.text import quoted_line
from satchel.brief.fields import by, name_text
from satchel.find.kind import Kind
from satchel.keep import binding, deliveries, paths
from satchel.keep.corrections.log import CONFIRMED
from satchel.keep.documents.states import loaded_items
from satchel.keep.entries import updates as entries
from satchel.keep.files.records import CHANGES
from satchel.keep.projects import Workplace
from satchel.keep.sessions.actors import UNKNOWN, reading
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Row, Transaction, set_of

# How many pieces of news of each kind one answer brings.
_MOST = 10

# How many rules and decisions are read: those with paths wait until the agent comes to their files.
_MOST_READ = 200

# What was stored so shortly before the first text of a window may have come too late for it.
_LATE_MS = 1_000

_CHARS, _MOST_CHARS = 1_000, 4_000
"""The longest quoted text, and the most that the news of one answer has; the next has the others."""


class News(NamedTuple):
    """A piece of news, and the deliveries by which it is marked as shown: kind, number and seq of each item."""

    text: str
    items: Sequence[tuple[int, int, int]]
    is_critical: bool = False


def find(transaction: Transaction, work: Workplace, project_id: int, actor: Actor, now: int) -> list[News]:
    """Return the news of others' work that was not delivered to an agent yet."""
    values = {"project": project_id, "agent": actor.number, "session": actor.session or 0, "now": now}
    news = [
        *find_binding(transaction, work, project_id, actor),
        *_news_of_files(transaction.all(_ON_FILES, values)),
    ]
    lengths = accumulate(len(one.text) for one in news)
    return [
        one for place, (one, length) in enumerate(zip(news, lengths, strict=True)) if not place or length <= _MOST_CHARS
    ]


def is_waiting(transaction: Transaction, work: Workplace, project_id: int, agent: str) -> bool:
    """Return whether there is news for an agent in a session."""
    actor = reading(transaction, work, project_id, agent)
    is_known = actor.session is not None and actor.number not in {None, UNKNOWN}
    return is_known and bool(find(transaction, work, project_id, actor, work.clock()))


def find_binding(transaction: Transaction, work: Workplace, project_id: int, actor: Actor) -> list[News]:
    """Return what others did to rules and decisions that an agent was shown, and those made since its window began."""
    values = {"project": project_id, "agent": actor.number, "session": actor.session or 0, "window": actor.window}
    rows = transaction.all(_BINDING.format(own=_OF_ACTOR), values) if actor.number is not None else []
    new = [row for row in rows if row[2]]
    skipped = _skipped(transaction, work, project_id, actor, new) if new else set()
    return [_about_item(row) for row in rows if (row[0], row[1]) not in skipped][:_MOST]


def has_binding(transaction: Transaction, work: Workplace, project_id: int) -> bool:
    """Return whether there may be such news for the caller's session, known by its client's id: one statement."""
    host = None if work.caller is None else work.caller.host_id
    values = {"project": project_id, "host": host}
    return host is not None and bool(transaction.all(_BINDING.format(own=_OF_HOST), values))


def _skipped(
    transaction: Transaction, work: Workplace, project_id: int, actor: Actor, new: Sequence[Row]
) -> set[tuple[int, int]]:
    # what binds other persons' sessions or other files, and what the client loads itself
    loaded = loaded_items(transaction, work, project_id, actor)
    skipped = {(row[0], row[1]) for row in new if loaded.get(row[0], {}).get(row[1], -1) >= row[-2]}
    rules = [row[1] for row in new if row[0] == Kind.CONSTRAINT.number]
    binds = binding.binding_caller(transaction, work, project_id) if rules else ""
    if binds:
        some = f"SELECT c.id FROM constraints c WHERE c.id IN {set_of(rules)}{binds}"
        here = {number for (number,) in transaction.all(some, {"project": project_id})}
        skipped |= {(Kind.CONSTRAINT.number, number) for number in rules if number not in here}
    with_paths = [row for row in new if row[-1] != "[]"]
    if with_paths:
        values = {"project": project_id, "agent": actor.number, "session": actor.session}
        files = [path for (path,) in transaction.all(_TOUCHED, values)]
        skipped |= {
            (row[0], row[1])
            for row in with_paths
            if not any(paths.matches(glob, file) for glob in paths.globs_in(row[-1]) for file in files)
        }
    return skipped


def mark(
    transaction: Transaction, project_id: int, actor: Actor, items: Sequence[tuple[int, int, int]], now: int
) -> None:
    """Record that the items of news were delivered to an agent."""
    number = actor.window if actor.session is not None else 0
    window = deliveries.Window(project_id, actor.session, number, actor.number, 0)
    deliveries.record(transaction, window, items, now)


_OF_ACTOR = "SELECT :agent AS agent, :session AS session, :window AS number"
_OF_HOST = """
    SELECT COALESCE(s.agent_id, s.unnamed_id) AS agent, s.id AS session, s.window AS number
    FROM session_hosts h JOIN sessions s ON s.id = h.session_id
    WHERE h.host_id = :host AND s.project_id = :project AND COALESCE(s.agent_id, s.unnamed_id) IS NOT NULL
"""

# What the last correction of a rule was: 1 a confirmation, 2 the undo of one, else 0 or null.
_CONFIRMATION = f"""(
    SELECT CASE WHEN k.action <> {CONFIRMED} THEN 0 WHEN k.undone_at IS NULL THEN 1 ELSE 2 END FROM corrections k
    WHERE k.item_kind = {Kind.CONSTRAINT.number} AND k.item_id = c.id ORDER BY k.seq DESC LIMIT 1
)"""
_RULE_AUTHOR = "COALESCE(c.deactivated_by, c.created_by)"
_DECISION_COLUMNS = (
    "c.key, c.value_text, c.value_number, c.status = 1, 0, a.name, c.rationale, 0 AS priority, c.seq AS seq, c.paths"
)
_RULE_COLUMNS = f"""
    '', c.text, NULL, c.active = 1, COALESCE({_CONFIRMATION}, 0), a.name, c.reason, c.priority, c.seq,
    c.paths
"""
_IS_NEW = """
    own.session <> 0 AND NOT EXISTS (SELECT 1 FROM shown s WHERE s.kind = {kind} AND s.item_id = c.id)
    AND {at} > (SELECT created_at FROM sessions WHERE id = own.session)
    AND {at} > COALESCE((SELECT min(began) FROM shown), 0) - {late}
"""

# Rules and decisions that others changed or retracted after the agent was shown them, or made since its window began.
_BINDING = f"""
    WITH own AS ({{own}}), shown AS (
        SELECT d.kind, d.item_id, max(d.seq) AS seq, min(d.created_at) AS began FROM own JOIN windows w
            ON w.project_id = :project AND w.agent_id = own.agent AND w.session_id = own.session
            AND (own.session = 0 OR w.number = own.number)
        JOIN deliveries d ON d.window_id = w.id GROUP BY d.kind, d.item_id
    )
    SELECT * FROM (
        SELECT {Kind.DECISION.number} AS kind, c.id AS id, 0 AS is_new, {_DECISION_COLUMNS}
        FROM own JOIN shown s ON s.kind = {Kind.DECISION.number} JOIN decisions c ON c.id = s.item_id AND c.seq > s.seq
        LEFT JOIN agents a ON a.id = c.agent_id WHERE c.agent_id IS DISTINCT FROM own.agent
        UNION ALL
        SELECT {Kind.CONSTRAINT.number}, c.id, 0, {_RULE_COLUMNS}
        FROM own JOIN shown s ON s.kind = {Kind.CONSTRAINT.number}
        JOIN constraints c ON c.id = s.item_id AND c.seq > s.seq
        LEFT JOIN agents a ON a.id = {_RULE_AUTHOR} WHERE {_RULE_AUTHOR} IS DISTINCT FROM own.agent
        UNION ALL
        SELECT {Kind.CONSTRAINT.number}, c.id, 1, {_RULE_COLUMNS}
        FROM own JOIN constraints c ON c.project_id = :project AND c.active = 1
        LEFT JOIN agents a ON a.id = c.created_by
        WHERE c.created_by IS DISTINCT FROM own.agent
            AND {_IS_NEW.format(kind=Kind.CONSTRAINT.number, at="c.created_at", late=_LATE_MS)}
        UNION ALL
        SELECT {Kind.DECISION.number}, c.id, 1, {_DECISION_COLUMNS}
        FROM own JOIN decisions c ON c.project_id = :project AND c.status = 1
        LEFT JOIN agents a ON a.id = c.agent_id
        WHERE c.agent_id IS DISTINCT FROM own.agent
            AND {_IS_NEW.format(kind=Kind.DECISION.number, at="c.updated_at", late=_LATE_MS)}
    ) AS news ORDER BY priority DESC, seq LIMIT {_MOST_READ}
"""

# Files that the agent edited, holds, or of which hooks have shown it something.
_TOUCHED = f"""
    SELECT path FROM file_claims WHERE project_id = :project AND session_id = :session AND is_key = 0
    UNION
    SELECT f.path FROM file_changes c JOIN files f ON f.id = c.file_id WHERE c.session_id = :session
    UNION
    SELECT f.path FROM windows w JOIN deliveries d ON d.window_id = w.id AND d.kind = {deliveries.SPENT_ON_FILE}
    JOIN files f ON f.id = d.item_id
    WHERE w.project_id = :project AND w.agent_id = :agent AND w.session_id = :session
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


# What became of a rule that the agent was shown, by its last correction.
_RULE_NOW = ("holds again", "is confirmed", "is no longer confirmed")


def _about_item(row: Row) -> News:
    kind, number, is_new, key, text, value, is_live, confirmation, agent, reason, priority, seq, globs = row
    is_rule = kind == Kind.CONSTRAINT.number
    ref = (Kind.CONSTRAINT if is_rule else Kind.DECISION).ref(number)
    who, why = _who(agent), f" because {_quoted(reason)}" if reason else ""
    # a value that is no plain word could pass for the rest of the sentence
    value_now = f"{value:g}" if text is None else text if name_text(text) == text else _quoted(text)
    where = f", binding {', '.join(map(json.dumps, paths.globs_in(globs)))}" if is_new and globs != "[]" else ""
    is_critical = priority == binding.CRITICAL
    if is_rule and is_new:
        line = f"new {'critical ' * is_critical}rule {ref} {who}{where}: {_quoted(text)}"
    elif is_rule:
        what = _RULE_NOW[confirmation] if is_live else f"was retracted {who}{why}"
        line = f"{ref} {what}: {_quoted(text)}"
    elif is_new:
        line = f"new decision {ref} {name_text(key)}: {value_now}, set {who}{why}{where}"
    else:
        line = f"{ref} {name_text(key)} {f'is now {value_now}' if is_live else 'no longer holds'}, set {who}{why}"
    return News(line, [(kind, number, seq)], is_critical)


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
