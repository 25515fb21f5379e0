"""Characters that show nothing: removed from content, since a model reads what a person cannot see.

They are Unicode's default ignorable code points (``Default_Ignorable_Code_Point`` in DerivedCoreProperties.txt) and the
interlinear annotation marks. A few of them shape real text, and stay where they do, at most one after a visible
character: joiners in scripts that need them and between emoji, variation selectors after what has variants, the tags of
flags. A longer run, or one elsewhere, spells a hidden text.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import islice

INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""The body of a character class: everything that shows nothing, controls apart."""

_NAMED = 3


@cache
def _any() -> re.Pattern[str]:
    return re.compile(f"[{INVISIBLE}]")


def first_invisible(text: str) -> str | None:
    """Return the first character of a text that shows nothing, or None."""
    found = _any().search(text)
    return found[0] if found else None


def visible(text: str) -> str:
    """Return a text without any character that shows nothing, for an error that repeats it."""
    return _any().sub("", text)


def without_hidden(text: str) -> tuple[str, str | None]:
    """Remove what shows nothing and shapes nothing.

    Whether a run stays depends on the visible characters beside it alone, so what stayed once stays again.

    Returns:
        The text, and a note on what was removed, or None.
    """
    if _any().search(text) is None:
        return text, None
    from satchel.base.shaping import keep_shaping

    kept = keep_shaping(text)
    number = len(text) - len(kept)
    if not number:
        return text, None
    return kept, f"{number} invisible character{'s' * (number > 1)} removed ({_kinds(text, kept)})"


def _kinds(text: str, kept: str) -> str:
    """Return the code points of what was removed, the first three kinds of them."""
    kinds = dict.fromkeys(_any().findall(text))
    removed = list(islice((one for one in kinds if text.count(one) > kept.count(one)), _NAMED + 1))
    named = ", ".join(f"U+{ord(character):04X}" for character in removed[:_NAMED])
    return f"{named}, ..." if len(removed) > _NAMED else named
