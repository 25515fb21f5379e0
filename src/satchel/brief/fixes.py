"""What fixed the errors of a loop: recorded when the loop fails and then succeeds.

A loop succeeds with a scratchpad whose ``test_status`` says so (pass, passed, passing, green, ok, success; see
:data:`satchel.brief.attempts.PASSING`), or that is ``done`` and whose ``test_status`` names no failure; and with a
review_verdict that passed and names the loop.

The errors of the loop are those that were reported with its ``loop_id``, and its entries of type error whose first
line reads ``SomethingError: message`` or ``TS2307: message``, since the loop succeeded last. What fixed them is what
the scratchpad lists as ``attempted`` and no scratchpad of the loop before it does; else what it says in a field of its
own (fix, solution, resolution, summary). For a verdict it is the newest scratchpad's, for the errors met before that
was written. Where nothing says it, nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from satchel.base.errors import InvalidInput, TooLarge
from satchel.base.text import shortened
from satchel.brief.attempts import new_attempts, succeeded
from satchel.find.kind import Kind
from satchel.keep.entries import structured
from satchel.keep.entries.records import ERROR, REVIEW_VERDICT, SCRATCHPAD, Prepared, Writer
from satchel.keep.entries.structured import Scratchpad
from satchel.keep.patterns import loops, preparing
from satchel.keep.patterns import updates as patterns
from satchel.keep.patterns.loops import Loop, Waiting
from satchel.keep.patterns.records import SOLUTION_LETTER
from satchel.keep.texts import Storable, storable
from satchel.store.transaction import Transaction

_MAX_STEPS = 3
"""So many of the last new attempts are taken for the fix: it may need several steps."""

_MAX_PAST = 200
"""So many entries of a loop are looked at, the newest."""

_MAX_TOLD = 5
"""So many errors are named one by one."""

_TYPED = re.compile(
    r"(?i:(?:uncaught|unhandled|fatal|error):? +|error\[)*"
    r"(?P<type>(?:[A-Za-z_$][\w$]*(?:\.|::))*[A-Z]\w*(?:Error|Exception|Failure|Fault|Interrupt|Warning)"
    r"|Error|Exception|panic|[A-Z]{1,6}\d{3,6})\]?: +(?P<message>\S.*)"
)
_MAX_FIRST_LINE = 2_000


def learn(transaction: Transaction, writer: Writer, number: int, entry: Prepared, max_bytes: int) -> tuple[str, ...]:
    """Record what fixed the errors of a loop, where a new entry says that the loop succeeded.

    Args:
        number: that of the entry.
        max_bytes: the largest text that is kept.

    Returns:
        Notes for the writer: every error with its solution and how to take it back, or that no text says what fixed it.
    """
    if entry.loop_id is None or not _is_success(entry.type, entry.content):
        return ()
    loop = Loop(writer.project_id, writer.run, entry.loop_id)
    if not _has_failed(transaction, loop):
        return ()
    past = _past(transaction, loop, number)
    if entry.type == SCRATCHPAD:
        attempt, earlier = _attempt(entry.content, writer.agent, writer.now), past.attempts
    else:
        attempt, earlier = past.attempts[0] if past.recent else None, past.attempts[1:]
    fix = None if attempt is None else _fix(attempt, earlier)
    notes: list[str] = []
    unsaid: list[str] = []
    for error in _met(transaction, loop, past, writer, max_bytes):
        # what an attempt before a verdict did cannot have fixed what was met after it
        is_fixed = entry.type == SCRATCHPAD or (attempt is not None and error.met_at <= attempt.created_at)
        if fix is not None and attempt is not None and is_fixed:
            notes.append(_solve(transaction, loop, error, fix, attempt.agent, writer.now))
        else:
            unsaid.append(Kind.ERROR_PATTERN.ref(error.pattern))
    if len(notes) > _MAX_TOLD:
        notes[_MAX_TOLD:] = [f"so for {len(notes) - _MAX_TOLD} more errors of loop {loop.loop_id}"]
    if unsaid:
        more = f" and {len(unsaid) - _MAX_TOLD} more" if len(unsaid) > _MAX_TOLD else ""
        listed = ", ".join(unsaid[:_MAX_TOLD])
        notes.append(f"no scratchpad says what fixed {listed}{more}: say it with report_outcome, by error and solution")
    return tuple(notes)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What one iteration did, and who says so.

    Attributes:
        told: what it says in a field of its own, or None.
        created_at: milliseconds UTC.
    """

    pad: Scratchpad
    told: str | None
    agent: int | None
    created_at: int


@dataclass(slots=True)
class _Past:
    """A loop before its success, the newest first.

    Attributes:
        errors: pairs of when and what, of the entries of type error since the loop succeeded last.
        attempts: its scratchpads; so many as ``recent`` says were written since then.
        succeeded_at: when it succeeded last, in milliseconds UTC; 0 for never.
    """

    errors: list[tuple[int, str]] = field(default_factory=list)
    attempts: list[_Attempt] = field(default_factory=list)
    recent: int = 0
    succeeded_at: int = 0


def _is_success(kind: int, content: str) -> bool:
    """Whether an entry says that its loop succeeded; one that cannot be read says nothing."""
    try:
        if kind == SCRATCHPAD:
            return succeeded(structured.scratchpad(content))
        return kind == REVIEW_VERDICT and structured.review_verdict(content).passed
    except InvalidInput:
        return False


def _has_failed(transaction: Transaction, loop: Loop) -> bool:
    """Whether a loop has met any error at all: most have not, and then its past need not be read."""
    row = transaction.one(
        f"""
        SELECT 1 FROM error_reports
        WHERE project_id = :project AND run_id = :run AND loop_id = :loop AND solution_id IS NULL
        UNION ALL
        SELECT 1 FROM context WHERE project_id = :project AND run_id = :run AND loop_id = :loop AND type = {ERROR}
        LIMIT 1
        """,
        loop.values,
    )
    return row is not None


def _past(transaction: Transaction, loop: Loop, number: int) -> _Past:
    rows = transaction.all(
        f"""
        SELECT type, content, agent_id, created_at FROM context
        WHERE project_id = :project AND run_id = :run AND loop_id = :loop AND id < :id
            AND type IN ({ERROR}, {SCRATCHPAD}, {REVIEW_VERDICT})
        ORDER BY created_at DESC, id DESC LIMIT {_MAX_PAST}
        """,
        {**loop.values, "id": number},
    )
    past = _Past()
    is_recent = True
    for kind, content, agent, created in rows:
        attempt = _attempt(content, agent, created) if kind == SCRATCHPAD else None
        if is_recent and (_is_success(kind, content) if attempt is None else succeeded(attempt.pad)):
            is_recent, past.succeeded_at = False, created
        if attempt is not None:
            past.attempts.append(attempt)
            past.recent += is_recent
        elif kind == ERROR and is_recent:
            past.errors.append((created, content))
    return past


def _attempt(content: str, agent: int | None, created_at: int) -> _Attempt | None:
    """Read a stored scratchpad; None for one that cannot be read, as a row written by other means may be."""
    try:
        return _Attempt(structured.scratchpad(content), structured.telling_text(content), agent, created_at)
    except InvalidInput:
        return None


def _fix(attempt: _Attempt, earlier: Sequence[_Attempt]) -> Storable | None:
    steps = new_attempts(attempt.pad, [other.pad for other in earlier])[-_MAX_STEPS:]
    text = "; ".join(steps) or attempt.told
    return None if text is None else storable(text)


def _met(transaction: Transaction, loop: Loop, past: _Past, writer: Writer, max_bytes: int) -> list[Waiting]:
    """Return the errors that the loop has met since it succeeded last and not solved yet.

    One that only an entry tells of is counted and kept as an error pattern here.
    """
    known = loops.met_since(transaction, loop, past.succeeded_at) if past.errors else set()
    for met_at, content in reversed(past.errors):
        new = error_of(content, max_bytes)
        if new is not None and new.hash not in known:
            known.add(new.hash)
            pattern, is_new = patterns.meet(transaction, loop.project_id, new, writer.now)
            if is_new:
                patterns.index(transaction, loop.project_id, pattern, is_new=True)
            loops.note(transaction, loop, pattern, None, None, met_at)
    return loops.waiting(transaction, loop, past.succeeded_at, writer.now)


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


def _solve(transaction: Transaction, loop: Loop, error: Waiting, fix: Storable, agent: int | None, now: int) -> str:
    """Record what fixed one error, and say so."""
    solution, is_new, notes = patterns.solve(transaction, loop.project_id, error.pattern, fix, agent, now)
    if is_new:
        patterns.index(transaction, loop.project_id, error.pattern, is_new=False)
    loops.settle(transaction, loop, error.pattern, solution)
    name = f"{Kind.ERROR_PATTERN.ref(error.pattern)} {error.error_type}"
    if not is_new:
        return f"{name}: {'; '.join(notes)}"
    ref = f"{SOLUTION_LETTER}{solution}"
    return (
        f"{name}: {ref} is kept as what fixed it ({shortened(fix.text, 80)}); if not, report_outcome {ref} helped=false"
    )
