"""Threads, histories of items and errors, memory, worktrees and token spending, for people."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.base.errors import InvalidInput, NotFound, unknown_name
from satchel.base.paging import DEFAULT_LIMIT, check_whole
from satchel.base.text import check_name
from satchel.brief.room import histories, memory, threads, worktrees
from satchel.brief.room.histories import ErrorHistory, ItemHistory, PastBriefings
from satchel.brief.room.looking import of_nobody
from satchel.brief.room.memory import Facets, Flagged, Spending
from satchel.brief.room.threads import Thread, Threads
from satchel.brief.room.worktrees import Worktrees
from satchel.find.kind import Kind
from satchel.keep import projects
from satchel.keep.kinds import KINDS, read_ref
from satchel.keep.names import find_agent
from satchel.keep.patterns import updates as patterns
from satchel.keep.patterns.records import LEAST
from satchel.keep.projects import Service


class Reading(Service):
    """Details that persons look up. Nothing is recorded."""

    def threads(self, *, agent: str | None = None, before: str | None = None, limit: int = DEFAULT_LIMIT) -> Threads:
        """Return the threads of messages to anyone, the one with the latest message first.

        Args:
            agent: only threads in which this agent sent or got a message.
            before: ``before`` of the previous page.
            limit: 1 to 50.

        Raises:
            InvalidInput: an argument is invalid.
        """
        check_whole("limit", limit, threads.MOST, smallest=1)
        last = None if before is None else Kind.MESSAGE.number_of(before)
        name, work = None if agent is None else check_name(agent, "agent"), self._workplace
        with projects.reading(work) as (transaction, project):
            now = work.clock()
            number = find_agent(transaction, project.id, name)
            return threads.find(transaction, project.id, number, last, limit, now)

    def thread(self, ref: str) -> Thread:
        """Return the thread of a message to anyone.

        Args:
            ref: the message's short id.

        Raises:
            InvalidInput: not the id of a message.
            NotFound: the project has no such message, or it has expired.
        """
        number, work = Kind.MESSAGE.number_of(ref), self._workplace
        with projects.reading(work) as (transaction, project):
            return threads.one(transaction, project.id, number, work.clock())

    def history(self, ref: str) -> ItemHistory:
        """Return the history of an item: corrections, replacement and deliveries.

        Args:
            ref: its short id.

        Raises:
            InvalidInput: not an id.
            NotFound: the project has no such item.
        """
        kind, number = read_ref(ref)
        with projects.reading(self._workplace) as (transaction, project):
            if not histories.has_item(transaction, project.id, kind, number):
                raise NotFound(f"the project has no {kind.ref(number)}", "Results of a search and lists show the ids")
            return histories.of_item(transaction, project.id, kind, number)

    def error(self, ref: str) -> ErrorHistory:
        """Return an error with all its solutions, the reports on them, and where it was met.

        Args:
            ref: its short id.

        Raises:
            InvalidInput: not the id of an error.
            NotFound: the project has no such error, or it has expired.
        """
        number, work = Kind.ERROR_PATTERN.number_of(ref), self._workplace
        with projects.reading(work) as (transaction, project):
            now = work.clock()
            pattern = patterns.load(transaction, project.id, number, now, LEAST)
            if pattern is None:
                raise NotFound(f"the project has no {Kind.ERROR_PATTERN.ref(number)}, or it has expired")
            return histories.of_error(transaction, project.id, pattern, now)

    def spending(self, days: int = 14) -> Spending:
        """Return the tokens added to the context of agents, day by day.

        Args:
            days: how many, 1 to 90; today is the last.

        Raises:
            InvalidInput: it is another number.
        """
        check_whole("days", days, memory.MOST_DAYS, smallest=1)
        work = self._workplace
        with projects.reading(work) as (transaction, project):
            return memory.count_spending(transaction, project.id, work.clock(), days)

    def facets(self, kind: str | None = None) -> Facets:
        """Return the number of items of the project's memory by kind, state, tag, file and author.

        Args:
            kind: the only kind whose states, tags, files and authors are counted.

        Raises:
            InvalidInput: memory has no such kind.
        """
        names, work = {KINDS[one].name: one for one in memory.MEMORY}, self._workplace
        if kind is not None and kind not in names:
            raise unknown_name("kind", kind, names)
        with projects.reading(work) as (transaction, project):
            return memory.count(transaction, project, work, work.clock(), None if kind is None else names[kind])

    def flags(self, refs: Sequence[str]) -> Flagged:
        """Return which items are confirmed, stale, pinned, and how many sessions got them.

        Args:
            refs: 1 to 100 short ids.

        Raises:
            InvalidInput: not ids, or too many.
        """
        check_whole("refs", len(refs), memory.MOST_FLAGGED, smallest=1)
        wanted = list(dict.fromkeys(map(read_ref, refs)))
        with projects.reading(self._workplace) as (transaction, project):
            return memory.flags(transaction, project.id, self._workplace, wanted)

    def selected(self, what: str, tag: str = "") -> tuple[str, ...]:
        """Return the short ids of the newest items of a state or tag, or of the items that most sessions got.

        Args:
            what: stale, unconfirmed, draft, pinned, used, or tag.
            tag: the tag, if that is asked for.

        Raises:
            InvalidInput: what is another word.
        """
        if what not in memory.SELECTIONS:
            raise unknown_name("what", what, memory.SELECTIONS)
        with projects.reading(self._workplace) as (transaction, project):
            return memory.select(transaction, project.id, self._workplace, what, tag)

    def briefings(self, session: str | None = None, *, limit: int = 20) -> PastBriefings:
        """Return what was added to the context of a session, with the items, the latest first.

        Args:
            session: its uid, in hexadecimal; None is every session.
            limit: 1 to 100.

        Raises:
            InvalidInput: an argument is invalid.
        """
        check_whole("limit", limit, _MOST_BRIEFINGS, smallest=1)
        uid = None if session is None else _check_uid(session)
        with projects.reading(self._workplace) as (transaction, project):
            return histories.briefings(transaction, project.id, uid, limit, self._workplace.clock())

    def worktrees(self) -> Worktrees:
        """Return the worktrees of the last day, with their commits and what is not committed there."""
        work = self._workplace
        with projects.reading(work) as (transaction, project):
            return worktrees.find(of_nobody(transaction, project.id, work.clock()), work)


_MOST_BRIEFINGS = 100


def _check_uid(session: str) -> str:
    try:
        return bytes.fromhex(session).hex()
    except ValueError:
        raise InvalidInput(f"{session[:80]!r} is no uid of a session", "Give it as the team lists it") from None
