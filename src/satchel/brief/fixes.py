"""What fixed the errors of a loop: recorded when the loop fails and then succeeds.

A loop succeeds with a scratchpad whose ``test_status`` says so (pass, passed, passing, green, ok, success; see
:data:`satchel.brief.attempts.PASSING`), or that is ``done`` and whose ``test_status`` names no failure; and with a
review_verdict that passed. What belongs to it says :class:`satchel.keep.loop_scope.LoopScope`: a fix is learned where
the failing and the succeeding attempt have one author, or share a loop and a task that both name.

The errors of the loop are those that were reported in it, and its entries of type error whose first line reads
``SomethingError: message`` or ``TS2307: message``, since the loop succeeded last and in the last
:data:`satchel.brief.loop_history.RECENT_DAYS` days. What fixed them is what the scratchpad lists as ``attempted`` and
no scratchpad of the loop before it does; else what it says in a field of its own (fix, solution, resolution, summary).
For a verdict it is the newest scratchpad's, for the errors met before that was written. Where nothing says it, nothing
is guessed.

A success is evidence for every error of the loop that both name; where only a task is named, after an attempt in vain,
since a task has several steps. Any success is for an error that its scratchpad names, by id or type. Of a command that
hooks saw fail, that the same command succeeds is evidence for what the last scratchpad in between says. Else the agent
is asked: in a trial a scratchpad about something else became the fix of a reported error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from satchel.base.clock import DAY_MS
from satchel.base.errors import InvalidInput, TooLarge
from satchel.base.text import shortened
from satchel.brief import loop_history
from satchel.brief.attempts import new_attempts
from satchel.brief.loop_history import Attempt, History
from satchel.find.kind import Kind
from satchel.keep.entries import structured
from satchel.keep.entries.records import ERROR, REVIEW_VERDICT, SCRATCHPAD, Prepared, Writer
from satchel.keep.loop_scope import OF_LOOPS, LoopScope
from satchel.keep.patterns import loops, meeting, preparing
from satchel.keep.patterns import updates as patterns
from satchel.keep.patterns.loops import Waiting
from satchel.keep.patterns.records import SOLUTION_LETTER
from satchel.keep.texts import Storable, storable
from satchel.store.transaction import Transaction

_MAX_STEPS = 3
"""So many of the last new attempts are taken for the fix: it may need several steps."""

_MAX_TOLD = 5
"""So many errors are named one by one."""

_TYPED = re.compile(
    r"(?i:(?:uncaught|unhandled|fatal|error):? +|error\[)*"
    r"(?P<type>(?:[A-Za-z_$][\w$]*(?:\.|::))*[A-Z]\w*(?:Error|Exception|Failure|Fault|Interrupt|Warning)"
    r"|Error|Exception|panic|[A-Z]{1,6}\d{3,6})\]?: +(?P<message>\S.*)"
)
_MAX_FIRST_LINE = 2_000
_ANY_ERROR = frozenset({"error", "exception", "panic"})


def learn(transaction: Transaction, writer: Writer, number: int, entry: Prepared, max_bytes: int) -> tuple[str, ...]:
    """Record what fixed the errors of a loop, where a new entry says that the loop succeeded.

    Args:
        number: that of the entry.
        max_bytes: the largest text that is kept.

    Returns:
        Notes for the writer: every error with its solution and how to take it back, or that no text says what fixed it.
    """
    if not _is_success(entry):
        return ()
    loop = LoopScope(writer.project_id, writer.run, entry.task_id, entry.loop_id, writer.agent, writer.session)
    if entry.type == REVIEW_VERDICT:
        judged = loop_history.load(transaction, loop, writer.now, (SCRATCHPAD, REVIEW_VERDICT), number)
        attempt = judged.attempts[0] if judged.recent else None
        # it is the attempt that succeeded, and its author's errors that it fixed
        loop = loop if attempt is None else attempt.place
    else:
        attempt = Attempt(
            number, loop, structured.scratchpad(entry.content), structured.telling_text(entry.content), writer.now
        )
    if not _has_failed(transaction, loop, writer.now):
        return ()
    past = loop_history.load(transaction, loop, writer.now, (ERROR, SCRATCHPAD, REVIEW_VERDICT), number)
    fix = None if attempt is None else _fix(attempt, [one for one in past.attempts if one.number < attempt.number])
    is_of_place = loop.loop_id is not None or (loop.task_id is not None and past.recent > 0)
    notes: list[str] = []
    unsaid: list[str] = []
    for error in _met(transaction, loop, past, writer.now, max_bytes):
        # what an attempt before a verdict did cannot have fixed what was met after it
        is_before = attempt is not None and error.met_at <= attempt.created_at
        if fix is not None and attempt is not None and is_before and (is_of_place or _names(attempt, error)):
            notes.append(_solve(transaction, loop, error, fix, attempt.place.author, writer.now))
        else:
            unsaid.append(Kind.ERROR_PATTERN.ref(error.pattern))
    if len(notes) > _MAX_TOLD:
        more = len(notes) - _MAX_TOLD
        notes[_MAX_TOLD:] = [f"so for {more} more {'error' if more == 1 else 'errors'} of this loop"]
    if unsaid:
        more_unsaid = f" and {len(unsaid) - _MAX_TOLD} more" if len(unsaid) > _MAX_TOLD else ""
        listed = ", ".join(unsaid[:_MAX_TOLD])
        notes.append(
            f"nothing says what fixed {listed}{more_unsaid}: where it is fixed, say how with report_outcome, by its "
            "id and solution"
        )
    return tuple(notes)


def learn_from_command(transaction: Transaction, loop: LoopScope, pattern: int, failed_at: int, now: int) -> None:
    """Record what fixed an error, where a command that met it succeeds: what the agent says it has attempted since.

    Where no scratchpad says it, nothing is guessed: the error goes on waiting for one that does.

    Args:
        loop: the session's.
        pattern: the number of the error.
        failed_at: when it was met last, in milliseconds UTC.
    """
    attempts = loop_history.load(transaction, loop, now, (SCRATCHPAD,)).attempts
    if not attempts or attempts[0].created_at < failed_at:
        return
    earlier = [one for one in attempts if one.created_at < failed_at]
    fix = _fix(attempts[0], earlier)
    if fix is not None:
        met = Waiting(pattern, "", failed_at)
        _solve(transaction, loop, met, fix, loop.author, now)


def _is_success(entry: Prepared) -> bool:
    """Whether an entry says that its loop succeeded; one that cannot be read says nothing."""
    try:
        return loop_history.says_success(entry.type, entry.content)
    except InvalidInput:
        return False


def _has_failed(transaction: Transaction, loop: LoopScope, now: int) -> bool:
    """Whether a loop has met any error lately: most have not, and then its past need not be read."""
    row = transaction.one(
        f"""
        SELECT 1 FROM error_reports r
        WHERE {loop.holds("error_reports", "r")} AND r.solution_id IS NULL AND r.created_at >= :since
        UNION ALL
        SELECT 1 FROM context c
        WHERE {loop.holds("context", "c")} AND c.{OF_LOOPS} AND c.type = {ERROR} AND c.created_at >= :since
        LIMIT 1
        """,
        {**loop.values, "since": now - loop_history.RECENT_DAYS * DAY_MS},
    )
    return row is not None


def _fix(attempt: Attempt, earlier: Sequence[Attempt]) -> Storable | None:
    steps = new_attempts(attempt.pad, [other.pad for other in earlier])[-_MAX_STEPS:]
    text = "; ".join(steps) or attempt.told
    return None if text is None else storable(text)


def _names(attempt: Attempt, error: Waiting) -> bool:
    """Whether what an attempt says names an error, by its id or by a type that is no word for all errors."""
    names = [Kind.ERROR_PATTERN.ref(error.pattern)]
    names += [] if error.error_type.casefold() in _ANY_ERROR else [error.error_type]
    said = "\n".join((*attempt.pad.attempted, attempt.told or ""))
    return re.search(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)", said) is not None


def _met(transaction: Transaction, loop: LoopScope, past: History, now: int, max_bytes: int) -> list[Waiting]:
    """Return the errors that the loop has met and not solved yet, since it succeeded last and lately.

    One that only an entry tells of is counted and kept as an error pattern here.
    """
    known = loops.met_since(transaction, loop, past.since) if past.errors else set()
    for noted in reversed(past.errors):
        new = error_of(noted.content, max_bytes)
        if new is not None and new.hash not in known:
            known.add(new.hash)
            met = meeting.record(transaction, loop.project_id, new, now)
            if met.is_new:
                patterns.index(transaction, met.number, is_new=True)
            loops.note(transaction, noted.place, met.number, noted.met_at)
    return loops.waiting(transaction, loop, past.since, now)


def error_of(content: str, max_bytes: int) -> preparing.Prepared | None:
    """Return the error that a note tells of, where its first line reads ``SomethingError: message``; else None.

    Args:
        max_bytes: the largest text that is kept.
    """
    first, _, rest = content.strip().partition("\n")
    found = _TYPED.match(first[:_MAX_FIRST_LINE])
    if found is None:
        return None
    message = first[found.start("message") :]
    try:
        return preparing.prepare(found["type"], message, rest.strip() or None, None, None, None, None, max_bytes)
    except (InvalidInput, TooLarge):
        return None  # its type is no name, or it was written under a larger limit


def _solve(
    transaction: Transaction, loop: LoopScope, error: Waiting, fix: Storable, agent: int | None, now: int
) -> str:
    """Record what fixed one error, and say so."""
    solution, is_new, notes = patterns.solve(
        transaction, loop.project_id, error.pattern, fix, agent, now, session=loop.session
    )
    if is_new:
        patterns.index(transaction, error.pattern, is_new=False)
    loops.settle(transaction, loop, error.pattern, solution)
    name = f"{Kind.ERROR_PATTERN.ref(error.pattern)} {error.error_type}"
    if not is_new:
        return f"{name}: {'; '.join(notes)}"
    ref = f"{SOLUTION_LETTER}{solution}"
    said = shortened(fix.text, 80)
    return f"{name}: {ref} is kept as what fixed it ({said}); if not, report_outcome id={ref} helped=false"
