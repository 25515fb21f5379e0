"""Reports of errors on their way into the store: checked, redacted, masked and hashed before anything is written."""

from __future__ import annotations

import json

from satchel.base.errors import InvalidInput
from satchel.base.paging import check_whole
from satchel.base.records import dataclass
from satchel.base.text import fold
from satchel.keep.names import check_identifier
from satchel.keep.patterns.signing import signed
from satchel.keep.texts import Storable, check_content, check_size, parse_json, storable
from satchel.redaction import redact

EXAMPLE_BYTES = 4_096
"""The most bytes of UTF-8 that are kept of a message and its stack as they came."""

MAX_TTL_DAYS = 3_650
MAX_HINTS = 50


@dataclass(frozen=True, slots=True)
class Prepared:
    """A report that passed every check and holds no secret of a known pattern.

    Attributes:
        hash_elsewhere: the hash that the same error has where it was imported without its names, or None.
        clues: the stack and the hints, which rank solutions and are not kept.
        ttl_days: None leaves what is kept.
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
    """Check a report, and redact, then mask, then hash it, before anything is written.

    Args:
        limit: the most bytes of UTF-8 of each text.

    Raises:
        InvalidInput: a text is empty, a name is none, the hints are no list, or the days are out of range.
        TooLarge: a text exceeds the limit.
    """
    kind = check_identifier(error_type, "error_type")
    said = check_content(message, "message", limit)
    trace = None if stack is None else check_content(stack, "stack", limit)
    hinted = _check_hints(hints, limit)
    if ttl_days is not None:
        check_whole("ttl_days", ttl_days, MAX_TTL_DAYS, smallest=1)
    fix = None if solution is None else check_content(solution, "solution", limit)
    # of the message as it came, so that its hash is the one that anybody computes; masking redacts first
    made = signed(kind, str(message), None if stack is None else str(stack))
    given = [text for text in (said, trace, *hinted, fix) if text is not None]
    return Prepared(
        hash=made.hash,
        hash_elsewhere=made.hash_elsewhere,
        error_type=kind,
        message=storable(made.message).text,
        example=_example(said.text, trace.text if trace else None),
        lang=None if lang is None else check_lang(lang),
        ttl_days=ttl_days if isinstance(ttl_days, int) else None,
        clues=tuple(text.text for text in (trace, *hinted) if text is not None),
        solution=fix,
        notes=tuple(dict.fromkeys(note for text in given for note in text.notes)),
    )


def check_lang(lang: object) -> str:
    """Return the name of a language as it is kept, in lower case.

    Raises:
        InvalidInput: it is no name.
    """
    return fold(check_identifier(lang, "lang"))


def _check_hints(hints: object, limit: int) -> list[Storable]:
    """Return hints that can be ranked by: a list of texts, or the JSON text of one.

    What was given is not repeated in an error: it was not redacted yet.
    """
    remedy = 'Give hints as ["import statement", "tsconfig"]'
    if isinstance(hints, str):
        check_size(hints, limit, "hints")
        try:
            hints = parse_json(hints)
        except json.JSONDecodeError as error:
            raise InvalidInput(f"hints is no JSON, at character {error.pos + 1}", remedy) from None
        except (ValueError, RecursionError):
            raise InvalidInput("hints is no JSON list of texts", remedy) from None
        if hints is None:
            raise InvalidInput("hints is no JSON list of texts, it is null", remedy)
    if hints is None:
        return []
    if not isinstance(hints, (list, tuple)):
        raise InvalidInput(f"hints is no list of texts, it is {type(hints).__name__}", remedy)
    if len(hints) > MAX_HINTS:
        raise InvalidInput(f"{len(hints)} hints were given", f"At most {MAX_HINTS} are allowed")
    for place, hint in enumerate(hints):
        if not isinstance(hint, str):
            raise InvalidInput(f"hints[{place}] must be text, not {type(hint).__name__}", remedy)
        check_size(hint, limit, f"hints[{place}]")
    return [storable(hint) for hint in hints]


def _example(message: str, stack: str | None) -> str:
    """Return the message and the first lines of the stack; together they may show a secret that neither did alone."""
    joined = message if stack is None else f"{message}\n{stack}"
    return _cut(redact(_cut(joined)).text)


def _cut(text: str) -> str:
    raw = text.encode()
    if len(raw) <= EXAMPLE_BYTES:
        return text
    return raw[: EXAMPLE_BYTES - len("…".encode())].decode(errors="ignore") + "…"
