"""Service for error patterns: report, solve, judge and find errors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from satchel.base.errors import InvalidInput, NotFound
from satchel.base.paging import KeptPage
from satchel.base.records import replace
from satchel.base.text import shortened
from satchel.find.kind import Kind
from satchel.keep import expiry, projects, runs
from satchel.keep.loop_scope import LoopScope
from satchel.keep.names import check_agent, check_identifier
from satchel.keep.patterns import reports, updates
from satchel.keep.patterns.records import (
    KNOWN,
    ErrorPattern,
    Reported,
    SimilarError,
    Solution,
    solution_number,
)
from satchel.keep.patterns.reports import prepare
from satchel.keep.projects import Service
from satchel.keep.sessions.actors import acting
from satchel.keep.sessions.records import Actor
from satchel.keep.texts import check_content

if TYPE_CHECKING:
    from satchel.keep.patterns.kind import ErrorFilters
    from satchel.store.transaction import Transaction


_MAX_NAMED = 5  # maximum number of solutions listed in an error

_BY_NAMES = "it was imported without the names in its message, so it may be about another name"

_HASH = re.compile(r"[0-9a-f]{64}", re.IGNORECASE)


class Patterns(Service):
    """Errors, recognized when they recur, with their solutions and confidence."""

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
        """Report an error and return its known solutions; it is durable on return.

        Each report of the same error counts it and extends its life.

        Args:
            error_type: such as ``ModuleNotFoundError`` or ``TS2307``.
            message: at most ``context.max_content_kib``; secrets are redacted and volatile parts masked.
            stack: the stack trace; ranks solutions, and its first lines are stored with the first report.
            hints: at most 50 texts, or the JSON text of a list of them; they only rank solutions.
            lang: the programming language, case-insensitive; None is any. An error seen in two languages is stored
                for any.
            solution: its fix, recorded as by :meth:`solve`.
            ttl_days: number of days it is kept after its last report, 1 to 3,650; None keeps the stored value, at
                first 90.
            task_id, loop_id: where it occurred: when that loop succeeds
                (:class:`satchel.keep.loop_scope.LoopScope`), or the task after a failed attempt, the last change is
                recorded as the fix, unless the agent has reported one.
            run_id: the run it occurred in; None takes the default, else ``main``.
            agent: the reporter; None takes the default, which may be nobody.

        Returns:
            The error with its solutions, best confirmed first, without those only observed; without a solution also
            the most similar known errors, and the fixes that did not help.

        Raises:
            InvalidInput, TooLarge: an argument is invalid; nothing was written.
            NotFound: the run does not exist.
        """
        work = self._workplace
        task_id = None if task_id is None else check_identifier(task_id, "task_id")
        loop_id = None if loop_id is None else check_identifier(loop_id, "loop_id")
        run_id = None if run_id is None else check_identifier(run_id, "run_id")
        new = prepare(error_type, message, stack, hints, lang, solution, ttl_days, work.max_content_bytes)
        agent = check_agent(work, agent)
        with projects.writing(work) as (transaction, project, now):
            actor = acting(transaction, work, project.id, agent, now, task_id=task_id)
            by = updates.Reporter(transaction, project.id, actor.number, actor.session, now)
            recorded_error = reports.record(by, new)
            number, is_new = recorded_error.number, recorded_error.is_new
            recorded, is_changed = None, is_new
            run = runs.choose_for_writing(transaction, work, project.id, run_id, now)
            loop = LoopScope(project.id, run.id, task_id, loop_id, actor.number, actor.session)
            updates.note(transaction, loop, number, now)
            notes = (
                *new.notes,
                *run.notes,
                *((_BY_NAMES,) if recorded_error.by_names else ()),
                *_by_words(recorded_error.words),
            )
            if new.solution is not None:
                fix, is_fix_new, more = updates.solve(by, number, new.solution)
                updates.settle(transaction, loop, number, fix)
                updates.settle_of(by, number, fix)
                recorded = updates.load_solution(transaction, project.id, fix)
                notes, is_changed = (*notes, *more), is_new or is_fix_new
            if is_changed:
                updates.index(transaction, number, is_new=is_new)
            loaded = updates.load_with_tried(transaction, project.id, number, now)
            assert loaded is not None
            pattern, tried = _ranked(loaded[0], new.clues), loaded[1]
            similar = () if pattern.solutions else _similar(transaction, project.id, pattern, now, recorded_error)
            expiry.sweep_now_and_then(work.engine, transaction, project.id, now)
        return Reported(pattern, is_new, recorded, notes, similar, tried)

    def solve(self, pattern: str | int, solution: str, *, agent: str | None = None) -> Solution:
        """Record the fix of an error.

        The same fix from another agent, ignoring case and outer space, confirms the solution, once per agent. The
        error's life is not extended.

        Args:
            pattern: the error's short id, such as ``x4``, or its hash.
            solution: at most ``context.max_content_kib``.
            agent: the author; None takes the default, which may be nobody.

        Returns:
            The solution; ``notes`` tell what was cleaned or redacted, and whether it existed already.

        Raises:
            InvalidInput, TooLarge: an argument is invalid; nothing was written.
            NotFound: the project has no such error, or it has expired.
        """
        work = self._workplace
        key = _pattern_key(pattern)
        fix = check_content(solution, "solution", work.max_content_bytes)
        agent = check_agent(work, agent)
        with work.engine.write() as transaction:
            now = work.clock()
            project = projects.find(transaction, work)
            existing = updates.load(transaction, project.id, key, now)
            if existing is None:
                raise _no_pattern(key)
            actor = acting(transaction, work, project.id, agent, now)
            by = updates.Reporter(transaction, project.id, actor.number, actor.session, now)
            number, is_new, notes = updates.solve(by, existing.id, fix)
            if is_new:
                updates.index(transaction, existing.id, is_new=False)
            updates.settle_of(by, existing.id, number)
            return replace(updates.load_solution(transaction, project.id, number), notes=(*fix.notes, *notes))

    def outcome(self, solution: str | int, helped: bool, *, agent: str | None = None) -> Solution:
        """Record whether a solution helped.

        The first verdict of a session, or of an agent without one, raises the confidence by one tenth or lowers it by
        two, within 1 to 10. An agent that found the same fix independently has already confirmed it. The error's life
        is not extended.

        Args:
            solution: its short id, such as ``y7``; or that of an error, such as ``x4``, for its only solution or
                its only known one.
            helped: whether it fixed the error.
            agent: the agent that tried it; None takes the default, which may be nobody. Anonymous agents count as
                one.

        Returns:
            The solution; ``notes`` tell if the agent's verdict was already counted.

        Raises:
            InvalidInput: the id is invalid or ambiguous, or ``helped`` is not a boolean.
            NotFound: there is no such solution or error, or the error has expired or has no solution.
        """
        work = self._workplace
        is_of_error = isinstance(solution, str) and solution.strip()[:1].lower() == Kind.ERROR_PATTERN.letter
        key = Kind.ERROR_PATTERN.number_of(solution) if is_of_error else solution_number(solution)
        if not isinstance(helped, bool):
            raise InvalidInput(f"helped {repr(helped)[:80]} is neither true nor false", "Pass true or false")
        agent = check_agent(work, agent)
        with work.engine.write() as transaction:
            now = work.clock()
            project = projects.find(transaction, work)
            if not project.id:
                raise _no_pattern(key) if is_of_error else updates.no_solution(key)
            number = _single_solution(updates.load(transaction, project.id, key, now), key) if is_of_error else key
            actor = acting(transaction, work, project.id, agent, now)
            by = updates.Reporter(transaction, project.id, actor.number, actor.session, now)
            pattern, is_news = updates.record_outcome(by, number, helped=helped)
            if helped:
                updates.settle_of(by, pattern, number)
            stands = updates.load_solution(transaction, project.id, number)
            return stands if is_news else replace(stands, notes=(_counted_note(stands, actor, helped=helped),))

    def get(self, pattern: str | int, *, status: str = "offered") -> ErrorPattern:
        """Return an error.

        Args:
            pattern: its short id, such as ``x4``, or its hash.
            status: offered hides solutions that are only observed; all shows them too.

        Raises:
            InvalidInput: the id or the status is invalid.
            NotFound: the project has no such error, or it has expired.
        """
        from satchel.keep.patterns import kind

        work = self._workplace
        key, least = _pattern_key(pattern), kind.least_confidence(status)
        with projects.reading(work) as (transaction, project):
            error = updates.load(transaction, project.id, key, work.clock(), least)
        if error is None:
            raise _no_pattern(key)
        return error

    def find(self, **filters: Unpack[ErrorFilters]) -> KeptPage[ErrorPattern]:
        """List errors with their solutions, newest first; a query searches both.

        Returns:
            The page with its total. An unknown type gives an empty page with a note.

        Raises:
            InvalidInput: a filter is empty, unknown or out of range.
        """
        # imported here: writers do not need lists
        from satchel.keep import lists
        from satchel.keep.patterns.kind import LISTING

        return lists.find(self._workplace, LISTING, KeptPage, filters)


def _similar(
    transaction: Transaction, project_id: int, pattern: ErrorPattern, now: int, recorded: reports.Recorded
) -> tuple[SimilarError, ...]:
    # imported here: a known error needs no search
    from satchel.keep.patterns.similar import similar_to

    return similar_to(transaction, project_id, pattern, now, recorded.near if recorded.is_new else None)


def _by_words(words: Sequence[str]) -> tuple[str, ...]:
    if not words:
        return ()
    return (f"recognized by its words ({', '.join(words)}), not by its text: check that it is the same error",)


def _single_solution(pattern: ErrorPattern | None, key: int) -> int:
    # an outcome of an error is about its only solution, or its only known one
    if pattern is None:
        raise _no_pattern(key)
    if not pattern.solutions:
        raise NotFound(
            f"{pattern.ref} has no solution yet", f"Give the fix: its text as solution, with {pattern.ref} as id"
        )
    known_ones = [solution for solution in pattern.solutions if solution.confidence >= KNOWN]
    candidates = known_ones if len(known_ones) == 1 else pattern.solutions
    if len(candidates) > 1:
        listed = ", ".join(f"{one.ref} ({shortened(one.text, 60)})" for one in candidates[:_MAX_NAMED])
        more = len(candidates) - _MAX_NAMED
        raise InvalidInput(
            f"{pattern.ref} has {len(candidates)} {'known ' if known_ones else ''}solutions",
            f"Name one: {listed}{f' and {more} more' if more > 0 else ''}",
        )
    return candidates[0].id


def _counted_note(solution: Solution, actor: Actor, *, helped: bool) -> str:
    if helped and solution.agent is not None and solution.agent == actor.name:
        return f"{actor.name} gave {solution.ref}: only another agent's word confirms it"
    who = actor.name or "an agent without a name"
    who = who if actor.session is None else f"{who}, or another agent of this session,"
    return f"{who} already reported that {solution.ref} {'helped' if helped else 'did not help'}: that counts once"


def _pattern_key(pattern: object) -> int | str:
    if isinstance(pattern, str) and _HASH.fullmatch(pattern.strip()):
        return pattern.strip().lower()
    return Kind.ERROR_PATTERN.number_of(pattern)


def _no_pattern(key: int | str) -> NotFound:
    name = key if isinstance(key, str) else Kind.ERROR_PATTERN.ref(key)
    return NotFound(
        f"there is no error pattern {name} in this project, or it has expired", "Listing errors shows their ids"
    )


def _ranked(pattern: ErrorPattern, clues: Sequence[str]) -> ErrorPattern:
    # equally confirmed solutions are ordered by the words they share with the clues
    if not clues or len(pattern.solutions) < 2:
        return pattern
    from satchel.find.likeness import words_of

    words = {word for clue in clues for word in words_of(clue)}
    shared = {solution.id: len(words.intersection(words_of(solution.text))) for solution in pattern.solutions}
    ranked = sorted(pattern.solutions, key=lambda one: (*one.rank[:2], -shared[one.id], *one.rank[2:]))
    return replace(pattern, solutions=tuple(ranked))
