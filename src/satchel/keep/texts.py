"""Preparation of content for storage: cleaned, redacted and measured, with notes for its author."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NoReturn

from satchel.base.errors import Conflict, InvalidInput, TooLarge
from satchel.base.records import dataclass
from satchel.base.text import clean_content
from satchel.redaction import finds_secret, redact

_OPENS_PRIVATE = "<private>"
_PRIVATE_LEFT_OUT = "what stood in <private> was left out"
_PRIVATE = r"(?i)<private>(?s:.*?)(?:</private>|\Z)"

_MAX_DEPTH = 32
_MAX_BITS = 4_096  # Python refuses to write numbers of more than 4,300 digits


@dataclass(frozen=True, slots=True)
class Storable:
    text: str
    notes: tuple[str, ...]


def storable(text: str) -> Storable:
    cleaned = clean_content(text)
    public = without_private(cleaned.text)
    redacted = redact(public)
    notes = list(cleaned.notes)
    notes += [] if public == cleaned.text else [_PRIVATE_LEFT_OUT]
    notes += dict.fromkeys(f"a secret was redacted ({kind})" for kind in redacted.kinds)
    return Storable(redacted.text, tuple(notes))


def without_private(text: str) -> str:
    """Return a text without anything between ``<private>`` and ``</private>``, or from there to the end."""
    return re.sub(_PRIVATE, "", text) if _OPENS_PRIVATE in text.lower() else text


def named_secret(name: str, text: str) -> str | None:
    """Return the kind of secret that a text is, given its name, as in ``password: ...``; or None."""
    return finds_secret(f"{name}={text!r}")


def check_content(text: object, field: str, limit: int) -> Storable:
    """Return content as it can be stored; refuse what is empty or has more than ``limit`` bytes of UTF-8."""
    if not isinstance(text, str):
        raise InvalidInput(f"{field} must be text, not {type(text).__name__}", f'Give {field} as "..."')
    check_size(text, limit, field)
    result = storable(text)
    if not result.text.strip():
        without = " without what stood in <private>" if _PRIVATE_LEFT_OUT in result.notes else ""
        raise InvalidInput(f"{field} is empty{without}", f"Say something in {field}")
    check_size(result.text, limit, field)
    return result


def check_short(text: object, field: str, most: int, limit: int, *, one_line: bool = False) -> Storable:
    """Return a short text as it can be stored; one over ``most`` characters is shortened, with a note."""
    notes: list[str] = []
    if isinstance(text, str):
        text = text.strip()
        if one_line and len(text.splitlines()) > 1:
            text = " ".join(text.split())
            notes.append(f"the {field} was put on one line")
    # redacted before it is cut: half a secret is not recognized
    content = check_content(text, field, limit)
    if len(content.text) <= most:
        return Storable(content.text, (*content.notes, *notes))
    notes.append(f"the {field} was shortened from {len(content.text)} to {most} characters")
    return Storable(f"{content.text[: most - 1]}…", (*content.notes, *notes))


@contextmanager
def placed(field: str, place: int, count: int) -> Iterator[None]:
    """Name the place of an item in errors over it, unless it is the only one."""
    try:
        yield
    except (InvalidInput, TooLarge, Conflict) as error:
        if count == 1:
            raise
        raise type(error)(f"{field}[{place}]: {error.problem}", error.remedy) from None


def check_size(text: str, limit: int, field: str = "the content") -> None:
    # a character has at least one byte, so most texts need not be encoded to be measured
    if len(text) * 4 > limit:
        size = len(text) if len(text) > limit else len(text.encode("utf-8", "surrogatepass"))
        if size > limit:
            raise TooLarge(
                f"{field} has {size / 1024:,.0f} KiB or more, the limit is {limit / 1024:,.0f}",
                "Write what matters of it, or raise context.max_content_kib",
            )


def parse_json(text: str) -> object:
    import json  # imported here: plain notes do not need it

    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def check_json(value: object, field: str, depth: int = _MAX_DEPTH) -> None:
    if depth == 0:
        raise InvalidInput(f"{field} is nested too deeply", f"At most {_MAX_DEPTH} levels")
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"{field} is not a number", "NaN and infinities cannot be kept")
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise InvalidInput(f"{field} is too large a number", f"At most {_MAX_BITS} bits")
    if isinstance(value, Mapping):
        for inner in value.values():
            check_json(inner, field, depth - 1)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            check_json(inner, field, depth - 1)
    elif not isinstance(value, (str, int, float, bool, type(None))):
        raise InvalidInput(f"{field} is a {type(value).__name__}", "Give what JSON can hold")


def map_texts(value: object, change: Callable[[str], str]) -> object:
    """Return a JSON value with ``change`` applied to every string in it, names included."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        changed: dict[str, object] = {}
        for key, item in value.items():
            name = change(str(key))
            if name in changed:
                raise InvalidInput(f"two names of an object are both {name!r} when stored", "Give each its own")
            changed[name] = map_texts(item, change)
        return changed
    if isinstance(value, (list, tuple)):
        return [map_texts(item, change) for item in value]
    return value


def to_json(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def json_texts(value: object) -> Iterator[str]:
    """Yield the texts in a JSON value, without the names of objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from json_texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from json_texts(item)


def storable_json(value: object) -> tuple[object, tuple[str, ...]]:
    """Clean and redact a JSON value string by string, each with its name, as in ``{"password": ...}``."""
    notes: list[str] = []

    def clean(text: str) -> str:
        result = storable(text)
        notes.extend(result.notes)
        return result.text

    cleaned = _without_named_secrets(map_texts(value, clean), notes)
    return cleaned, tuple(dict.fromkeys(notes))


def _without_named_secrets(value: object, notes: list[str]) -> object:
    if isinstance(value, list):
        return [_without_named_secrets(item, notes) for item in value]
    if not isinstance(value, dict):
        return value
    fields: dict[str, object] = {}
    for name, item in value.items():
        secret = named_secret(name, item) if isinstance(item, str) else None
        if secret is not None:
            notes.append(f"a secret was redacted ({secret})")
        fields[name] = _without_named_secrets(item, notes) if secret is None else f"[redacted:{secret}]"
    return fields


_MAX_METADATA_BYTES = 2_048
_METADATA_KEY = re.compile(r"[\w.:/-]{1,64}")
_METADATA_EXAMPLE = 'Give a flat object, such as {"ticket": "OPS-7", "risk": 3}'


def check_metadata(value: object, field: str = "metadata") -> tuple[str, tuple[str, ...]]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{field} is no object", _METADATA_EXAMPLE)
    for key, one in value.items():
        if not (isinstance(key, str) and _METADATA_KEY.fullmatch(key)):
            raise InvalidInput(f"{field} has the key {str(key)[:80]!r}", "Keys are letters, digits and . : / _ -")
        if not isinstance(one, str | int | float) or one in (float("inf"), float("-inf")) or one != one:  # noqa: PLR0124
            raise InvalidInput(f"{field}.{key} is neither text, a finite number nor true or false", _METADATA_EXAMPLE)
    cleaned, notes = storable_json(dict(sorted(value.items())))
    text = to_json(cleaned)
    if len(text.encode()) > _MAX_METADATA_BYTES:
        raise TooLarge(f"{field} has more than {_MAX_METADATA_BYTES:,} bytes of JSON", "Keep only what is filtered by")
    return text, notes


def metadata_parts(wanted: str) -> tuple[str, ...]:
    """Return the parts of a column that hold a key, or ``key=value``; one of them is enough."""
    key, is_pair, value = wanted.partition("=")
    if not _METADATA_KEY.fullmatch(key):
        raise InvalidInput(f"metadata {wanted[:80]!r} is no key", "Give key, or key=value")
    if not is_pair:
        return (f'"{key}":',)
    import json

    forms = {to_json(value)}
    try:
        plain = json.loads(value)
        forms |= {to_json(plain)} if isinstance(plain, int | float) else set()
    except ValueError:
        pass
    return tuple(f'"{key}":{form}{end}' for form in sorted(forms) for end in ",}")
