"""Needs of a person, with one function for each kind."""

from __future__ import annotations

import json

from satchel.base.clock import DAY_MS
from satchel.base.errors import InvalidInput
from satchel.base.records import replace
from satchel.base.text import shortened
from satchel.base.vocabulary import PRIORITIES
from satchel.brief.announcements import is_notice, proposed_draft
from satchel.brief.room import conflicts, looking, states
from satchel.brief.room.looking import LINE_CHARS, Look, possible, value_text
from satchel.brief.room.marks import marks, numbered_ref
from satchel.brief.room.records import Need, Needs
from satchel.find.kind import Kind
from satchel.keep import events
from satchel.keep.constraints import OF_PERSONS
from satchel.keep.decisions.proposals import ends, other_fields
from satchel.keep.decisions.records import ACTIVE, DEPRECATED, DRAFT_SUFFIX, STATUSES, load_numbers
from satchel.keep.entries import structured
from satchel.keep.entries.records import REVIEW_VERDICT
from satchel.keep.messages.records import MESSAGE_TYPES
from satchel.keep.messages.visibility import ALIVE, UNREAD
from satchel.keep.moving.kinds import LINE_KINDS
from satchel.keep.moving.marks import HOOK
from satchel.keep.names import PERSONS, is_persons, shown_name
from satchel.keep.shared.states import BOTH, WHYS

# How many are shown.
MOST = 50

# How many of each kind are read, newest first.
LOOKED_AT = 200

# How long changed decisions, verdicts and errors need somebody.
RECENT_DAYS = 7

_HOOK_EVENTS = 500

_RULES_SHOWN = 3  # in the one need for all new rules of agents
_LOW, _MEDIUM, _HIGH, _CRITICAL = PRIORITIES
_REQUEST = MESSAGE_TYPES.index("request") + 1
_DRAFT = STATUSES.index("draft") + 1


@looking.once
def find(look: Look) -> Needs:
    needs = [
        *states.find_needs(look),
        *(one for one in conflicts.find_wanted(look, MOST, of_persons=True) if one.agent != look.person),
        *_of_items(look),
    ]
    needs.sort(key=lambda one: (-PRIORITIES.index(one.severity), one.began_at or look.now, one.kind, one.ref or ""))
    items = tuple(one if one.key else replace(one, key=f"{one.kind}-{one.ref}") for one in needs[:MOST])
    unread = max(_draft_count(look) - sum(one.kind == "draft" for one in needs), 0)
    return Needs(look.person, items, len(needs) + unread, look.now)


@looking.once_a_minute
def _of_items(look: Look) -> list[Need]:
    decisions = [*_overtaken(look), *_drafts(look)]
    return [
        *(one for one in _messages(look) if not _is_shown_by(look, one, decisions)),
        *decisions,
        *_rules(look),
        *_rules_of_agents(look),
        *_verdicts(look),
        *_errors(look),
        *_shared(look),
        *_hooks(look),
    ]


def _is_shown_by(look: Look, message: Need, decisions: list[Need]) -> bool:
    # a changed decision is shown itself, and so is the draft that a notice proposes until it ends; if a person ended
    # it, they answered
    if not is_notice(message.text):
        return False
    draft = proposed_draft(message.text)
    if draft is None or any(one.ref == Kind.DECISION.ref(draft) for one in decisions):
        return True
    return bool(look.rows(f"SELECT 1 FROM decisions WHERE id = :draft AND agent_id IN {PERSONS}", draft=draft))


def _messages(look: Look) -> list[Need]:
    # each arm is read in the order of an index; in one statement all messages were sorted
    arms = [
        f"""
        SELECT m.* FROM agent_messages m
        WHERE m.project_id = :project AND m.to_agent_id = {to} AND m.from_agent_id IS DISTINCT FROM :me
            AND {ALIVE} AND {UNREAD} AND NOT EXISTS (
                SELECT 1 FROM agent_messages r WHERE r.reply_to = m.id AND r.from_agent_id IN {answerers}
            )
        ORDER BY m.created_at DESC, m.id DESC LIMIT {LOOKED_AT}
        """
        for to, answerers in ((":everybody", PERSONS), *((":me", "(:me)") for _ in range(look.is_named)))
    ]
    rows = look.rows(
        f"""
        SELECT m.id, m.type, m.priority, m.message, a.name, m.created_at
        FROM ({" UNION ALL ".join(f"SELECT * FROM ({arm}) AS arm" for arm in arms)}) m
        LEFT JOIN agents a ON a.id = m.from_agent_id ORDER BY m.created_at DESC, m.id DESC LIMIT {LOOKED_AT}
        """
    )
    needs = []
    for number, kind, priority, text, sender, created in rows:
        severity = PRIORITIES[max(priority - 1, PRIORITIES.index(_HIGH) if kind == _REQUEST else 0)]
        ref, actions = Kind.MESSAGE.ref(number), possible(answer=sender, read=True)
        needs.append(Need("message", severity, shortened(text, LINE_CHARS), ref, None, sender, created, actions))
    return needs


def _overtaken(look: Look) -> list[Need]:
    floor = marks(look)["decision"].seq
    rows = look.rows(
        f"""
        SELECT x.id, x.key, h.value_text, h.value_number, x.value_text, x.value_number, a.name, b.name, x.updated_at
        FROM (
            SELECT * FROM decisions WHERE project_id = :project AND updated_at > :after
            ORDER BY updated_at DESC LIMIT {LOOKED_AT}
        ) x JOIN decision_history h ON h.decision_id = x.id AND h.revision = x.revision - 1
        JOIN agents b ON b.id = h.agent_id
        LEFT JOIN agents a ON a.id = x.agent_id
        LEFT JOIN seen s ON s.person_id = :me AND s.kind = {Kind.DECISION.number} AND s.item_id = x.id
        WHERE x.seq > :floor AND x.seq > COALESCE(s.seq, 0) AND x.agent_id IS DISTINCT FROM h.agent_id
            AND x.agent_id IS DISTINCT FROM :me AND x.agent_id IS DISTINCT FROM :former AND x.status <> {_DRAFT}
            AND (x.value_text IS DISTINCT FROM h.value_text OR x.value_number IS DISTINCT FROM h.value_number
                OR x.status = {DEPRECATED} AND h.status <> {_DRAFT})
        """,
        floor=floor,
        after=look.now - RECENT_DAYS * DAY_MS,
    )
    needs = []
    for number, key, *values, agent, former, updated in rows:
        before, value = values[:2], values[2:]
        if is_persons(agent) and not is_persons(former):
            continue
        text = shortened(
            f"{key}: {former} had {shortened(value_text(*before), LINE_CHARS // 3)}, now {value_text(*value)}",
            LINE_CHARS,
        )
        severity = _HIGH if is_persons(former) else _MEDIUM
        actions = ("decide", "see")
        needs.append(Need("overtaken", severity, text, Kind.DECISION.ref(number), None, agent, updated, actions))
    return needs


_OTHERS_DRAFT = f"""
    x.project_id = :project AND x.status = {_DRAFT}
    AND x.agent_id IS DISTINCT FROM :me AND x.agent_id IS DISTINCT FROM :former
"""


def _drafts(look: Look) -> list[Need]:
    columns = "x.id, x.key, x.value_text, x.value_number, a.name, x.updated_at, x.revision"
    author = "LEFT JOIN agents a ON a.id = x.agent_id"
    newest = f"ORDER BY x.created_at DESC, x.id DESC LIMIT {LOOKED_AT}"
    # read apart, so that no number of other drafts hides them
    proposals = look.rows(
        f"""
        SELECT x.id, p.id FROM decisions p
        JOIN decisions x ON x.project_id = :project AND x.key = p.key || '{DRAFT_SUFFIX}'
        WHERE p.project_id = :project AND p.status = {ACTIVE} AND p.agent_id IN {PERSONS} AND {_OTHERS_DRAFT} {newest}
        """
    )
    decisions = load_numbers(look.transaction, [number for both in proposals for number in both])
    needs = []
    for number, persons_number in proposals:
        draft, persons = decisions[number], decisions[persons_number]
        now, value, is_end = str(persons.value), str(draft.value), ends(draft.metadata)
        others = "" if is_end else other_fields(persons, replace(draft, status=persons.status))
        line = persons.key + (f" ({others} proposed)" if others else "")
        line += f": {shown_name(str(persons.agent))} decided {shortened(now, LINE_CHARS // 3)}"
        line += ", proposed is to end it" if is_end else "" if others and value == now else f", proposed is {value}"
        need = _proposed("draft", draft.ref, line, draft.agent, draft.updated_at)
        values = replace(need, current=now, proposed=value, is_end=is_end, revision=draft.revision)
        needs.append(replace(values, severity=_MEDIUM))
    refs = {one.ref for one in needs}
    for number, key, text, amount, agent, updated, revision in look.rows(
        f"SELECT {columns} FROM decisions x {author} WHERE {_OTHERS_DRAFT} {newest}"
    ):
        need = _proposed("draft", Kind.DECISION.ref(number), f"{key}: {value_text(text, amount)}", agent, updated)
        if need.ref not in refs:
            needs.append(replace(need, revision=revision))
    return needs


@looking.once_a_minute
def _draft_count(look: Look) -> int:
    ((count,),) = look.rows(f"SELECT count(*) FROM decisions x WHERE {_OTHERS_DRAFT}")
    return int(count)


def _rules(look: Look) -> list[Need]:
    rows = look.rows(
        f"""
        SELECT c.id, c.text, a.name, c.created_at, p.name FROM constraints c
        LEFT JOIN agents a ON a.id = c.created_by LEFT JOIN agents p ON p.id = c.stated_by
        WHERE c.active = 1 AND c.unconfirmed = 1 AND c.id IN (
            SELECT id FROM constraints WHERE project_id = :project AND (unconfirmed = 1 OR for_person IS NOT NULL))
        ORDER BY c.created_at DESC, c.id DESC LIMIT {LOOKED_AT}
        """
    )
    return [
        _proposed("rule", Kind.CONSTRAINT.ref(number), text, agent, at, person and f"stated by {shown_name(person)}")
        for number, text, agent, at, person in rows
    ]


def _rules_of_agents(look: Look) -> list[Need]:
    # they bind at once; one need for all of them, until the person saw or confirmed them
    rows = look.rows(
        f"""
        SELECT x.text, count(*) OVER (), min(x.created_at) OVER () FROM constraints x
        LEFT JOIN seen s ON s.person_id = :me AND s.kind = {Kind.CONSTRAINT.number} AND s.item_id = x.id
        WHERE x.project_id = :project AND x.active = 1 AND x.unconfirmed = 0 AND x.for_person IS NULL
            AND x.created_by IS NOT NULL AND x.seq > :floor AND x.seq > COALESCE(s.seq, 0) AND NOT {OF_PERSONS}
        ORDER BY x.created_at DESC, x.id DESC LIMIT {_RULES_SHOWN}
        """,
        floor=marks(look)["rule"].seq,
    )
    if not rows:
        return []
    texts, (count, *_), (began, *_) = zip(*rows, strict=True)
    rules = "; ".join(shortened(text, LINE_CHARS // len(texts)) for text in texts)
    text = f"{count} new rule{'s' * (count > 1)} by agents, in force: {rules}"
    return [Need("rules", _LOW, text, "rule", None, None, began, ("see",))]


def _proposed(kind: str, ref: str, text: str, agent: str | None, at: int, remedy: str | None = None) -> Need:
    return Need(kind, _LOW, shortened(text, LINE_CHARS), ref, None, agent, at, ("accept", "reject"), remedy=remedy)


def _verdicts(look: Look) -> list[Need]:
    rows = look.rows(
        f"""
        SELECT x.id, x.content, x.run_id, x.task_id, x.loop_id, a.name, x.created_at, r.status, u.uid,
            COALESCE(s.seq, 0) >= x.seq
        FROM (
            SELECT * FROM context WHERE project_id = :project AND type = {REVIEW_VERDICT}
                AND created_at > :after AND superseded_by IS NULL
            ORDER BY created_at DESC, id DESC LIMIT {LOOKED_AT}
        ) x JOIN runs r ON r.id = x.run_id LEFT JOIN agents a ON a.id = x.agent_id
        LEFT JOIN sessions u ON u.id = x.session_id
        LEFT JOIN seen s ON s.person_id = :me AND s.kind = {Kind.ENTRY.number} AND s.item_id = x.id
        ORDER BY x.created_at DESC, x.id DESC
        """,
        after=look.now - RECENT_DAYS * DAY_MS,
    )
    needs = []
    later: set[tuple[object, ...]] = set()
    for number, content, run_number, task, loop, agent, created, status, uid, is_seen in rows:
        place = (run_number, task, None if task else loop, None if task or loop else agent)
        try:
            verdict = structured.review_verdict(content)
        except InvalidInput:
            continue
        is_followed = place in later
        later.add(place)
        if is_followed or verdict.passed or is_seen or status != 1:
            continue
        text = shortened(": ".join(filter(None, (task or loop, verdict.summary or "the review failed"))), LINE_CHARS)
        session = None if uid is None else uid.hex()
        actions, ref = possible(answer=agent, see=True), Kind.ENTRY.ref(number)
        needs.append(Need("verdict", _MEDIUM, text, ref, session, agent, created, actions))
    return needs


def _errors(look: Look) -> list[Need]:
    # Whether there were two is checked in the order of an index: otherwise all reports of one error would be read.
    rows = look.rows(
        f"""
        SELECT x.id, x.error_type, x.message, x.occurrences, x.last_seen
        FROM (
            SELECT * FROM error_patterns
            WHERE project_id = :project AND last_seen > :after AND expires_at > :now
            ORDER BY last_seen DESC LIMIT {LOOKED_AT}
        ) x LEFT JOIN seen s ON s.person_id = :me AND s.kind = {Kind.ERROR_PATTERN.number} AND s.item_id = x.id
        WHERE x.occurrences > 1 AND x.seq > COALESCE(s.seq, 0)
            AND NOT EXISTS (SELECT 1 FROM error_solutions y WHERE y.pattern_id = x.id AND y.state <> 3)
            AND EXISTS (
                SELECT 1 FROM error_reports f WHERE f.id = (
                    SELECT id FROM error_reports WHERE pattern_id = x.id ORDER BY run_id, agent_id NULLS FIRST LIMIT 1
                ) AND (
                    EXISTS (
                        SELECT 1 FROM error_reports r WHERE r.pattern_id = x.id AND r.run_id = f.run_id
                            AND r.agent_id > COALESCE(f.agent_id, 0)
                    ) OR EXISTS (
                        SELECT 1 FROM error_reports r WHERE r.pattern_id = x.id AND r.run_id > f.run_id
                            AND r.agent_id IS DISTINCT FROM f.agent_id
                    )
                )
            )
        """,
        after=look.now - RECENT_DAYS * DAY_MS,
    )
    needs = []
    for number, error, message, times, last in rows:
        text = shortened(f"{error}: {message} (met {times} times)", LINE_CHARS)
        ref = Kind.ERROR_PATTERN.ref(number)
        needs.append(Need("error", _MEDIUM, text, ref, None, None, last, ("solve", "see")))
    return needs


def _shared(look: Look) -> list[Need]:
    rows = look.rows(
        f"SELECT uid, kind, file, why FROM shared_texts WHERE project_id = :project AND waiting IS NOT NULL "
        f"ORDER BY why DESC LIMIT {LOOKED_AT}"
    )
    needs = []
    for uid, kind, file, why in rows:
        line_kind = LINE_KINDS.get(kind)
        here = [] if line_kind is None else look.rows(f"SELECT id FROM {line_kind.table} WHERE uid = :uid", uid=uid)
        ref = f"{line_kind.letter}{here[0][0]}" if line_kind is not None and here else uid.hex()[:8]
        reason = _WHY[WHYS.index(why)]
        text = shortened(f"{kind.replace('_', ' ')} in the shared text: {reason}", LINE_CHARS)
        severity, key = _HIGH if why >= BOTH else _MEDIUM, f"shared-{uid.hex()}"
        needs.append(Need("shared", severity, text, ref, None, None, None, ("accept", "reject"), place=file, key=key))
    return needs


_WHY = ("new", "changed", "changed on both sides", "another item here has its key")


def _hooks(look: Look) -> list[Need]:
    rows = look.rows(
        f"""
        SELECT e.seq, e.details, e.created_at, s.seq FROM events e
        LEFT JOIN seen s ON s.person_id = :me AND s.kind = {HOOK} AND s.item_id = e.seq
        WHERE e.project_id = :project AND e.kind = {events.HOOK_FAILED} AND e.created_at > :after
        ORDER BY e.created_at DESC, e.seq DESC LIMIT {_HOOK_EVENTS}
        """,
        after=look.now - DAY_MS,
    )
    faults: dict[str, list[tuple[int, dict[str, object], int]]] = {}
    over: set[str] = set()
    for number, details, at, seen_seq in rows:
        fields = {} if details is None else json.loads(details)
        hook = str(fields.get("hook") or "a hook")
        if fields.get("works") or seen_seq is not None:
            over.add(hook)
        elif hook not in over:
            faults.setdefault(hook, []).append((number, fields, at))
    return [_hook_need(hook, *faults_of[0][:2], faults_of[-1][2]) for hook, faults_of in faults.items()]


def _hook_need(hook: str, number: int, fields: dict[str, object], began: int) -> Need:
    times = fields.get("times")
    often = f", {times} times or more within the hour" if isinstance(times, int) and times > 1 else ""
    text = shortened(f"{hook} fails{often}: {fields.get('problem') or 'unknown reason'}", LINE_CHARS)
    remedy = "this clears once the hook works again; if it does not, `satchel doctor` shows why"
    key = f"hook-{''.join(one if one.isalnum() else '-' for one in hook)}"
    return Need("hook", "high", text, numbered_ref("hook", number), None, None, began, ("see",), remedy=remedy, key=key)
