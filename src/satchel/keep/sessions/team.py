"""The team of a project: its sessions with their claims and last scratchpads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from satchel.base.clock import DAY_MS
from satchel.base.errors import InvalidInput
from satchel.base.records import NamedTuple, dataclass, replace
from satchel.find.kind import Kind
from satchel.keep.entries import structured
from satchel.keep.entries.records import SCRATCHPAD
from satchel.keep.loop_scope import OF_LOOPS
from satchel.keep.names import PERSONS
from satchel.keep.presence import LISTED_DAYS, MAX_CHECKED
from satchel.keep.sessions import joining
from satchel.keep.sessions.joining import SessionRow
from satchel.store.transaction import Asking, Transaction, both, grouped, set_of

if TYPE_CHECKING:
    from satchel.keep.common_filters import CheckedFilters

# How long a session that has ended is listed by default.
RECENT_MS = 8 * 3_600_000

# Maximum number of sessions listed.
MOST = 50

MAIN_WORKTREE = "the main worktree"

_MOST_CLAIMS = 20
_MOST_CLAIMS_OF_OTHERS = 2
_COMMIT_CHARS = 8


@dataclass(frozen=True, slots=True)
class TeamClaim:
    """A live claim; a hook made an ``automatic`` one. ``agent`` holds one outside of a session."""

    path: str
    exclusive: bool
    expires_at: int
    automatic: bool = False
    reason: str | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class LastScratchpad:
    ref: str
    agent: str | None
    done: bool | None
    next_step: str | None
    blockers: tuple[str, ...]
    created_at: int


@dataclass(frozen=True, slots=True)
class LastChange:
    """The newest recorded change of a session, and how many others were recorded with it."""

    ref: str
    file: str
    others: int
    description: str | None
    created_at: int


STATES = ("stuck", "waiting", "ended", "idle", "silent", "working")


@dataclass(frozen=True, slots=True)
class AgentState:
    """State of an agent in a session: one of :data:`STATES`, and what it is stuck on or waits for."""

    name: str
    since_at: int
    reason: str | None = None


# Returns the states of sessions by number, given the project, the sessions, the caller's session, and the time.
FindStates = Callable[[Transaction, int, "Sequence[SessionRow]", int | None, int], Mapping[int, AgentState]]


@dataclass(frozen=True, slots=True)
class TeamSession:
    """A session, as others see it.

    Attributes:
        agents: the agents that worked in it, its own first; empty if none has a name yet.
        worktree: its linked worktree; None is the main one.
        doing: what it was about to do when it was last briefed; None once a change was recorded since.
        claims: the newest of its ``claims_total`` live claims.
        seen_at: when it was last active, in milliseconds UTC, accurate to a minute.
        gone: whether it is over: ended, or without a process.
        predecessor: the uid of the session it continues.
    """

    uid: str
    agents: tuple[str, ...]
    client: str | None
    version: str | None
    worktree: str | None
    branch: str | None
    commit: str | None
    run_id: str | None
    task_id: str | None
    doing: str | None
    claims: tuple[TeamClaim, ...]
    claims_total: int
    scratchpad: LastScratchpad | None
    seen_at: int
    ended_at: int | None
    gone: bool
    own: bool
    state: AgentState
    predecessor: str | None
    predecessor_agent: str | None
    last_change: LastChange | None = None

    @property
    def name(self) -> str | None:
        return self.agents[0] if self.agents else None


@dataclass(frozen=True, slots=True)
class Team:
    """The sessions of a project: the caller's, then live ones, then others, each last seen first.

    Attributes:
        sessions: at most 50 of ``total``.
        earlier: how many older ones are listed only on request.
        claims: the newest of persons and of agents outside of a session.
    """

    sessions: tuple[TeamSession, ...]
    total: int
    earlier: int
    asked_at: int
    notes: tuple[str, ...] = ()
    persons: int = 0
    claims: tuple[TeamClaim, ...] = ()


_CONTINUED = "SELECT predecessor_id FROM sessions WHERE project_id = :project AND predecessor_id IS NOT NULL"


def find_team(
    transaction: Transaction,
    project_id: int,
    own_session: int | None,
    now: int,
    find_states: FindStates,
    *,
    is_all: bool,
    ended_since: int | None = None,
    common: CheckedFilters | None = None,
    notes: tuple[str, ...] = (),
) -> Team:
    """Return the sessions that are live, stuck, or ended recently and were not continued.

    ``ended_since`` lists those that ended since then instead, continued ones too if they had a turn.
    """
    since = now - RECENT_MS if ended_since is None else ended_since
    recent = joining.load(
        transaction,
        "s.project_id = :project AND s.seen_at > :since",
        {"project": project_id, "since": now - LISTED_DAYS * DAY_MS},
    )
    if common is not None:
        recent = [session for session in recent if common.keeps(session.state.seen_at)]
    over = {session.state.id for session in recent if session.state.id != own_session and joining.is_gone(session, now)}
    states = find_states(transaction, project_id, recent, own_session, now)
    # a client that restarts for each call would fill the list with its predecessors
    continued = {number for (number,) in transaction.all(_CONTINUED, {"project": project_id})} if over else set()
    listed = [
        session
        for session in recent
        if is_all
        or session.state.id not in over
        or (
            (session.state.ended_at or session.state.seen_at) > since
            and (session.state.id not in continued or bool(ended_since and session.state.turn_ended_at))
        )
        or states[session.state.id].name == "stuck"
    ]
    earlier = len({session.state.id for session in recent} - {session.state.id for session in listed} - continued)
    first = sorted(listed, key=lambda session: (session.state.id != own_session, session.state.id in over))[:MOST]
    persons, claims = _persons_and_claims(transaction, project_id, now)
    if not first:
        return Team((), 0, earlier, now, notes, persons, claims)
    numbers = [session.state.id for session in first]
    details, last = both(_load_details(transaction, numbers, now, _MOST_CLAIMS), _load_last_steps(transaction, numbers))
    others = _load_agents(transaction, numbers)
    sessions = []
    for session in first:
        number = session.state.id
        member = _member(session, details[number], last[number], states[number], others.get(number, ()))
        sessions.append(replace(member, gone=number in over, own=number == own_session))
    return Team(tuple(sessions), len(listed), earlier, now, notes, persons, claims)


def _persons_and_claims(transaction: Transaction, project_id: int, now: int) -> tuple[int, tuple[TeamClaim, ...]]:
    # how many persons have written here, and the claims outside of a session
    rows = transaction.all(
        f"""
        SELECT p.persons, c.path, c.exclusive, c.expires_at, c.automatic, c.reason, a.name
        FROM (SELECT count(*) AS persons FROM agents WHERE has_acted = 1 AND id IN {PERSONS}) p
        LEFT JOIN file_claims c ON c.project_id = :project AND c.session_id IS NULL AND c.expires_at > :now
        LEFT JOIN agents a ON a.id = c.agent_id
        ORDER BY c.created_at DESC, c.id DESC LIMIT {_MOST_CLAIMS}
        """,
        {"project": project_id, "now": now},
    )
    claims = (
        TeamClaim(path, bool(exclusive), until, bool(automatic), reason, agent)
        for _, path, exclusive, until, automatic, reason, agent in rows
        if path is not None
    )
    return rows[0][0], tuple(claims)


def others_at_work(
    transaction: Transaction, project_id: int, own_session: int | None, now: int, most: int, find_states: FindStates
) -> Asking[list[TeamSession]]:
    """Return the live sessions of others, the last seen first; worktree and branch are None where they are the
    caller's.
    """
    where = """
        s.id IN (
            SELECT id FROM sessions WHERE project_id = :project AND seen_at > :since ORDER BY seen_at DESC LIMIT :most
        ) AND s.id IS DISTINCT FROM :own
    """
    recent = yield from joining.loading(
        transaction,
        where,
        {"project": project_id, "since": now - LISTED_DAYS * DAY_MS, "most": MAX_CHECKED, "own": own_session},
    )
    live = list(islice((session for session in recent if not joining.is_gone(session, now)), most))
    if not live:
        return []
    numbers = [session.state.id for session in live]
    wanted = numbers if own_session is None else [*numbers, own_session]
    details = yield from _load_details(transaction, wanted, now, _MOST_CLAIMS_OF_OTHERS)
    own = None if own_session is None else details.get(own_session)
    last = yield from _load_last_steps(transaction, numbers)
    states = find_states(transaction, project_id, live, None, now)
    here, branch = (None, None) if own is None else (own.worktree or None, own.branch)
    members = []
    for session, number in zip(live, numbers, strict=True):
        one = _member(session, details[number], last[number], states[number])
        worktree = None if one.worktree == here else one.worktree or MAIN_WORKTREE
        members.append(replace(one, worktree=worktree, branch=None if one.branch == branch else one.branch))
    return members


def claimed_paths(transaction: Transaction, session: int | None, now: int) -> Asking[list[tuple[str, str | None]]]:
    """Return the paths that a session claims, the newest first, and by whom one is left that it inherited."""
    if session is None:
        return []
    rows = transaction.ask(
        """
        SELECT c.path, CASE WHEN c.created_at < s.created_at THEN a.name END
        FROM file_claims c JOIN sessions s ON s.id = c.session_id LEFT JOIN agents a ON a.id = c.agent_id
        WHERE c.session_id = :session AND c.expires_at > :now ORDER BY c.created_at DESC, c.id
        """,
        {"session": session, "now": now},
    )
    yield rows
    return rows.all()


class _LastSteps(NamedTuple):
    scratchpad: LastScratchpad | None
    change: LastChange | None


class _Details(NamedTuple):
    agent: str | None
    version: str | None
    worktree: str
    branch: str | None
    commit: str | None
    run: str | None
    predecessor: bytes | None
    predecessor_agent: str | None
    doing: str | None
    doing_at: int | None
    claims: tuple[TeamClaim, ...]
    claims_total: int

    def current_work(self, last: _LastSteps) -> str | None:
        # None if a later scratchpad says that it is done, or a change was recorded since
        pad, begun = last.scratchpad, self.doing_at or 0
        is_done = pad is not None and pad.done and pad.created_at >= begun
        return None if is_done or (last.change is not None and last.change.created_at >= begun) else self.doing


def _member(
    session: SessionRow, more: _Details, last: _LastSteps, state: AgentState, others: Sequence[str] = ()
) -> TeamSession:
    # ``others`` are the names of further agents that worked in it
    names = dict.fromkeys([*([] if more.agent is None else [more.agent]), *others])
    return TeamSession(
        uid=session.state.uid.hex(),
        agents=tuple(names),
        client=session.state.client,
        version=more.version,
        worktree=more.worktree or None,
        branch=more.branch,
        commit=None if more.commit is None else more.commit[:_COMMIT_CHARS],
        run_id=more.run,
        task_id=session.state.task_id,
        doing=more.current_work(last),
        claims=more.claims,
        claims_total=more.claims_total,
        scratchpad=last.scratchpad,
        seen_at=session.state.seen_at,
        ended_at=session.state.ended_at,
        gone=False,
        own=False,
        state=state,
        predecessor=None if more.predecessor is None else more.predecessor.hex(),
        predecessor_agent=more.predecessor_agent,
        last_change=last.change,
    )


def _load_details(
    transaction: Transaction, sessions: Sequence[int], now: int, most_claims: int
) -> Asking[dict[int, _Details]]:
    these = set_of(sessions)
    rows = transaction.ask(
        f"""
        WITH held AS (
            SELECT session_id, path, exclusive, expires_at, automatic, reason,
                count(*) OVER (PARTITION BY session_id) AS total,
                row_number() OVER (PARTITION BY session_id ORDER BY created_at DESC, id) AS place
            FROM file_claims WHERE session_id IN {these} AND expires_at > :now
        )
        SELECT s.id, a.name, s.version, s.worktree, s.branch, s.commit_id, r.run_id, p.uid, b.name, s.doing, s.doing_at,
            h.path, h.exclusive, h.expires_at, h.automatic, h.reason, h.total
        FROM sessions s
        LEFT JOIN agents a ON a.id = s.agent_id
        LEFT JOIN runs r ON r.id = s.run_id AND r.status = 1
        LEFT JOIN sessions p ON p.id = s.predecessor_id
        LEFT JOIN agents b ON b.id = p.agent_id
        LEFT JOIN held h ON h.session_id = s.id AND h.place <= :most
        WHERE s.id IN {these} ORDER BY s.id, h.place
        """,
        {"now": now, "most": most_claims},
    )
    yield rows
    details: dict[int, _Details] = {}
    for number, *columns, path, exclusive, expires, automatic, reason, total in rows.all():
        claims = details[number].claims if number in details else ()
        claims += () if path is None else (TeamClaim(path, bool(exclusive), expires, bool(automatic), reason),)
        details[number] = _Details._make((*columns, claims, total or 0))
    return details


def _load_agents(transaction: Transaction, sessions: Sequence[int]) -> dict[int, list[str]]:
    # the agents briefed in each session, in order; the condition on 0 is that of the index
    rows = transaction.all(
        f"""
        SELECT w.session_id, a.name FROM windows w JOIN agents a ON a.id = w.agent_id
        WHERE w.session_id IN {set_of(sessions)} AND w.session_id <> 0
        GROUP BY w.session_id, a.id ORDER BY min(w.id)
        """
    )
    return grouped(rows)


def _load_last_steps(transaction: Transaction, sessions: Sequence[int]) -> Asking[dict[int, _LastSteps]]:
    rows = transaction.ask(
        f"""
        SELECT s.id, c.id, a.name, c.content, c.created_at, g.id, f.path,
            (SELECT count(*) - 1 FROM file_changes o WHERE o.session_id = s.id AND o.created_at = g.created_at),
            g.description, g.created_at
        FROM sessions s
        LEFT JOIN context c ON c.id = (
            SELECT n.id FROM context n
            WHERE n.session_id = s.id AND n.{OF_LOOPS} AND n.type = {SCRATCHPAD} AND n.superseded_by IS NULL
            ORDER BY n.created_at DESC, n.id DESC LIMIT 1
        )
        LEFT JOIN agents a ON a.id = c.agent_id
        LEFT JOIN file_changes g ON g.id = (
            SELECT n.id FROM file_changes n WHERE n.session_id = s.id ORDER BY n.created_at DESC, n.id DESC LIMIT 1
        )
        LEFT JOIN files f ON f.id = g.file_id
        WHERE s.id IN {set_of(sessions)}
        """
    )
    yield rows
    steps = {}
    for session, number, agent, content, created, change, *columns in rows.all():
        last_change = None if change is None else LastChange(Kind.FILE_CHANGE.ref(change), *columns)
        steps[session] = _LastSteps(_scratchpad(number, agent, content, created), last_change)
    return steps


def _scratchpad(number: int | None, agent: str | None, content: str, created: int) -> LastScratchpad | None:
    if number is None:
        return None
    try:
        pad = structured.scratchpad(content)
    except InvalidInput:  # written by another program
        return None
    return LastScratchpad(Kind.ENTRY.ref(number), agent, pad.done, pad.next_step, pad.blockers, created)
