"""Text from outside: cleaned if it is content, refused if it is an invalid name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache

from satchel.base.errors import InvalidInput, TooLarge
from satchel.base.invisible import INVISIBLE, first_invisible, visible, without_hidden
from satchel.base.records import dataclass

MAX_NAME_CHARS = 200
# The limit of a search text in UTF-8; contents have another.
MAX_QUERY_BYTES = 64 * 1024

# patterns are compiled on first use, because a command needs few of them
_CONTROL = "[\x00-\x08\x0b-\x1f\x7f-\x9f]"
_CLEANED = f"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff{INVISIBLE}]"
# A colour or another ECMA-48 sequence; without its escape character the rest of it would read as text.
_TERMINAL_CODE = r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,1000}(?:\x07|\x1b\\)|\x1b[()][0-9A-Z]"
_SURROGATE = "[\ud800-\udfff]"
_NAME_FORBIDDEN = "[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]"
# The tags that clients put around what they add to a prompt, as the alternatives of a pattern.
HOST_CONTEXT = "system-reminder|ide_[a-z_]+|environment_context|hook_context"

# All tags by which clients mark what they say to the model themselves.
HOST_TAGS = (
    f"{HOST_CONTEXT}|task-notification|untrusted_context|project_context|mcp_instructions|user_instructions|"
    "local-command-[a-z]+|bash-[a-z]+|command-(?:name|message|args)"
)

_HOST_TAG = rf"(?i)<(?=\s*/?\s*(?:{HOST_TAGS})\b)"
_PLACEHOLDER = r"(?i)\{\{.*?\}\}|\$\{.*?\}|<your[-_ ][^>]*>"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@dataclass(frozen=True, slots=True)
class CleanText:
    """Content that is safe to store, with notes about the changes."""

    text: str
    notes: tuple[str, ...]


def clean_content(text: str) -> CleanText:
    """Make content storable: remove terminal codes, controls and invisible characters; lone surrogates become U+FFFD.

    Tabs, newlines and the characters that :func:`satchel.base.invisible.without_hidden` keeps stay; CRLF and CR become
    newlines without a note. There is one note for each kind of change.
    """
    # Python counts variation selectors as printable, so this check works for ASCII only
    is_ascii = text.isascii()
    if is_ascii and text.isprintable():
        return CleanText(text, ())
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not is_ascii and _compiled(_CLEANED).search(text) is None:
        return CleanText(text, ())
    notes: list[str] = []
    text, coded = _compiled(_TERMINAL_CODE).subn("", text)
    if coded:
        notes.append(f"{coded} terminal code{'s' * (coded > 1)} removed")
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
        text, hidden = without_hidden(text)
    if hidden is not None:
        notes.append(hidden)
    return CleanText(text, tuple(notes))


def check_name(value: object, field: str) -> str:
    """Return an id or name, trimmed and in Unicode's form NFC, or raise InvalidInput.

    Equal-looking names are equal: invisible characters are not allowed, and an accent has one spelling. A name has at
    most 200 characters, without control characters and unresolved ``{{placeholders}}``. ``field`` names the argument in
    the error.
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


def check_query(text: str) -> None:
    """Raise TooLarge for a search text longer than :data:`MAX_QUERY_BYTES`."""
    # a character is at least one byte, so most texts need no encoding to be measured
    if len(text) * 4 > MAX_QUERY_BYTES:
        size = len(text) if len(text) > MAX_QUERY_BYTES else len(text.encode("utf-8", "surrogatepass"))
        if size > MAX_QUERY_BYTES:
            raise TooLarge(
                f"the text to search for has {size:,} bytes or more, the limit is {MAX_QUERY_BYTES:,}",
                "Search for its most telling words",
            )


def check_encodable(path: str | os.PathLike[str], field: str) -> None:
    """Raise InvalidInput for a path whose bytes are not UTF-8, which SQLite cannot open."""
    text = os.fspath(path)
    if not text.isascii() and _compiled(_SURROGATE).search(text):
        raise InvalidInput(f"{field} {text!r} is not UTF-8", "Rename the folder or file, or name another")


def nameable(text: str) -> str:
    """Return a text that nobody typed, such as a folder's name, as a valid name: visible and in form NFC."""
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
    """Return the beginning of a text on one line, for quoting in a notice."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def neutral(text: str) -> str:
    """Return a text in which no tag of a client is one any more: its ``<`` is a ``‹``; all else stays as it is."""
    return _compiled(_HOST_TAG).sub("‹", text) if "<" in text else text


def without_repeats(texts: Iterable[str | None], seen_texts: set[str] | None = None) -> list[str | None]:
    """Return texts with None in place of repeated ones; ``seen_texts`` has earlier ones and is extended."""
    seen_texts = set() if seen_texts is None else seen_texts
    result: list[str | None] = []
    for text in texts:
        result.append(None if text in seen_texts else text)
        seen_texts |= set() if text is None else {text}
    return result


def quoted_line(text: str, most: int = 600) -> str:
    """Return a text, or the beginning of a long one, on one line in quotation marks."""
    escaped = shortened(text, most).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def fold(name: str) -> str:
    """Return the form in which names are compared, independent of case and of the width or style of letters.

    It is Unicode's NFKC with case folding, and idempotent.
    """
    name = name.strip()
    if name.isascii():
        return name.lower()
    import unicodedata

    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).strip()
