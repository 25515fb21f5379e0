"""Validation of error reports: everything is checked, redacted, masked and hashed before a write."""

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
"""Maximum size of the stored example: the message and stack as reported, in bytes of UTF-8."""

MAX_TTL_DAYS = 3_650
MAX_HINTS = 50


@dataclass(frozen=True, slots=True)
class Prepared:
    """A checked report without known secrets.

    Attributes:
        hash_elsewhere: the hash of the same error imported without its names, or None.
        clues: the stack and hints, which rank solutions and are not stored.
        ttl_days: None keeps the stored value.
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
    """Return a language's name in lower case."""
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
