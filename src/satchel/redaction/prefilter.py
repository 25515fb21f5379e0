"""Fast checks of what a text may contain, so that most patterns need not run."""

from __future__ import annotations

import re
from functools import cache

Places = dict[str, list[int]]
"""The offsets of each word in order, without words that do not occur."""


@cache
def _pivots() -> tuple[tuple[re.Pattern[str], dict[str, tuple[str, int]], tuple[str, ...]], ...]:
    """Return patterns that begin with one letter, the word for each continuation and its distance back, and texts.

    If none of the texts occurs, the pattern cannot match. The regex engine searches for a first letter with memchr: one
    pass for a rare letter costs less than the search for one word, and finds all words with that letter.
    """
    # keyring, tokenizer, passed: the name of a secret does not continue like this
    other = "(?![efgijqruxyz])"
    return (
        (
            re.compile(rf"k(?=(ennwort|ey{other}|en{other}|ie))"),
            {
                "ey": ("key", 0),
                "en": ("token", 2),
                "ie": ("cookie", 3),
                "ennwort": ("kennwort", 0),
            },
            ("key", "token", "cookie", "kennwort"),
        ),
        (
            # not the start of path, patch or pattern
            re.compile(rf"p(?=(ass{other}|asse(?![a-z])|at(?![cht])|wd?|hrase|arola|(?<=mdp)(?![a-z])))"),
            {
                "ass": ("pass", 0),
                "asse": ("passe", 0),
                "at": ("pat", 0),
                "w": ("pw", 0),
                "wd": ("pw", 0),
                "hrase": ("phrase", 0),
                "arola": ("parola", 0),
                "": ("mdp", 2),
            },
            ("pass", "pat", "pw", "phrase", "parola", "mdp"),
        ),
        (
            re.compile(r"c(?=(ret|redential|urestring|ontrase|lave|htwoord)|(?<=mnemonic))"),
            {
                "ret": ("secret", 2),
                "redential": ("credential", 0),
                "urestring": ("securestring", 2),
                "": ("mnemonic", 7),
                "ontrase": ("contrase", 0),
                "lave": ("clave", 0),
                "htwoord": ("wachtwoord", 2),
            },
            ("secret", "credential", "mnemonic", "securestring", "contrase", "clave", "wachtwoord"),
        ),
        (
            re.compile(r"b(?=(earer)|(?<=identified b)y[ \t])"),
            {"earer": ("bearer", 0), "": ("identified by", 11)},
            ("bearer", "identified by"),
        ),
        (
            re.compile(r"-(?<=[ \t]-)(?=[apw]|[a-z]{0,3}u|k?s[ \t]|sk[ \t]|-(?:user|pass|stdin))()"),
            {"": ("option", 0)},
            (" -", "\t-"),
        ),
    )


_SHORT = 600
"""In shorter texts, such as most notes, searching for each word costs less than a pattern without a match."""


_ASCII_WORDS = ("senha", "haslo")
# by a byte of their UTF-8; a first letter that may be a capital is left out
_OTHER_WORDS = (
    (b"\xd0", ("парол", "Парол", "ПАРОЛ")),
    (b"\xc3", ("ösenord", "elszó")),
    (b"\xc5", ("asło", "şifre", "Şifre")),
    (b"\xcf", ("ωδικό", "υνθηματικό")),
    (b"\xd7", ("סיסמ",)),
    (b"\xd9", ("كلمة المرور", "كلمة السر", "رمز عبور")),
    (b"\xe0", ("पासवर्ड", "รหัสผ่าน")),
    (b"\xe1", ("ật khẩu",)),
    (b"\xe3", ("パスワード",)),
    (b"\xe5", ("密码", "密碼", "口令", "暗証番号")),
    (b"\xed", ("비밀번호", "패스워드", "암호")),
)
FOREIGN_WORDS = (
    *("kennwort", "passe", "parola", "mdp", "contrase", "clave", "wachtwoord"),
    *_ASCII_WORDS,
    *(word for _, words in _OTHER_WORDS for word in words),
)
"""Words for password in other languages than English, or their telling part."""


def places_of_words(text: str, lowered: str) -> Places:
    """Return where the words of ``_pivots``, ``auth``, foreign words and command options begin in a text.

    ``lowered`` is the text in lower case, every character in its place.
    """
    places: Places = {}
    is_short = len(lowered) < _SHORT
    for pattern, words, texts in _pivots():
        if is_short:
            for word in texts:
                if word in lowered:
                    break
            else:
                continue
        for match in pattern.finditer(lowered):
            word, back = words[match[1] or ""]
            at = match.start() - back
            if back == 0 or lowered.startswith(word, at):
                places.setdefault(word, []).append(at)
    foreign = [word for word in _ASCII_WORDS if word in lowered]
    if not text.isascii():
        data = text.encode("utf-8", "replace")
        foreign += [word for byte, words in _OTHER_WORDS if byte in data for word in words if word in text]
    for word in foreign:
        places[word] = [match.start() for match in re.finditer(word, lowered if word.isascii() else text)]
    at = lowered.find("auth")
    while at >= 0:
        # author and authenticated do not introduce a secret
        if not lowered.startswith(("e", "or"), at + 4) or lowered.startswith("orization", at + 4):
            places.setdefault("auth", []).append(at)
        at = lowered.find("auth", at + 4)
    return places


_WORD_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:=+~$}"
_WORDS = bytes(0x78 if byte in _WORD_BYTES else 0x20 for byte in range(256))
_SHORTEST = b"x" * 18


def long_words(text: str) -> str:
    """Return the distinct words long enough for a token (18 bytes), each after a line break.

    Every format is one unbroken word, so its literals are searched for only here. Two fast passes replace a hundred
    searches of the whole text.
    """
    data = text.encode("utf-8", "replace")
    shape = data.translate(_WORDS)
    at = shape.find(_SHORTEST)
    if at < 0:
        return ""
    words: set[bytes] = set()
    while at >= 0:
        end = shape.find(b" ", at)
        if end < 0:
            end = len(shape)
        words.add(data[at:end])
        at = shape.find(_SHORTEST, end)
    return b"\n".join((b"", *words)).decode()
