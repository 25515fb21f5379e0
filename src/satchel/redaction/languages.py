"""Passwords and keys named in other languages than English, as in ``Kennwort: ...`` or ``la contraseña es ...``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from satchel.redaction.assignments import Span
from satchel.redaction.prefilter import FOREIGN_WORDS, Places
from satchel.redaction.values import (
    is_password,
    is_password_word,
    is_placeholder,
    is_reference,
    is_strong_password,
    looks_random,
)

_BEFORE_PASSE = re.compile(r"(?:mot[ _-]?de[ _-]?|palavra[ _-]?)\Z")
_KEYS = frozenset(("chlüssel", "clé", "ключ", "密钥", "密鑰", "令牌"))
"""Words for key and token: their values are random."""


@cache
def _signs() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return how a value is assigned, how a sentence states it, and a value."""
    # an ending or a particle, which has no ASCII letters in some languages, and the parts of a variable's name
    ending = r"[^\x00-\x7f]{0,4}(?:[ _]d.ordine|[A-Za-z]{1,4}(?=[ \t:=?\"'_-]))?"
    rest = ending + r"(?:[_-][A-Za-z0-9]{1,12}){0,2}"
    quote = "[\"'`«“„「]?"
    colon = "[:=：＝]"
    return (
        re.compile(
            rf"{rest}(?:[ \t]API)?[\"'`]?\]?[ \t]{{0,8}}(?:{colon}=?|=>|\?=|\||[-–—](?=[ \t]))"
            rf"[ \t]{{0,8}}(?:\r?\n[ \t]{{0,16}})?{quote}"
        ),
        re.compile(
            rf"{ending}(?:[ \t]{{1,3}}(?:[^\s\d:=：＝]{{1,16}}[ \t]{{1,3}}){{0,5}}?"
            r"(?:ist|lautet|es|est|este|is|jest|je|to|on|är|er|olarak|adalah|e|é|è|[-–—]"
            rf"|[^\s\d:=：＝]{{0,16}}{colon})[ \t]{{1,3}}|[ \t]?){quote}"
        ),
        re.compile(r"[^\s\"'`,;<>(){}\[\]|\\»”」。，、]{6,64}"),
    )


def foreign(text: str, lowered: str, places: Places) -> Iterator[Span]:
    """Yield the passwords after words of ``FOREIGN_WORDS``."""
    assigned, stated, value = _signs()
    for word in FOREIGN_WORDS:
        after = 0
        for at in places.get(word, ()):
            if at < after or not _is_word(text, lowered, word, at):
                continue
            after = at + len(word)
            for sign in (assigned, stated):
                match = sign.match(text, after)
                secret = None if match is None else value.match(text, match.end())
                if match is None or secret is None:
                    continue
                password = secret[0].rstrip(".:")
                if match[0].endswith("="):
                    password = password.partition("&")[0]
                end = secret.start() + len(password)
                if word in _KEYS:
                    is_secret = sign is assigned and looks_random(password, 16)
                elif sign is stated:
                    is_secret = is_strong_password(password)
                else:
                    is_secret = is_password(password) or looks_random(password, 12)
                    is_secret = is_secret or _is_setting(text, at, match, end, password)
                if (
                    is_secret
                    and not is_placeholder(password)
                    and not is_reference(password, text[end : end + 1], loud=False)
                ):
                    yield secret.start(), end, "password"
                    after = end
                    break


def _is_word(text: str, lowered: str, word: str, at: int) -> bool:
    if word == "passe":
        return _BEFORE_PASSE.search(lowered, max(0, at - 10), at) is not None
    if word == "kode":
        return lowered.startswith("ord", at + 4) or lowered.startswith("adgangs", at - 7)
    return not word.isascii() or at == 0 or not lowered[at - 1].isalnum() or text[at].isupper()


def _is_setting(text: str, at: int, sign: re.Match[str], end: int, value: str) -> bool:
    """Return whether a word is the value of a variable in capitals, as in an environment file."""
    return (
        text[at].isupper()
        and text[at + 1].isupper()
        and sign[0].endswith("=")
        and text[end : end + 1].strip() == ""
        and is_password_word(value)
    )
