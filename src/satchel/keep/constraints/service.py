"""The constraints of a project: add, find, and say of one that it does not hold any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from satchel.base.clock import moment_text
from satchel.base.errors import NotFound
from satchel.find.kind import Kind
from satchel.keep import projects
from satchel.keep.constraints import updates
from satchel.keep.constraints.records import DEFAULT_CATEGORY, DEFAULT_PRIORITY, Constraint, ConstraintPage
from satchel.keep.names import check_agent
from satchel.keep.projects import Service
from satchel.keep.sessions.actors import acting
from satchel.keep.texts import check_content

if TYPE_CHECKING:
    from satchel.keep.constraints.queries import ConstraintFilters
    from satchel.store.transaction import Transaction


class Constraints(Service):
    """The rules that the project must respect."""

    def add(
        self,
        text: str,
        *,
        category: str = DEFAULT_CATEGORY,
        priority: str = DEFAULT_PRIORITY,
        layer: str | None = None,
        tags: Sequence[str] = (),
        agent: str | None = None,
    ) -> Constraint:
        """Add a rule; it is durable when this returns.

        Args:
            text: what must hold; at most ``context.max_content_kib``.
            category: what it is about, such as security; recorded on first use.
            priority: low, medium, high or critical.
            layer: one of the project's layers.
            tags: at most 50 names, compared without regard to case; recorded on first use.
            agent: who adds it; None takes the default, which may be nobody.

        Returns:
            The constraint as it was kept; ``notes`` says what was cleaned or redacted, and which constraints that
            hold say nearly the same.

        Raises:
            InvalidInput, TooLarge: it is not acceptable; nothing was written.
        """
        work = self._workplace
        new = updates.prepare(text, category, priority, layer, tags, work)
        agent = check_agent(work, agent)
        with work.engine.write() as transaction:
            now = work.clock()
            project = projects.ensure(transaction, work, now)
            author = acting(transaction, work, project.id, agent, now).number
            similar = updates.notes_on_similar(transaction, project.id, new.text)
            number = updates.insert(transaction, work, project.id, author, new, now)
            return _loaded(transaction, project.id, number, (*new.notes, *similar))

    def find(self, **filters: Unpack[ConstraintFilters]) -> ConstraintPage:
        """List constraints, the most urgent first.

        Returns:
            The page with its total. A name that nothing has makes it empty, and a note says so.

        Raises:
            InvalidInput: a filter is empty, unknown or out of range.
            StoreDamaged: the search index names what is not kept.
        """
        # a caller that only writes leaves the lists alone
        from satchel.keep import lists
        from satchel.keep.constraints.queries import LISTING

        return lists.find(self._workplace, LISTING, ConstraintPage, filters)

    def deactivate(self, ref: str | int, reason: str | None = None, *, agent: str | None = None) -> Constraint:
        """Say that a constraint does not hold any more; it is kept, and found below those that do.

        Args:
            ref: its short id, such as ``c7``.
            reason: why.
            agent: who says so; None takes the default, which may be nobody.

        Returns:
            The constraint as it stands. One that was inactive before keeps its first reason, and ``notes`` says so.

        Raises:
            NotFound: the project has no such constraint.
            InvalidInput, TooLarge: the id, reason or agent is not acceptable.
        """
        work = self._workplace
        number = Kind.CONSTRAINT.number_of(ref)
        cleaned = None if reason is None else check_content(reason, "reason", work.max_content_bytes)
        agent = check_agent(work, agent)
        with work.engine.write() as transaction:
            now = work.clock()
            project = projects.find(transaction, work)
            before = None if project is None else updates.load(transaction, project.id, number)
            if project is None or before is None:
                raise NotFound(
                    f"there is no constraint {Kind.CONSTRAINT.ref(number)} in this project",
                    "Listing constraints shows their ids",
                )
            if not before.active:
                return replace(before, notes=(_inactive_already(before),))
            author = acting(transaction, work, project.id, agent, now).number
            text, notes = (None, ()) if cleaned is None else (cleaned.text, cleaned.notes)
            updates.deactivate(transaction, project.id, number, text, author, now)
            return _loaded(transaction, project.id, number, notes)


def _loaded(transaction: Transaction, project_id: int, number: int, notes: tuple[str, ...]) -> Constraint:
    constraint = updates.load(transaction, project_id, number, notes=notes)
    assert constraint is not None
    return constraint


def _inactive_already(constraint: Constraint) -> str:
    since = "" if constraint.deactivated_at is None else f" since {moment_text(constraint.deactivated_at)} UTC"
    author = "" if constraint.deactivated_by is None else f", by {constraint.deactivated_by}"
    return f"{constraint.ref} was inactive already{since}{author}; its reason stays"
