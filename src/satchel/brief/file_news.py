"""News of files that an agent holds, changed or read: what others changed, noted and claimed there."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.base.text import quoted_line
from satchel.brief.announcements import judged_changes, refs_text
from satchel.brief.fields import by, name_text
from satchel.find.kind import Kind
from satchel.keep import deliveries
from satchel.keep.entries import updates as entries
from satchel.keep.entries.records import REVIEW_VERDICT
from satchel.keep.entries.structured import parse_object
from satchel.keep.files.records import CHANGES
from satchel.keep.projects import Workplace
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Row, Transaction

# How many pieces of news of each kind one answer brings.
MOST = 10

# The longest quoted text, and that of the several texts of one piece of news together.
_CHARS, _CHARS_TOGETHER = 1_000, 3_000

_READ, _EDITED, _HOLD = range(3)
_TOUCH = ("read", "changed", "hold")

_CLAIMED = f"""
    SELECT path, created_at, {_HOLD} AS touch FROM file_claims
    WHERE project_id = :project AND expires_at > :now AND is_key = 0
        AND (session_id = :session OR :session = 0 AND agent_id = :agent)
"""
_CHANGED_HERE = f"""
    SELECT f.path, max(c.created_at), {_EDITED} FROM file_changes c JOIN files f ON f.id = c.file_id
    WHERE c.session_id = :session AND :session <> 0
        AND NOT EXISTS (SELECT 1 FROM ({_CLAIMED}) h WHERE h.path = f.path)
    GROUP BY f.path
"""
# Files that the agent holds or changed, or of which hooks have shown it something, as it read or edited them.
TOUCHED = f"""
    {_CLAIMED} UNION ALL {_CHANGED_HERE} UNION ALL
    SELECT f.path, max(d.created_at), {_READ} FROM windows w JOIN deliveries d ON d.window_id = w.id
    JOIN files f ON f.id = d.item_id
    WHERE w.project_id = :project AND w.agent_id = :agent AND w.session_id = :session AND :session <> 0
        AND d.kind = {deliveries.SPENT_ON_FILE}
        AND NOT EXISTS (SELECT 1 FROM ({_CLAIMED} UNION ALL {_CHANGED_HERE}) h WHERE h.path = f.path)
    GROUP BY f.path
"""
_NEW = """
    NOT EXISTS (SELECT 1 FROM windows w JOIN deliveries d ON d.window_id = w.id
        WHERE w.project_id = :project AND w.agent_id = :agent AND w.session_id = :session AND d.kind = {kind}
            AND d.item_id = {item})
"""
_OTHERS = "c.agent_id IS DISTINCT FROM :agent AND (:session = 0 OR c.session_id IS DISTINCT FROM :session)"

# Others' changes of such files and notes on them since then, and claims of those that it holds.
_ON_FILES = f"""
    SELECT {Kind.FILE_CHANGE.number}, c.id, c.seq, h.path, h.touch, c.change, a.name, c.description,
        COALESCE(c.worktree, ''), c.created_at
    FROM ({TOUCHED}) h CROSS JOIN files f CROSS JOIN file_changes c LEFT JOIN agents a ON a.id = c.agent_id
    WHERE f.project_id = :project AND f.path = h.path AND c.file_id = f.id AND c.created_at > h.created_at
        AND c.expires_at > :now AND {_OTHERS} AND {_NEW.format(kind=Kind.FILE_CHANGE.number, item="c.id")}
    UNION ALL
    SELECT {Kind.ENTRY.number}, c.id, c.seq, h.path, h.touch, c.type, a.name, c.content, NULL, 0
    FROM ({TOUCHED}) h CROSS JOIN context c LEFT JOIN agents a ON a.id = c.agent_id
    WHERE c.project_id = :project AND c.file = h.path AND c.created_at > h.created_at AND c.superseded_by IS NULL
        AND {_OTHERS} AND {_NEW.format(kind=Kind.ENTRY.number, item="c.id")}
    UNION ALL
    SELECT {deliveries.CLAIM}, c.id, c.seq, h.path, {_HOLD}, 0, a.name, c.reason, c.worktree, 0
    FROM ({_CLAIMED}) h JOIN file_claims c ON c.project_id = :project AND c.path = h.path AND c.is_key = 0
        AND c.created_at > h.created_at AND c.expires_at > :now
    LEFT JOIN agents a ON a.id = c.agent_id
    WHERE {_OTHERS} AND {_NEW.format(kind=deliveries.CLAIM, item="c.id")}
    LIMIT {MOST}
"""


def find(
    transaction: Transaction, work: Workplace, project_id: int, actor: Actor, now: int
) -> list[tuple[str, list[tuple[int, int, int]]]]:
    """Return lines for an agent, with the items that mark them as delivered."""
    values = {"project": project_id, "agent": actor.number, "session": actor.session or 0, "now": now}
    rows = transaction.all(_ON_FILES, values)
    # the changes of one release, or a claim of several files, are one piece of news
    together: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        if _has_message(transaction, project_id, actor, row):
            continue
        kind, number, _, _, touch, subtype, agent, text, place, at = row
        same = (kind, agent, touch, subtype, place, at if kind == Kind.FILE_CHANGE.number else text)
        together.setdefault((kind, number) if kind == Kind.ENTRY.number else same, []).append(row)
    for some in together.values():
        some.sort(key=lambda row: row[1])
    return [(_on_files(some, work.worktree or ""), [row[:3] for row in some]) for some in together.values()]


def _has_message(transaction: Transaction, project_id: int, actor: Actor, row: Row) -> bool:
    # the author of a change that was reviewed got a message
    kind, *_, subtype, _agent, text, _place, _at = row
    if kind != Kind.ENTRY.number or subtype != REVIEW_VERDICT:
        return False
    judged = judged_changes(transaction, project_id, parse_object("review_verdict", text).get("change"))
    return any(one.agent == actor.number for one in judged)


def _on_files(rows: Sequence[Row], worktree: str) -> str:
    kind, number, _, path, touch, subtype, agent, text, place, _ = rows[0]
    who, yours = who_text(agent), f"which you {_TOUCH[touch]},"
    if kind == Kind.ENTRY.number:
        note = quote(entries.labelled(subtype, text))
        return f"{Kind.ENTRY.ref(number)} on {name_text(path)}, {yours} {who}: {note}"
    where = "" if place == worktree else f" in {f'worktree:{name_text(place)}' if place else 'the main worktree'}"
    now, then = ("are", "were") if len(rows) > 1 else ("is", "was")
    claimed = f"{now} now {'claimed' if where else 'shared'} {who}"
    done = f"{then} {CHANGES[subtype - 1]} {who}" if subtype else claimed
    names = {row: str(name_text(row[3])) for row in rows}
    if len({row[7] for row in rows}) == 1:
        refs = f" ({refs_text([Kind.FILE_CHANGE.ref(row[1]) for row in rows])})" if subtype else ""
        return f"{', '.join(names.values())}, {yours} {done}{refs}{where}{_quotation(text)}"
    most = _CHARS_TOGETHER // len(rows)
    each = "; ".join(f"{names[row]} ({Kind.FILE_CHANGE.ref(row[1])}){_quotation(row[7], most)}" for row in rows)
    return f"{len(rows)} files, {yours} {done}{where}: {each}"


def _quotation(text: str | None, most: int = _CHARS) -> str:
    return f": {quoted_line(text, most)}" if text else ""


def who_text(agent: str | None) -> str:
    return by(agent) or "by somebody unnamed"


def quote(text: str) -> str:
    """Return a text in quotation marks on one line, shortened."""
    return quoted_line(text, _CHARS)
