"""The records of error patterns and their solutions, and how rows become them."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.base.paging import KeptPage
from satchel.base.records import dataclass
from satchel.find.kind import Kind, read_number
from satchel.store.transaction import Row, Rows, Transaction, set_of

STATES = ("active", "confirmed", "demoted")
"""The states of a solution; its number in the table is its place here, from 1."""

ACTIVE, CONFIRMED, DEMOTED = 1, 2, 3

STANDINGS = ("known", "tentative", "weak", "observed")
"""What a solution's confidence makes of it, best first."""

KNOWN, TENTATIVE, WEAK = 7, 5, 3
"""The least tenths of confidence for the standing of that name; below them all a solution is only observed."""

LEAST, FIRST, MOST = 1, TENTATIVE, 10
"""The bounds of a confidence in tenths, and the one that a solution begins with."""

CONFIRMATION, FAILURE = 1, 2
"""By how many tenths a confirmation raises the confidence, and a failure lowers it."""

DEFAULT_TTL_DAYS = 90

SOLUTION_LETTER = "y"


def solution_number(ref: object) -> int:
    """Read the short id of a solution, with or without its letter.

    Raises:
        InvalidInput: it is none.
    """
    return read_number(ref, SOLUTION_LETTER, "a solution")


@dataclass(frozen=True, slots=True)
class Solution:
    """What fixed an error, or was thought to.

    Attributes:
        id: the store's number; ``ref`` is its short id.
        uid: 32 hexadecimal digits, stable across export and import.
        seq: the number of its last change.
        pattern_id: the error pattern that it belongs to.
        confidence: in tenths, 1 to 10.
        confirmed: how often it helped or was found independently.
        failed: how often it did not help.
        state: one of :data:`STATES`.
        agent: who gave it first, or None.
        created_at, updated_at: milliseconds UTC.
        notes: what the writer should know; empty when read.
    """

    id: int
    uid: str
    seq: int
    pattern_id: int
    text: str
    confidence: int
    confirmed: int
    failed: int
    state: str
    agent: str | None
    created_at: int
    updated_at: int
    notes: tuple[str, ...] = ()

    @property
    def ref(self) -> str:
        """The short id, as in ``y7``."""
        return f"{SOLUTION_LETTER}{self.id}"

    @property
    def pattern(self) -> str:
        """The short id of its error pattern."""
        return Kind.ERROR_PATTERN.ref(self.pattern_id)

    @property
    def standing(self) -> str:
        """One of :data:`STANDINGS`."""
        reached = (self.confidence >= least for least in (KNOWN, TENTATIVE, WEAK))
        return next((name for name, is_so in zip(STANDINGS, reached, strict=False) if is_so), STANDINGS[-1])

    @property
    def rank(self) -> tuple[int, int, int, int]:
        """What solutions are sorted by, the best first: confidence, confirmations over failures, then the newest."""
        return -self.confidence, self.failed - self.confirmed, -self.created_at, -self.id


@dataclass(frozen=True, slots=True)
class ErrorPattern:
    """An error as it is recognised again, whatever its numbers, ids and folders.

    Attributes:
        id: the store's number; ``ref`` is its short id.
        uid: 32 hexadecimal digits, stable across export and import.
        seq: the number of its last change, or of that of a solution.
        hash: what tells it apart in its project, from :func:`satchel.keep.patterns.signature`.
        message: with what differs from time to time masked.
        example: the message and the first lines of the stack as they were first reported.
        lang: in lower case; None is any language.
        occurrences: how often it was reported.
        ttl_days: how many days after it was last seen it is kept.
        last_seen, expires_at, created_at: milliseconds UTC.
        solutions: best confirmed first.
        score: how well it matched a search, higher is better; None without one.
    """

    id: int
    uid: str
    seq: int
    hash: str
    error_type: str
    message: str
    example: str
    lang: str | None
    occurrences: int
    ttl_days: int
    last_seen: int
    expires_at: int
    created_at: int
    solutions: tuple[Solution, ...]
    score: float | None = None

    @property
    def ref(self) -> str:
        """The short id, as in ``x4``."""
        return Kind.ERROR_PATTERN.ref(self.id)


@dataclass(frozen=True, slots=True)
class SimilarError:
    """A known error that is like a new one, and not the same.

    Attributes:
        ref: its short id.
        message: with what differs from time to time masked.
        likeness: how many words both have, in percent of the words of both.
        solution: what is best confirmed to have fixed it, or None.
    """

    ref: str
    error_type: str
    message: str
    likeness: int
    solution: Solution | None


@dataclass(frozen=True, slots=True)
class Reported:
    """What reporting an error told.

    Attributes:
        pattern: the error, with the solutions that are more than observed.
        is_new: nobody had reported it before, or its life was over.
        recorded: the solution that came with the report, as it stands now, or None without one.
        notes: what was cleaned or redacted, and what became of the solution.
        similar: for a new error the known ones that are most like it, none of them the same.
    """

    pattern: ErrorPattern
    is_new: bool
    recorded: Solution | None = None
    notes: tuple[str, ...] = ()
    similar: tuple[SimilarError, ...] = ()

    @property
    def solutions(self) -> tuple[Solution, ...]:
        """The solutions, best confirmed first; of equals those that share words with the stack and hints."""
        return self.pattern.solutions


@dataclass(frozen=True, slots=True)
class ErrorPatternPage(KeptPage[ErrorPattern]):
    """Part of the error patterns, counted and read in one snapshot."""

    @property
    def patterns(self) -> tuple[ErrorPattern, ...]:
        """The part."""
        return self.items


COLUMNS = """
    p.id, p.uid, p.seq, p.pattern_hash, p.error_type, p.message, p.example, p.lang, p.occurrences, p.ttl_days,
    p.last_seen, p.expires_at, p.created_at
"""
"""The columns of ``error_patterns p`` that :func:`pattern_of` reads."""

SOLUTION_COLUMNS = """
    s.id, s.uid, s.seq, s.pattern_id, s.solution, s.confidence, s.confirmed, s.failed, s.state, a.name, s.created_at,
    s.updated_at
"""
"""The columns :func:`solution_of` reads, from :data:`SOLUTION_SOURCE`."""

SOLUTION_SOURCE = "error_solutions s LEFT JOIN agents a ON a.id = s.agent_id"


def pattern_of(row: Row, solutions: Sequence[Solution], *, score: float | None = None) -> ErrorPattern:
    """Turn a row of :data:`COLUMNS`, which stand in the order of the fields, into a record."""
    number, uid, *rest = row
    rest += [tuple(solutions), score]
    return ErrorPattern(number, uid.hex(), *rest)


def solution_of(row: Row) -> Solution:
    """Turn a row of :data:`SOLUTION_COLUMNS`, which stand in the order of the fields, into a record."""
    number, uid, seq, pattern, text, confidence, confirmed, failed, state, *rest = row
    return Solution(number, uid.hex(), seq, pattern, text, confidence, confirmed, failed, STATES[state - 1], *rest)


def solutions_of(
    transaction: Transaction, project_id: int, patterns: Sequence[int], least: int
) -> dict[int, list[Solution]]:
    """Return the solutions of patterns as :func:`by_pattern` does; the arguments are those of :func:`ask_solutions`."""
    return by_pattern(ask_solutions(transaction, project_id, patterns, least))


def ask_solutions(transaction: Transaction, project_id: int, patterns: Sequence[int], least: int) -> Rows:
    """Ask for the solutions of patterns.

    Args:
        least: only those of at least so many tenths.
    """
    # the plus keeps SQLite from the index by project: of 12,500 solutions 1.3 ms, and 0.1 by their patterns
    return transaction.ask(
        f"SELECT {SOLUTION_COLUMNS} FROM {SOLUTION_SOURCE} "
        f"WHERE s.pattern_id IN {set_of(patterns)} AND +s.project_id = :project "
        "AND s.confidence >= :least",
        {"project": project_id, "least": least},
    )


def by_pattern(solutions: Rows) -> dict[int, list[Solution]]:
    """Return solutions by the numbers of their patterns, best confirmed first; those without any are left out."""
    found: dict[int, list[Solution]] = {}
    for solution in sorted(map(solution_of, solutions.all()), key=lambda one: one.rank):
        found.setdefault(solution.pattern_id, []).append(solution)
    return found
