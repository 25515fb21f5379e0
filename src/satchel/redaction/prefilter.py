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
            re.compile(rf"k(?=(ennwort|ey{other}|en{other}|ie|ode|ata (?:sandi|laluan)|hau))"),
            {
                "ey": ("key", 0),
                "en": ("token", 2),
                "ie": ("cookie", 3),
                "ennwort": ("kennwort", 0),
                "ode": ("kode", 0),
                "ata sandi": ("kata sandi", 0),
                "ata laluan": ("kata laluan", 0),
                "hau": ("mat khau", 4),
            },
            ("key", "token", "cookie", "kennwort", "kode", "kata ", "khau"),
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
            re.compile(r"-(?<=[ \t]-)(?=[apw]|[a-z]{0,3}u|-user|n[ \t][^\d])()"),
            {"": ("option", 0)},
            ("-",),
        ),
    )


_SHORT = 600
"""In shorter texts, such as most notes, searching for each word costs less than a pattern without a match."""

_WHOLE_WORDS = ("bearer", "identified by", "senha", "haslo", "heslo", "salasana", "sifre")
"""Words without a rare letter; a search of the whole text for each costs less than a pattern."""

# by the first byte of one of their characters in UTF-8; a first letter that may be a capital is left out
_OTHER_WORDS = {
    0xC3: ("ösenord", "elszó", "chlüssel", "clé"),
    0xC5: ("asło", "şifre", "Şifre"),
    0xCF: ("ωδικό", "υνθηματικό"),
    0xD0: ("парол", "Парол", "ПАРОЛ", "ключ"),
    0xD7: ("סיסמ",),
    0xD9: ("كلمة المرور", "كلمة السر", "رمز عبور", "پاس ورڈ"),
    0xE0: ("पासवर्ड", "পাসওয়ার্ড", "கடவுச்சொல்", "రహస్యపదం", "รหัสผ่าน"),
    0xE1: ("ật khẩu",),
    0xE3: ("パスワード",),
    0xE4: ("令牌",),
    0xE5: ("密码", "密碼", "密钥", "密鑰", "口令", "暗証番号"),
    0xED: ("비밀번호", "패스워드", "암호"),
}
_OTHER_BYTES = bytes(byte for byte in range(256) if byte not in _OTHER_WORDS)
FOREIGN_WORDS = (
    *("kennwort", "kode", "kata sandi", "kata laluan", "mat khau", "passe", "parola", "mdp", "contrase", "clave"),
    *("wachtwoord", *_WHOLE_WORDS[2:]),
    *(word for words in _OTHER_WORDS.values() for word in words),
)
"""Words for password in other languages than English, or their telling part."""


def places_of_words(text: str, lowered: str) -> Places:
    """Return where the words of ``_pivots``, ``auth``, foreign words, options and pipes begin in a text.

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
    for word in _WHOLE_WORDS:
        if word in lowered:
            places[word] = _offsets(word, lowered)
    if "auth" in lowered:
        # author and authenticated do not introduce a secret
        if offsets := [match.start() for match in re.finditer("auth(?!e|or)|authorization", lowered)]:
            places["auth"] = offsets
    if "|" in lowered and ("echo" in lowered or "printf" in lowered):
        places["|"] = _offsets("|", lowered)
    if "<" in lowered and "<<" in lowered:
        places["<<"] = _offsets("<<", lowered)
    if not text.isascii():
        for byte in set(text.encode("utf-8", "replace").translate(None, _OTHER_BYTES)):
            for word in _OTHER_WORDS[byte]:
                if word in text:
                    places[word] = _offsets(word, text)
    return places


def _offsets(word: str, text: str) -> list[int]:
    return [match.start() for match in re.finditer(re.escape(word), text)]


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
