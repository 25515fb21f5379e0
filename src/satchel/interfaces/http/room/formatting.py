"""Texts and times as pages show them: stored text never becomes markup, and hides nothing."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup, escape

from satchel.base.clock import iso, span_in_words
from satchel.base.invisible import revealed
from satchel.find.snippets import Snippet

SHORT, WHOLE, ROOM = 1_200, 40_000, 80_000
"""How many characters of a text a section shows, how many the page of an item at once, and what these may become."""

MOST_OF_SECTIONS = {
    "MOST_CHANGES": 50,
    "MOST_SESSIONS": 30,
    "WHOLE_SESSIONS": 12,
    "MOST_CLAIMS": 2,
    "MOST_COLLISIONS": 15,
    "LINE": 120,
}
"""What the page of a project shows, so that a full one has less than 150 KB with all that it loads: changes, sessions,
those of them with what they do, claims of each, collisions, and characters of a line. The rest is counted, and stands
in the twin."""

_REF = re.compile(r"[a-z][0-9]{1,18}")


def shown(value: Any) -> Any:
    """Return what a template prints: of a text each character that would not be seen as its code, as in ``\\u{202e}``.

    Markup is left alone; None is an empty text.
    """
    if value is None:
        return ""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return revealed(value)
    return value


def moment(milliseconds: int | None) -> Markup:
    """Return a time, which the script turns into the reader's own."""
    if milliseconds is None:
        return Markup("")
    at = datetime.fromtimestamp(milliseconds / 1_000, UTC)
    return Markup('<time datetime="{}">{} UTC</time>').format(iso(milliseconds), at.strftime("%Y-%m-%d %H:%M"))


def clock(milliseconds: int) -> str:
    """Return the hour and minute of a time, UTC."""
    return datetime.fromtimestamp(milliseconds / 1_000, UTC).strftime("%H:%M")


def date(milliseconds: int) -> str:
    """Return the month and day of a time, UTC."""
    return datetime.fromtimestamp(milliseconds / 1_000, UTC).strftime("%m-%d")


def is_ref(text: str) -> bool:
    """Whether a text is the short id of an item, which has a page."""
    return _REF.fullmatch(text) is not None


def ago(milliseconds: int | None, now: int) -> Markup:
    """Return how long ago something was, which the script keeps right."""
    if milliseconds is None:
        return Markup("")
    words = f"{span_in_words(max(0, now - milliseconds))} ago"
    return Markup('<time datetime="{}" data-ago>{}</time>').format(iso(milliseconds), words)


def left(milliseconds: int, now: int) -> Markup:
    """Return how long something still holds, which the script keeps right."""
    words = f"{span_in_words(max(0, milliseconds - now))} left"
    return Markup('<time datetime="{}" data-left>{}</time>').format(iso(milliseconds), words)


def cut(text: str, most: int = SHORT) -> str:
    """Return the beginning of a text, with an ellipsis where that is not all."""
    return text if len(text) <= most else f"{text[:most].rstrip()} …"


def fitting(text: str, most: int) -> str:
    """Return as much of the beginning of a text as takes so many characters of a page, where some become several."""
    head = text[:most]
    taken = len(escape(shown(head)))
    if taken > most:
        head = head[: most * most // taken]
        while len(escape(shown(head))) > most:
            head = head[: len(head) * 3 // 4]
    return head


def brief(text: str, most: int) -> str:
    """Return the beginning of a text that takes so many characters of a page, with an ellipsis where it is not all."""
    head = fitting(text, most)
    return head if len(head) == len(text) else f"{head.rstrip()} …"


def marked(snippet: Snippet) -> Markup:
    """Return a snippet with what matched marked."""
    parts: list[Markup] = []
    end = 0
    for first, last in sorted(snippet.marks):
        if first < end:
            continue
        parts += [
            escape(shown(snippet.text[end:first])),
            Markup("<mark>{}</mark>").format(shown(snippet.text[first:last])),
        ]
        end = last
    return Markup("").join([*parts, escape(shown(snippet.text[end:]))])
