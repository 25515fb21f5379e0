"""Service for the constraints of a project: add and find them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from satchel.find.kind import Kind
from satchel.keep import projects
from satchel.keep.constraints import updates
from satchel.keep.constraints.records import DEFAULT_CATEGORY, DEFAULT_PRIORITY, Constraint, ConstraintPage
from satchel.keep.corrections import log
from satchel.keep.names import check_agent
from satchel.keep.projects import Service
from satchel.keep.sessions.actors import acting, is_by_person

if TYPE_CHECKING:
    from satchel.keep.constraints.queries import ConstraintFilters


class Constraints(Service):
    """Rules of the project."""

    def add(
        self,
        text: str,
        *,
        category: str = DEFAULT_CATEGORY,
        priority: str = DEFAULT_PRIORITY,
        layer: str | None = None,
        tags: Sequence[str] = (),
        supersedes: str | int | None = None,
        agent: str | None = None,
    ) -> Constraint:
        """Add a rule; it is durable when this returns.

        Args:
            text: the rule; at most ``context.max_content_kib``.
            category: its subject, such as security; created on first use.
            priority: low, medium, high or critical.
            layer: one of the project's layers.
            tags: at most 50 names, case-insensitive; created on first use.
            supersedes: the short id of the rule it replaces, such as ``c7``.
            agent: the author; None takes the default, which may be nobody.

        Returns:
            The constraint as it was kept; ``notes`` says what was cleaned or redacted, and which constraints that
            hold say nearly the same.

        Raises:
            InvalidInput, TooLarge: it is not acceptable; nothing was written.
            NotFound, Conflict, Refused: what it would replace is not there, holds no more, or is a person's to
                replace.
        """
        work = self._workplace
        new = updates.prepare(text, category, priority, layer, tags, work)
        old = None if supersedes is None else Kind.CONSTRAINT.number_of(supersedes)
        agent = check_agent(work, agent)
        similar = projects.looked_up(
            work, lambda transaction, project: updates.notes_on_similar(transaction, project, new.text, old)
        )
        with projects.writing(work) as (transaction, project, now):
            actor = acting(transaction, work, project.id, agent, now)
            corrector = log.Corrector(actor.number, actor.session, is_by_person(work, agent), now)
            if old is not None:
                log.check_replaceable(transaction, project.id, (Kind.CONSTRAINT, old), corrector)
            number = updates.insert(transaction, work, project.id, actor.number, new, now)
            if old is not None:
                reason = f"replaced by {Kind.CONSTRAINT.ref(number)}"
                updates.end(transaction, project.id, old, reason, actor.number, now)
                log.record(transaction, project.id, log.SUPERSEDED, (Kind.CONSTRAINT, old), corrector, heir=number)
            notes = (*new.notes, *log.replaced_note(Kind.CONSTRAINT, old), *similar)
            added = updates.load(transaction, project.id, number, notes=notes)
        assert added is not None
        return added

    def find(self, **filters: Unpack[ConstraintFilters]) -> ConstraintPage:
        """List constraints, most urgent first.

        Returns:
            The page with its total. An unknown name gives an empty page with a note.

        Raises:
            InvalidInput: a filter is empty, unknown or out of range.
            StoreDamaged: the search index lists an item that does not exist.
        """
        # imported here: writers do not need lists
        from satchel.keep import lists
        from satchel.keep.constraints.queries import LISTING

        return lists.find(self._workplace, LISTING, ConstraintPage, filters)
