"""Changes since a person last looked: actions, decisions, rules, fixes, files, corrections."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from satchel.base.records import replace
from satchel.base.text import shortened
from satchel.brief.room.looking import LINE_CHARS, Look, once_a_minute, value_text
from satchel.brief.room.marks import OF_CHANGES, Mark, files_ref, marks, numbered_ref
from satchel.brief.room.records import Changed, Since
from satchel.find.kind import KIND_OF, Kind
from satchel.keep import events
from satchel.keep.corrections.log import CONFIRMED, SUPERSEDED, author_of
from satchel.keep.decisions.records import STATUSES
from satchel.keep.moving.marks import NOBODY
from satchel.keep.patterns.records import DEMOTED, SOLUTION_LETTER
from satchel.store.transaction import Row, grouped

# How many of each kind are shown.
MOST = 50

# How many changes of each kind are read, newest first.
_LOOKED_AT = 1_000

_VALUE_CHARS = 2_000
_MOST_FILES = 5
_DEPRECATED, _DRAFT = STATUSES.index("deprecated") + 1, STATUSES.index("draft") + 1


def find(look: Look, seq: int) -> Since:
    """Return the changes that a person has not seen; ``seq`` is the project's change counter."""
    return replace(_find(look, seq), asked_at=look.now)


@once_a_minute
def _find(look: Look, seq: int) -> Since:
    seen_marks = marks(look)
    items: list[Changed] = []
    own: list[Changed] = []
    totals: list[tuple[str, int]] = []
    for name, (statement, make) in _FINDERS.items():
        # events are numbered by themselves
        floor = seen_marks[name].seen_at if name == "action" else seen_marks[name].seq
        rows = look.rows(statement, floor=floor)
        made = make([row[1:] for row in rows], seen_marks[name])
        if name == "action":
            own = [one for one in made if one.agent == look.person]
            made = [one for one in made if one.agent != look.person]
        items += made[:MOST]
        # of edits there is one for each agent; the statement of actions counts nothing, since one's own are apart
        totals += [(name, len(made) if name in ("files", "action") else rows[0][0])] if made else []
    items.sort(key=lambda one: (-one.changed_at, -one.seq))
    last = seen_marks[""].seen_at or None
    return Since(look.person, tuple(items), tuple(totals), seq, last, look.now, tuple(own[:MOST]), len(own))


def _unseen(
    kind: int, table: str, columns: str, joins: str, *, where: str = "", item: str = "x.id", most: int = MOST
) -> str:
    # ``floor`` is a parameter: how far the person has seen the kind. ``columns`` may use ``s.seq`` and ``s.seen_at``:
    # how far they have seen the item. ``kind`` and ``item`` are those of the table of marks.
    return f"""
        SELECT s.total, {columns} FROM (
            SELECT x.id, s.seq, s.created_at AS seen_at, count(*) OVER () AS total FROM (
                SELECT * FROM {table} WHERE project_id = :project AND seq > :floor ORDER BY seq DESC LIMIT {_LOOKED_AT}
            ) x LEFT JOIN seen s ON s.person_id = :me AND s.kind = {kind} AND s.item_id = {item}
            WHERE x.seq > COALESCE(s.seq, 0){where} ORDER BY x.seq DESC LIMIT {most}
        ) s JOIN {table} x ON x.id = s.id {joins} ORDER BY x.seq DESC
    """


_EVENTS_LOOKED_AT = 5_000

# the person's own too: an agent may have done it in their name
_ACTIONS = f"""
    SELECT NULL, x.seq, x.kind, x.item_kind, x.item_id, x.details, x.created_at, a.name FROM (
        SELECT * FROM events WHERE project_id = :project ORDER BY seq DESC LIMIT {_EVENTS_LOOKED_AT}
    ) x LEFT JOIN agents a ON a.id = x.agent_id
    LEFT JOIN seen s ON s.person_id = :me AND s.kind = {OF_CHANGES["action"]} AND s.item_id = x.seq
    WHERE x.kind IN ({events.ACTION}, {events.FORGOTTEN}, {events.TAKEN_BACK}) AND x.created_at > :floor
        AND s.item_id IS NULL
    ORDER BY x.seq DESC LIMIT {_LOOKED_AT}
"""


def _actions(rows: Sequence[Row], _: Mark) -> list[Changed]:
    changes = []
    # by the time of each undo the time of what was undone, which is marked where it is listed itself
    undos = {row[5]: json.loads(row[4] or "{}").get("made_at") for row in rows if row[1] == events.TAKEN_BACK}
    undone = {*undos.values()} & {row[5] for row in rows if row[1] == events.ACTION}
    for number, kind, item_kind, item, details, changed, agent in rows:
        if kind == events.TAKEN_BACK or undos.get(changed) in undone:
            continue
        facts = json.loads(details) if details else {}
        ref = facts.get("ref") or (None if item_kind is None else KIND_OF[item_kind].ref(item))
        what = "forgotten" if kind == events.FORGOTTEN else "undone" if changed in undone else "done"
        text = ref or shortened(str(facts.get("what", "")), LINE_CHARS)
        mark, by = numbered_ref("action", number), facts.get("by") or agent
        changes.append(Changed("action", mark, what, text, by, changed, number))
    return changes


_NOT_OWN = " AND x.agent_id IS DISTINCT FROM :me AND x.agent_id IS DISTINCT FROM :former"

# the person knew the first of the states that were replaced after they looked
_DECISIONS = _unseen(
    Kind.DECISION.number,
    "decisions",
    """
    x.id, x.key, x.value_text, x.value_number, x.status, a.name, x.created_at, x.updated_at, x.seq,
    COALESCE(s.seq, 0), COALESCE(s.seen_at, 0), h.revision, h.value_text, h.value_number
    """,
    where=_NOT_OWN,
    joins="""
        LEFT JOIN decision_history h ON h.decision_id = x.id AND h.revision = (
            SELECT min(n.revision) FROM decision_history n
            WHERE n.decision_id = x.id AND n.seq >= :floor AND n.seq >= COALESCE(s.seq, 0)
        )
        LEFT JOIN agents a ON a.id = x.agent_id
    """,
)


def _decisions(rows: Sequence[Row], mark: Mark) -> list[Changed]:
    changes = []
    for row in rows:
        number, key, text, amount, status, agent, created, updated, seq, item_seq, item_at, revision, *before = row
        value = value_text(text, amount)
        seen_at = max(mark, Mark(item_seq, item_at)).seen_at
        # only the time of its first state is known
        is_new = revision is None or not seen_at or (revision == 1 and created > seen_at)
        action = {_DEPRECATED: "deprecated", _DRAFT: "proposed"}.get(status, "set" if is_new else "changed")
        was, line = None if is_new else _cut(value_text(*before)), shortened(f"{key}: {value}", LINE_CHARS)
        ref = Kind.DECISION.ref(number)
        changes.append(Changed("decision", ref, action, line, agent, updated, seq, was, _cut(value)))
    return changes


_RULES = _unseen(
    Kind.CONSTRAINT.number,
    "constraints",
    """
    x.id, x.text, x.active, a.name, x.created_at, COALESCE(x.deactivated_at, x.created_at), x.seq,
    COALESCE(s.seen_at, 0)
    """,
    where=" AND COALESCE(x.deactivated_by, x.created_by, 0) NOT IN (:me, :former)",
    joins="LEFT JOIN agents a ON a.id = COALESCE(x.deactivated_by, x.created_by)",
)


def _rules(rows: Sequence[Row], mark: Mark) -> list[Changed]:
    changes = []
    for number, text, active, agent, created, changed, seq, item_at in rows:
        action = "retracted" if not active else "added" if created >= max(mark.seen_at, item_at) else "changed"
        line = shortened(text, LINE_CHARS)
        changes.append(Changed("rule", Kind.CONSTRAINT.ref(number), action, line, agent, changed, seq))
    return changes


# whoever tried it last, else its author
_TRIED_BY = """CASE WHEN x.confirmed + x.failed = 0 THEN x.agent_id ELSE (
    SELECT n.agent_id FROM solution_confirmations n WHERE n.solution_id = x.id ORDER BY n.id DESC LIMIT 1) END"""
_FIXES = _unseen(
    OF_CHANGES["fix"],
    "error_solutions",
    "x.id, p.error_type, x.solution, x.state, x.confirmed, a.name, x.updated_at, x.seq, x.pattern_id",
    where=f" AND COALESCE({_TRIED_BY}, 0) NOT IN (:me, :former)",
    joins=f"JOIN error_patterns p ON p.id = x.pattern_id LEFT JOIN agents a ON a.id = {_TRIED_BY}",
)


def _fixes(rows: Sequence[Row], _: Mark) -> list[Changed]:
    changes = []
    for number, error, text, state, confirmed, agent, changed, seq, pattern in rows:
        action = "refuted" if state == DEMOTED else "confirmed" if confirmed else "solved"
        line = shortened(f"{error}: {text}", LINE_CHARS)
        item = Kind.ERROR_PATTERN.ref(pattern)
        changes.append(Changed("fix", f"{SOLUTION_LETTER}{number}", action, line, agent, changed, seq, item=item))
    return changes


_FILES = _unseen(
    OF_CHANGES["files"],
    "file_changes",
    "a.name, f.path, x.created_at, x.seq",
    item=f"COALESCE(x.agent_id, {NOBODY})",
    most=_LOOKED_AT,
    where=f"{_NOT_OWN} AND x.expires_at > :now",
    joins="JOIN files f ON f.id = x.file_id LEFT JOIN agents a ON a.id = x.agent_id",
)


def _files(rows: Sequence[Row], _: Mark) -> list[Changed]:
    changes = []
    for agent, edits in grouped((row[0], row[1:]) for row in rows).items():
        files = list(dict.fromkeys(path for path, *_ in edits))
        more = f" and {len(files) - _MOST_FILES} more" if len(files) > _MOST_FILES else ""
        _path, changed, seq = edits[0]
        line = shortened(", ".join(files[:_MOST_FILES]) + more, LINE_CHARS)
        changes.append(Changed("files", files_ref(agent), "edited", line, agent, changed, seq))
    return changes


_TEXT = " ".join(
    f"WHEN {kind.number} THEN (SELECT i.{text} FROM {kind.table} i WHERE i.id = x.item_id)"
    for kind, text in ((Kind.ENTRY, "content"), (Kind.STRATEGY, "insight"))
)
# a retracted rule is a change of the rule
_CORRECTIONS = _unseen(
    OF_CHANGES["correction"],
    "corrections",
    f"""
    x.id, x.action, x.item_kind, x.item_id, x.heir_id, x.reason, COALESCE(x.undone_at, x.created_at), x.undone_at,
    x.seq, a.name, CASE x.item_kind {_TEXT} END
    """,
    where=f" AND x.action <> {CONFIRMED} AND x.item_kind <> {Kind.CONSTRAINT.number} "
    f"AND COALESCE({author_of('x')}, 0) NOT IN (:me, :former)",
    joins=f"LEFT JOIN agents a ON a.id = {author_of('x')}",
)


def _corrections(rows: Sequence[Row], _: Mark) -> list[Changed]:
    changes = []
    for row in rows:
        number, action, kind, item, heir, reason, changed, undone, seq, agent, text = row
        done = "replaced" if action == SUPERSEDED else "retracted"
        ref = KIND_OF[kind].ref(item)
        parts = [ref, f"by {KIND_OF[kind].ref(heir)}" if heir is not None else None, reason, text]
        line = shortened(": ".join(filter(None, (" ".join(filter(None, parts[:2])), *parts[2:]))), LINE_CHARS)
        action = done if undone is None else f"{done}, taken back"
        mark = numbered_ref("correction", number)
        changes.append(Changed("correction", mark, action, line, agent, changed, seq, item=ref))
    return changes


# The statement of each of :data:`satchel.brief.room.records.CHANGES`, and the function for its rows.
_FINDERS: Mapping[str, tuple[str, Callable[[Sequence[Row], Mark], list[Changed]]]] = {
    "action": (_ACTIONS, _actions),
    "decision": (_DECISIONS, _decisions),
    "rule": (_RULES, _rules),
    "fix": (_FIXES, _fixes),
    "files": (_FILES, _files),
    "correction": (_CORRECTIONS, _corrections),
}


def _cut(text: str) -> str:
    return text if len(text) <= _VALUE_CHARS else f"{text[: _VALUE_CHARS - 1]}…"
