"""Records of error patterns and their solutions, and their construction from rows."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.base.records import dataclass
from satchel.find.kind import Kind, read_number
from satchel.store.transaction import Row, Rows, Transaction, set_of

STATES = ("active", "confirmed", "demoted")  # the states of a solution, stored by their position, from 1

ACTIVE, CONFIRMED, DEMOTED = 1, 2, 3

STANDINGS = ("known", "tentative", "weak", "observed")  # standings by confidence, best first

# the lowest confidence, in tenths, of each standing; below WEAK a solution is only observed
KNOWN, TENTATIVE, WEAK = 7, 5, 3

LEAST, FIRST, MOST = 1, TENTATIVE, 10  # the bounds of a confidence in tenths, and its initial value

CONFIRMATION, FAILURE = 1, 2  # tenths that a confirmation adds to the confidence, and that a failure subtracts

DEFAULT_TTL_DAYS = 90

SOLUTION_LETTER = "y"


def solution_number(ref: object) -> int:
    return read_number(ref, SOLUTION_LETTER, "a solution")


@dataclass(frozen=True, slots=True)
class Solution:
    """A fix, or presumed fix, of an error.

    Attributes:
        id: the store's number; ``ref`` is its short id.
        uid: 32 hexadecimal digits, stable across export and import.
        seq: the number of its last change.
        pattern_id: the number of its error pattern.
        confidence: in tenths, 1 to 10.
        confirmed: how often it helped or was found independently.
        failed: how often it did not help.
        state: one of :data:`STATES`.
        agent: its first author, or None.
        created_at, updated_at: milliseconds UTC.
        notes: remarks for the writer; empty when read.
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
        return f"{SOLUTION_LETTER}{self.id}"

    @property
    def pattern(self) -> str:
        return Kind.ERROR_PATTERN.ref(self.pattern_id)

    @property
    def standing(self) -> str:
        reached = (self.confidence >= least for least in (KNOWN, TENTATIVE, WEAK))
        return next((name for name, is_so in zip(STANDINGS, reached, strict=False) if is_so), STANDINGS[-1])

    @property
    def rank(self) -> tuple[int, int, int, int]:
        """Return the sort key, best first: confidence, confirmations over failures, then the newest."""
        return -self.confidence, self.failed - self.confirmed, -self.created_at, -self.id


@dataclass(frozen=True, slots=True)
class ErrorPattern:
    """An error, recognized regardless of its numbers, ids and folders.

    Attributes:
        id: the store's number; ``ref`` is its short id.
        uid: 32 hexadecimal digits, stable across export and import.
        seq: the number of its last change, or of its solutions' last change.
        hash: its signature, from :func:`satchel.keep.patterns.signature`.
        message: with volatile parts masked.
        example: the message and the first lines of the stack as first reported.
        lang: in lower case; None is any language.
        occurrences: how often it was reported.
        ttl_days: number of days it is kept after the last report.
        last_seen, expires_at, created_at: milliseconds UTC.
        solutions: best confirmed first.
        score: relevance in a search, higher is better; None without one.
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
        return Kind.ERROR_PATTERN.ref(self.id)


@dataclass(frozen=True, slots=True)
class SimilarError:
    """A known error that resembles a new one.

    Attributes:
        ref: its short id.
        message: with volatile parts masked.
        likeness: shared words in percent of the words of both.
        solution: its best confirmed solution, or None.
        words: the words of both.
    """

    ref: str
    error_type: str
    message: str
    likeness: int
    solution: Solution | None
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reported:
    """Result of reporting an error.

    Attributes:
        pattern: the error, with the solutions that are more than observed.
        is_new: whether it is new.
        recorded: the current state of the solution given with the report, or None.
        notes: what was cleaned or redacted, and remarks on the solution.
        similar: for an error without a solution, the most similar known ones.
        tried: fixes that have failed too often to be offered.
    """

    pattern: ErrorPattern
    is_new: bool
    recorded: Solution | None = None
    notes: tuple[str, ...] = ()
    similar: tuple[SimilarError, ...] = ()
    tried: tuple[Solution, ...] = ()

    @property
    def solutions(self) -> tuple[Solution, ...]:
        """Return the solutions, best confirmed first; equal ones by the words they share with the stack and hints."""
        return self.pattern.solutions


# columns of `error_patterns p` for pattern_of
COLUMNS = """
    p.id, p.uid, p.seq, p.pattern_hash, p.error_type, p.message, p.example, p.lang, p.occurrences, p.ttl_days,
    p.last_seen, p.expires_at, p.created_at
"""

# columns of SOLUTION_SOURCE for solution_of
SOLUTION_COLUMNS = """
    s.id, s.uid, s.seq, s.pattern_id, s.solution, s.confidence, s.confirmed, s.failed, s.state, a.name, s.created_at,
    s.updated_at
"""

SOLUTION_SOURCE = "error_solutions s LEFT JOIN agents a ON a.id = s.agent_id"


def as_met(message: str, example: str) -> str:
    """Return a message as it was first met, as far as the example has it in a line, else with its masks."""
    masked = message.split()
    for line in (example, *example.splitlines()):
        words = line.split()
        for met in (words[: len(masked)], words[-len(masked) :]):
            alike = [mine == word for mine, word in zip(masked, met, strict=False) if "#" not in mine]
            if len(met) == len(masked) and any(alike) and all(alike):
                return " ".join(met)
    return message


def pattern_of(row: Row, solutions: Sequence[Solution], *, score: float | None = None) -> ErrorPattern:
    number, uid, *rest = row
    rest += [tuple(solutions), score]
    return ErrorPattern(number, uid.hex(), *rest)


def solution_of(row: Row) -> Solution:
    number, uid, seq, pattern, text, confidence, confirmed, failed, state, *rest = row
    return Solution(number, uid.hex(), seq, pattern, text, confidence, confirmed, failed, STATES[state - 1], *rest)


def solutions_of(
    transaction: Transaction, project_id: int, patterns: Sequence[int], least: int
) -> dict[int, list[Solution]]:
    return by_pattern(ask_solutions(transaction, project_id, patterns, least))


def ask_solutions(transaction: Transaction, project_id: int, patterns: Sequence[int], least: int) -> Rows:
    """Query the solutions of patterns with a confidence of at least ``least`` tenths."""
    # the plus keeps SQLite from using the project index instead of that of the patterns
    return transaction.ask(
        f"SELECT {SOLUTION_COLUMNS} FROM {SOLUTION_SOURCE} "
        f"WHERE s.pattern_id IN {set_of(patterns)} AND +s.project_id = :project "
        "AND s.confidence >= :least",
        {"project": project_id, "least": least},
    )


def by_pattern(solutions: Rows) -> dict[int, list[Solution]]:
    groups: dict[int, list[Solution]] = {}
    for solution in sorted(map(solution_of, solutions.all()), key=lambda one: one.rank):
        groups.setdefault(solution.pattern_id, []).append(solution)
    return groups
