"""News for an agent at work, once: rules and decisions of others that are new or changed, and changes of its files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from satchel.base.records import NamedTuple
from satchel.brief import file_news
from satchel.brief.fields import name_text
from satchel.find.kind import KIND_OF, Kind
from satchel.keep import binding, deliveries, events, paths
from satchel.keep.corrections.log import CONFIRMED
from satchel.keep.decisions.records import DRAFT_SUFFIX, STATUSES
from satchel.keep.documents.states import loaded_items
from satchel.keep.names import PERSONS
from satchel.keep.projects import Workplace
from satchel.keep.sessions.actors import UNKNOWN, reading
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Transaction, set_of

# How many rules and decisions are read: first those of persons, and last what waits for the agent to come to its files.
_MOST_READ = 200

# How many new rules of agents one context window gets; it gets the number of the others.
_MOST_OF_AGENTS = 20

# What was stored so shortly before the first text of a window may have come too late for it.
_LATE_MS = 1_000

# The most that the news of one answer has.
MOST_CHARS = 4_000


class News(NamedTuple):
    """A piece of news.

    Attributes:
        items: kind, number and seq of each item that it is about, which mark it as delivered.
        is_counted: whether the window got too many of its kind before, so that only their number is shown.
    """

    text: str
    items: Sequence[tuple[int, int, int]]
    is_critical: bool = False
    is_persons: bool = False
    is_counted: bool = False

    def is_of(self, refs: Collection[str]) -> bool:
        """Return whether it is only about items with some short ids."""
        first, kind = self.items[0][0], KIND_OF.get(self.items[0][0])
        return kind is not None and all(kind.ref(number) in refs for one, number, _ in self.items if one == first)


class _Item(NamedTuple):
    """A row of ``_BINDING``: a new or changed rule or decision; ``of_agents`` counts agents' rules delivered before."""

    kind: int
    number: int
    is_new: int
    key: str
    text: str | None
    value: float | None
    is_live: int
    state: int  # of a rule an index of _RULE_NOW, of a decision its status
    agent: str | None
    reason: str | None
    priority: int
    seq: int
    globs: str
    is_persons: int
    of_agents: int

    @property
    def id(self) -> tuple[int, int]:
        return self.kind, self.number

    @property
    def is_rule(self) -> bool:
        return self.kind == Kind.CONSTRAINT.number

    @property
    def is_critical(self) -> bool:
        return self.priority == binding.CRITICAL


def find(transaction: Transaction, work: Workplace, project_id: int, actor: Actor, now: int) -> list[News]:
    """Return the news of others' work that was not delivered to an agent yet."""
    news = fitting(_find_binding(transaction, work, project_id, actor)[0], MOST_CHARS)
    room = MOST_CHARS - sum(len(one.text) for one in news)
    for one in (News(*on_files) for on_files in file_news.find(transaction, work, project_id, actor, now)):
        if len(one.text) <= room or not news:
            news.append(one)
            room -= len(one.text)
    return news


def fitting(fresh: Sequence[News], chars: int, affords: Callable[[News], bool] = lambda _: True) -> list[News]:
    """Return the news of rules and decisions for which an answer has room.

    A last line counts the other changes by agents, and those that the session cannot afford. Changes by persons wait
    for the next answer.
    """
    news: list[News] = []
    others: list[News] = []
    for one in fresh:
        has_room = not one.is_counted and len(news) < file_news.MOST and len(one.text) <= chars
        if has_room and affords(one):
            news.append(one)
            chars -= len(one.text)
        elif has_room or not one.is_persons or len(one.text) > MOST_CHARS:
            others.append(one)
    return [*news, _number_of(others)] if others else news


def _number_of(others: Sequence[News]) -> News:
    numbers = [one.items[0] for one in others]
    counts = [(kind, sum(number[0] == kind.number for number in numbers)) for kind in _COUNTED]
    some = [(kind, count) for kind, count in counts if count]
    new = "new" if all(one.text.startswith("new ") for one in others) else "new or changed"
    what = " and ".join(f"{count} more {new} {kind.noun}{'s' * (count != 1)}" for kind, count in some)
    kinds = ",".join(kind.name.lower() for kind, _ in some)
    marks = [(_COUNTED[KIND_OF[kind]], number, seq) for kind, number, seq in numbers]
    return News(f"and {what}: search kinds=[{kinds}]", marks)


def is_waiting(transaction: Transaction, work: Workplace, project_id: int, agent: str) -> bool:
    actor = reading(transaction, work, project_id, agent)
    is_known = actor.session is not None and actor.number not in {None, UNKNOWN}
    return is_known and bool(find(transaction, work, project_id, actor, work.clock()))


def find_at_work(transaction: Transaction, work: Workplace, project_id: int, actor: Actor, now: int) -> list[News]:
    """Return what the next hook of a session adds: files that are free again, and news of rules and decisions."""
    news, is_refused = _find_binding(transaction, work, project_id, actor)
    if not is_refused:
        return news
    from satchel.brief import freed

    # they wait for the next answer rather than be counted
    free = freed.find(transaction, project_id, actor, now)
    return [*(News(*one, is_critical=True, is_persons=True) for one in free), *news]


def _find_binding(transaction: Transaction, work: Workplace, project_id: int, actor: Actor) -> tuple[list[News], bool]:
    # what others did to rules and decisions that an agent was shown, and those made since its window began; and whether
    # a claim of the agent or its session was refused
    if actor.number is None:
        return [], False
    values = {"project": project_id, "agent": actor.number, "session": actor.session or 0, "window": actor.window}
    *newest, is_refused = transaction.one(_NEWEST, values) or (0,)
    state = (*values.values(), *newest)
    if work.caller is not None and work.caller.without_news == state:
        return [], bool(is_refused)
    items = [_Item(*row) for row in transaction.all(_BINDING.format(own=_OF_ACTOR, most=_MOST_READ), values)]
    if work.caller is not None and not items:
        work.caller.without_news = state
    skipped = _skipped(transaction, work, project_id, actor, items) if items else set()
    news: list[News] = []
    of_agents = items[0].of_agents if items else 0
    for item in sorted(items, key=lambda one: (not one.is_critical, not one.is_persons, -one.priority, one.seq)):
        if item.id not in skipped:
            one = _about_item(item)
            if item.is_new and item.is_rule and not item.is_persons:
                of_agents += 1
                marks = (*one.items, (deliveries.NEWS_OF_AGENT, item.number, 0))
                one = one._replace(items=marks, is_counted=of_agents > _MOST_OF_AGENTS)
            news.append(one)
    return news, bool(is_refused)


def may_wait_at_work(transaction: Transaction, work: Workplace, project_id: int) -> bool:
    """Return whether such news may wait for the caller's session, known by its client's id: one statement."""
    host = None if work.caller is None else work.caller.host_id
    if host is None:
        return False
    binding_news = _BINDING.format(own=_OF_HOST, most=1)
    refused = f"SELECT 1 FROM ({_OF_HOST}) AS own JOIN claim_refusals r ON {_REFUSED}"
    row = transaction.one(f"SELECT EXISTS ({binding_news}), EXISTS ({refused})", {"project": project_id, "host": host})
    return row is not None and any(row)


def _skipped(
    transaction: Transaction, work: Workplace, project_id: int, actor: Actor, items: Sequence[_Item]
) -> set[tuple[int, int]]:
    # what binds other persons' sessions or other files, and what the client loads itself
    new = [one for one in items if one.is_new]
    loaded = loaded_items(transaction, work, project_id, actor) if new else {}
    skipped = {one.id for one in new if loaded.get(one.kind, {}).get(one.number, -1) >= one.seq}
    rules = [one for one in items if one.is_rule]
    binds = binding.binding_caller(transaction, work, project_id) if rules else ""
    if binds:
        # everybody learns that a rule in their context is no longer confirmed
        changed = set_of(one.number for one in rules if not one.is_new)
        some = f"""
            SELECT c.id FROM constraints c WHERE c.id IN {set_of(one.number for one in rules)}
                AND (c.for_person IS NULL AND c.id IN {changed} OR 1 = 1{binds})
        """
        here = {number for (number,) in transaction.all(some, {"project": project_id})}
        skipped |= {one.id for one in rules if one.number not in here}
    with_paths = [one for one in new if one.globs != "[]"]
    if with_paths:
        values = {"project": project_id, "agent": actor.number, "session": actor.session or 0, "now": work.clock()}
        files = [path for path, *_ in transaction.all(file_news.TOUCHED, values)]
        skipped |= {
            one.id
            for one in with_paths
            if not any(paths.matches(glob, file) for glob in paths.globs_in(one.globs) for file in files)
        }
    return skipped


_DRAFT = STATUSES.index("draft") + 1
_FIRST, _SET_BEFORE = 1, 2  # new to the agent; the second is not the first value of the decision

_OF_ACTOR = "SELECT :agent AS agent, :session AS session, :window AS number"
_OF_HOST = """
    SELECT COALESCE(s.agent_id, s.unnamed_id) AS agent, s.id AS session, s.window AS number
    FROM session_hosts h JOIN sessions s ON s.id = h.session_id
    WHERE h.host_id = :host AND s.project_id = :project AND COALESCE(s.agent_id, s.unnamed_id) IS NOT NULL
"""

# Where these are the same, nothing has happened to a rule or decision.
_CHANGED = (Kind.CONSTRAINT.table, Kind.DECISION.table, "events")
_REFUSED = "r.project_id = :project AND COALESCE(r.session_id, own.session) = own.session"
_NEWEST = f"""
    SELECT {", ".join(f"(SELECT max(seq) FROM {one} WHERE project_id = :project)" for one in _CHANGED)},
        EXISTS (SELECT 1 FROM claim_refusals r WHERE {_REFUSED.replace("own.session", ":session")})
"""

# What the last correction of a rule was: 1 a confirmation, 2 the undo of one, else 0 or null.
_CONFIRMATION = f"""(
    SELECT CASE WHEN k.action <> {CONFIRMED} THEN 0 WHEN k.undone_at IS NULL THEN 1 ELSE 2 END FROM corrections k
    WHERE k.item_kind = {Kind.CONSTRAINT.number} AND k.item_id = c.id ORDER BY k.seq DESC LIMIT 1
)"""
_RULE_AUTHOR = Kind.CONSTRAINT.changed_by.replace("i.", "c.")
_COUNTED = {Kind.CONSTRAINT: deliveries.COUNTED_RULE, Kind.DECISION: deliveries.COUNTED_DECISION}
_COUNTED_AS = " ".join(f"WHEN {mark} THEN {kind.number}" for kind, mark in _COUNTED.items())
_PRIORITIES = ", ".join(map(str, range(1, binding.CRITICAL + 1)))
_IS_PERSONS = f"CASE WHEN a.id IN {PERSONS} THEN 1 ELSE 0 END"
# The reason of a decision's last change, which may have kept that of the value.
_NEW_REASON = """(
    SELECT CASE WHEN h.rationale IS DISTINCT FROM c.rationale THEN c.rationale END FROM (SELECT 1) AS one
    LEFT JOIN decision_history h ON h.decision_id = c.id AND h.revision = c.revision - 1
)"""
_DECISION_COLUMNS = (
    f"c.key, c.value_text, c.value_number, c.status = 1, c.status, a.name, {_NEW_REASON}, 0 AS priority, c.seq AS seq, "
    f"c.paths AS paths, {_IS_PERSONS} AS is_persons"
)
_RULE_COLUMNS = f"""
    '', c.text, NULL, c.active = 1, COALESCE({_CONFIRMATION}, 0), a.name, c.reason, c.priority, c.seq,
    c.paths, {_IS_PERSONS}
"""
_IS_NEW = """
    own.session <> 0 AND NOT EXISTS (SELECT 1 FROM shown s WHERE s.kind = {kind} AND s.item_id = c.id)
    AND b.at > (SELECT created_at FROM sessions WHERE id = own.session)
    AND b.at > COALESCE((SELECT min(began) FROM shown), 0) - {late}
"""

# A draft of the agent that another set active as it was, or accepted as a change: its author got a message.
_OWN_DRAFT = f"""EXISTS (
    SELECT 1 FROM decisions o JOIN decision_history h ON h.decision_id = o.id AND h.revision = o.revision - 1
    WHERE o.project_id = c.project_id AND o.key IN (c.key, c.key || '{DRAFT_SUFFIX}') AND h.agent_id = own.agent
        AND (h.value_text, h.value_number) IS NOT DISTINCT FROM (c.value_text, c.value_number)
)"""

# Rules and decisions made since the session began, and what others let bind since: shared texts, what a person had
# stated, and what holds again. The pluses keep SQLite from walking over all decisions.
_BEGINS = f"""
    SELECT kind, id, max(at) AS at FROM (
        SELECT {Kind.CONSTRAINT.number} AS kind, c.id AS id, c.created_at AS at
        FROM own JOIN sessions o ON o.id = own.session JOIN constraints c ON c.project_id = :project AND c.active = 1
            AND c.priority IN ({_PRIORITIES}) AND c.created_at > o.created_at
        UNION ALL
        SELECT {Kind.DECISION.number}, c.id, c.updated_at FROM own JOIN sessions o ON o.id = own.session
        JOIN decisions c ON c.project_id = :project AND +c.status = 1 AND c.updated_at > o.created_at
        UNION ALL
        SELECT e.item_kind, e.item_id, e.created_at FROM own CROSS JOIN events e
        WHERE own.session <> 0 AND e.project_id = :project AND e.agent_id IS DISTINCT FROM own.agent
            AND e.seq > COALESCE((SELECT seq FROM events WHERE session_id = own.session ORDER BY created_at LIMIT 1), 0)
            AND (e.kind = {events.ACCEPTANCE}
                OR e.kind = {events.CONFIRMATION} AND e.item_kind = {Kind.CONSTRAINT.number}
                AND EXISTS (SELECT 1 FROM constraints c WHERE c.id = e.item_id AND c.stated_by IS NOT NULL)
                OR e.kind = {events.TAKEN_BACK} AND NOT EXISTS (SELECT 1 FROM corrections k
                    WHERE k.item_kind = e.item_kind AND k.item_id = e.item_id AND k.action = {CONFIRMED}
                    AND k.undone_at = e.created_at))
    ) AS begins GROUP BY kind, id
"""

# Rules and decisions that others changed or retracted after the agent was shown them, or made since its window began.
_BINDING = f"""
    WITH own AS NOT MATERIALIZED ({{own}}), shown AS (
        SELECT CASE d.kind {_COUNTED_AS} ELSE d.kind END AS kind, d.item_id, max(d.seq) AS seq,
            min(d.created_at) AS began FROM own JOIN windows w
            ON w.project_id = :project AND w.agent_id = own.agent AND w.session_id = own.session
            AND (own.session = 0 OR w.number = own.number)
        JOIN deliveries d ON d.window_id = w.id GROUP BY CASE d.kind {_COUNTED_AS} ELSE d.kind END, d.item_id
    ), begun AS ({_BEGINS})
    SELECT news.*, (SELECT count(*) FROM shown WHERE kind = {deliveries.NEWS_OF_AGENT}) FROM (
        SELECT {Kind.DECISION.number} AS kind, c.id AS id, 0 AS is_new, {_DECISION_COLUMNS}
        FROM own JOIN shown s ON s.kind = {Kind.DECISION.number} JOIN decisions c ON c.id = s.item_id AND c.seq > s.seq
        LEFT JOIN agents a ON a.id = c.agent_id WHERE c.agent_id IS DISTINCT FROM own.agent AND NOT {_OWN_DRAFT}
        UNION ALL
        SELECT {Kind.CONSTRAINT.number}, c.id, 0, {_RULE_COLUMNS}
        FROM own JOIN shown s ON s.kind = {Kind.CONSTRAINT.number}
        JOIN constraints c ON c.id = s.item_id AND c.seq > s.seq
        LEFT JOIN agents a ON a.id = {_RULE_AUTHOR} WHERE {_RULE_AUTHOR} IS DISTINCT FROM own.agent
        UNION ALL
        SELECT {Kind.CONSTRAINT.number}, c.id, 1, {_RULE_COLUMNS}
        FROM own JOIN begun b ON b.kind = {Kind.CONSTRAINT.number}
        JOIN constraints c ON c.id = b.id AND +c.project_id = :project AND c.active = 1
        LEFT JOIN agents a ON a.id = {_RULE_AUTHOR}
        WHERE c.created_by IS DISTINCT FROM own.agent AND {_IS_NEW.format(kind=Kind.CONSTRAINT.number, late=_LATE_MS)}
        UNION ALL
        SELECT {Kind.DECISION.number}, c.id, CASE WHEN c.revision = 1 THEN 1 ELSE {_SET_BEFORE} END, {_DECISION_COLUMNS}
        FROM own JOIN begun b ON b.kind = {Kind.DECISION.number}
        JOIN decisions c ON c.id = b.id AND +c.project_id = :project AND c.status = 1
        LEFT JOIN agents a ON a.id = c.agent_id
        WHERE c.agent_id IS DISTINCT FROM own.agent AND NOT {_OWN_DRAFT}
            AND {_IS_NEW.format(kind=Kind.DECISION.number, late=_LATE_MS)}
    ) AS news ORDER BY is_persons DESC, paths = '[]' DESC, priority DESC, seq LIMIT {{most}}
"""

# What became of a rule that the agent was shown, by its last correction.
_RULE_NOW = ("holds again", "is confirmed", "is no longer confirmed")


def _about_item(one: _Item) -> News:
    ref = (Kind.CONSTRAINT if one.is_rule else Kind.DECISION).ref(one.number)
    who, why = file_news.who_text(one.agent), f" because {file_news.quote(one.reason)}" if one.reason else ""
    text = f"{one.value:g}" if one.text is None else one.text
    # a value that is no plain word could pass for the rest of the sentence
    value_now = text if one.text is None or name_text(text) == text else file_news.quote(text)
    where = f", binding {binding.globs_text(one.globs)}" if one.is_new and one.globs != "[]" else ""
    if one.is_rule and one.is_new:
        line = f"new {'critical ' * one.is_critical}rule {ref} {who}{where}: {file_news.quote(text)}"
    elif one.is_rule:
        what = _RULE_NOW[one.state] if one.is_live else f"was retracted {who}{why}"
        line = f"{ref} {what}: {file_news.quote(text)}"
    elif one.is_new == _FIRST:
        line = f"new decision {ref} {name_text(one.key)}: {value_now}, set {who}{why}{where}"
    else:
        is_draft = one.state == _DRAFT
        now = f"is now {'a draft: ' * is_draft}{value_now}, set" if one.is_live or is_draft else "was ended"
        line = f"{ref} {name_text(one.key)} {now} {who}{why}{where}"
    return News(line, [(*one.id, one.seq)], one.is_critical, bool(one.is_persons))
