"""The errors that a project has met, and what fixed them: report, solve, judge, find."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from satchel.base.errors import InvalidInput, NotFound
from satchel.base.records import replace
from satchel.base.text import shortened
from satchel.find.kind import Kind
from satchel.keep import expiry, projects, runs
from satchel.keep.loop_scope import LoopScope
from satchel.keep.names import check_agent, check_identifier
from satchel.keep.patterns import loops, meeting, updates
from satchel.keep.patterns.preparing import prepare
from satchel.keep.patterns.records import (
    KNOWN,
    ErrorPattern,
    ErrorPatternPage,
    Reported,
    SimilarError,
    Solution,
    solution_number,
)
from satchel.keep.projects import Service
from satchel.keep.sessions.actors import acting
from satchel.keep.sessions.records import Actor
from satchel.keep.texts import check_content

if TYPE_CHECKING:
    from satchel.keep.patterns.queries import ErrorFilters
    from satchel.store.transaction import Transaction


_MAX_NAMED = 5
"""So many solutions are named one by one."""

_BY_NAMES = "it was imported without the names in its message: it may be of another name"

_HASH = re.compile(r"[0-9a-f]{64}", re.IGNORECASE)


class Patterns(Service):
    """Errors as they are recognised again, with what fixed them and how sure that is."""

    def report(
        self,
        error_type: str,
        message: str,
        *,
        stack: str | None = None,
        hints: Sequence[str] | str | None = None,
        lang: str | None = None,
        solution: str | None = None,
        ttl_days: int | None = None,
        task_id: str | None = None,
        loop_id: str | None = None,
        run_id: str | None = None,
        agent: str | None = None,
    ) -> Reported:
        """Report an error and learn what fixed it before; it is durable when this returns.

        Each report of the same error counts it and extends its life.

        Args:
            error_type: such as ``ModuleNotFoundError`` or ``TS2307``.
            message: at most ``context.max_content_kib``; secrets are redacted, then what differs from time to time is
                masked.
            stack: the stack trace; ranks solutions, and its first lines are kept with the first report.
            hints: at most 50 texts, or the JSON text of a list of them; they only rank solutions.
            lang: the programming language, compared without regard to case; None is any. An error met in two languages
                is kept for any.
            solution: what fixed it, recorded as :meth:`solve` does.
            ttl_days: how many days after its last report it is kept, 1 to 3,650; None keeps what was said before, at
                first 90.
            task_id, loop_id: where it was met: when that loop succeeds (:class:`satchel.keep.loop_scope.LoopScope`),
                or the task after an attempt in vain, what was done last is recorded as what fixed the error, unless the
                agent has said by then what did.
            run_id: the run it was met in; None takes the default, else ``main``.
            agent: who reports; None takes the default, which may be nobody.

        Returns:
            The error with its solutions, best confirmed first, but for those that are only observed; for a new one the
            known errors that are most like it.

        Raises:
            InvalidInput, TooLarge: something is not acceptable; nothing was written.
            NotFound: the run does not exist.
        """
        work = self._workplace
        task_id = None if task_id is None else check_identifier(task_id, "task_id")
        loop_id = None if loop_id is None else check_identifier(loop_id, "loop_id")
        run_id = None if run_id is None else check_identifier(run_id, "run_id")
        new = prepare(error_type, message, stack, hints, lang, solution, ttl_days, work.max_content_bytes)
        agent = check_agent(work, agent)
        with work.engine.write() as transaction:
            now = work.clock()
            project = projects.ensure(transaction, work, now)
            actor = acting(transaction, work, project.id, agent, now, task_id=task_id)
            author = actor.number
            met = meeting.meet(transaction, project.id, new, now, agent=author, session=actor.session)
            number, is_new = met.number, met.is_new
            recorded, is_changed = None, is_new
            run = runs.choose_for_writing(transaction, work, project.id, run_id, now)
            loop = LoopScope(project.id, run.id, task_id, loop_id, author, actor.session)
            loops.note(transaction, loop, number, now)
            notes = (*new.notes, *run.notes, *((_BY_NAMES,) if met.by_names else ()))
            if new.solution is not None:
                fix, is_fix_new, more = updates.solve(
                    transaction, project.id, number, new.solution, author, now, session=actor.session
                )
                loops.settle(transaction, loop, number, fix)
                loops.settle_of(transaction, project.id, number, fix, author)
                recorded = updates.load_solution(transaction, project.id, fix)
                notes, is_changed = (*notes, *more), is_new or is_fix_new
            if is_changed:
                updates.index(transaction, project.id, number, is_new=is_new)
            pattern = updates.load(transaction, project.id, number, now)
            assert pattern is not None
            pattern = _ranked(pattern, new.clues)
            similar = _similar(transaction, project.id, pattern, now) if is_new else ()
            expiry.sweep_now_and_then(work.engine, transaction, project.id, now)
        return Reported(pattern, is_new, recorded, notes, similar)

    def solve(self, pattern: str | int, solution: str, *, agent: str | None = None) -> Solution:
        """Record what fixed an error.

        The same fix again, but for case and space around it, is no second solution: from another agent than the one
        who gave it, it confirms it, once for each agent. The life of the error is not extended.

        Args:
            pattern: the error's short id, such as ``x4``, or its hash.
            solution: at most ``context.max_content_kib``.
            agent: who says so; None takes the default, which may be nobody.

        Returns:
            The solution as it stands; ``notes`` says what was cleaned or redacted, and that it was there before.

        Raises:
            InvalidInput, TooLarge: something is not acceptable; nothing was written.
            NotFound: the project has no such error, or it has expired.
        """
        work = self._workplace
        key = _pattern_key(pattern)
        fix = check_content(solution, "solution", work.max_content_bytes)
        agent = check_agent(work, agent)
        with work.engine.write() as transaction:
            now = work.clock()
            project = projects.find(transaction, work)
            known = None if project is None else updates.load(transaction, project.id, key, now)
            if project is None or known is None:
                raise _no_pattern(key)
            actor = acting(transaction, work, project.id, agent, now)
            author = actor.number
            number, is_new, notes = updates.solve(
                transaction, project.id, known.id, fix, author, now, session=actor.session
            )
            if is_new:
                updates.index(transaction, project.id, known.id, is_new=False)
            loops.settle_of(transaction, project.id, known.id, number, author)
            return replace(updates.load_solution(transaction, project.id, number), notes=(*fix.notes, *notes))

    def outcome(self, solution: str | int, helped: bool, *, agent: str | None = None) -> Solution:
        """Say whether a solution helped.

        The first time that a session says so, or an agent without one, that raises its confidence by one tenth to ten
        at most, or lowers it by two to one at least; an agent that found the same fix by itself has said that it
        helped. The life of the error is not extended.

        Args:
            solution: its short id, such as ``y7``; or that of an error, such as ``x4``, for its only solution, or the
                only one that is known.
            helped: whether the error was gone.
            agent: who tried it; None takes the default, which may be nobody. Those without a name count as one.

        Returns:
            The solution as it stands; ``notes`` says where the agent's word was counted before.

        Raises:
            InvalidInput: the id is none, several solutions may be meant, or it is not said whether it helped.
            NotFound: the project has no such solution or error, the error has expired, or has no solution.
        """
        work = self._workplace
        is_of_error = _is_error(solution)
        key = Kind.ERROR_PATTERN.number_of(solution) if is_of_error else solution_number(solution)
        if not isinstance(helped, bool):
            raise InvalidInput(f"helped {repr(helped)[:80]} is neither true nor false", "Say true or false")
        agent = check_agent(work, agent)
        with work.engine.write() as transaction:
            now = work.clock()
            project = projects.find(transaction, work)
            if project is None:
                raise _no_pattern(key) if is_of_error else updates.no_solution(key)
            number = _meant(updates.load(transaction, project.id, key, now), key) if is_of_error else key
            actor = acting(transaction, work, project.id, agent, now)
            author = actor.number
            pattern, is_news = updates.hear(
                transaction, project.id, number, author, now, session=actor.session, helped=helped
            )
            if helped:
                loops.settle_of(transaction, project.id, pattern, number, author)
            stands = updates.load_solution(transaction, project.id, number)
            return stands if is_news else replace(stands, notes=(_heard(stands, actor, helped=helped),))

    def get(self, pattern: str | int, *, status: str = "offered") -> ErrorPattern:
        """Return one error.

        Args:
            pattern: its short id, such as ``x4``, or its hash.
            status: offered leaves out solutions that are only observed; all shows them too.

        Raises:
            InvalidInput: the id or the status is none.
            NotFound: the project has no such error, or it has expired.
        """
        from satchel.keep.patterns import queries

        work = self._workplace
        key, least = _pattern_key(pattern), queries.least_shown(status)
        with work.engine.read() as transaction:
            project = projects.find(transaction, work)
            found = None if project is None else updates.load(transaction, project.id, key, work.clock(), least)
        if found is None:
            raise _no_pattern(key)
        return found

    def find(self, **filters: Unpack[ErrorFilters]) -> ErrorPatternPage:
        """List errors with their solutions, the newest first; a query looks into both.

        Returns:
            The page with its total. A type that nobody reported makes it empty, and a note says so.

        Raises:
            InvalidInput: a filter is empty, unknown or out of range.
        """
        # a caller that only writes leaves the lists alone
        from satchel.keep import lists
        from satchel.keep.patterns.queries import LISTING

        return lists.find(self._workplace, LISTING, ErrorPatternPage, filters)


def _similar(transaction: Transaction, project_id: int, pattern: ErrorPattern, now: int) -> tuple[SimilarError, ...]:
    # a known error needs no search, whose modules take 4 ms to load
    from satchel.keep.patterns.similar import similar_to

    return similar_to(transaction, project_id, pattern, now)


def _is_error(ref: object) -> bool:
    """Whether a short id is that of an error."""
    return isinstance(ref, str) and ref.strip()[:1].lower() == Kind.ERROR_PATTERN.letter


def _meant(pattern: ErrorPattern | None, key: int) -> int:
    """Return the number of the solution that an outcome of an error is about: the only one, or the only known one."""
    if pattern is None:
        raise _no_pattern(key)
    if not pattern.solutions:
        raise NotFound(
            f"{pattern.ref} has no solution yet", f"Say what fixed it: its text as solution, with {pattern.ref} as id"
        )
    known = [one for one in pattern.solutions if one.confidence >= KNOWN]
    meant = known if len(known) == 1 else pattern.solutions
    if len(meant) > 1:
        listed = ", ".join(f"{one.ref} ({shortened(one.text, 60)})" for one in meant[:_MAX_NAMED])
        more = len(meant) - _MAX_NAMED
        raise InvalidInput(
            f"{pattern.ref} has {len(meant)} {'known ' if known else ''}solutions",
            f"Say which one: {listed}{f' and {more} more' if more > 0 else ''}",
        )
    return meant[0].id


def _heard(solution: Solution, actor: Actor, *, helped: bool) -> str:
    """Say that a word on a solution was counted before."""
    if helped and solution.agent is not None and solution.agent == actor.name:
        return f"{actor.name} gave {solution.ref}: only another agent's word confirms it"
    who = actor.name or "an agent without a name"
    who = who if actor.session is None else f"{who}, or another agent of this session,"
    return f"{who} has said before that {solution.ref} {'helped' if helped else 'did not help'}: that counts once"


def _pattern_key(pattern: object) -> int | str:
    """Return the number that a short id says, or a hash in lower case."""
    if isinstance(pattern, str) and _HASH.fullmatch(pattern.strip()):
        return pattern.strip().lower()
    return Kind.ERROR_PATTERN.number_of(pattern)


def _no_pattern(key: int | str) -> NotFound:
    name = key if isinstance(key, str) else Kind.ERROR_PATTERN.ref(key)
    return NotFound(
        f"there is no error pattern {name} in this project, or it has expired", "Listing errors shows their ids"
    )


def _ranked(pattern: ErrorPattern, clues: Sequence[str]) -> ErrorPattern:
    """Return a pattern whose solutions that are confirmed equally well stand by the words they share with clues."""
    if not clues or len(pattern.solutions) < 2:
        return pattern
    from satchel.find.likeness import words_of

    words = {word for clue in clues for word in words_of(clue)}
    shared = {one.id: len(words.intersection(words_of(one.text))) for one in pattern.solutions}
    ranked = sorted(pattern.solutions, key=lambda one: (*one.rank[:2], -shared[one.id], *one.rank[2:]))
    return replace(pattern, solutions=tuple(ranked))
