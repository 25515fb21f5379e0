"""The sessions of a project: who is at work, and what a client tells of its own session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from satchel.keep import events, projects
from satchel.keep.names import check_identifier
from satchel.keep.projects import Service, Workplace
from satchel.keep.sessions import updates
from satchel.keep.sessions.caller import HOOK
from satchel.keep.sessions.records import Entered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from satchel.keep.common_filters import CommonFilters
    from satchel.keep.sessions.caller import State
    from satchel.keep.sessions.team import FindStates, Team
    from satchel.store.transaction import Transaction

_MOST_FAULTS = 50


class Sessions(Service):
    """The sessions of clients that work in a project, and the caller's own.

    Args:
        find_states: returns how agents stand; None where nobody lists them.
    """

    def __init__(self, workplace: Workplace, find_states: FindStates | None = None) -> None:
        super().__init__(workplace)
        self._find_states = find_states

    def team(
        self,
        *,
        all: bool = False,  # noqa: A002 -- what an agent asks for
        **filters: Unpack[CommonFilters],
    ) -> Team:
        """Return who is at work: each session with its agents, place, task, claims and last scratchpad.

        Args:
            all: list all sessions seen in the last 14 days; otherwise of those that are gone only the ones of the last
                8 hours.
            filters: those of every list.
        """
        from satchel.keep.common_filters import check_common
        from satchel.keep.sessions.team import Team, find_team

        assert self._find_states is not None
        work, caller = self._workplace, self._workplace.caller
        with projects.reading(work) as (transaction, project):
            now = work.clock()
            if project is None:
                return Team((), 0, 0, now)
            own = None if caller is None else caller.find(transaction, project.id)
            number = None if own is None else own.id
            notes = () if caller is None else tuple(caller.notes)
            if caller is not None and own is None and caller.may_make():
                notes += ("your own session is listed from your first write on",)
            chosen = check_common(filters, now)
            return find_team(
                transaction, project.id, number, now, self._find_states, is_all=all, chosen=chosen, notes=notes
            )

    def end(self, reason: str | None = None) -> bool:
        """Record that the caller's session is over, once, and release what was claimed in it automatically.

        A hook ends only the session that its event names.

        Args:
            reason: the client's word for why, kept with the event.

        Returns:
            Whether the caller has a session.
        """
        from satchel.keep.sessions.ending import end

        reason = None if reason is None else check_identifier(reason, "reason")
        if self._workplace.caller is None:
            return False
        with self._workplace.engine.write() as transaction:
            now = self._workplace.clock()
            found = self._find_own(transaction)
            if found is None:
                return False
            project_id, own = found
            end(transaction, project_id, own, reason, now)
            return True

    def record_hooks(self, faults: Sequence[tuple[str, str, int, int]], works: str | None = None) -> None:
        """Record which hooks of clients failed, and that one works again, as events.

        Args:
            faults: of each kind of fault the hook, the problem, how often it was met within an hour, and when last, in
                milliseconds UTC.
            works: the hook that failed before.
        """
        from satchel.redaction import redact

        work = self._workplace
        with projects.writing(work) as (transaction, project, now):
            for hook, problem, times, at in faults[:_MOST_FAULTS]:
                failed = {"hook": hook[:100], "problem": redact(problem[:400]).text, "times": times}
                events.record(transaction, project.id, events.HOOK_FAILED, min(at, now), details=failed)
            if works is not None:
                details = {"hook": works[:100], "works": True}
                events.record(transaction, project.id, events.HOOK_FAILED, now, details=details)

    def enter(self, *, opens_window: bool = False) -> Entered | None:
        """Record that the caller's client works in its session, which is made where there is none, or goes on.

        Args:
            opens_window: give it its next context window, where what was delivered before counts no more; a session
                that is made has its first one.

        Returns:
            The session, and its agent, which has a name from now on; None where the caller has no session.
        """
        work, caller = self._workplace, self._workplace.caller
        if caller is None:
            return None
        with projects.writing(work) as (transaction, project, now):
            before = caller.find(transaction, project.id)
            own = caller.ensure(transaction, work, project.id, now)
            if own is None:
                return None
            window = own.window + (opens_window and before is not None)
            own, _, agent = updates.name_unnamed(transaction, project.id, own._replace(window=window), now)
            updates.change(transaction, own.id, {"window": window, "seen_at": now})
            caller.remember(transaction, project.id, own._replace(seen_at=now))
            return Entered(own.uid.hex(), agent, window, None if before is None else before.seen_at)

    def unmet(self) -> tuple[tuple[str, str], ...]:
        """Return the pairs of live sessions of one client in one worktree of which one has the server, one the hooks.

        Returns:
            Of each pair the names of its server's and its hooks' session; none of a client with several conversations.
        """
        from satchel.keep.sessions import joining
        from satchel.keep.sessions.actors import name_of
        from satchel.keep.sessions.clients import client_named
        from satchel.keep.sessions.presence import LOOKED_AT

        with projects.reading(self._workplace) as (transaction, project):
            if project is None:
                return ()
            where = "s.project_id = :project AND s.ended_at IS NULL AND s.client IS NOT NULL"
            sessions = joining.load(transaction, where, {"project": project.id}, LOOKED_AT)
            now = self._workplace.clock()
            groups: dict[tuple[object, ...], list[joining.Found]] = {}
            for one in sessions:
                client = client_named(one.state.client)
                if client is not None and not client.has_many and not joining.is_gone(one, now):
                    groups.setdefault((client.name, one.machine, one.worktree), []).append(one)
        pairs = [sorted(group, key=lambda one: one.server is None) for group in groups.values() if len(group) == 2]
        return tuple(
            (name_of(first.state), name_of(second.state))
            for first, second in pairs
            if first.server is not None and second.server is None
        )

    def _find_own(self, transaction: Transaction) -> tuple[int, State] | None:
        """Return the project and the caller's session, or None where there is either not."""
        project, caller = projects.find(transaction, self._workplace), self._workplace.caller
        if project is None or caller is None:
            return None
        if caller.kind == HOOK:
            from satchel.keep.sessions.joining import named

            own = named(transaction, project.id, caller)
        else:
            own = caller.find(transaction, project.id)
        return None if own is None else (project.id, own)
