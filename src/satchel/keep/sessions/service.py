"""The sessions of a project: who is at work, and what a client tells of its own session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.keep import events, projects
from satchel.keep.names import check_identifier
from satchel.keep.projects import Service
from satchel.keep.sessions import updates
from satchel.keep.sessions.clients import check_host_id

if TYPE_CHECKING:
    from satchel.keep.sessions.caller import State
    from satchel.keep.sessions.team import Team
    from satchel.store.transaction import Transaction


class Sessions(Service):
    """The sessions of clients that work in a project, and the caller's own."""

    def team(self, *, all: bool = False) -> Team:  # noqa: A002 -- what an agent asks for
        """Return who is at work: each session with its agents, place, task, claims and last scratchpad.

        Beside those that look up the project and the caller's session it takes four statements, however many sessions
        there are.

        Args:
            all: list all sessions seen in the last 14 days; otherwise of those that are gone only the ones of the last
                8 hours.
        """
        from satchel.keep.sessions.team import Team, find_team

        work, caller = self._workplace, self._workplace.caller
        with work.engine.read() as transaction:
            now = work.clock()
            project = projects.find(transaction, work)
            if project is None:
                return Team((), 0, 0, now)
            own = None if caller is None else caller.find(transaction, project.id)
            number = None if own is None else own.id
            notes = () if caller is None else tuple(caller.notes)
            if caller is not None and own is None and caller.may_make():
                notes += ("your own session is listed from your first write on",)
            return find_team(transaction, project.id, number, now, is_all=all, notes=notes)

    def end(self, reason: str | None = None) -> bool:
        """Record that the caller's session is over, once.

        Args:
            reason: the client's word for why, kept with the event.

        Returns:
            Whether the caller has a session.
        """
        reason = None if reason is None else check_identifier(reason, "reason")
        if self._workplace.caller is None:
            return False
        with self._workplace.engine.write() as transaction:
            now = self._workplace.clock()
            found = self._find_own(transaction)
            if found is None:
                return False
            project_id, own = found
            ended = transaction.execute(
                "UPDATE sessions SET ended_at = :now, seen_at = :now WHERE id = :id AND ended_at IS NULL",
                {"now": now, "id": own.id},
            )
            if ended:
                details = None if reason is None else {"reason": reason}
                kind = events.SESSION_ENDED
                events.record(transaction, project_id, kind, now, session=own.id, agent=own.agent, details=details)
            return True

    def open_window(self) -> int | None:
        """Give the caller's session its next context window, where what was delivered before counts no more.

        The session is made where the caller is to have one, and goes on where it had ended.

        Returns:
            The number of the window; None where the caller has no session.
        """
        work, caller = self._workplace, self._workplace.caller
        if caller is None:
            return None
        with work.engine.write() as transaction:
            now = work.clock()
            project = projects.ensure(transaction, work, now)
            own = caller.ensure(transaction, work, project.id, now)
            if own is None:
                return None
            own = own._replace(window=own.window + 1, seen_at=now)
            updates.change(transaction, own.id, {"window": own.window, "seen_at": now, "ended_at": None})
            caller.remember(transaction, project.id, own)
            return own.window

    def add_host_id(self, host_id: str) -> bool:
        """Record what the client calls the caller's session from now on; earlier ids stay.

        Returns:
            Whether it was recorded: the caller has a session of a client that is known, and the id is not blank.
        """
        identity = check_host_id(host_id)
        if identity is None or self._workplace.caller is None:
            return False
        with self._workplace.engine.write() as transaction:
            found = self._find_own(transaction)
            if found is None or found[1].client is None:
                return False
            updates.add_host_id(transaction, found[1].id, found[1].client, identity)
            return True

    def _find_own(self, transaction: Transaction) -> tuple[int, State] | None:
        """Return the project and the caller's session, or None where there is either not."""
        project, caller = projects.find(transaction, self._workplace), self._workplace.caller
        own = None if project is None or caller is None else caller.find(transaction, project.id)
        return None if project is None or own is None else (project.id, own)
