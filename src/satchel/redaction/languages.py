"""Passwords named in other languages than English, such as ``Kennwort: ...`` or ``la contraseña es ...``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from satchel.redaction.assignments import Span
from satchel.redaction.prefilter import FOREIGN_WORDS, Places
from satchel.redaction.values import is_password, is_placeholder, is_reference, is_strong_password, looks_random

_BEFORE_PASSE = re.compile(r"(?:mot[ _-]?de[ _-]?|palavra[ _-]?)\Z")
_REST = re.compile(r"(?<=contrase)[n?]as?|(?<=parola)[ _]d.ordine|")


@cache
def _signs() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return how a value is assigned, how a sentence states it, and a value."""
    # an ending or a particle, which has no ASCII letters here, and the parts of a variable's name
    rest = r"[^\x00-\x7f]{0,4}(?:[_-][A-Za-z0-9]{1,12}){0,2}"
    quote = "[\"'`«“„「]?"
    colon = "[:=：＝]"
    return (
        re.compile(
            rf"{rest}[\"'`]?\]?[ \t]{{0,8}}(?:{colon}=?|=>|\?=|\||[-–—](?=[ \t]))"
            rf"[ \t]{{0,8}}(?:\r?\n[ \t]{{0,16}})?{quote}"
        ),
        re.compile(
            rf"[^\x00-\x7f]{{0,4}}(?:[ \t]{{1,3}}(?:[^\s\d:=：＝]{{1,16}}[ \t]{{1,3}}){{0,5}}?"
            rf"(?:ist|lautet|es|est|is|jest|e|é|è|[-–—]|[^\s\d:=：＝]{{0,16}}{colon})[ \t]{{1,3}}|[ \t]?){quote}"
        ),
        re.compile(r"[^\s\"'`,;&<>(){}\[\]|\\»”」。，、]{6,64}"),
    )


def foreign(text: str, lowered: str, places: Places) -> Iterator[Span]:
    """Yield the passwords after words of ``FOREIGN_WORDS``."""
    assigned, stated, value = _signs()
    for word in FOREIGN_WORDS:
        after = 0
        for at in places.get(word, ()):
            if at < after or not _is_word(text, lowered, word, at):
                continue
            rest = _REST.match(lowered, at + len(word))
            after = rest.end() if rest is not None else at + len(word)
            for sign, judge in ((assigned, _is_password), (stated, is_strong_password)):
                match = sign.match(text, after)
                secret = None if match is None else value.match(text, match.end())
                if secret is None:
                    continue
                password = secret[0].rstrip(".:,")
                end = secret.start() + len(password)
                if (
                    judge(password)
                    and not is_placeholder(password)
                    and not is_reference(password, text[end : end + 1], loud=False)
                ):
                    yield secret.start(), end, "password"
                    after = end
                    break


def _is_word(text: str, lowered: str, word: str, at: int) -> bool:
    if word == "passe":
        return _BEFORE_PASSE.search(lowered, max(0, at - 10), at) is not None
    return not word.isascii() or at == 0 or not lowered[at - 1].isalnum() or text[at].isupper()


def _is_password(value: str) -> bool:
    return is_password(value) or looks_random(value, 12)
