"""Recording of errors: known ones are counted, new ones stored."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from satchel.base.clock import DAY_MS
from satchel.base.errors import InvalidInput
from satchel.base.paging import check_whole
from satchel.base.records import dataclass
from satchel.base.text import fold
from satchel.find import documents
from satchel.find.kind import Kind
from satchel.keep.names import check_identifier
from satchel.keep.patterns import updates
from satchel.keep.patterns.records import ACTIVE, CONFIRMED, DEFAULT_TTL_DAYS, DEMOTED, FIRST, LEAST, MOST, TENTATIVE
from satchel.keep.patterns.signing import VERSION, signed
from satchel.keep.texts import Storable, check_content, check_size, parse_json, storable
from satchel.redaction import redact
from satchel.store.transaction import Row, Transaction, update_row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from satchel.keep.patterns.similar import Neighbour


EXAMPLE_BYTES = 4_096  # maximum size of the stored example: the message and stack as reported, in bytes of UTF-8

MAX_TTL_DAYS = 3_650
MAX_HINTS = 50


@dataclass(frozen=True, slots=True)
class Prepared:
    """A checked report without known secrets.

    Attributes:
        hash_elsewhere: the hash of the same error imported without its names, or None.
        clues: the stack and hints, which rank solutions and are not stored.
    """

    hash: str
    hash_elsewhere: str | None
    error_type: str
    message: str
    example: str
    lang: str | None
    ttl_days: int | None
    clues: tuple[str, ...]
    solution: Storable | None
    notes: tuple[str, ...]


def prepare(
    error_type: object,
    message: object,
    stack: object,
    hints: object,
    lang: object,
    solution: object,
    ttl_days: object,
    limit: int,
) -> Prepared:
    """Check, redact, mask and hash a report. ``limit`` is the maximum size of each text in bytes of UTF-8."""
    kind = check_identifier(error_type, "error_type")
    content = check_content(message, "message", limit)
    trace = None if stack is None else check_content(stack, "stack", limit)
    hinted = _check_hints(hints, limit)
    if ttl_days is not None:
        check_whole("ttl_days", ttl_days, MAX_TTL_DAYS, smallest=1)
    fix = None if solution is None else check_content(solution, "solution", limit)
    # hash the original message, so that everybody computes the same hash; masking redacts first
    made = signed(kind, str(message), None if stack is None else str(stack))
    texts = [text for text in (content, trace, *hinted, fix) if text is not None]
    return Prepared(
        hash=made.hash,
        hash_elsewhere=made.hash_elsewhere,
        error_type=kind,
        message=storable(made.message).text,
        example=_example(content.text, trace.text if trace else None),
        lang=None if lang is None else check_lang(lang),
        ttl_days=ttl_days if isinstance(ttl_days, int) else None,
        clues=tuple(text.text for text in (trace, *hinted) if text is not None),
        solution=fix,
        notes=tuple(dict.fromkeys(note for text in texts for note in text.notes)),
    )


def check_lang(lang: object) -> str:
    return fold(check_identifier(lang, "lang"))


def _check_hints(hints: object, limit: int) -> list[Storable]:
    # error messages do not repeat the hints: they are not redacted yet
    remedy = 'Give hints as ["import statement", "tsconfig"]'
    if isinstance(hints, str):
        check_size(hints, limit, "hints")
        try:
            hints = parse_json(hints)
        except json.JSONDecodeError as error:
            raise InvalidInput(f"hints is not JSON, at character {error.pos + 1}", remedy) from None
        except (ValueError, RecursionError):
            raise InvalidInput("hints is not a JSON list of texts", remedy) from None
        if hints is None:
            raise InvalidInput("hints must be a JSON list of texts, not null", remedy)
    if hints is None:
        return []
    if not isinstance(hints, (list, tuple)):
        raise InvalidInput(f"hints must be a list of texts, not {type(hints).__name__}", remedy)
    if len(hints) > MAX_HINTS:
        raise InvalidInput(f"{len(hints)} hints were given", f"At most {MAX_HINTS} are allowed")
    for place, hint in enumerate(hints):
        if not isinstance(hint, str):
            raise InvalidInput(f"hints[{place}] must be text, not {type(hint).__name__}", remedy)
        check_size(hint, limit, f"hints[{place}]")
    return [storable(hint) for hint in hints]


def _example(message: str, stack: str | None) -> str:
    # redact again: joined texts may reveal a secret that neither did alone
    begin = _without_middle(message)
    joined = begin if stack is None else f"{begin}\n{stack}"
    return _cut(redact(_cut(joined)).text)


def _cut(text: str) -> str:
    raw = text.encode()
    if len(raw) <= EXAMPLE_BYTES:
        return text
    return raw[: EXAMPLE_BYTES - len("…".encode())].decode(errors="ignore") + "…"


def _without_middle(message: str) -> str:
    # a report names its error at the beginning, an output at the end
    raw = message.encode()
    half = (EXAMPLE_BYTES - len("…".encode())) // 2
    if len(raw) <= EXAMPLE_BYTES:
        return message
    return f"{raw[:half].decode(errors='ignore')}…{raw[-half:].decode(errors='ignore')}"


AT_ONCE = 20  # maximum number of patterns that one report re-signs, to bound its time


def sign_again(transaction: Transaction, project_id: int, error_type: str, now: int) -> bool:
    """Re-sign up to :data:`AT_ONCE` patterns of older rules, those of the type first; return whether there were any."""
    plain = error_type.rpartition(".")[2] or error_type
    length = len(plain)
    rows = transaction.all(
        f"""
        SELECT id, error_type, example, expires_at FROM error_patterns
        WHERE project_id = :project AND signed_by < {VERSION}
        ORDER BY CASE WHEN error_type = :type THEN 0
            WHEN length(error_type) >= {length}
                AND substr(error_type, length(error_type) - {length} + 1) = :plain THEN 1
            WHEN length(error_type) <= length(:type)
                AND substr(:type, length(:type) - length(error_type) + 1) = error_type THEN 1
            ELSE 2 END, id
        LIMIT {AT_ONCE}
        """,
        {"project": project_id, "type": error_type, "plain": plain},
    )
    changed: dict[int, None] = {}
    for number, kind, example, expires in rows:
        if expires <= now:
            updates.delete(transaction, project_id, [number])
            continue
        made = signed(kind, example)
        other = transaction.one(
            """
            SELECT id, expires_at FROM error_patterns
            WHERE project_id = :project AND pattern_hash = :hash AND id <> :id
            """,
            {"project": project_id, "hash": made.hash, "id": number},
        )
        if other is not None and other[1] <= now:
            updates.delete(transaction, project_id, [other[0]])
            other = None
        target = number
        if other is not None:
            target, duplicate = sorted((number, int(other[0])))
            merge(transaction, project_id, target, duplicate, now)
            changed.pop(duplicate, None)
            changed[target] = None
        columns = {"pattern_hash": made.hash, "message": made.message, "signed_by": VERSION}
        update_row(transaction, "error_patterns", target, **columns)
    for number in changed:
        updates.index(transaction, number, is_new=False)
    return bool(rows)


def merge(transaction: Transaction, project_id: int, target: int, duplicate: int, now: int) -> None:
    """Merge one pattern into another: add the counts, move the solutions; equal ones become the older one."""
    values: dict[str, object] = {"kept": target, "gone": duplicate, "project": project_id}
    transaction.run(
        """
        UPDATE error_patterns SET
            occurrences = occurrences + g.times, seq = :seq,
            lang = CASE WHEN g.spoken IS NULL OR g.spoken <> lang THEN NULL ELSE lang END,
            ttl_days = CASE WHEN g.days > ttl_days THEN g.days ELSE ttl_days END,
            last_seen = CASE WHEN g.seen > last_seen THEN g.seen ELSE last_seen END,
            expires_at = CASE WHEN g.ends > expires_at THEN g.ends ELSE expires_at END,
            created_at = CASE WHEN g.made < created_at THEN g.made ELSE created_at END
        FROM (
            SELECT occurrences AS times, lang AS spoken, ttl_days AS days, last_seen AS seen, expires_at AS ends,
                created_at AS made
            FROM error_patterns WHERE id = :gone AND project_id = :project
        ) AS g
        WHERE id = :kept AND project_id = :project
        """,
        {**values, "seq": transaction.next_seq(project_id)},
    )
    texts = "SELECT id, solution FROM error_solutions WHERE project_id = :project AND pattern_id = :pattern ORDER BY id"
    there: dict[str, int] = {
        fold(text): number for number, text in transaction.all(texts, {"project": project_id, "pattern": target})
    }
    for number, text in transaction.all(texts, {"project": project_id, "pattern": duplicate}):
        same = there.setdefault(fold(text), number)
        if same != number:
            _merge_solutions(transaction, project_id, same, number, now)
    transaction.run(
        "UPDATE error_solutions SET pattern_id = :kept WHERE pattern_id = :gone AND project_id = :project", values
    )
    transaction.run(
        "UPDATE error_reports SET pattern_id = :kept WHERE pattern_id = :gone AND project_id = :project", values
    )
    updates.delete(transaction, project_id, [duplicate])


def _merge_solutions(transaction: Transaction, project_id: int, target: int, duplicate: int, now: int) -> None:
    values: dict[str, object] = {"kept": target, "gone": duplicate, "project": project_id}
    # an agent's verdict on both counts once
    transaction.run(
        """
        INSERT INTO solution_confirmations (solution_id, agent_id, session_id, helped)
        SELECT :kept, agent_id, session_id, helped FROM solution_confirmations WHERE solution_id = :gone
        ON CONFLICT DO NOTHING
        """,
        values,
    )
    rows = {
        number: (tenths, confirmed, failed)
        for number, tenths, confirmed, failed in transaction.all(
            """
            SELECT id, confidence, confirmed, failed FROM error_solutions
            WHERE id IN (:kept, :gone) AND project_id = :project
            """,
            values,
        )
    }
    (tenths, confirmed, failed), (more, too, against) = rows[target], rows[duplicate]
    confidence = max(LEAST, min(MOST, tenths + more - FIRST))
    state = DEMOTED if confidence < TENTATIVE else CONFIRMED if confirmed + too else ACTIVE
    update_row(
        transaction,
        "error_solutions",
        target,
        confidence=confidence,
        confirmed=confirmed + too,
        failed=failed + against,
        state=state,
        seq=transaction.next_seq(project_id),
        updated_at=now,
    )
    transaction.run(
        "UPDATE error_reports SET solution_id = :kept WHERE solution_id = :gone AND project_id = :project", values
    )
    transaction.run("DELETE FROM error_solutions WHERE id = :gone AND project_id = :project", values)


_MEET = f"""
    UPDATE error_patterns
    SET occurrences = occurrences + :times, seq = :seq, lang = CASE WHEN :lang <> lang THEN NULL ELSE lang END,
        ttl_days = COALESCE(CAST(:ttl AS BIGINT), ttl_days),
        last_seen = CASE WHEN last_seen > :now THEN last_seen ELSE :now END,
        expires_at = CASE WHEN last_seen > :now THEN last_seen ELSE :now END
            + COALESCE(CAST(:ttl AS BIGINT), ttl_days) * {DAY_MS}
    WHERE project_id = :project AND pattern_hash = :hash
    RETURNING id, expires_at
"""
_WAITS = """
    SELECT 1 FROM error_reports r JOIN error_patterns p ON p.id = r.pattern_id
    WHERE p.project_id = :project AND p.pattern_hash = :hash AND r.solution_id IS NULL
        AND (r.agent_id = :agent OR (:agent IS NULL AND r.agent_id IS NULL AND r.session_id = :session))
"""


@dataclass(frozen=True, slots=True)
class Recorded:
    """Result of recording an error.

    Attributes:
        by_names: whether it matched only without its quoted names, as an import stored it.
        words: those by which it was recognised, if its signature is another.
        near: known errors that share words with a new one.
    """

    number: int
    is_new: bool
    by_names: bool = False
    words: tuple[str, ...] = ()
    near: Sequence[Neighbour] = ()


def record(by: updates.Reporter, new: Prepared) -> Recorded:
    """Count a known error and extend its life, or store a new one; a report that brings the solution does not count."""
    transaction, project_id, agent, session, now = by
    seq = transaction.next_seq(project_id)
    values: dict[str, object] = {
        "seq": seq,
        "project": project_id,
        "lang": new.lang,
        "ttl": new.ttl_days,
        "now": now,
        "agent": agent,
        "session": session,
    }

    def find(signature: str) -> Row | None:
        bindings = {**values, "hash": signature}
        is_back = new.solution is not None and (agent, session) != (None, None)
        is_counted = not (is_back and transaction.one(_WAITS, bindings))
        return transaction.one(_MEET, {**bindings, "times": int(is_counted)})

    row = find(new.hash)
    if sign_again(transaction, project_id, new.error_type, now) and row is None:
        row = find(new.hash)
    elif row is not None:
        # re-signing may have merged another pattern with it, into the older of the two
        row = transaction.one(
            "SELECT id, expires_at FROM error_patterns WHERE project_id = :project AND pattern_hash = :hash",
            {"project": project_id, "hash": new.hash},
        )
    by_names = False
    if row is None and new.hash_elsewhere is not None:
        row = find(new.hash_elsewhere)
        by_names = row is not None
    words: tuple[str, ...] = ()
    near: list[Neighbour] = []
    if row is None:
        # imported here: a known error needs no search
        from satchel.keep.patterns import similar
        from satchel.keep.patterns.similar import Wording

        near = similar.neighbours(transaction, project_id, new.error_type, new.message, now)
        same = similar.same_in_words(near, Wording(new.error_type, new.example, new.message))
        if same is not None:
            row, words = find(same[0].hash), same[1]
    if row is not None:
        documents.set_expiry(transaction, Kind.ERROR_PATTERN, [(row[0], row[1])])
        return Recorded(int(row[0]), False, by_names, words)
    days = DEFAULT_TTL_DAYS if new.ttl_days is None else new.ttl_days
    number = transaction.add(
        "error_patterns",
        {
            "uid": os.urandom(16),
            "seq": seq,
            "project_id": project_id,
            "pattern_hash": new.hash,
            "signed_by": VERSION,
            "error_type": new.error_type,
            "message": new.message,
            "example": new.example,
            "lang": new.lang,
            "occurrences": 1,
            "ttl_days": days,
            "last_seen": now,
            "expires_at": now + days * DAY_MS,
            "created_at": now,
        },
    )
    return Recorded(number, True, near=near)
