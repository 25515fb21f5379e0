"""Service for the sessions of a project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from satchel.keep import events, projects
from satchel.keep.names import check_identifier
from satchel.keep.projects import Service, Workplace
from satchel.keep.sessions import updates
from satchel.keep.sessions.caller import HOOK
from satchel.keep.sessions.records import CurrentSession

if TYPE_CHECKING:
    from collections.abc import Sequence

    from satchel.base.processes import Process
    from satchel.keep.citations import Place
    from satchel.keep.common_filters import CommonFilters
    from satchel.keep.sessions.team import FindStates, Team

_MOST_FAULTS, _MOST_CITATIONS = 50, 500


class Sessions(Service):
    """The sessions of a project and the caller's own; ``find_states`` is needed for :meth:`team` alone."""

    def __init__(self, workplace: Workplace, find_states: FindStates | None = None) -> None:
        super().__init__(workplace)
        self._find_states = find_states

    def team(
        self,
        *,
        all: bool = False,  # noqa: A002 -- what an agent asks for
        **filters: Unpack[CommonFilters],
    ) -> Team:
        """Return the sessions with their agents, places, tasks, claims and last scratchpads.

        ``all`` includes all sessions of the last 14 days, not only live ones and those of the last 8 hours.
        """
        from satchel.keep.common_filters import check_common
        from satchel.keep.sessions.team import find_team

        assert self._find_states is not None
        work, caller = self._workplace, self._workplace.caller
        with projects.reading(work) as (transaction, project):
            now = work.clock()
            own = None if caller is None else caller.find(transaction, project.id)
            number = None if own is None else own.id
            notes = () if caller is None else tuple(caller.notes)
            if project.id and caller is not None and own is None and caller.can_start_session():
                notes += ("your own session is listed after your first write",)
            common = check_common(filters, now)
            return find_team(
                transaction, project.id, number, now, self._find_states, is_all=all, common=common, notes=notes
            )

    def end(self, reason: str | None = None) -> bool:
        """End the session that a hook's event names, or the caller's; return whether there is one."""
        from satchel.keep.sessions.ending import end

        reason = None if reason is None else check_identifier(reason, "reason")
        work, caller = self._workplace, self._workplace.caller
        if caller is None:
            return False
        with work.engine.write() as transaction:
            now = work.clock()
            project_id = projects.find(transaction, work).id
            if caller.kind == HOOK:
                from satchel.keep.sessions.joining import find_named

                own = find_named(transaction, project_id, caller)
            else:
                own = caller.find(transaction, project_id)
            if own is not None:
                end(transaction, project_id, own, reason, now)
            return own is not None

    def end_turn(self) -> None:
        """Record that the agent of the session that a hook's event names has done its turn, and is at its prompt."""
        from satchel.keep.sessions.joining import find_named

        work, caller = self._workplace, self._workplace.caller
        if caller is None:
            return
        with work.engine.write() as transaction:
            now, own = work.clock(), find_named(transaction, projects.find(transaction, work).id, caller)
            if own is not None and own.ended_at is None:
                updates.change(transaction, own.id, {"seen_at": now, "turn_ended_at": now})

    def record_hooks(self, faults: Sequence[tuple[str, str, int, int]], works: Sequence[str] = ()) -> None:
        """Record failed hooks (hook, problem, times within an hour, last time) as events, and those that work again."""
        from satchel.redaction import redact

        work = self._workplace
        with projects.writing(work) as (transaction, project, now):
            for hook, problem, times, at in faults[:_MOST_FAULTS]:
                failed = {"hook": hook[:100], "problem": redact(problem[:400]).text, "times": times}
                events.record(transaction, project.id, events.HOOK_FAILED, min(at, now), details=failed)
            for hook in works:
                details = {"hook": hook[:100], "works": True}
                events.record(transaction, project.id, events.HOOK_FAILED, now, details=details)

    def enter(self, *, opens_window: bool = False) -> CurrentSession | None:
        """Create or resume the caller's session, name its agent and return it; None if it gets no session.

        ``opens_window`` starts a new context window, in which nothing was delivered yet.
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
            return CurrentSession(own.uid.hex(), agent, window, None if before is None else before.seen_at)

    def unmet(self) -> tuple[tuple[str, str], ...]:
        """Return pairs of live sessions that should be one: of a client's server and of its hooks in a worktree."""
        from satchel.keep.presence import MAX_CHECKED
        from satchel.keep.sessions import joining
        from satchel.keep.sessions.clients import client_named

        with projects.reading(self._workplace) as (transaction, project):
            where = "s.project_id = :project AND s.ended_at IS NULL AND s.client IS NOT NULL"
            sessions = joining.load(transaction, where, {"project": project.id}, MAX_CHECKED)
            now = self._workplace.clock()
            groups: dict[tuple[object, ...], list[joining.SessionRow]] = {}
            for session in sessions:
                client = client_named(session.state.client)
                if client is not None and not client.has_many and not joining.is_gone(session, now):
                    groups.setdefault((client.name, session.machine, session.worktree), []).append(session)
        pairs = [sorted(group, key=lambda one: one.server is None) for group in groups.values() if len(group) == 2]
        return tuple(
            (first.state.name(), second.state.name())
            for first, second in pairs
            if first.server is not None and second.server is None
        )

    def recorded(self) -> tuple[tuple[Process, ...], tuple[tuple[int, Place], ...]]:
        """Return the processes of sessions and the newest citations, for comparison on the caller's machine."""
        from satchel.keep import citations
        from satchel.keep.presence import LISTED_DAYS, MAX_CHECKED
        from satchel.keep.sessions import joining

        with projects.reading(self._workplace) as (transaction, project):
            since = self._workplace.clock() - LISTED_DAYS * 86_400_000
            where = "s.project_id = :project AND s.seen_at > :since AND s.ended_at IS NULL"
            sessions = joining.load(transaction, where, {"project": project.id, "since": since}, MAX_CHECKED)
            cited = citations.load_newest(transaction, project.id, _MOST_CITATIONS)
        processes = dict.fromkeys(one for session in sessions for one in (session.process, session.server))
        return tuple(process for process in processes if process is not None), tuple(cited.items())
