"""Text at the edge: cleaned where it is content, refused where it is a name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache

from satchel.base.errors import InvalidInput, TooLarge
from satchel.base.invisible import INVISIBLE, first_invisible, visible
from satchel.base.records import dataclass

MAX_NAME_CHARS = 200
MAX_QUERY_BYTES = 64 * 1024
"""The longest text to search for, in UTF-8; contents have a limit of their own."""

# patterns are compiled when they are first needed: together they took 2 ms of every command, which has few of them
_CONTROL = "[\x00-\x08\x0b-\x1f\x7f-\x9f]"
_CLEANED = f"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff{INVISIBLE}]"
_SURROGATE = "[\ud800-\udfff]"
_NAME_FORBIDDEN = "[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]"
_PLACEHOLDER = r"(?i)\{\{.*?\}\}|\$\{.*?\}|<your[-_ ][^>]*>"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@dataclass(frozen=True, slots=True)
class CleanText:
    """Content that is safe to store, and what had to be done for that."""

    text: str
    notes: tuple[str, ...]


def clean_content(text: str) -> CleanText:
    """Make content storable: drop controls and what is invisible, replace lone surrogates by U+FFFD.

    Tabs and newlines stay, and what :func:`satchel.base.shaping.without_hidden` keeps; CRLF and CR become newlines
    without a note.

    Args:
        text: any string.

    Returns:
        The clean text, with one note for each kind of change.
    """
    # a variation selector is printable for Python, so only ASCII is known to be clean at once
    is_ascii = text.isascii()
    if is_ascii and text.isprintable():
        return CleanText(text, ())
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not is_ascii and _compiled(_CLEANED).search(text) is None:
        return CleanText(text, ())
    notes: list[str] = []
    text, removed = _compiled(_CONTROL).subn("", text)
    if removed:
        notes.append(f"{removed} control character{'s' * (removed > 1)} removed")
    if is_ascii:
        return CleanText(text, tuple(notes))
    text, replaced = _compiled(_SURROGATE).subn("\ufffd", text)
    if replaced:
        notes.append(f"{replaced} lone surrogate{'s' * (replaced > 1)} replaced by U+FFFD")
    hidden = None
    if first_invisible(text) is not None:
        # compiling its patterns takes 5 ms
        from satchel.base.shaping import without_hidden

        text, hidden = without_hidden(text)
    if hidden is not None:
        notes.append(hidden)
    return CleanText(text, tuple(notes))


def check_name(value: object, field: str) -> str:
    """Return an id or name, trimmed and in Unicode's form NFC, or refuse it.

    What looks the same is the same: nothing invisible is allowed, and an accent has one spelling.

    Args:
        value: the name; at most 200 characters, no control or invisible characters, no unresolved
            ``{{placeholder}}``.
        field: the argument's name, for the error.

    Raises:
        InvalidInput: it is not a string, empty, too long, or holds what a name must not.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{field} must be text, not {type(value).__name__}", f'Give {field} as "..."')
    name = value.strip()
    if not name:
        raise InvalidInput(f"{field} is empty", f"Give a name, or leave {field} out")
    if len(name) <= MAX_NAME_CHARS and not name.isascii():
        name = _composed(name, field)
    if len(name) > MAX_NAME_CHARS:
        raise InvalidInput(f"{field} has {len(name)} characters", f"At most {MAX_NAME_CHARS} are allowed")
    if not name.isprintable() and _compiled(_NAME_FORBIDDEN).search(name):
        raise InvalidInput(f"{field} {name!r} holds a control character or a lone surrogate", "Remove it and try again")
    if ("{" in name or "<" in name) and _compiled(_PLACEHOLDER).search(name):
        raise InvalidInput(f"{field} {name!r} is an unresolved placeholder", "Fill in the real value before calling")
    return name


def check_query(text: str, field: str = "query") -> None:
    """Refuse a text to search for that is longer than :data:`MAX_QUERY_BYTES`.

    Args:
        field: the argument's name, for the error.

    Raises:
        TooLarge: it is longer.
    """
    # a character is at least one byte, so most texts need no encoding to be measured
    if len(text) * 4 > MAX_QUERY_BYTES:
        size = len(text) if len(text) > MAX_QUERY_BYTES else len(text.encode("utf-8", "surrogatepass"))
        if size > MAX_QUERY_BYTES:
            raise TooLarge(
                f"{field} has {size:,} bytes or more, the limit is {MAX_QUERY_BYTES:,}",
                "Search for its most telling words",
            )


def check_encodable(path: str | os.PathLike[str], field: str) -> None:
    """Refuse a path whose bytes are no UTF-8, which SQLite cannot open.

    Args:
        field: what the path is, for the error.

    Raises:
        InvalidInput: it holds a lone surrogate, as Python's stand-in for such a byte.
    """
    text = os.fspath(path)
    if not text.isascii() and _compiled(_SURROGATE).search(text):
        raise InvalidInput(f"{field} {text!r} is not UTF-8", "Rename the folder or file, or name another")


def nameable(text: str) -> str:
    """Return a text that nobody typed, such as a folder's name, as a name holds it: visible, and in form NFC."""
    if text.isascii():
        return text
    import unicodedata

    return unicodedata.normalize("NFC", visible(text))


def _composed(name: str, field: str) -> str:
    import unicodedata

    hidden = first_invisible(name)
    if hidden is not None:
        what = unicodedata.name(hidden, "a character without a name")
        raise InvalidInput(
            f"{field} {visible(name)!r} holds U+{ord(hidden):04X} ({what}), which is invisible",
            "Remove it and try again",
        )
    return unicodedata.normalize("NFC", name)


def shortened(text: str, most: int = 200) -> str:
    """Return the beginning of a text, in one line, for a notice that quotes it."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def said_once(texts: Iterable[str | None], said: set[str] | None = None) -> list[str | None]:
    """Return texts, None in the place of each that stood before: of what was done together the reason is the same.

    Args:
        said: those that stood before; takes the others.
    """
    said = set() if said is None else said
    once: list[str | None] = []
    for text in texts:
        once.append(None if text in said else text)
        said |= set() if text is None else {text}
    return once


def quoted_line(text: str) -> str:
    """Return a text of one line in quotation marks, so that it can be told from what is said of it."""
    escaped = shortened(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def fold(name: str) -> str:
    """Return the form under which names are compared: without regard to case and to the width or style of letters.

    It is Unicode's NFKC with case folding; folding once more changes nothing.
    """
    name = name.strip()
    if name.isascii():
        return name.lower()
    import unicodedata

    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).strip()
