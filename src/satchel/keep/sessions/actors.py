"""The actor of a call: the named agent, else its session's agent, else a person, else nobody."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from satchel.base.errors import Refused, SatchelError
from satchel.base.text import fold
from satchel.base.vocabulary import HUMAN
from satchel.keep import events, projects
from satchel.keep.names import check_agent, ensure_agent, find_agent, is_persons, no_agent
from satchel.keep.projects import Workplace
from satchel.keep.sessions import standing
from satchel.keep.sessions.caller import SEEN_MS
from satchel.keep.sessions.clients import State
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Transaction, first_number, set_of

_WAIT_MS = 250

# How recently a session must have been seen to receive messages to its client.
_AT_WORK_MS = 8 * 3_600_000

_MAX_SUFFIX_CHARS = 6

# The number used for an agent that does not exist.
UNKNOWN = -1

_ASK = f"Ask a person for it with satchel's send_message to={HUMAN}"

# What :func:`persons_gate` records where a person confirms what an agent has stored of their words.
CONFIRMED = "confirmed"

# The calling agent's name in filters.
ME = "me"


def acting(
    transaction: Transaction,
    workplace: Workplace,
    project_id: int,
    agent: str | None,
    now: int,
    *,
    task_id: str | None = None,
    about_to: str | None = None,
) -> Actor:
    """Return the actor of a write, registered on first use, with its session.

    The session's current task becomes ``task_id``, its current work ``about_to``, unless None.
    """
    caller = workplace.caller
    state = None if caller is None else caller.ensure(transaction, workplace, project_id, now)
    if agent is not None:
        number, name = ensure_agent(transaction, project_id, agent, now)
    elif state is not None:
        default = state.find_speaker(transaction)
        if default is None:
            from satchel.keep.sessions import updates

            state, number, name = updates.name_unnamed(transaction, project_id, state, now)
        else:
            number, name = default
    elif caller is not None and caller.is_person:
        number, name = ensure_agent(transaction, project_id, workplace.person(), now)
        return Actor(number, name)
    else:
        return Actor()
    if state is None:
        return Actor(number, name, None, is_named=True)
    changes: dict[str, object] = {}
    if state.agent is None:
        changes["agent_id"] = number
    if task_id is not None and task_id != state.task_id:
        changes["task_id"] = task_id
    if about_to is not None:
        changes |= {"doing": about_to, "doing_at": now}
    if changes:
        from satchel.keep.sessions import updates

        updates.change(transaction, state.id, changes)
        state = state._replace(agent=state.agent or number, task_id=task_id or state.task_id)
    assert caller is not None
    caller.remember(transaction, project_id, state)
    return _actor(number, name, state, is_named=agent is not None)


def acting_named(
    transaction: Transaction, workplace: Workplace, project_id: int, agent: str | None, now: int, doing: str
) -> tuple[Actor, int, str]:
    """Return the actor with its number and name; refuse a caller without a name, as in "claiming files" (``doing``)."""
    actor = acting(transaction, workplace, project_id, agent, now)
    if actor.number is None or actor.name is None:
        raise no_agent(doing)
    return actor, actor.number, actor.name


def reader_name(workplace: Workplace, agent: str | None) -> str | None:
    """Return the name of the reading agent: the named one, else the default, else its session's, or None."""
    agent_named, caller = check_agent(workplace, agent), workplace.caller
    if agent_named is not None or caller is None:
        return agent_named
    with projects.reading(workplace) as (transaction, project):
        actor = reading(transaction, workplace, project.id, None)
    return actor.name or (workplace.person() if caller.is_person else None)


def is_unnamed(workplace: Workplace, agent: str | None) -> bool:
    """Return whether the caller gets its name only with the first write of its session."""
    caller = workplace.caller
    if caller is None or workplace.engine.read_only or check_agent(workplace, agent) is not None:
        return False
    with projects.reading(workplace) as (transaction, project):
        state = caller.find(transaction, project.id)
    return state is not None and state.speaker is None


def reading(transaction: Transaction, workplace: Workplace, project_id: int, agent: str | None) -> Actor:
    """Return the actor of a read, with its session; write nothing."""
    caller = workplace.caller
    state = None if caller is None else caller.find(transaction, project_id)
    if agent is not None:
        number, name = find_agent(transaction, project_id, agent), agent
    elif state is not None and state.speaker is not None:
        number, name = state.find_speaker(transaction) or (state.speaker, "")
    elif state is None and caller is not None and caller.is_person:
        return Actor(find_agent(transaction, project_id, workplace.person()), workplace.person())
    elif state is not None:
        number, name = UNKNOWN, state.name()  # the first write may choose another
    else:
        return Actor()
    return _actor(number, name, state, is_named=agent is not None)


def agents_of_client(transaction: Transaction, project_id: int, client: str, now: int) -> list[tuple[int, str]]:
    from satchel.keep.sessions import joining  # imported here: only messages to a client need it

    sessions = joining.load(
        transaction,
        "s.project_id = :project AND lower(s.client) = :client AND s.ended_at IS NULL AND s.seen_at > :since",
        {"project": project_id, "client": client.lower(), "since": now - _AT_WORK_MS},
    )
    # a closed terminal does not report its end
    live = [session.state for session in sessions if not joining.is_gone(session, now)]
    numbers = {one.unnamed if one.agent is None else one.agent for one in live}
    rows: list[tuple[int, str]] = transaction.all(
        f"SELECT id, name FROM agents WHERE id IN {set_of(sorted(filter(None, numbers)))} ORDER BY id"
    )
    return rows


def silent_sessions(transaction: Transaction, project_id: int, client: str, now: int) -> int:
    """Count a client's sessions at work in which nobody has written yet."""
    return first_number(
        transaction,
        """
        SELECT count(*) FROM sessions
        WHERE project_id = :project AND lower(client) = :client AND agent_id IS NULL AND unnamed_id IS NULL
            AND ended_at IS NULL AND seen_at > :since
        """,
        {"project": project_id, "client": client.lower(), "since": now - _AT_WORK_MS},
    )


def find_authors(
    transaction: Transaction, workplace: Workplace, project_id: int, name: str, *, me: int | None = None
) -> tuple[int, ...]:
    """Return the numbers of the agent, person, client's agents or caller (``me``) that a filter names."""
    if fold(name) == ME:
        if me is None:
            me = reading(transaction, workplace, project_id, check_agent(workplace, None)).number
        if me is None and workplace.caller is None:
            raise no_agent(f"{name!r}")
        return () if me is None or me == UNKNOWN else (me,)
    rows = transaction.all(  # a person is shown without the prefix
        "SELECT id FROM agents WHERE project_id = :project AND folded IN (:name, :person) "
        "AND (has_acted = 1 OR folded = :person)",
        {"project": project_id, "name": fold(name), "person": f"{HUMAN}:{fold(name)}"},
    )
    rows = rows or transaction.all(
        """
        WITH own AS (SELECT id, agent_id, unnamed_id FROM sessions WHERE project_id = :project AND client = :name)
        SELECT agent_id FROM own WHERE agent_id IS NOT NULL
        UNION SELECT unnamed_id FROM own WHERE unnamed_id IS NOT NULL
        UNION SELECT w.agent_id FROM own JOIN windows w ON w.session_id = own.id AND w.session_id <> 0
        """,
        {"project": project_id, "name": name.lower()},
    )
    return tuple(number for (number,) in rows)


def subagent_name(agent: str, agent_id: str) -> str:
    """Return a subagent's name: its agent's, with the end of the client's id for it, since many ids start alike."""
    letters = "".join(letter for letter in agent_id.lower() if letter.isascii() and letter.isalnum())
    return f"{agent}-{letters[-_MAX_SUFFIX_CHARS:] or 'sub'}"


def is_by_person(workplace: Workplace, agent: str | None) -> bool:
    return standing.standing_of(workplace.caller).is_person and (agent is None or is_persons(agent))


def persons_gate(
    transaction: Transaction, workplace: Workplace, project_id: int, agent: str | None, now: int, done: str = "changed"
) -> Callable[[str], bool]:
    """Return a function that tells whether the caller may change an item of a person, and records what was ``done``."""

    def passes(ref: str) -> bool:
        if not is_by_person(workplace, agent):
            return False
        verb, origin = ("confirm", "stated") if done == CONFIRMED else ("change", "wrote")
        require_person(workplace, f"{verb} {ref}, which a person {origin}", agent=agent)
        record_passage(transaction, workplace, project_id, f"{done} {ref}", now)
        return True

    return passes


def require_person(workplace: Workplace, action: str, remedy: str = _ASK, *, agent: str | None = None) -> None:
    """Refuse an action, as in "pin items", to all but persons who do not act as an ``agent``; ``remedy`` is for agents.

    Raises:
        Refused: an agent calls.
        Unconfirmed: a person has to confirm it at the terminal.
    """
    if agent is not None and not is_persons(agent):
        raise Refused(f"only a person can {action}, and {agent!r} is an agent", remedy)
    standing.require_person(workplace.caller, action, remedy, workplace.person)


def record_passage(transaction: Transaction, workplace: Workplace, project_id: int, what: str, now: int) -> None:
    if workplace.caller is not None:
        record_action(transaction, workplace, project_id, what, now)


def record_action(transaction: Transaction, workplace: Workplace, project_id: int, what: str, now: int) -> None:
    """Record an action that only persons may do, or that ends a protection, as in "restored a backup"."""
    caller = workplace.caller
    by = {"by": workplace.person()} if standing.standing_of(caller).is_person else {}
    state = None if caller is None else caller.find(transaction, project_id)
    session = None if state is None else state.id
    events.record(transaction, project_id, events.ACTION, now, session=session, details={"what": what, **by})


def _actor(number: int | None, name: str | None, state: State | None, *, is_named: bool) -> Actor:
    if state is None:
        return Actor(number, name, None, is_named)
    return Actor(number, name, state.id, is_named, state.window)


def hook_heartbeat_due(transaction: Transaction, workplace: Workplace, project_id: int) -> bool:
    """Return whether a hook's session was last seen over a minute ago or before its turn, or is not known here yet."""
    host = None if workplace.caller is None else workplace.caller.host_id
    recent = """
        SELECT 1 FROM session_hosts h JOIN sessions s ON s.id = h.session_id
        WHERE h.host_id = :host AND s.project_id = :project
            AND s.seen_at > :before AND s.seen_at > COALESCE(s.turn_ended_at, 0) LIMIT 1
    """
    values = {"host": host, "project": project_id, "before": workplace.clock() - SEEN_MS}
    return host is not None and transaction.one(recent, values) is None


def touch_session(workplace: Workplace) -> bool:
    """Record, at most once a minute, that the caller's session is at work; errors are ignored."""
    caller, engine = workplace.caller, workplace.engine
    if caller is None or engine.read_only or not engine.exists() or not caller.heartbeat_due(workplace.clock()):
        return False
    with suppress(SatchelError), engine.write(_WAIT_MS) as transaction:
        now = workplace.clock()
        caller.ensure(transaction, workplace, projects.ensure(transaction, workplace, now).id, now)
        return True
    return False
