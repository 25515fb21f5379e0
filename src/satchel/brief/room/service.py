"""What a person looks at: what needs them, what has changed, who is where, what collides, what memory is worth."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.base.clock import DAY_MS
from satchel.base.config import Config
from satchel.base.errors import InvalidInput, Refused
from satchel.base.paging import check_whole
from satchel.base.vocabulary import HUMAN
from satchel.brief.room import collisions, looking, needs, seen, since, where
from satchel.brief.room.memory_records import SPENT_BY, Memory, Preview
from satchel.brief.room.records import Collisions, Needs, Seen, Since, Where
from satchel.keep import projects
from satchel.keep.names import check_identifier, check_person, is_persons
from satchel.keep.projects import Service, Workplace
from satchel.keep.sessions.actors import is_person
from satchel.keep.sessions.team import Team

_MAX_SEQ = 2**62


class Room(Service):
    """What persons look at. Nothing but :meth:`see` records anything."""

    def __init__(self, workplace: Workplace, config: Config) -> None:
        super().__init__(workplace)
        self._config = config

    def needs(self, person: str | None = None) -> Needs:
        """Return what needs a person.

        Args:
            person: ``human:NAME``, or ``human``; None is the default agent where that is a person, else ``human``.

        Raises:
            InvalidInput: it is no person.
        """
        name, work = self._person(person), self._workplace
        with work.engine.read() as transaction:
            now = work.clock()
            project = projects.find(transaction, work)
            if project is None:
                return Needs(name, (), 0, None, now)
            return needs.find(looking.begin(transaction, project.id, name, now))

    def since(self, person: str | None = None) -> Since:
        """Return what has changed that a person has not seen, but for what they did themselves.

        Args:
            person: as for :meth:`needs`.

        Raises:
            InvalidInput: it is no person.
        """
        name, work = self._person(person), self._workplace
        with work.engine.read() as transaction:
            now = work.clock()
            project = projects.find(transaction, work)
            if project is None:
                return Since(name, (), (), 0, None, now)
            return since.find(looking.begin(transaction, project.id, name, now), project.seq)

    def see(self, refs: Sequence[str] | None = None, *, up_to: int | None = None, person: str | None = None) -> Seen:
        """Mark changes as seen by a person: some, or all.

        Args:
            refs: what answers call ``ref``, or a kind of change for all of that: decision, rule, fix, files,
                correction. None is every change.
            up_to: the ``seq`` of the answer that they were seen in, so that what has changed since is shown again; None
                is now.
            person: as for :meth:`needs`.

        Raises:
            InvalidInput: something is not acceptable.
            NotFound: the project has no such thing.
            Refused: it is not a person who calls.
        """
        name, work = self._person(person), self._workplace
        wanted = () if refs is None else seen.check_refs(refs)
        if up_to is not None:
            check_whole("up_to", up_to, _MAX_SEQ)
        if work.caller is not None and not is_person(work.caller):
            raise Refused("only a person says what a person has seen", "Leave it to the person")
        with work.engine.write() as transaction:
            now = work.clock()
            project = projects.find(transaction, work) or projects.ensure(transaction, work, now)
            if up_to is not None and up_to > project.seq:
                raise InvalidInput(
                    f"the project has not reached the change {up_to}; it stands at {project.seq}",
                    "Give the seq of the answer that was seen",
                )
            reached = project.seq if up_to is None else up_to
            look = seen.begin_person(looking.begin(transaction, project.id, name, now))
            seen.mark(look, wanted, reached)
        return Seen(name, wanted, reached)

    def where(self) -> Where:
        """Return who is where, and when they were at work in the last 24 hours."""
        work, caller = self._workplace, self._workplace.caller
        with work.engine.read() as transaction:
            now = work.clock()
            project = projects.find(transaction, work)
            if project is None:
                ended = (now // where.QUARTER_MS + 1) * where.QUARTER_MS
                return Where(Team((), 0, 0, now), (), ended - DAY_MS, ended)
            own = None if caller is None else caller.find(transaction, project.id)
            return where.find(transaction, project.id, None if own is None else own.id, now, ())

    def collisions(self) -> Collisions:
        """Return where two sessions claim, or have edited in the last hour, the same."""
        work = self._workplace
        with work.engine.read() as transaction:
            now = work.clock()
            project = projects.find(transaction, work)
            return Collisions((), 0, now) if project is None else collisions.find(transaction, project.id, now)

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
        with work.engine.read() as transaction:
            now = work.clock()
            project = projects.find(transaction, work)
            number = -1 if project is None else project.id
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

    def _person(self, person: str | None) -> str:
        default = self._workplace.agent
        return check_person(person or (default if is_persons(default) else HUMAN))
