"""What a person looks up: threads, what became of items and fixes, runs, and what memory is worth."""

from __future__ import annotations

from satchel.base.config_keys import Config
from satchel.base.errors import InvalidInput, NotFound
from satchel.base.paging import DEFAULT_LIMIT, Page, check_page, check_whole
from satchel.base.text import check_name
from satchel.base.vocabulary import number_of
from satchel.brief.room import histories, threads
from satchel.brief.room.histories import ErrorHistory, ItemHistory, RunSummary
from satchel.brief.room.memory_records import SPENT_BY, Memory, Preview
from satchel.brief.room.threads import Thread, Threads
from satchel.find.kind import Kind
from satchel.keep import projects
from satchel.keep.kinds import read_ref
from satchel.keep.names import check_identifier, find_agent
from satchel.keep.patterns import updates as patterns
from satchel.keep.patterns.records import LEAST
from satchel.keep.projects import Service, Workplace
from satchel.keep.runs import STATUSES, page_of


class Reading(Service):
    """What persons look up. Nothing is recorded of it."""

    def __init__(self, workplace: Workplace, config: Config) -> None:
        super().__init__(workplace)
        self._config = config

    def threads(self, *, agent: str | None = None, before: str | None = None, limit: int = DEFAULT_LIMIT) -> Threads:
        """Return the threads of messages, whoever they are to, the one with the latest message first.

        Args:
            agent: only those in which this agent sent or got a message.
            before: what the answer before calls ``before``, for the threads that follow.
            limit: 1 to 50.

        Raises:
            InvalidInput: something is not acceptable.
        """
        check_whole("limit", limit, threads.MOST, smallest=1)
        last = None if before is None else Kind.MESSAGE.number_of(before)
        name, work = None if agent is None else check_name(agent, "agent"), self._workplace
        with projects.reading(work) as (transaction, project):
            now = work.clock()
            number = find_agent(transaction, project.id, name)
            return threads.find(transaction, project.id, number, last, limit, now)

    def thread(self, ref: str) -> Thread:
        """Return the thread of a message, whoever it is to.

        Args:
            ref: the message's short id.

        Raises:
            InvalidInput: it is none.
            NotFound: the project has no such message, or it has expired.
        """
        number, work = Kind.MESSAGE.number_of(ref), self._workplace
        with projects.reading(work) as (transaction, project):
            return threads.one(transaction, project.id, number, work.clock())

    def history(self, ref: str) -> ItemHistory:
        """Return what became of an item: who corrected it, what replaced it, and to whom it was delivered.

        Args:
            ref: its short id.

        Raises:
            InvalidInput: it is none.
            NotFound: the project has no such item.
        """
        kind, number = read_ref(ref)
        with projects.reading(self._workplace) as (transaction, project):
            if not histories.is_kept(transaction, project.id, kind, number):
                raise NotFound(f"the project has no {kind.ref(number)}", "Results of a search and lists show the ids")
            return histories.of_item(transaction, project.id, kind, number)

    def error(self, ref: str) -> ErrorHistory:
        """Return an error with all its solutions, how sure each was over time, and where it was met.

        Args:
            ref: its short id.

        Raises:
            InvalidInput: it is none.
            NotFound: the project has no such error, or it has expired.
        """
        number, work = Kind.ERROR_PATTERN.number_of(ref), self._workplace
        with projects.reading(work) as (transaction, project):
            now = work.clock()
            found = patterns.load(transaction, project.id, number, now, LEAST)
            if found is None:
                raise NotFound(f"the project has no {Kind.ERROR_PATTERN.ref(number)}, or it has expired")
            return histories.of_error(transaction, project.id, found, now)

    def runs(self, status: str | None = None, *, limit: int = DEFAULT_LIMIT, offset: int = 0) -> Page[RunSummary]:
        """Return runs with how much was noted in each, the newest first.

        Args:
            status: active, completed or failed; None for all.
            limit: 0 to 500; 0 gives the total alone.
            offset: how many to skip.

        Raises:
            InvalidInput: something is not acceptable.
        """
        number = None if status is None else number_of("status", status, STATUSES)
        check_page(limit, offset)
        with projects.reading(self._workplace) as (transaction, project):
            found = page_of(transaction, project, number, limit, offset)
            return Page(tuple(histories.of_run(transaction, run) for run in found.items), found.total, offset, limit)

    def memory(self, days: int = 14, by: str = "moment") -> Memory:
        """Return what memory is worth: the tokens put into windows, and what came of it.

        Args:
            days: of how many days, 1 to 90.
            by: moment or agent.

        Raises:
            InvalidInput: an argument is not acceptable.
        """
        from satchel.brief.room import memory, worth

        check_whole("days", days, memory.MOST_DAYS)
        if not days or by not in SPENT_BY:
            raise InvalidInput(f"days={days} by={by[:80]!r} is no question", "Give days from 1, and by moment or agent")
        work = self._workplace
        with projects.reading(work) as (transaction, project):
            now = work.clock()
            number = project.id
            looked = worth.uses(transaction, number)
            return Memory(
                spending=memory.spending(transaction, number, now, days, by),
                helped=worth.helped(transaction, number, looked),
                unused=worth.unused(transaction, looked, now),
                stale=worth.stale(transaction, number, now),
                delivered=worth.delivered(transaction, looked, now),
                sighted=worth.sighted(transaction, number),
                asked_at=now,
            )

    def preview(
        self,
        agent: str | None = None,
        moment: str = "briefing",
        *,
        role: str | None = None,
        task_id: str | None = None,
        query: str | None = None,
        budget: int | None = None,
    ) -> Preview:
        """Return the briefing that an agent would get now, with why each item is in it; nothing counts as delivered.

        Args:
            agent: whose, in the session at work in which it was seen last; None is one without a name.
            moment: briefing; or what a hook puts in at a clear, resume, compaction, subagent or prompt.
            role, task_id, query, budget: as for a briefing; of what hooks put in, a prompt takes the query alone, the
                others nothing.

        Raises:
            InvalidInput: an argument is not acceptable.
        """
        from satchel.brief.room import preview

        name = check_identifier(agent, "agent") if agent is not None else None
        return preview.make(
            self._workplace, self._config, name, moment, role=role, task_id=task_id, query=query, budget=budget
        )
