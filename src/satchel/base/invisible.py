"""Characters that show nothing: removed from content, since a model reads what a person cannot see.

They are Unicode's default ignorable code points (``Default_Ignorable_Code_Point`` in DerivedCoreProperties.txt) and the
interlinear annotation marks. A few of them shape real text, and stay where they do, at most one after a visible
character: joiners in scripts that need them and between emoji, variation selectors after what has variants, the tags of
flags. A longer run, or one elsewhere, spells a hidden text.
"""

from __future__ import annotations

import re
from functools import cache

INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""The body of a character class: everything that shows nothing, controls apart."""


@cache
def any_invisible() -> re.Pattern[str]:
    """Return the pattern that finds one; compiling it takes 0.5 ms."""
    return re.compile(f"[{INVISIBLE}]")


def first_invisible(text: str) -> str | None:
    """Return the first character of a text that shows nothing, or None."""
    found = any_invisible().search(text)
    return found[0] if found else None


def visible(text: str) -> str:
    """Return a text without any character that shows nothing, for an error that repeats it."""
    return any_invisible().sub("", text)
