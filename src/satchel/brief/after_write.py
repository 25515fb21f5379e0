"""Fixes of the errors of a loop, recorded when the loop fails and then succeeds.

A loop succeeds with a scratchpad whose ``test_status`` is in :data:`satchel.brief.loop_history.PASSING`, or that is
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
from collections.abc import Mapping, Sequence

from satchel.base.clock import DAY_MS
from satchel.base.errors import InvalidInput, TooLarge
from satchel.base.records import dataclass
from satchel.base.text import shortened
from satchel.brief import loop_history
from satchel.brief.loop_history import Attempt, History, new_attempts
from satchel.find.kind import Kind
from satchel.keep.deliveries import windows_of
from satchel.keep.entries import structured
from satchel.keep.entries.records import (
    ERROR,
    LEAST_CHARS,
    MAX_CHARS,
    REVIEW_VERDICT,
    SCRATCHPAD,
    DuplicateDelivery,
    Prepared,
    Writer,
)
from satchel.keep.loop_scope import OF_LOOPS, LoopScope
from satchel.keep.patterns import reports, updates
from satchel.keep.patterns.records import SOLUTION_LETTER
from satchel.keep.patterns.updates import Waiting
from satchel.keep.texts import Storable, storable
from satchel.store.transaction import Transaction, grouped, set_of

# How many of the last new attempts form the fix, which may need several steps.
_MAX_STEPS = 3

# How many errors are listed one by one.
_MAX_LISTED = 5

_TYPED = re.compile(
    r"(?i:(?:uncaught|unhandled|fatal|error):? +|error\[)*"
    r"(?P<type>(?:[A-Za-z_$][\w$]*(?:\.|::))*[A-Z]\w*(?:Error|Exception|Failure|Fault|Interrupt|Warning)"
    r"|Error|Exception|panic|[A-Z]{1,6}\d{3,6})\]?: +(?P<message>\S.*)"
)
_MAX_FIRST_LINE = 2_000
_ANY_ERROR = frozenset({"error", "exception", "panic"})


def learn(transaction: Transaction, writer: Writer, number: int, entry: Prepared, max_bytes: int) -> tuple[str, ...]:
    """Record fixes of a loop's errors if a new entry reports that the loop succeeded."""
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
    hashes = updates.met_since(transaction, loop, past.since) if past.errors else set()
    for noted in reversed(past.errors):
        new = error_of(noted.content, max_bytes)
        if new is not None and new.hash not in hashes:
            hashes.add(new.hash)
            recorded = reports.record(updates.Reporter(transaction, loop.project_id, None, None, now), new)
            if recorded.is_new:
                updates.index(transaction, recorded.number, is_new=True)
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
    by = updates.Reporter(transaction, loop.project_id, agent, loop.session, now)
    solution, is_new, notes = updates.solve(by, error.pattern, fix)
    if is_new:
        updates.index(transaction, error.pattern, is_new=False)
    updates.settle(transaction, loop, error.pattern, solution)
    name = f"{Kind.ERROR_PATTERN.ref(error.pattern)} {error.error_type}"
    if not is_new:
        return f"{name}: {'; '.join(notes)}"
    ref = f"{SOLUTION_LETTER}{solution}"
    summary = shortened(fix.text, 80)
    return f"{name}: {ref} is stored as its fix ({summary}); if not, report_outcome id={ref} helped=false"


# The likeness, in percent of their words (Dice), from which a text gets a pointer to the other.
NEARLY = 90

# How many deliveries to an agent are compared, newest first.
MAX_DELIVERED = 200

# SQL for the ids and texts of items, for each kind that briefings deliver.
_CONTENTS: dict[Kind, str] = {
    Kind.ENTRY: "SELECT id, substr(content, 1, {most}) FROM context WHERE {these}",
    Kind.DECISION: """
        SELECT id, substr(value_text, 1, {most}) FROM decisions WHERE {these} AND value_text IS NOT NULL
        UNION ALL SELECT id, substr(rationale, 1, {most}) FROM decisions WHERE {these} AND rationale IS NOT NULL
    """,
    Kind.CONSTRAINT: "SELECT id, substr(text, 1, {most}) FROM constraints WHERE {these}",
    Kind.MESSAGE: "SELECT id, substr(message, 1, {most}) FROM agent_messages WHERE {these}",
    Kind.ERROR_PATTERN: """
        SELECT pattern_id, substr(solution, 1, {most}) FROM error_solutions
        WHERE project_id = :project AND pattern_id IN {numbers}
    """,
    Kind.STRATEGY: "SELECT id, substr(insight, 1, {most}) FROM strategies WHERE {these}",
}

_KINDS = {kind.number: kind for kind in _CONTENTS}


@dataclass(frozen=True, slots=True)
class _Delivered:
    kind: Kind
    item: int
    text: str
    normalized: str

    @property
    def ref(self) -> str:
        return self.kind.ref(self.item)


def find_duplicates(
    transaction: Transaction, writer: Writer, entries: Mapping[int, Prepared]
) -> Mapping[int, DuplicateDelivery]:
    """Return the new entries, by place, that repeat an item delivered to their writer.

    Notes (discovery, error, decision) of 40 to 4,000 characters are compared with the 200 items delivered last to the
    agent in this run. One that equals a live entry of its run and type is not stored; an error met in another loop and
    a note on another file or line are.
    """
    delivered = _delivered(transaction, writer)
    if not delivered:
        return {}
    duplicates = ((place, _duplicate_of(transaction, writer, entry, delivered)) for place, entry in entries.items())
    return {place: one for place, one in duplicates if one is not None}


def _delivered(transaction: Transaction, writer: Writer) -> list[_Delivered]:
    where, values = windows_of(writer.project_id, writer.session, writer.run, writer.agent)
    rows = transaction.all(
        f"""
        SELECT d.kind, d.item_id FROM windows w JOIN deliveries d ON d.window_id = w.id WHERE {where}
        ORDER BY d.created_at DESC, d.kind, d.item_id LIMIT {MAX_DELIVERED}
        """,
        values,
    )
    items = grouped((_KINDS[number], item) for number, item in dict.fromkeys(rows) if number in _KINDS)
    texts: list[_Delivered] = []
    for kind, numbers in items.items():
        these = set_of(numbers)
        sql = _CONTENTS[kind].format(
            these=f"project_id = :project AND id IN {these}", numbers=these, most=MAX_CHARS + 1
        )
        for item, text in transaction.all(sql, {"project": writer.project_id}):
            texts.append(_Delivered(kind, item, text, _normalized(text)))
    return sorted(texts, key=lambda one: (one.kind.number, one.item))


def _duplicate_of(
    transaction: Transaction, writer: Writer, entry: Prepared, delivered: Sequence[_Delivered]
) -> DuplicateDelivery | None:
    text = _normalized(entry.content)
    beginning = text.removesuffix("…").removesuffix("...").rstrip()
    is_cut = len(beginning) < len(text) and len(beginning) >= LEAST_CHARS
    same = [one for one in delivered if one.normalized == text or (is_cut and one.normalized.startswith(beginning))]
    for one in same:
        if one.kind is Kind.ENTRY and _adds_nothing(transaction, writer, entry, one.item):
            return DuplicateDelivery(
                f"{one.ref} already says this and was delivered to you: nothing was written", one.item
            )
    delivered = [one for one in delivered if not (one.kind is Kind.ENTRY and one.item == entry.supersedes)]
    same = [one for one in same if one in delivered]
    if same:
        return DuplicateDelivery(f"{same[0].ref} says the same and was delivered to you")
    return _resembling(entry.content, delivered)


def _adds_nothing(transaction: Transaction, writer: Writer, entry: Prepared, number: int) -> bool:
    row = transaction.one(
        """
        SELECT type, loop_id, file, line FROM context
        WHERE project_id = :project AND run_id = :run AND id = :id AND superseded_by IS NULL
        """,
        {"project": writer.project_id, "run": writer.run, "id": number},
    )
    if row is None or row[0] != entry.type:
        return False
    if entry.type == ERROR and entry.loop_id is not None and entry.loop_id != row[1]:
        return False
    return entry.file is None or (entry.file, entry.line) == (row[2], row[3])


def _resembling(text: str, delivered: Sequence[_Delivered]) -> DuplicateDelivery | None:
    from satchel.find.likeness import text_likeness, words_of

    words = words_of(text)
    alike = [(text_likeness(words, words_of(one.text)), one) for one in delivered]
    most, one = max(alike, key=lambda pair: pair[0])
    return (
        DuplicateDelivery(f"{one.ref}, which was delivered to you, says nearly the same ({most} % alike)")
        if most >= NEARLY
        else None
    )


def _normalized(text: str) -> str:
    return " ".join(text.casefold().split())
