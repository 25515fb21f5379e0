"""Invisible characters: removed from content, because a model reads what a person cannot see.

They are Unicode's default ignorable code points (``Default_Ignorable_Code_Point`` in DerivedCoreProperties.txt) and the
interlinear annotation marks. A few of them shape real text and are kept there, at most one after a visible character:
joiners in scripts that need them and between emoji, variation selectors after characters with variants, and the tags of
flags. A longer run, or one elsewhere, is hidden text.
"""

from __future__ import annotations

import re
from functools import cache

INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""The body of a character class: every invisible character except controls."""


_JOINERS = "\u200c\u200d\ufe0e\ufe0f"
"""The invisible characters that scripts and emoji need."""


@cache
def _any_unseen() -> re.Pattern[str]:
    """Return the pattern of controls except tab and newline, surrogates, and invisible characters."""
    return re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]|(?![{_JOINERS}])[{INVISIBLE}]")


def revealed(text: str) -> str:
    r"""Return a text with the code of each invisible or direction-changing character, such as ``\u{202e}``."""
    # most texts are plain, and this check is ten times as fast as the search
    if text.isascii() and text.isprintable():
        return text
    return _any_unseen().sub(lambda match: f"\\u{{{ord(match[0]):x}}}", text)


@cache
def any_invisible() -> re.Pattern[str]:
    """Return the pattern of an invisible character, compiled on first use."""
    return re.compile(f"[{INVISIBLE}]")


def first_invisible(text: str) -> str | None:
    """Return the first invisible character of a text, or None."""
    match = any_invisible().search(text)
    return match[0] if match else None


def visible(text: str) -> str:
    """Return a text without invisible characters, for an error that repeats it."""
    return any_invisible().sub("", text)
