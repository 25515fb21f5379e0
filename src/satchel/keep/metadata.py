"""Metadata of decisions and rules: a small object of plain values, filtered by a key, or by a key and its value."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from satchel.base.errors import InvalidInput, TooLarge
from satchel.keep.texts import storable_json, to_json

_MAX_BYTES = 2_048
_KEY = re.compile(r"[\w.:/-]{1,64}")
_EXAMPLE = 'Give a flat object, such as {"ticket": "OPS-7", "risk": 3}'


def check_metadata(value: object, field: str = "metadata") -> tuple[str, tuple[str, ...]]:
    """Return metadata as its column, keys in order, and notes on changes; refuse what is no flat JSON object."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{field} is no object", _EXAMPLE)
    for key, one in value.items():
        if not (isinstance(key, str) and _KEY.fullmatch(key)):
            raise InvalidInput(f"{field} has the key {str(key)[:80]!r}", "Keys are letters, digits and . : / _ -")
        if not isinstance(one, str | int | float) or one in (float("inf"), float("-inf")) or one != one:  # noqa: PLR0124
            raise InvalidInput(f"{field}.{key} is neither text, a finite number nor true or false", _EXAMPLE)
    cleaned, notes = storable_json(dict(sorted(value.items())))
    text = to_json(cleaned)
    if len(text.encode()) > _MAX_BYTES:
        raise TooLarge(f"{field} has more than {_MAX_BYTES:,} bytes of JSON", "Keep only what is filtered by")
    return text, notes


def parts_with(wanted: str) -> tuple[str, ...]:
    """Return the parts of a column that hold a key, or ``key=value``; one of them is enough.

    Quotes in texts are escaped, so that only a key is between a quote and a quote with a colon.
    """
    key, is_pair, value = wanted.partition("=")
    if not _KEY.fullmatch(key):
        raise InvalidInput(f"metadata {wanted[:80]!r} is no key", "Give key, or key=value")
    if not is_pair:
        return (f'"{key}":',)
    forms = {to_json(value)}
    try:
        plain = json.loads(value)
        forms |= {to_json(plain)} if isinstance(plain, int | float) else set()
    except ValueError:
        pass
    return tuple(f'"{key}":{form}{end}' for form in sorted(forms) for end in ",}")
