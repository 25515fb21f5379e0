"""Shortening of texts to whole sentences, else to whole words, with an ellipsis at each cut."""

from __future__ import annotations

import re
from collections.abc import Sequence

from satchel.find.words import unspaced_runs

MAX_SENTENCE_CHARS = 240
"""Longer sentences are cut between words."""

_ELLIPSIS = "…"
_MAX_PLACES = 200
"""How many places with words of the query are compared."""

_LEAST_TAIL_CHARS = 58
"""How much is kept of an end without a sentence."""

_LEAST_HEAD_CHARS = 20
"""The least length of a beginning that is shown before a kept end."""

# a full stop ends no sentence before a small letter, or after a single letter or digit, as in lists; the pattern begins
# with a set of characters, which is searched for faster than alternatives
_SENTENCE_END = re.compile(
    r"[.!?。！？\n](?:(?<=\S\n)|(?<=[.!?])(?<!\b\w.)[.!?]*[\"'”’)\]]*(?=\s)(?!\s+[a-z])|(?<=[。！？])[。！？]*[」』”’)]*)"
)
_ONE_LINE = str.maketrans("\n\t\u2028\u2029", "    ")


def on_one_line(text: str) -> str:
    """Return a text on one line, every character at its place."""
    return text.translate(_ONE_LINE)


def shortened(text: str, most: int | None, words: Sequence[str] = (), *, keeps_end: bool = False) -> str:
    """Return a text on one line, shortened to whole sentences or words.

    ``most`` characters include ellipses, but at least one sentence is kept; None is all. The part with most of the
    ``words`` (in lower case) is kept; a word matches by its beginning without its last two letters. ``keeps_end`` cuts
    the middle.
    """
    text = text.strip()
    if most is None or len(text) <= most:
        return on_one_line(text)
    if keeps_end:
        return on_one_line(_with_end(text, most))
    return on_one_line(_around(text, most, words) or _beginning(text, most))


def _beginning(text: str, most: int) -> str:
    end = _end(text, 0, most - 2)
    return text if end >= len(text) else f"{text[:end].rstrip()} {_ELLIPSIS}".lstrip()


def _end(text: str, start: int, most: int, least: int = 0) -> int:
    """Return where a part that begins with a sentence ends: after a sentence, else after a word."""
    reach = max(most, MAX_SENTENCE_CHARS)
    ends = _sentence_ends(text, start, start + reach + 2)
    if len(text) <= start + reach:
        ends.append(len(text))
    ends = [end for end in ends if end - start > least]
    within = [end for end in ends if end - start <= most]
    if within:
        return within[-1]
    if ends and ends[0] - start <= MAX_SENTENCE_CHARS:
        return ends[0]
    return _word_end(text, start, start + most)


def _sentence_ends(text: str, start: int, stop: int) -> list[int]:
    return [match.end() - (match[0] == "\n") for match in _SENTENCE_END.finditer(text, start, stop)]


def _word_end(text: str, start: int, at: int) -> int:
    return next((place for place in range(at, start, -1) if _is_between_words(text, place)), start)


def _is_between_words(text: str, place: int) -> bool:
    if not 0 < place < len(text) or text[place - 1].isspace() or text[place].isspace():
        return True
    # a script without spaces may be cut between any two characters
    return bool(unspaced_runs(text[place - 1]) and unspaced_runs(text[place]))


def _with_end(text: str, most: int) -> str:
    ends = _sentence_ends(text, max(0, len(text) - MAX_SENTENCE_CHARS - 2), len(text))
    before = [end for end in ends if text[end:].strip()]
    start = before[-1] if before else 0
    if len(text) - start > MAX_SENTENCE_CHARS:
        wanted = len(text) - min(MAX_SENTENCE_CHARS, max(_LEAST_TAIL_CHARS, most - 2))
        start = next((place for place in range(wanted, len(text)) if _is_between_words(text, place)), len(text))
    tail = text[start:].strip()
    room = most - len(tail) - 3
    if room < _LEAST_HEAD_CHARS:
        return tail if len(tail) == len(text) else f"{_ELLIPSIS} {tail}"
    ends = [end for end in _sentence_ends(text, 0, room + 2) if end <= room]
    head = text[: ends[-1] if ends else _word_end(text, 0, room)].rstrip()
    return text if len(head) >= start else f"{head} {_ELLIPSIS} {tail}".lstrip()


def _around(text: str, most: int, words: Sequence[str]) -> str | None:
    """Return the part of a text with most of the words; None if its beginning has as many."""
    stems = [word[: max(3, len(word) - 2)] for word in words]
    places = _places(_lowered(text), stems) if stems else []
    room = most - 4
    most_stems = len({stem for place, stem in places if place < room})
    best: tuple[int, int] | None = None
    for first, _ in places:
        start = _start(text, first, room // 3)
        inside = len({stem for place, stem in places if start <= place < start + room})
        if inside > most_stems:
            most_stems, best = inside, (start, first)
    if best is None:
        return None
    start, first = best
    end = _end(text, start, room, least=first - start)
    cut = text[start:end].strip()
    if not cut:
        return None
    return f"{_ELLIPSIS} {cut}" if end >= len(text) else f"{_ELLIPSIS} {cut} {_ELLIPSIS}"


def _start(text: str, place: int, lead: int) -> int:
    """Return where to begin a part around a place: at its sentence if that is near, else some words before."""
    near = max(0, place - lead)
    ends = _sentence_ends(text, near, place)
    if ends:
        return ends[-1]
    return next((at for at in range(near, place) if _is_between_words(text, at)), place)


def _places(text: str, stems: Sequence[str]) -> list[tuple[int, str]]:
    """Return the first places where words begin with a stem (anywhere in scripts without spaces), with the stem."""
    ordered = sorted(set(stems), key=len, reverse=True)
    pattern = re.compile(
        "|".join(re.escape(stem) if unspaced_runs(stem) else rf"\b{re.escape(stem)}" for stem in ordered)
    )
    places: list[tuple[int, str]] = []
    for match in pattern.finditer(text):
        places.append((match.start(), match[0]))
        if len(places) == _MAX_PLACES:
            break
    return places


def _lowered(text: str) -> str:
    """Return a text in lower case with every character at its place: some characters become two."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(
        one if len(one) == 1 else character for character, one in zip(text, map(str.lower, text), strict=True)
    )
