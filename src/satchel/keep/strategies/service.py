"""The strategies of a project: save, find, and say whether one helped."""

from __future__ import annotations

from satchel.base.errors import InvalidInput, NotFound
from satchel.base.paging import DEFAULT_LIMIT
from satchel.find.kind import Kind
from satchel.keep import projects
from satchel.keep.names import check_identifier, ensure_agent
from satchel.keep.projects import Workplace
from satchel.keep.strategies import updates
from satchel.keep.strategies.records import Strategy, StrategyPage


class Strategies:
    """Approaches that worked."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    def save(
        self,
        topic: str,
        insight: str,
        *,
        lang: str | None = None,
        framework: str | None = None,
        agent: str | None = None,
    ) -> Strategy:
        """Save one strategy; it is durable when this returns.

        Args:
            topic: what it is about; kept in lower case, its words joined by hyphens.
            insight: what to do and why it works, at most 500 characters; a longer one is shortened.
            lang: the programming language, kept in lower case; None is any.
            framework: the framework, the same way.
            agent: who saves it; None takes the default, which may be nobody.

        Returns:
            The strategy as it was kept; ``notes`` says how the topic is kept, what was shortened, cleaned or redacted,
            and which strategies say nearly the same: they stay beside it.

        Raises:
            InvalidInput, TooLarge: something is not acceptable; nothing was written.
        """
        work = self._workplace
        new = updates.prepare(topic, insight, lang, framework, work)
        agent = work.agent if agent is None else agent
        agent = None if agent is None else check_identifier(agent, "agent")
        with work.engine.write() as transaction:
            now = work.clock()
            project = projects.ensure(transaction, work, now)
            author = None if agent is None else ensure_agent(transaction, project.id, agent, now)[0]
            similar = updates.notes_on_similar(transaction, project.id, new.insight)
            number = updates.insert(transaction, project.id, author, new, now)
            saved = updates.load(transaction, project.id, number, notes=(*new.notes, *similar))
        assert saved is not None
        return saved

    def find(
        self,
        *,
        query: str | None = None,
        topic: str | None = None,
        lang: str | None = None,
        framework: str | None = None,
        author: str | None = None,
        since: str | int | None = None,
        after_seq: int | None = None,
        order: str | None = None,
        limit: int = DEFAULT_LIMIT,
        offset: int = 0,
    ) -> StrategyPage:
        """Find strategies.

        Args:
            query: words in any form; without ``order`` the best matches come first.
            topic: only this one, compared as it is kept.
            lang: only those for this language, or for any.
            framework: only those for this framework, or for any.
            author: only what this agent saved.
            since: only what was saved or tried at or after this time: ISO 8601, an age such as ``90m``, or
                milliseconds UTC.
            after_seq: only what changed after this number, in that order; ``page.cursor`` is the next one.
            order: desc or asc, by (created_at, id); None is what helped most often, less what did not, and of equals
                the newest, or relevance for a search.
            limit: 0 to 500; 0 gives the total alone.
            offset: how many to skip.

        Returns:
            The page with its total. A topic or agent that there is none of makes it empty, and a note says so.

        Raises:
            InvalidInput: a filter is empty or out of range.
        """
        # the search behind it is left alone by whoever only writes
        from satchel.keep.strategies import queries

        work = self._workplace
        chosen = queries.check_filter(
            work,
            search=query,
            topic=topic,
            lang=lang,
            framework=framework,
            agent=author,
            since=since,
            after_seq=after_seq,
            order=order,
            limit=limit,
            offset=offset,
        )
        with work.engine.read() as transaction:
            project = projects.find(transaction, work)
            if project is None:
                return StrategyPage((), 0, offset, limit, 0, chosen.order_name, (projects.NOTHING_YET,), after_seq)
            found, total, notes = queries.read(transaction, project.id, chosen)
        return StrategyPage(found, total, offset, limit, project.seq, chosen.order_name, notes, after_seq)

    def outcome(self, ref: str | int, helped: bool) -> Strategy:
        """Say whether a strategy helped; no count is lost among those who say so at once.

        Args:
            ref: its short id, such as ``s7``.
            helped: whether it did.

        Returns:
            The strategy as it stands; it counts as seen now.

        Raises:
            NotFound: the project has no such strategy.
            InvalidInput: the id is none, or ``helped`` is neither true nor false.
        """
        work = self._workplace
        number = Kind.STRATEGY.number_of(ref)
        if not isinstance(helped, bool):
            raise InvalidInput(f"helped {helped!r} is neither true nor false", "Give true or false")
        with work.engine.write() as transaction:
            now = work.clock()
            project = projects.find(transaction, work)
            if project is None or not updates.count_outcome(transaction, project.id, number, now, helped=helped):
                raise NotFound(
                    f"there is no strategy {Kind.STRATEGY.ref(number)} in this project",
                    "Listing strategies shows their ids",
                )
            counted = updates.load(transaction, project.id, number)
        assert counted is not None
        return counted
