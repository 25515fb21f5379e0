"""Service for the messages of a project: send, list and mark as read."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Unpack

from satchel.base.clock import span_in_words
from satchel.base.errors import Conflict, InvalidInput, NotFound, Unconfirmed
from satchel.base.paging import check_whole
from satchel.base.records import replace
from satchel.base.text import fold
from satchel.base.vocabulary import HUMAN, priority_number
from satchel.find.kind import Kind
from satchel.keep import expiry, names, presence, projects
from satchel.keep.messages import queries, updates, visibility
from satchel.keep.messages.records import MarkedRead, Message, MessagePage
from satchel.keep.messages.updates import Draft, Unread
from satchel.keep.messages.visibility import Reader
from satchel.keep.projects import POLL_SECONDS, Service, Workplace
from satchel.keep.sessions.actors import acting_named, agents_of_client, is_unnamed, reader_name, silent_sessions
from satchel.keep.sessions.caller import COMMAND
from satchel.keep.texts import check_content
from satchel.store.transaction import Transaction, set_of

if TYPE_CHECKING:
    from satchel.keep.messages.queries import MessageFilters


# The name for everyone; a message without ``to`` that is no reply goes to everyone too.
EVERYONE = "all"

MAX_MARKED = 500
_MAX_ANSWER_MINUTES = 7 * 24 * 60
# An agent that was not heard of for so long is silent.
_SILENT_MS = 30 * 60_000
# One that was heard of so lately is active.
_ACTIVE_MS = 5 * 60_000


# Returns whether the next answer brings the named agent news, which ends its wait.
HasNews = Callable[[Transaction, Workplace, int, str], bool]

# Returns for an agent that waits in vain, in words, when the others were last heard of.
LastHeard = Callable[[Workplace, str], Sequence[str]]


class Messages(Service):
    """Messages between agents, to one of them or to all."""

    def __init__(
        self, workplace: Workplace, has_news: HasNews | None = None, last_heard: LastHeard | None = None
    ) -> None:
        super().__init__(workplace)
        self._has_news, self._last_heard = has_news, last_heard
        self._seats = threading.Semaphore(projects.WAIT_SEATS)

    def send(
        self,
        message: str,
        *,
        to: str | None = None,
        type: str = "info",  # noqa: A002 -- the field's own name
        priority: str = "medium",
        payload: object = None,
        reply_to: str | int | None = None,
        agent: str | None = None,
        answer_minutes: int | None = None,
        answered_by: str | None = None,
    ) -> Message:
        """Send a message; it is durable when this returns.

        Args:
            message: at most ``context.max_content_kib``.
            to: the addressee, which need not have acted yet, or a client with one active session; ``all`` is everyone
                but the sender. None is everyone too; for a reply it is the sender of the answered message, or that
                message's addressee if the sender is the same.
            type: decision, warning, request or info.
            priority: low, medium, high or critical.
            payload: any JSON value; the JSON text of an object or list is read.
            reply_to: the id of the message it answers; it joins that thread and marks that message as read.
            agent: who sends; None takes the default.
            answer_minutes: within how many minutes an answer is needed, 1 to 10,080; None needs none.
            answered_by: for a reply, the id of the last answer that the sender saw, empty for none; a newer answer
                refuses the reply. None always sends it.

        Returns:
            The message as stored; ``notes`` tell what was cleaned or redacted, whether the addressee is active, and
            that no agent of its name has acted yet.

        Raises:
            InvalidInput, TooLarge: an argument is invalid, or there is no sender; nothing was written.
            NotFound: there is no message to reply to.
            Unconfirmed: a command names an unknown agent with a name similar to a known one.
            Conflict: the named client has several active sessions, or the message was answered since.
        """
        work = self._workplace
        sender = names.needed_agent(work, agent, "sending a message")
        addressee = None if to is None else names.check_identifier(to, "to")
        if answer_minutes is not None:
            check_whole("answer_minutes", answer_minutes, _MAX_ANSWER_MINUTES, smallest=1)
        kind, rank = queries.type_number(type), priority_number(priority)
        answered = None if reply_to is None else Kind.MESSAGE.number_of(reply_to)
        content = check_content(message, "message", work.max_content_bytes)
        stored_payload, payload_notes = updates.storable_payload(payload, work.max_content_bytes)
        with projects.writing(work) as (transaction, project, now):
            actor, sender_id, _ = acting_named(transaction, work, project.id, sender, now, "sending a message")
            to_id, thread = None, None
            if answered is not None:
                to_id, thread = _answered(transaction, project.id, answered, sender_id, now, is_named=to is not None)
                if answered_by is not None:
                    _refuse_answered(transaction, answered, answered_by, now)
                _mark_answered(transaction, Reader(project.id, sender_id, now), answered)
            addressee_notes: tuple[str, ...] = ()
            if addressee is not None:
                # a typed unknown name is more likely a typo than a new agent
                is_typed = work.caller is not None and work.caller.kind == COMMAND
                to_id, addressee_notes = _addressee(
                    transaction, project.id, sender_id, addressee, now, refuses_near=is_typed
                )
            if to_id is not None and to_id != sender_id:
                addressee_notes += _addressee_state(transaction, project.id, to_id, now)
            answer_by = None if answer_minutes is None else now + answer_minutes * 60_000
            draft = Draft(
                *(sender_id, to_id, kind, rank, content.text, stored_payload, answered, thread, answer_by),
                session_id=actor.session,
            )
            number = updates.insert(transaction, project.id, draft, now, work.retention)
            notes = (*content.notes, *payload_notes, *addressee_notes)
            message_sent = queries.load(transaction, Reader(project.id, sender_id, now), number)
            expiry.sweep_now_and_then(work.engine, transaction, project.id, now)
        return replace(message_sent, notes=tuple(dict.fromkeys(notes)))

    def inbox(
        self, *, wait_seconds: int = 0, agent: str | None = None, **filters: Unpack[MessageFilters]
    ) -> MessagePage:
        """List an agent's messages: those to it, and others' to all. Nothing is marked as read.

        Args:
            wait_seconds: how long to wait for an unread one or for news, 0 to 45; then only unread ones are listed. At
                most 4 calls of one opened store wait at once.
            agent: the reader; None takes the default.

        Returns:
            The page with its total, and the number of all unread messages of the agent.

        Raises:
            InvalidInput: a filter is empty, unknown or out of range, or there is no reader.
            Interrupted: the call was cancelled while it waited.
        """
        from satchel.keep import lists

        check_whole("wait_seconds", wait_seconds, projects.MAX_WAIT_SECONDS)
        name = self._name_of_session() if is_unnamed(self._workplace, agent) else reader_name(self._workplace, agent)
        if name is None:
            name = self._name_of_session()
        if wait_seconds:
            filters["unread"] = True
        has_come = not wait_seconds or self._wait(name, wait_seconds)
        page = lists.find(self._workplace, queries.LISTING, MessagePage, filters, agent=name)
        if has_come:
            is_news = wait_seconds and not page.total
            return (
                replace(page, notes=(*page.notes, "no message yet, but news, below; call again to go on waiting"))
                if is_news
                else page
            )
        heard = [] if self._last_heard is None else self._last_heard(self._workplace, name)
        others = f": {', '.join(heard)}" if heard else ""
        return replace(
            page, notes=(*page.notes, f"nothing came in {wait_seconds} s{others}; call again to go on waiting")
        )

    def _wait(self, name: str, seconds: int) -> bool:
        # the seats limit the waiting calls of the connection
        if not self._seats.acquire(blocking=False):
            raise Conflict("too many calls of this connection wait for messages already", "Leave wait_seconds out")
        try:
            deadline = time.monotonic() + seconds
            with self._workplace.engine.watch() as is_changed:
                while not self._is_awaited(name):
                    while not is_changed():
                        remaining = deadline - time.monotonic()
                        if remaining <= 0:
                            return False
                        time.sleep(min(POLL_SECONDS, remaining))
            return True
        finally:
            self._seats.release()

    def _is_awaited(self, name: str) -> bool:
        work = self._workplace
        with projects.reading(work) as (transaction, project):
            reader, _ = visibility.find_reader(transaction, project.id, name, work.clock())
            return visibility.count(transaction, reader).unread > 0 or (
                self._has_news is not None and self._has_news(transaction, work, project.id, name)
            )

    def _name_of_session(self) -> str:
        # gives the agent of a session that has written nothing yet a name
        work, doing = self._workplace, "reading messages"
        if work.caller is None or work.engine.read_only:
            raise names.no_agent(doing)
        with projects.writing(work) as (transaction, project, now):
            _, _, name = acting_named(transaction, work, project.id, None, now, doing)
        return name

    def read(self, page: MessagePage) -> MessagePage:
        """Mark the messages of a page as read by its agent, and return the page with the new ``unread``."""
        unread = [one.ref for one in page if one.read_at is None and one.sender != page.agent]
        return replace(page, unread=self.mark_read(unread, agent=page.agent).unread) if unread else page

    def mark_read(
        self, refs: Sequence[str | int] | None = None, *, everything: bool = False, agent: str | None = None
    ) -> MarkedRead:
        """Record that an agent has read messages; for others they stay as they are.

        Args:
            refs: the ids of 1 to 500 messages.
            everything: all of its unread ones, instead of refs.
            agent: the reader; None takes the default.

        Returns:
            The marked messages, those read before, and the unknown or foreign ids.

        Raises:
            InvalidInput: neither ids nor ``everything`` is given, or both, or an id is invalid, or there is no reader.
        """
        work = self._workplace
        name = names.needed_agent(work, agent, "marking messages as read")
        numbers = _check_refs(refs, everything=everything)
        with work.engine.write() as transaction:
            project = projects.find(transaction, work)
            if not project.id:
                return MarkedRead(name or "", (), (), tuple(map(Kind.MESSAGE.ref, numbers or ())), (), 0)
            now = work.clock()
            if name is None:
                _, _, name = acting_named(transaction, work, project.id, None, now, "marking messages as read")
            if names.is_persons(name):
                # a person with a new name reads what all persons do, but marks it for itself
                names.ensure_agent(transaction, project.id, name, now)
            reader, name = visibility.find_reader(transaction, project.id, name, now)
            states = visibility.find_unread(transaction, reader, numbers)
            unread = [message for message in states.values() if message is not None]
            if unread:
                number, name = names.ensure_agent(transaction, project.id, name, now)
                reader = Reader(project.id, number, now)
                updates.mark(transaction, number, unread, now)
            foreign = visibility.foreign(transaction, reader, numbers) if numbers else set()
            remaining = visibility.count(transaction, reader).unread
            expiry.sweep_now_and_then(work.engine, transaction, project.id, now)
        return _sorted_out(name, numbers or sorted(states), states, foreign, remaining)

    def mark_unread(self, refs: Sequence[str | int], *, agent: str | None = None) -> tuple[str, ...]:
        """Mark messages as unread again; the expiry of those to the agent alone does not change.

        Args:
            refs: the ids of 1 to 500 messages.
            agent: the reader; None takes the default.

        Returns:
            The ids of those that it had read.

        Raises:
            InvalidInput: no ids are given, or there is no reader.
        """
        work = self._workplace
        name = names.needed_agent(work, agent, "marking messages as unread")
        numbers = _check_refs(refs, everything=False) or ()
        with work.engine.write() as transaction:
            project = projects.find(transaction, work)
            reader = None if name is None else names.find_agent(transaction, project.id, name)
            rows = transaction.all(
                "DELETE FROM message_reads "
                f"WHERE agent_id = :reader AND message_id IN {set_of(numbers)} RETURNING message_id",
                {"reader": reader},
            )
        return tuple(Kind.MESSAGE.ref(number) for (number,) in sorted(rows))


def _check_refs(refs: Sequence[str | int] | None, *, everything: bool) -> tuple[int, ...] | None:
    if not isinstance(everything, bool):
        raise InvalidInput(f"everything {everything!r} is neither true nor false", "Give true, or leave it out")
    if everything == (refs is not None):
        raise InvalidInput("give either the ids of messages or everything", "One of them")
    if refs is None:
        return None
    if isinstance(refs, str) or not isinstance(refs, Sequence):
        raise InvalidInput("refs is no list of ids", 'Give it as in ["m12", "m15"]')
    if not 1 <= len(refs) <= MAX_MARKED:
        raise InvalidInput(f"{len(refs)} ids were given", f"Mark 1 to {MAX_MARKED} at once")
    return tuple(dict.fromkeys(map(Kind.MESSAGE.number_of, refs)))


def _sorted_out(
    name: str, numbers: Sequence[int], states: Mapping[int, Unread | None], foreign: Set[int], unread: int
) -> MarkedRead:
    lists: dict[str, list[str]] = {"marked": [], "already": [], "unknown": [], "foreign": []}
    for number in numbers:
        if number in states:
            outcome = "already" if states[number] is None else "marked"
        else:
            outcome = "foreign" if number in foreign else "unknown"
        lists[outcome].append(Kind.MESSAGE.ref(number))
    marked, already, unknown, others = map(tuple, lists.values())
    return MarkedRead(name, marked, already, unknown, others, unread)


def _answered(
    transaction: Transaction, project_id: int, number: int, sender_id: int, now: int, *, is_named: bool
) -> tuple[int | None, int]:
    # the addressee of an answer without ``to``, and its thread
    row = transaction.one(
        """
        SELECT from_agent_id, to_agent_id, COALESCE(thread_id, id) FROM agent_messages
        WHERE id = :number AND project_id = :project AND expires_at > :now
        """,
        {"number": number, "project": project_id, "now": now},
    )
    ref = Kind.MESSAGE.ref(number)
    if row is None:
        raise NotFound(f"there is no message {ref} in this project, or it has expired", "Leave reply_to out")
    from_id, to_id, thread = row
    if from_id is None and not is_named:
        raise InvalidInput(f"{ref} has no sender to reply to", f"Name an agent with to, or {EVERYONE!r}")
    return (to_id if from_id == sender_id else from_id), thread


def _mark_answered(transaction: Transaction, sender: Reader, number: int) -> None:
    unread = [message for message in visibility.find_unread(transaction, sender, [number]).values() if message]
    if unread:
        updates.mark(transaction, sender.agent_id, unread, sender.now)


def _refuse_answered(transaction: Transaction, number: int, known_answer: str, now: int) -> None:
    last = queries.last_answer(transaction, number, now)
    if last is None or (known_answer and last[0] == Kind.MESSAGE.number_of(known_answer)):
        return
    other = Kind.MESSAGE.ref(last[0])
    raise Conflict(
        f"{last[1] or 'somebody'} answered {Kind.MESSAGE.ref(number)} first, with {other}",
        f"Nothing was sent. Read {other}; to answer anyway, give answered_by={other}",
    )


def _addressee_state(transaction: Transaction, project_id: int, agent: int, now: int) -> tuple[str, ...]:
    # whether the addressee is at work, as far as its last session tells
    row = transaction.one(
        """
        SELECT a.name, s.seen_at, s.ended_at, s.seen_at <= s.turn_ended_at, s.machine, s.process, s.process_started, (
            SELECT h.name FROM sessions n JOIN agents h ON h.id = COALESCE(n.agent_id, n.unnamed_id)
            WHERE n.predecessor_id = s.id ORDER BY n.id DESC LIMIT 1)
        FROM sessions s JOIN agents a ON a.id = :agent
        WHERE s.project_id = :project AND (s.agent_id = :agent OR s.unnamed_id = :agent)
        ORDER BY s.seen_at DESC LIMIT 1
        """,
        {"project": project_id, "agent": agent},
    )
    if row is None:
        return ()
    name, seen_at, ended_at, is_idle, *process, heir = row
    ago = span_in_words(now - seen_at)
    if ended_at is None and (local := presence.local_process(*process)) and presence.is_abandoned(local, seen_at, now):
        ended_at = seen_at  # it was killed
    if ended_at is not None:
        return (f"{name} left {span_in_words(now - ended_at)} ago; {heir or 'whoever continues its work'} gets it",)
    if is_idle:
        return (f"{name} has been at its prompt for {span_in_words(now - seen_at)}, and gets it with the next one",)
    silence = now - seen_at
    if silence < _ACTIVE_MS:
        return (f"{name} is active",)
    state = "has been silent, " if silence >= _SILENT_MS else "was "
    return (f"{name} {state}last heard of {ago} ago",)


def _addressee(
    transaction: Transaction, project_id: int, sender: int | None, name: str, now: int, *, refuses_near: bool
) -> tuple[int | None, tuple[str, ...]]:
    # the agent for a name of an agent or client, None for all, with notes for the sender
    if fold(name) == EVERYONE:
        return None, ()
    agent_row = transaction.one(
        "SELECT id FROM agents WHERE project_id = :project AND folded = :name AND has_acted = 1",
        {"project": project_id, "name": fold(name)},
    )
    if agent_row is not None:
        return int(agent_row[0]), ()
    if not names.is_persons(name):
        person = names.find_agent(transaction, project_id, f"{HUMAN}:{name}")
        if person is not None and person >= 0:
            return person, ()
        at_work = agents_of_client(transaction, project_id, name, now)
        if len(at_work) > 1:
            raise Conflict(
                f"several agents of the client {name!r} are at work: {', '.join(agent for _, agent in at_work)}",
                "Name one of them",
            )
        if at_work:
            number, agent = at_work[0]
            return number, (f"{name} is {agent} here, who gets it",)
    number, _ = names.ensure_agent(transaction, project_id, name, now, acts=False)
    # who has a session is here, though it has written nothing yet
    if fold(name) == HUMAN or _addressee_state(transaction, project_id, number, now):
        return number, ()
    connected = silent_sessions(transaction, project_id, name, now)
    if connected:
        gets = "its session gets it" if connected == 1 else f"the first of its {connected} sessions to act gets it"
        return number, (f"client {name} is connected; {gets}",)
    if fold(name) in map(fold, queries.clients(transaction, project_id)):
        return number, (f"no {name} is at work; its next session gets it",)
    near = queries.nearest_name(transaction, project_id, name)
    if near is not None and refuses_near:
        raise Unconfirmed(f"nobody is called {name!r} here", f"Did you mean {near!r}? Nothing was sent")
    hint = f"; did you mean {near!r}?" if near else queries.others_hint(transaction, project_id, sender)
    return number, (f"nobody of that name is here yet; it waits for them{hint}",)
