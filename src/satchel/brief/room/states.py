"""The state of an agent: rules over facts, and the queries for the facts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from satchel.base.clock import DAY_MS
from satchel.base.errors import InvalidInput
from satchel.base.records import NamedTuple
from satchel.base.text import shortened
from satchel.base.vocabulary import PRIORITIES
from satchel.brief import at_work
from satchel.brief.room import conflicts
from satchel.brief.room.looking import LINE_CHARS, Look, newest, of_nobody, once, once_a_minute, possible
from satchel.brief.room.records import Need
from satchel.find.kind import Kind
from satchel.keep import events
from satchel.keep.entries import structured
from satchel.keep.entries.records import SCRATCHPAD
from satchel.keep.loop_scope import OF_LOOPS
from satchel.keep.names import PERSONS
from satchel.keep.presence import LISTED_DAYS, MAX_CHECKED, UNANSWERED
from satchel.keep.sessions import joining
from satchel.keep.sessions.caller import SEEN_MS
from satchel.keep.sessions.joining import SessionRow
from satchel.keep.sessions.team import AgentState
from satchel.store.transaction import Transaction, grouped, set_of

# The time without a sign of life after which an agent is silent.
SILENT_MS = 30 * 60_000

_MOST_CLAIMS = 50
# How many messages are read, newest first.
_MOST_MESSAGES = 1_000


class Facts(NamedTuple):
    """Facts about an agent in a session; times are milliseconds UTC.

    Attributes:
        ended_at: when its client ended, or was last seen if its process is gone; None while it may be there.
        turn_ended_at: when its last turn ended, or None; it is at its prompt if it was not seen since.
        stuck: its state if it has made three attempts without progress.
        is_dismissed: whether a person has seen that it is stuck.
        is_continued: whether another session continues its work, or its run has ended.
        answered_at: when it last got a message; 0 for never.
        waits: its states if it has done nothing since.
        done_at: when it last did something after the first of these; 0 for never.
        pad: its last scratchpad.
    """

    began_at: int
    seen_at: int
    ended_at: int | None = None
    turn_ended_at: int | None = None
    stuck: AgentState | None = None
    is_dismissed: bool = False
    is_continued: bool = False
    answered_at: int = 0
    waits: tuple[AgentState, ...] = ()
    done_at: int = 0
    pad: _Pad | None = None


def state_of(facts: Facts, now: int) -> AgentState:
    """Return the state of an agent: the first that applies."""
    has_ended = facts.ended_at is not None
    stuck = facts.stuck
    if stuck is not None and not facts.is_dismissed:
        is_settled = has_ended and (facts.is_continued or facts.answered_at > stuck.since_at)
        if not is_settled:
            return stuck
    turn_ended = facts.turn_ended_at or 0
    # who got another prompt has gone on
    done_at = max(facts.done_at, turn_ended) if facts.seen_at > turn_ended else facts.done_at
    waits = [one for one in facts.waits if one.since_at >= done_at]
    if waits and not (has_ended and facts.is_continued):
        return min(waits, key=lambda one: one.since_at)
    if facts.ended_at is not None:
        return AgentState("ended", facts.ended_at)
    if turn_ended and facts.seen_at <= turn_ended:
        return AgentState("idle", turn_ended)
    if now - facts.seen_at >= SILENT_MS:
        return AgentState("silent", facts.seen_at)
    return AgentState("working", facts.began_at)


def find(
    transaction: Transaction, project_id: int, sessions: Sequence[SessionRow], own_session: int | None, now: int
) -> dict[int, AgentState]:
    """Return the states of sessions by id; only the first 100 are checked for being stuck or waiting."""
    look = of_nobody(transaction, project_id, now)
    return {number: state_of(one, now) for number, one in _find_facts(look, tuple(sessions), own_session).items()}


@once
def _find_facts(look: Look, sessions: Sequence[SessionRow], own_session: int | None) -> Mapping[int, Facts]:
    facts: dict[int, Facts] = {}
    for one in sessions:
        number, seen_at, turn = one.state.id, one.state.seen_at, one.state.turn_ended_at
        is_own = number == own_session
        facts[number] = Facts(seen_at, look.now if is_own else seen_at, None if is_own else _ended_at(one), turn)
    checked = tuple(facts.items())[:MAX_CHECKED]
    return facts | _session_facts(look, checked, tuple(_refused(look))) if checked else facts


def _ended_at(session: SessionRow) -> int | None:
    from satchel.base import processes

    if session.state.ended_at is not None:
        return session.state.ended_at
    is_gone = session.process is not None and processes.is_alive(session.process) is False
    return session.state.seen_at if is_gone else None


@once_a_minute
def _session_facts(
    look: Look, checked: Sequence[tuple[int, Facts]], refused: Sequence[tuple[str | None, AgentState]]
) -> dict[int, Facts]:
    facts = dict(checked)
    numbers = facts.keys()
    rows = look.rows(
        f"""
        SELECT s.id, s.uid, s.created_at, COALESCE(s.agent_id, s.unnamed_id),
            EXISTS (SELECT 1 FROM sessions x WHERE x.predecessor_id = s.id)
        FROM sessions s WHERE s.id IN {set_of(numbers)}
        """
    )
    sessions, agents = {uid.hex(): number for number, uid, *_ in rows}, grouped((row[3], row[0]) for row in rows)
    for number, _, began, _, is_continued in rows:
        facts[number] = facts[number]._replace(began_at=began, is_continued=bool(is_continued))
    pads = _pads(look, numbers)
    for number, last in pads.items():
        facts[number] = facts[number]._replace(pad=last)
    stuck = at_work.stuck(look.transaction, look.project_id, list(numbers), look.now)
    blocked = {session for session, last in pads.items() if last.pad.blockers and not last.pad.done}
    settled = settlements(
        look, [last.number for session, last in pads.items() if session in blocked or session in stuck]
    )
    for number, since in stuck.items():
        if number in pads:
            facts[number] = _stuck(facts[number], pads[number], settled[pads[number].number], since)
    blockers = _blocked(facts, {session: pads[session] for session in blocked}, settled)
    refusals = ((sessions[uid], state) for uid, state in refused if uid in sessions)
    waits = grouped([*blockers, *_unanswered(look, facts, agents), *refusals])
    for number, states in waits.items():
        facts[number] = facts[number]._replace(waits=tuple(states), done_at=_done_at(look, number, states))
    return facts


class _Pad(NamedTuple):
    # with its author
    number: int
    task: str | None
    pad: structured.Scratchpad
    created_at: int
    agent: str | None


def _pads(look: Look, numbers: Collection[int]) -> dict[int, _Pad]:
    rows = look.rows(
        f"""
        SELECT s.id, c.id, c.task_id, c.content, c.created_at, a.name
        FROM sessions s JOIN context c ON c.id = (
            SELECT n.id FROM context n
            WHERE n.session_id = s.id AND n.{OF_LOOPS} AND n.type = {SCRATCHPAD} AND n.superseded_by IS NULL
            ORDER BY n.created_at DESC, n.id DESC LIMIT 1
        )
        LEFT JOIN agents a ON a.id = c.agent_id
        WHERE s.id IN {set_of(numbers)}
        """
    )
    pads = {}
    for session, number, task, content, *others in rows:
        try:
            pads[session] = _Pad(number, task, structured.scratchpad(content), *others)
        except InvalidInput:  # another program may have written the row
            continue
    return pads


class Settlement(NamedTuple):
    """The outcome of a scratchpad that needs a person.

    Attributes:
        is_dismissed: a person has seen it.
        is_continued: another session went on with its task, or its run has ended.
        answered_at: when its author last got a message; 0 for never.
    """

    is_dismissed: bool
    is_continued: bool
    answered_at: int


def settlements(look: Look, pads: Sequence[int]) -> dict[int, Settlement]:
    """Return the outcomes of scratchpads, by id."""
    rows = look.rows(
        f"""
        SELECT c.id,
            EXISTS (
                SELECT 1 FROM seen d WHERE d.person_id IN {PERSONS} AND d.kind = {Kind.ENTRY.number}
                    AND d.item_id = c.id AND d.seq >= c.seq
            ),
            r.status <> 1 OR EXISTS (
                SELECT 1 FROM context n WHERE n.project_id = :project AND n.run_id = c.run_id AND n.task_id = c.task_id
                    AND n.{OF_LOOPS} AND n.type = {SCRATCHPAD} AND n.created_at > c.created_at
                    AND n.session_id IS DISTINCT FROM c.session_id
            ),
            (
                SELECT max(m.created_at) FROM agent_messages m WHERE m.project_id = :project
                    AND m.to_agent_id = c.agent_id AND m.from_agent_id IS DISTINCT FROM c.agent_id
            )
        FROM context c JOIN runs r ON r.id = c.run_id WHERE c.id IN {set_of(pads)}
        """
    ) if pads else []  # fmt: skip
    return {number: Settlement(bool(is_seen), bool(is_over), at or 0) for number, is_seen, is_over, at in rows}


def reason_of(task: str | None, pad: structured.Scratchpad) -> str:
    """Return what an agent is stuck on or blocked by, in one line."""
    reason = "; ".join(pad.blockers) or "; ".join(pad.attempted[-1:])
    return shortened(": ".join(filter(None, (task, reason))), LINE_CHARS)


def _stuck(facts: Facts, last: _Pad, settled: Settlement, since: int) -> Facts:
    return facts._replace(
        stuck=AgentState("stuck", since, reason_of(last.task, last.pad) or None),
        is_dismissed=settled.is_dismissed,
        is_continued=facts.is_continued or settled.is_continued,
        answered_at=settled.answered_at,
    )


# The id of a session, and its state.
Wait = tuple[int, AgentState]


def _blocked(facts: Mapping[int, Facts], pads: Mapping[int, _Pad], settled: Mapping[int, Settlement]) -> Iterator[Wait]:
    for session, last in pads.items():
        since, (is_dismissed, is_continued, answered_at) = last.created_at, settled[last.number]
        is_over = facts[session].ended_at is not None and (is_continued or answered_at > since)
        if not is_dismissed and not is_over:
            yield session, AgentState("waiting", since, reason_of(last.task, last.pad))


def _unanswered(look: Look, facts: Mapping[int, Facts], agents: Mapping[int | None, Sequence[int]]) -> Iterator[Wait]:
    senders = [number for number in agents if number is not None]
    rows = look.rows(
        f"""
        SELECT m.id, m.from_agent_id, m.created_at, a.name
        FROM {newest("agent_messages", _MOST_MESSAGES)} m LEFT JOIN agents a ON a.id = m.to_agent_id
        WHERE m.from_agent_id IN {set_of(senders)} AND m.expires_at > :now AND {UNANSWERED}
        ORDER BY m.created_at DESC, m.id DESC LIMIT {_MOST_CLAIMS}
        """
    ) if senders else []  # fmt: skip
    for number, sender, at, addressee in rows:
        reason = f"an answer from {addressee or 'anyone'} to {Kind.MESSAGE.ref(number)}"
        for session in agents[sender]:
            ended = facts[session].ended_at
            if facts[session].began_at <= at <= (at if ended is None else ended):
                yield session, AgentState("waiting", at, reason)


def _refused(look: Look) -> Iterator[tuple[str | None, AgentState]]:
    for need in conflicts.find_wanted(look, _MOST_CLAIMS):
        if need.began_at is not None:
            yield need.session, AgentState("waiting", need.began_at, need.text)


# The activity of a session after a time. A note was written before its session was last seen, and edits and progress
# notes have an index for a session.
_ACTIVITY = (
    "FROM file_changes WHERE session_id = :session AND created_at > :since",
    f"FROM context WHERE session_id = :session AND {OF_LOOPS} AND created_at > :since",
    """
    FROM context WHERE project_id = :project AND created_at > :since AND created_at <= (
        SELECT seen_at + :late FROM sessions WHERE id = :session
    ) AND +session_id = :session
    """,
    f"FROM events WHERE session_id = :session AND created_at > :since AND kind = {events.PROGRESS}",
)
_HAS_ACTED = f"SELECT {' OR '.join(f'EXISTS (SELECT 1 {source})' for source in _ACTIVITY)}"
_LATEST = " UNION ALL ".join(f"SELECT max(created_at) AS at {source}" for source in _ACTIVITY)
_LAST_ACTED = f"SELECT max(at) FROM ({_LATEST}) AS latest"


def _done_at(look: Look, session: int, waits: Sequence[AgentState]) -> int:
    first, last = (end(one.since_at for one in waits) for end in (min, max))
    # mostly it has gone on since all of them, which is found without reading what else it did
    if look.rows(_HAS_ACTED, session=session, since=last, late=SEEN_MS)[0][0]:
        return last + 1
    ((done,),) = look.rows(_LAST_ACTED, session=session, since=first, late=SEEN_MS) if first < last else ((0,),)
    return done or 0


_HIGH = PRIORITIES[-2]
# How many scratchpads are read for agents without a session, newest first.
_MOST_PADS = 200


def find_needs(look: Look) -> list[Need]:
    """Return the agents whose last scratchpad needs a person.

    It does until it is continued, answered or dismissed, or its run ends.
    """
    return [*_with_session(look), *_without_session(look)]


def _with_session(look: Look) -> Iterator[Need]:
    values: dict[str, object] = {"project": look.project_id, "since": look.now - LISTED_DAYS * DAY_MS}
    sessions = joining.load(look.transaction, "s.project_id = :project AND s.seen_at > :since", values, MAX_CHECKED)
    facts = _find_facts(of_nobody(look.transaction, look.project_id, look.now), tuple(sessions), None)
    for session in sessions:
        fact, uid = facts[session.state.id], session.state.uid.hex()
        state, last = state_of(fact, look.now), fact.pad
        if last is None or state.name not in {"stuck", "waiting"}:
            continue
        is_blocked = last.pad.blockers and not last.pad.done and state.since_at == last.created_at
        if state.name == "waiting" and not is_blocked:
            continue
        kind, ref = "stuck" if state.name == "stuck" else "blocked", Kind.ENTRY.ref(last.number)
        actions = possible(answer=last.agent, see=True)
        text, key = state.reason or "", f"session-{uid}"
        yield Need(kind, _HIGH, text, ref, uid, last.agent, state.since_at, actions, key=key)


@once_a_minute
def _without_session(look: Look) -> list[Need]:
    rows = look.rows(
        f"""
        SELECT c.id, c.content, c.run_id, c.task_id, c.loop_id, c.agent_id, c.session_id, c.created_at, a.name,
            EXISTS (
                SELECT 1 FROM context n WHERE n.run_id = c.run_id AND n.agent_id = c.agent_id
                    AND n.created_at > c.created_at
            ) OR EXISTS (
                SELECT 1 FROM file_changes f WHERE f.project_id = :project AND f.agent_id = c.agent_id
                    AND f.created_at > c.created_at
            )
        FROM (
            SELECT * FROM context WHERE project_id = :project AND type = {SCRATCHPAD} AND superseded_by IS NULL
                AND created_at > :after ORDER BY created_at DESC, id DESC LIMIT {_MOST_PADS}
        ) c LEFT JOIN agents a ON a.id = c.agent_id
        ORDER BY c.created_at DESC, c.id DESC
        """,
        after=look.now - LISTED_DAYS * DAY_MS,
    )
    needs: list[Need] = []
    places: set[tuple[object, ...]] = set()
    last = []
    for number, content, run, task, loop, agent, session, at, *others in rows:
        place = (run, task, None if task else loop, None if task or loop else agent)
        if place not in places and session is None and not structured.is_plan(content):
            last.append((number, content, (run, task, loop, agent, None, None), at, *others))
        places.add(place)
    settled = settlements(look, [number for number, *_ in last])
    for number, content, place, at, name, has_gone_on in last:
        try:
            pad = structured.scratchpad(content)
        except InvalidInput:  # another program may have written the row
            continue
        is_dismissed, is_continued, answered_at = settled[number]
        if pad.done or is_dismissed or is_continued or answered_at > at:
            continue
        stuck_since = at_work.stuck_since(look.transaction, look.project_id, place, look.now)
        if stuck_since is None and (not pad.blockers or has_gone_on):
            continue
        kind, began = ("blocked", at) if stuck_since is None else ("stuck", stuck_since)
        text, actions = reason_of(place[1], pad), possible(answer=name, see=True)
        needs.append(Need(kind, _HIGH, text, Kind.ENTRY.ref(number), None, name, began, actions))
    return needs
