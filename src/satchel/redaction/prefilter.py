"""Fast checks of what a text may contain, so that most patterns need not run."""

from __future__ import annotations

import re
from functools import cache

# The offsets of each word in order, without words that do not occur.
Places = dict[str, list[int]]


# keyring, tokenizer, passed: the name of a secret does not continue like this
_NOT_ON = "(?![efgijqruxyz])"
# Words, and for each a part that begins with a rare letter, with what must surround it.
_PARTS = (
    *(("key", "key" + _NOT_ON), ("kennwort", "kennwort"), ("token", "ken(?<=token)" + _NOT_ON)),
    *(("cookie", "kie(?<=cookie)"), ("kode", "kode"), ("kata sandi", "kata sandi"), ("kata laluan", "kata laluan")),
    ("mat khau", "khau(?<=mat khau)"),
    # not the start of path, patch or pattern
    *(("passe", "passe(?![a-z])"), ("pass", "pass" + _NOT_ON), ("pat", "pat(?![cht])"), ("pw", "pw")),
    *(("phrase", "phrase"), ("parola", "parola"), ("printf", "printf"), ("mdp", "p(?<=mdp)(?![a-z])")),
    *(("secret", "cret(?<=secret)"), ("credential", "credential"), ("securestring", "curestring(?<=securestring)")),
    *(("contrase", "contrase"), ("clave", "clave"), ("wachtwoord", "chtwoord(?<=wachtwoord)")),
    *(("echo", "cho(?<=echo)"), ("mnemonic", "c(?<=mnemonic)")),
    *(("bearer", "bearer"), ("identified by", "by(?<=identified by)")),
    ("-", r"-(?<=[ \t]-)(?=[apw]|[a-z]{0,3}u|-user|n[ \t][^\d]|k?s[ \t]|-?b(?:ody)?[ =])"),
)


_PLAIN_WORDS = tuple(word for word, _ in _PARTS if word != "-")
_Patterns = tuple[re.Pattern[str], ...]


@cache
def _search() -> tuple[_Patterns, _Patterns, dict[str, tuple[str, int]]]:
    # in a short text, one pass costs less than the search for a few of the words. In a long one, a pass for each
    # letter costs less, as the engine searches for a single first letter with memchr
    by_letter: dict[str, list[str]] = {}
    words: dict[str, tuple[str, int]] = {}
    for word, part in _PARTS:
        literal = part.partition("(")[0]
        words[literal] = word, word.rindex(literal)
        by_letter.setdefault(part[0], []).append(part[1:])
    letters = [f"{letter}(?:{'|'.join(rest)})" for letter, rest in by_letter.items()]
    return (re.compile("|".join(letters)),), tuple(map(re.compile, letters)), words


_SHORT = 600
# Words without a rare letter.
_WHOLE_WORDS = ("senha", "haslo", "sifre")

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
# Words for password in other languages than English, or their telling part.
FOREIGN_WORDS = (
    *("kennwort", "kode", "kata sandi", "kata laluan", "mat khau", "passe", "parola", "mdp", "contrase", "clave"),
    *("wachtwoord", *_WHOLE_WORDS),
    *(word for words in _OTHER_WORDS.values() for word in words),
)


def _may_match(lowered: str) -> bool:
    # most short texts have none of the words, and what starts often need not compile the patterns for them
    return (
        len(lowered) >= _SHORT or " -" in lowered or "\t-" in lowered or any(word in lowered for word in _PLAIN_WORDS)
    )


def places_of_words(text: str, lowered: str) -> Places:
    """Return where words, command options and pipes begin in a text.

    ``lowered`` is the text in lower case, every character in its place.
    """
    places: Places = {}
    if _search.cache_info().currsize or _may_match(lowered):
        short, long, words = _search()
        for pattern in short if len(lowered) < _SHORT else long:
            match = pattern.search(lowered)
            while match is not None:
                word, back = words[match[0]]
                places.setdefault(word, []).append(match.start() - back)
                match = pattern.search(lowered, match.end())
    if "|" not in lowered:
        places.pop("echo", None)
        places.pop("printf", None)
    for word in _WHOLE_WORDS:
        if word in lowered:
            places[word] = _offsets(word, lowered)
    # author and authenticated do not introduce a secret
    if "auth" in lowered and (
        offsets := [
            at
            for at in _offsets("auth", lowered)
            if not lowered.startswith(("e", "or"), at + 4) or lowered.startswith("orization", at + 4)
        ]
    ):
        places["auth"] = offsets
    if places and "<<" in lowered:
        places["<<"] = _offsets("<<", lowered)
    if not text.isascii() and (first_bytes := text.encode("utf-8", "replace").translate(None, _OTHER_BYTES)):
        for byte in set(first_bytes):
            for word in _OTHER_WORDS[byte]:
                if word in text:
                    places[word] = _offsets(word, text)
    return places


def _offsets(word: str, text: str) -> list[int]:
    offsets = []
    at = text.find(word)
    while at >= 0:
        offsets.append(at)
        at = text.find(word, at + len(word))
    return offsets


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
