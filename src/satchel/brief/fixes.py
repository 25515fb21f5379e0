"""Fixes of the errors of a loop, recorded when the loop fails and then succeeds.

A loop succeeds with a scratchpad whose ``test_status`` is in :data:`satchel.brief.attempts.PASSING`, or that is
``done`` and whose ``test_status`` names no failure; and with a review_verdict that passed. A fix is learned if the
failing and the succeeding attempt have one author, or share a loop and a task that both name
(:class:`satchel.keep.loop_scope.LoopScope`).

The errors of the loop are those reported in it, and its entries of type error whose first line reads ``SomethingError:
message`` or ``TS2307: message``, since its last success and within :data:`satchel.brief.loop_history.RECENT_DAYS` days.
Their fix is what the scratchpad lists as ``attempted`` and no earlier one does; else its field fix, solution,
resolution or summary. For a verdict it is the newest scratchpad's, for errors met before it. If no text names the fix,
none is guessed.

A success counts for every error if both name the loop; if only a task is named, only after a failed attempt, since a
task has several steps. Any success counts for an error that its scratchpad names by id or type. If a command fails and
the same command then succeeds, the last scratchpad in between counts. Otherwise the agent is asked: in a trial, a
scratchpad about something else became the fix of a reported error.
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
from satchel.keep.patterns import reports, updates
from satchel.keep.patterns import updates as patterns
from satchel.keep.patterns.records import SOLUTION_LETTER
from satchel.keep.patterns.updates import Waiting
from satchel.keep.texts import Storable, storable
from satchel.store.transaction import Transaction

_MAX_STEPS = 3
"""How many of the last new attempts form the fix, which may need several steps."""

_MAX_LISTED = 5
"""How many errors are listed one by one."""

_TYPED = re.compile(
    r"(?i:(?:uncaught|unhandled|fatal|error):? +|error\[)*"
    r"(?P<type>(?:[A-Za-z_$][\w$]*(?:\.|::))*[A-Z]\w*(?:Error|Exception|Failure|Fault|Interrupt|Warning)"
    r"|Error|Exception|panic|[A-Z]{1,6}\d{3,6})\]?: +(?P<message>\S.*)"
)
_MAX_FIRST_LINE = 2_000
_ANY_ERROR = frozenset({"error", "exception", "panic"})


def learn(transaction: Transaction, writer: Writer, number: int, entry: Prepared, max_bytes: int) -> tuple[str, ...]:
    """Record fixes of a loop's errors if a new entry reports that the loop succeeded.

    Returns:
        Notes for the writer: every error with its solution and how to undo it, or a request to name the fix.
    """
    if not _is_success(entry):
        return ()
    loop = LoopScope(writer.project_id, writer.run, entry.task_id, entry.loop_id, writer.agent, writer.session)
    if entry.type == REVIEW_VERDICT:
        judged = loop_history.load(transaction, loop, writer.now, (SCRATCHPAD, REVIEW_VERDICT), number)
        attempt = judged.attempts[0] if judged.recent else None
        # the attempt succeeded, so the errors of its author are fixed
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
    unexplained: list[str] = []
    for error in _errors(transaction, loop, past, writer.now, max_bytes):
        # an attempt cannot have fixed an error that was met after it
        is_before = attempt is not None and error.met_at <= attempt.created_at
        if fix is not None and attempt is not None and is_before and (is_of_place or _names(attempt, error)):
            notes.append(_solve(transaction, loop, error, fix, attempt.place.author, writer.now))
        else:
            unexplained.append(Kind.ERROR_PATTERN.ref(error.pattern))
    if len(notes) > _MAX_LISTED:
        more = len(notes) - _MAX_LISTED
        notes[_MAX_LISTED:] = [f"the same for {more} more {'error' if more == 1 else 'errors'} of this loop"]
    if unexplained:
        more_refs = f" and {len(unexplained) - _MAX_LISTED} more" if len(unexplained) > _MAX_LISTED else ""
        listed = ", ".join(unexplained[:_MAX_LISTED])
        notes.append(
            f"no scratchpad names the fix of {listed}{more_refs}: once it is fixed, report it with report_outcome "
            "(id and solution)"
        )
    return tuple(notes)


def learn_from_command(transaction: Transaction, loop: LoopScope, pattern: int, failed_at: int, now: int) -> None:
    """Record the fix of an error if the command that met it succeeds.

    The fix is what the agent says it has attempted since ``failed_at``; without that, the error stays unsolved.
    """
    attempts = loop_history.load(transaction, loop, now, (SCRATCHPAD,)).attempts
    if not attempts or attempts[0].created_at < failed_at:
        return
    earlier = [one for one in attempts if one.created_at < failed_at]
    fix = _fix(attempts[0], earlier)
    if fix is not None:
        error = Waiting(pattern, "", failed_at)
        _solve(transaction, loop, error, fix, loop.author, now)


def _is_success(entry: Prepared) -> bool:
    try:
        return loop_history.says_success(entry.type, entry.content)
    except InvalidInput:
        return False


def _has_failed(transaction: Transaction, loop: LoopScope, now: int) -> bool:
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
    text = "; ".join(steps) or attempt.summary
    return None if text is None else storable(text)


def _names(attempt: Attempt, error: Waiting) -> bool:
    names = [Kind.ERROR_PATTERN.ref(error.pattern)]
    names += [] if error.error_type.casefold() in _ANY_ERROR else [error.error_type]
    text = "\n".join((*attempt.pad.attempted, attempt.summary or ""))
    return re.search(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)", text) is not None


def _errors(transaction: Transaction, loop: LoopScope, past: History, now: int, max_bytes: int) -> list[Waiting]:
    """Return the recent unsolved errors of the loop; store those that only entries mention."""
    hashes = updates.met_since(transaction, loop, past.since) if past.errors else set()
    for noted in reversed(past.errors):
        new = error_of(noted.content, max_bytes)
        if new is not None and new.hash not in hashes:
            hashes.add(new.hash)
            recorded = reports.record(transaction, loop.project_id, new, now)
            if recorded.is_new:
                patterns.index(transaction, recorded.number, is_new=True)
            updates.note(transaction, noted.place, recorded.number, noted.met_at)
    return updates.waiting(transaction, loop, past.since, now)


def error_of(content: str, max_bytes: int) -> reports.Prepared | None:
    """Return the error in a note if its first line reads ``SomethingError: message``, else None."""
    first, _, rest = content.strip().partition("\n")
    match = _TYPED.match(first[:_MAX_FIRST_LINE])
    if match is None:
        return None
    message = first[match.start("message") :]
    try:
        return reports.prepare(match["type"], message, rest.strip() or None, None, None, None, None, max_bytes)
    except (InvalidInput, TooLarge):
        return None  # an invalid type, or a text stored under a larger limit


def _solve(
    transaction: Transaction, loop: LoopScope, error: Waiting, fix: Storable, agent: int | None, now: int
) -> str:
    solution, is_new, notes = patterns.solve(
        transaction, loop.project_id, error.pattern, fix, agent, now, session=loop.session
    )
    if is_new:
        patterns.index(transaction, error.pattern, is_new=False)
    updates.settle(transaction, loop, error.pattern, solution)
    name = f"{Kind.ERROR_PATTERN.ref(error.pattern)} {error.error_type}"
    if not is_new:
        return f"{name}: {'; '.join(notes)}"
    ref = f"{SOLUTION_LETTER}{solution}"
    summary = shortened(fix.text, 80)
    return f"{name}: {ref} is stored as its fix ({summary}); if not, report_outcome id={ref} helped=false"
