"""Creation and changes of sessions, in the transaction of a call."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.base import processes
from satchel.base.clock import DAY_MS
from satchel.base.git_files import read_head
from satchel.base.text import fold
from satchel.find.kind import Kind
from satchel.keep import events, jumps
from satchel.keep.names import check_agent, ensure_agent
from satchel.keep.presence import UNANSWERED
from satchel.keep.projects import Workplace
from satchel.keep.sessions import joining
from satchel.keep.sessions.clients import OF_TOKENS, STATE, State, host_id
from satchel.keep.sessions.joining import SessionRow
from satchel.store.transaction import Transaction, update_row

if TYPE_CHECKING:
    from satchel.keep.sessions.caller import Caller


# How long after it was last seen a session is deleted.
KEPT_DAYS = 90

# without seen_at: an outdated value only causes one more update
_CACHED = frozenset(STATE.replace('"', "").split(", ")) - {"seen_at"}
_INHERITED_DAYS = 14
_LOOKED_AT = 20
_LEAST_DIGITS = 4

# A shorter time at the prompt would not be seen on a timeline.
_LEAST_IDLE_MS = 15_000

# How long the rules that a session's person stated are kept.
HEARD_MS = 3_600_000


def start(transaction: Transaction, workplace: Workplace, project_id: int, caller: Caller, now: int) -> State:
    client = caller.own_client
    client_name = None if client is None else client.name
    identity = caller.host_id if client is caller.client else host_id(client, caller.environ)
    is_remote = caller.is_remote
    branch, commit = (None, None) if is_remote else read_head(workplace.files_root)
    name = check_agent(workplace, None)
    agent = None if name is None else ensure_agent(transaction, project_id, name, now, acts=False)[0]
    # a remote client continues a session by its id
    before = None if is_remote else _predecessor(transaction, workplace, project_id, client_name, agent, now)
    uid = _new_uid(transaction, workplace, client_name, None if is_remote else identity)
    number = transaction.add(
        "sessions",
        {
            "uid": uid,
            "project_id": project_id,
            "client": client_name,
            "version": caller.version,
            "agent_id": agent,
            "is_chosen": int(agent is not None),
            "predecessor_id": None if before is None else before.state.id,
            "worktree": workplace.worktree or "",
            "branch": branch,
            "commit_id": commit,
            **({} if is_remote else _processes_of(caller)),
            "seen_at": now,
            "created_at": now,
        },
    )
    id_source = OF_TOKENS if is_remote else client_name
    if id_source is not None and identity is not None:
        add_host_id(transaction, number, id_source, identity)
    state = State(number, uid, client_name, agent, agent is not None, seen_at=now)
    if before is not None:
        state = _inherit(transaction, project_id, state, before, now)
    events.record(transaction, project_id, events.SESSION_STARTED, now, session=number)
    _remove_old(transaction, project_id)
    return state


def _new_uid(transaction: Transaction, workplace: Workplace, client: str | None, identity: str | None) -> bytes:
    # that of a client's conversation stays the same, so that its agent keeps its name once a backup was restored
    if identity is not None:
        from satchel.base.cited import digest_16  # imported here: only a new session needs it

        project = workplace.project_name or workplace.root or workplace.suggested_name
        key = "\0".join((project, client or "", identity))
        uid = digest_16(key.encode("utf-8", "surrogatepass"))
        if transaction.one("SELECT 1 FROM sessions WHERE uid = :uid", {"uid": uid}) is None:
            return uid
    return os.urandom(16)


def touch(
    transaction: Transaction, workplace: Workplace, project_id: int, state: State, caller: Caller, now: int
) -> State:
    """Record that a session is at work, its checkout and its processes; resume it if it had ended."""
    forget_heard(transaction, now)
    now = now if state.turn_ended_at is None else max(now, state.turn_ended_at + 1)
    _record_idle(transaction, project_id, state, now)
    changes: dict[str, object] = {"seen_at": now}
    # a silent or killed session may have a successor, and is resumed nevertheless
    continued = "SELECT 1 FROM sessions WHERE predecessor_id = :id"
    if state.ended_at is not None or transaction.one(continued, {"id": state.id}) is not None:
        from satchel.keep.sessions.ending import take_back_claims

        notice = take_back_claims(transaction, project_id, state, now)
        if notice is not None and notice not in caller.notes:
            caller.notes.append(notice)
        changes["ended_at"] = None
        state = state._replace(ended_at=None)
    if (caller.is_server or caller.is_remote) and state.client is None and caller.client is not None:
        changes["client"] = caller.client.name
        state = state._replace(client=caller.client.name)
    if caller.is_remote:
        change(transaction, state.id, changes)
        return state._replace(seen_at=now)
    branch, commit = read_head(workplace.files_root)
    place: dict[str, object] = {"branch": branch, "commit_id": commit}
    if caller.is_server:
        changes |= {"worktree": workplace.worktree or "", **place, **_processes_of(caller)}
    else:
        session = joining.load(transaction, "s.id = :id", {"id": state.id})[0]
        if session.worktree == (workplace.worktree or ""):
            changes |= place
        is_elsewhere = session.machine not in {None, processes.machine()}  # a sandbox cannot see its client
        if not is_elsewhere and not joining.is_up_to_date(session, caller):
            # the client was restarted, and only commands have called since
            changes |= _processes_of(caller)
    if (caller.is_server or caller.is_hook) and caller.client is not None and caller.host_id is not None:
        add_host_id(transaction, state.id, caller.client.name, caller.host_id)
    change(transaction, state.id, changes)
    return state._replace(seen_at=now)


def _record_idle(transaction: Transaction, project_id: int, state: State, now: int) -> None:
    # the next end of a turn overwrites this one
    row = transaction.one(
        "SELECT turn_ended_at FROM sessions WHERE id = :id AND seen_at <= turn_ended_at AND turn_ended_at <= :until",
        {"id": state.id, "until": now - _LEAST_IDLE_MS},
    )
    if row is not None:
        events.record(transaction, project_id, events.IDLE, now, session=state.id, details={"began": row[0]})


def forget_heard(transaction: Transaction, now: int) -> None:
    since = now - HEARD_MS
    transaction.run("UPDATE sessions SET heard = NULL, heard_at = NULL WHERE heard_at < :since", {"since": since})


def change(transaction: Transaction, session: int, columns: dict[str, object]) -> None:
    update_row(transaction, "sessions", session, **columns)
    if columns.keys() & _CACHED:
        transaction.forget("session")


def add_host_id(transaction: Transaction, session: int, client: str, identity: str) -> None:
    transaction.run(
        """
        INSERT INTO session_hosts (host_id, session_id, client) VALUES (:identity, :session, :client)
        ON CONFLICT DO NOTHING
        """,
        {"identity": identity, "session": session, "client": client},
    )


def name_unnamed(transaction: Transaction, project_id: int, state: State, now: int) -> tuple[State, int, str]:
    """Return a session with its default agent's number and name: the chosen one, else one named after the session."""
    default = state.find_speaker(transaction)
    if default is not None:
        return state, *default
    for digits in range(_LEAST_DIGITS, 2 * len(state.uid) + 1):
        name = state.name(digits)
        other = transaction.one(
            "SELECT 1 FROM agents WHERE project_id = :project AND folded = :name AND has_acted = 1",
            {"project": project_id, "name": name},
        )
        if other is None:
            break
    number, name = ensure_agent(transaction, project_id, name, now)
    _take_mail_of_client(transaction, project_id, state.client, number)
    changes: dict[str, object] = {"unnamed_id": number}
    if state.agent is None:
        changes["agent_id"] = number
    change(transaction, state.id, changes)
    return state._replace(unnamed=number, agent=state.agent or number), number, name


def _take_mail_of_client(transaction: Transaction, project_id: int, client: str | None, agent: int) -> None:
    # messages to the client's name, which no agent has, go to its new agent
    if client is not None:
        transaction.run(
            """
            UPDATE agent_messages SET to_agent_id = :agent
            WHERE project_id = :project AND to_agent_id = (
                SELECT id FROM agents WHERE project_id = :project AND folded = :client AND has_acted = 0)
            """,
            {"project": project_id, "agent": agent, "client": fold(client)},
        )


def _processes_of(caller: Caller) -> dict[str, object]:
    server = processes.own() if caller.is_server else None
    process = joining.client_process(caller)
    return {
        "machine": processes.machine(),
        "process": None if process is None else process.pid,
        "process_started": None if process is None else process.started,
        "server": None if server is None else server.pid,
        "server_started": None if server is None else server.started,
    }


def _predecessor(
    transaction: Transaction, workplace: Workplace, project_id: int, client: str | None, agent: int | None, now: int
) -> SessionRow | None:
    # the last session of the client in this worktree that is over and has no successor; one with a chosen agent
    # continues only as that agent
    where = """
        s.project_id = :project AND s.worktree = :worktree AND s.client IS NOT DISTINCT FROM :client
        AND s.seen_at > :since AND NOT EXISTS (SELECT 1 FROM sessions n WHERE n.predecessor_id = s.id)
        AND NOT EXISTS (SELECT 1 FROM session_hosts h WHERE h.session_id = s.id AND h.client = :of_tokens)
    """
    values: dict[str, object] = {
        "project": project_id,
        "worktree": workplace.worktree or "",
        "client": client,
        "since": now - _INHERITED_DAYS * DAY_MS,
        "of_tokens": OF_TOKENS,
    }
    for one in joining.load(transaction, where, values, _LOOKED_AT):
        # a session without a chosen agent takes that of its first call
        fits = one.state.agent == agent if agent is not None else not one.state.is_chosen
        if fits and joining.is_gone(one, now):
            return one
    return None


def _inherit(transaction: Transaction, project_id: int, state: State, before: SessionRow, now: int) -> State:
    # the claims, and the messages to the default agent that it has neither read nor been shown, or has not answered
    values = {"new": state.id, "old": before.state.id, "now": now, "project": project_id}
    transaction.run("UPDATE file_claims SET session_id = :new WHERE session_id = :old", values)
    if before.state.unnamed is None:
        return state
    unread = f"""
        to_agent_id = {before.state.unnamed} AND expires_at > :now AND NOT EXISTS (
            SELECT 1 FROM message_reads r WHERE r.agent_id = {before.state.unnamed} AND r.message_id = agent_messages.id
        ) AND (({UNANSWERED.replace("m.", "agent_messages.")}) OR NOT EXISTS (
            SELECT 1 FROM windows w JOIN deliveries d ON d.window_id = w.id
            WHERE w.project_id = {project_id} AND w.agent_id = {before.state.unnamed} AND w.session_id = :old
                AND d.kind = {Kind.MESSAGE.number} AND d.item_id = agent_messages.id
        ))
    """
    if transaction.one(f"SELECT 1 FROM agent_messages WHERE project_id = {project_id} AND {unread} LIMIT 1", values):
        state, heir, _ = name_unnamed(transaction, project_id, state, now)
        transaction.run(
            f"""
            UPDATE agent_messages SET to_agent_id = {heir}, first_to_id = COALESCE(first_to_id, to_agent_id)
            WHERE project_id = {project_id} AND {unread}
            """,
            values,
        )
    return state


def _remove_old(transaction: Transaction, project_id: int) -> None:
    values = {"project": project_id, "before": jumps.vouched(transaction, project_id).at - KEPT_DAYS * DAY_MS}
    old = "project_id = :project AND seen_at < :before"
    transaction.run(f"DELETE FROM windows WHERE session_id IN (SELECT id FROM sessions WHERE {old})", values)
    if transaction.execute(f"DELETE FROM sessions WHERE {old}", values):
        transaction.forget()


_MOST_SENTENCES, _LEAST_WORDS = 20, 2
_QUOTES = str.maketrans(dict.fromkeys('`"“”„«»‘’', "'"))

# What may be left out of a rule: articles, what it begins with, and the project as its place.
_ARTICLES = frozenset({"a", "an", "the"})
_LEADS = (
    r"(?:(?:from (?:now|here|today) on|going forward|(?:for|in) future|please|remember(?: that)?|keep in mind"
    r"(?: that)?|(?:as a )?(?:general |house |new )?rule|note(?: that)?|also|and|but|so|btw|by way|-|–|•"
    r"|in this (?:project|repo|repository|codebase)(?: we)?"
    r"|ab (?:jetzt|sofort)|bitte|merke? dir|regel|à partir de maintenant|désormais|règle|a partir de ahora"
    r"|recuerda(?: que)?|regla|por favor|always:|immer:|toujours:|siempre:) )+"
)
# What says ahead of a sentence that it is lasting, and no more.
_MARKS = frozenset({"always:", "immer:", "toujours:", "siempre:"})
_PLACE = r" in this (?:project|repo|repository|codebase)$"


def remember_heard(transaction: Transaction, session: int, rules: Sequence[str], now: int) -> None:
    before = [one for one in _heard(transaction, session, now) if one[1] not in rules]
    stored = json.dumps([*before, *((now, one) for one in rules)][-_MOST_SENTENCES:], ensure_ascii=False)
    update_row(transaction, "sessions", session, heard=stored, heard_at=now)


def has_heard(transaction: Transaction, session: int | None, text: str, now: int) -> bool:
    """Return whether a text is made of nothing but rules that the person of a session stated in the last hour."""
    if session is None:
        return False
    rules = {_words(rule) for _, rule in _heard(transaction, session, now)}
    rules |= {re.sub(_PLACE, "", rule) for rule in rules}
    rules = {rule for rule in rules if len(rule.split()) >= _LEAST_WORDS}
    rests, tried = [_words(text)], set[str]()
    while rests:
        rest = rests.pop()
        if rest in rules:
            return True
        tried.add(rest)
        nexts = {_without_lead(rest.removeprefix(f"{rule} ")) for rule in rules if rest.startswith(f"{rule} ")}
        rests += nexts - tried
    return False


def _words(text: str) -> str:
    # symbols inside of words stay, since they tell names and numbers apart
    parts = fold(text.translate(_QUOTES)).split()
    words = (part if part in _MARKS else part.strip("'.,;:!*()") for part in parts)
    return _without_lead(" ".join(word for word in words if word and word not in _ARTICLES))


def _without_lead(words: str) -> str:
    return re.sub(f"^{_LEADS}", "", words)


def _heard(transaction: Transaction, session: int, now: int) -> list[tuple[int, str]]:
    row = transaction.one("SELECT heard FROM sessions WHERE id = :id", {"id": session})
    stored = json.loads(row[0]) if row is not None and row[0] else []
    return [(moment, rule) for moment, rule in stored if moment > now - HEARD_MS]
