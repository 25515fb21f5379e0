"""Service for the strategies of a project: save and find them, and record their outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from satchel.base.errors import InvalidInput, NotFound
from satchel.find.kind import Kind
from satchel.keep import projects, replacing
from satchel.keep.corrections import log
from satchel.keep.names import check_agent
from satchel.keep.projects import Service
from satchel.keep.sessions.actors import acting, is_by_person
from satchel.keep.strategies import updates
from satchel.keep.strategies.records import Strategy, StrategyPage

if TYPE_CHECKING:
    from satchel.keep.strategies.queries import StrategyFilters


class Strategies(Service):
    """Approaches that worked."""

    def save(
        self,
        topic: str,
        insight: str,
        *,
        lang: str | None = None,
        framework: str | None = None,
        supersedes: str | int | None = None,
        agent: str | None = None,
    ) -> Strategy:
        """Save one strategy; it is durable when this returns.

        Args:
            topic: its subject; stored in lower case, with words joined by hyphens.
            insight: the advice and why it works, at most 500 characters; a longer one is shortened.
            lang: the programming language, stored in lower case; None is any.
            framework: the framework, the same way.
            supersedes: the short id of the strategy it replaces, such as ``s7``.
            agent: the author; None takes the default, which may be nobody.

        Returns:
            The strategy; ``notes`` tell the normalized topic, what was shortened, cleaned or redacted, and similar
            strategies.
            and which strategies say nearly the same: they stay beside it.

        Raises:
            InvalidInput, TooLarge: something is not acceptable; nothing was written.
            NotFound, Conflict, Refused: what it would replace is not there, holds no more, or is a person's to
                replace.
        """
        work = self._workplace
        new = updates.prepare(topic, insight, lang, framework, work)
        old = None if supersedes is None else Kind.STRATEGY.number_of(supersedes)
        agent = check_agent(work, agent)
        similar = projects.looked_up(
            work, lambda transaction, project: updates.notes_on_similar(transaction, project, new.insight, old)
        )
        with projects.writing(work) as (transaction, project, now):
            actor = acting(transaction, work, project.id, agent, now)
            corrector = log.Corrector(actor.number, actor.session, is_by_person(work, agent), now)
            if old is not None:
                log.check_replaceable(transaction, project.id, (Kind.STRATEGY, old), corrector)
            number = updates.insert(transaction, project.id, actor.number, new, now)
            if old is not None:
                replacing.mark(transaction, project.id, Kind.STRATEGY, [old], number)
                log.record(transaction, project.id, log.SUPERSEDED, (Kind.STRATEGY, old), corrector, heir=number)
            notes = (*new.notes, *log.replaced_note(Kind.STRATEGY, old), *similar)
            saved = updates.load(transaction, project.id, number, notes=notes)
        assert saved is not None
        return saved

    def find(self, **filters: Unpack[StrategyFilters]) -> StrategyPage:
        """List strategies by successes minus failures, best first.

        Returns:
            The page with its total. An unknown topic or agent gives an empty page with a note.

        Raises:
            InvalidInput: a filter is empty or out of range.
        """
        # imported here: writers do not need lists
        from satchel.keep import lists
        from satchel.keep.strategies.queries import LISTING

        return lists.find(self._workplace, LISTING, StrategyPage, filters)

    def outcome(self, ref: str | int, helped: bool) -> Strategy:
        """Record whether a strategy helped; concurrent reports are all counted.

        Args:
            ref: its short id, such as ``s7``.
            helped: whether it did.

        Returns:
            The strategy; it counts as seen now.

        Raises:
            NotFound: the project has no such strategy.
            InvalidInput: the id is invalid, or ``helped`` is not a boolean.
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
