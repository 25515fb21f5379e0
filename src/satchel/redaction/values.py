"""Classification of values: random secret, password, placeholder, digest, word or code."""

# The thresholds were tuned on Python's standard library, JavaScript bundles, notes and commit messages. Every check
# reads a bounded number of characters.

from __future__ import annotations

import re
from functools import cache

# How many characters of a value are judged.
JUDGED_CHARS = 256

_SAMPLE_SIGNS = (
    *("example", "placeholder", "changeme", "change-me", "change_me", "your-", "your_", "your ", "yourpassword"),
    *("yourtoken", "yourkey", "yoursecret", "redacted", "dummy", "replace", "insert-", "insert_", "xxxxx", "***"),
    *("...", "\u2026", "${", "$(", "%(", "%s"),
)
_SPECIAL = frozenset("!@#$%^&*?+")
_PLACEHOLDER_WORDS = frozenset(
    """
    none null nil undefined true false yes no on off empty blank optional required prompt hidden string text number
    password passwd passphrase pwd pass secret token key auth credential credentials default enabled disabled
    invalid missing unset unknown any file env vault manual auto basic bearer plain plaintext encrypted hashed
    access api my your option options flag flags argument arguments parameter parameters switch setting settings
    field fields
    """.split()
)

# Pairs of letters that make up 2 % of the pairs in the words of the standard library, of bundles and of LoCoMo, but
# 36 % of those in random letters: the first letter of each group, then the letters that rarely follow it.
_RARE_PAIRS = """
    ajoq bghkqvwxz cgjqwxz dhjkqwxz ejz fhjkqvwxz gbjkqvwxyz hfghjkpqvwxz ihquwy jbcdfghijlmnpqrstvwxyz kbfhjkmpquvxz
    lghjqwxz mghjkqrvwxz njqxz ojqz pgjkqvxz qabcdefghijklmnopqrtvwxyz rjqxz sjxz tjq uhjkquvwxyz
    vdfghjklmnpqrstuvwxyz wbfgjkmpqtuvwyz xgjknoqruvwz yghjkquvwx zbcdfghjklmnpqrstuvwxy
"""


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    harmless = (
        r"(?-i:\$[A-Z_][A-Z0-9_]*+|\$[a-z_]++|%[A-Za-z_]++%)|\$env:\w++"
        r"|(?:(?:sha\d{1,3}|md5)[:-]|(?:urn|arn|data|did|file|env|vault|secretref):).*+"
        r"|0x[0-9a-f]{1,16}|v?\d{1,6}(?:[.,:/-]\d{1,6}){0,5}(?:px|r?em|ms|s|m|h|d|w|st|nd|rd|th|x|%|[kmg]i?b|days?|hours?)?"
        r"|(?:u?int|float|bytes|sha|md|utf|base|o?auth|http|ipv|aes|[rhep]s|argon|pbkdf|ed|x|v)[-_]?\d{1,5}[a-z]{0,2}"
    )
    # a variable, a call or an operation in compiled JavaScript: t.password??null, !!e.x, i?1:0
    code = (
        r"[!~+-]*+[A-Za-z_$][\w$]{0,2}(?:[?!&|*%^+=.].*)?"
        r"|[!~+-]*+[A-Za-z_$][\w$]*+(?:\??\.[\w$]++)++(?:[?!&|*^%+=].*)?|!++[\w$.]++"
    )
    pairs = "|".join(f"{group[0]}(?=[{group[1:]}])" for group in _RARE_PAIRS.split())
    return (
        re.compile(harmless, re.DOTALL | re.IGNORECASE),
        re.compile(code, re.DOTALL),
        re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+"),
        re.compile(pairs),
        re.compile(r"[A-Za-z_$][A-Za-z0-9_$.]*+"),
        re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"),
        re.compile(r"<.*>|\{.*\}", re.DOTALL),
        re.compile(r"<([A-Za-z][\w .:/-]*)>|\{ ?([A-Za-z_][\w.]*)(?:[!:[( ][^{}]*)?\}"),
    )


def is_sample(token: str) -> bool:
    """Return whether a token is an example: it contains a telling word, or few different characters."""
    lowered = token.lower()
    return len(set(lowered)) < 7 or any(sign in lowered for sign in _SAMPLE_SIGNS)


def is_placeholder(value: str) -> bool:
    """Return whether a value is a placeholder, digest or number, or too uniform for a secret."""
    lowered = value.lower()
    return (
        len(set(lowered)) < 4
        or _PLACEHOLDER_WORDS.issuperset(lowered.replace("-", "_").split("_"))
        or any(sign in lowered for sign in _SAMPLE_SIGNS)
        or "://" in value
        or _patterns()[0].fullmatch(value) is not None
        or (("<" in value or "{" in value) and _holds_field(value))
    )


def _holds_field(value: str) -> bool:
    """Return whether a value is in brackets, or holds a word in them, as in ``key-<name>`` and ``{prefix}2``."""
    if _patterns()[6].fullmatch(value):
        return True
    return any(_is_wordy(match[1] or match[2] or "") for match in _patterns()[7].finditer(value))


def is_uuid(value: str) -> bool:
    return len(value) == 36 and _patterns()[5].fullmatch(value) is not None


_OPERATORS = ("===", "!==", "=>", "&&", "||")
_AFTER_CODE = frozenset(",;)}]&|<>([")


def is_reference(value: str, following: str, *, upper: bool) -> bool:
    """Return whether an unquoted value is code: a call, a subscript, an attribute, or a variable for a secret.

    ``following`` is the character after the value, or empty. ``upper`` says that the key is in capitals, as in an
    environment file, where every value is text.
    """
    if any(sign in value for sign in _OPERATORS):
        return True
    if following in _AFTER_CODE and _patterns()[1].fullmatch(value) is not None:
        return True
    if _patterns()[4].fullmatch(value) is None:
        return False
    if following in {"(", "["}:
        return True
    lowered = value.lower()
    if "." in value:
        return _mean_chunk(_chunks(value)) >= 3.0
    return not upper and any(word in lowered for word in ("passw", "pwd", "secret", "token", "_key", "auth"))


def _chunks(value: str) -> list[str]:
    return _patterns()[2].findall(value[:JUDGED_CHARS])


def _mean_chunk(chunks: list[str]) -> float:
    # words have about five letters; chunks of random base 62 have fewer than two characters, of hexadecimal just
    # over two
    return sum(map(len, chunks)) / len(chunks) if chunks else 0.0


# Enough to tell words from random letters.
_WORDY_CHARS = 64


def _is_word(chunk: str) -> bool:
    lowered = chunk.lower()
    return len(chunk) >= 3 and not _VOWELS.isdisjoint(lowered) and _patterns()[3].search(lowered) is None


_VOWELS = frozenset("aeiouy")
_HEX = frozenset("0123456789abcdefABCDEF")


def _is_wordy(value: str) -> bool:
    sample = value[:_WORDY_CHARS]
    return sum(len(chunk) for chunk in _chunks(sample) if _is_word(chunk)) * 2 >= len(sample)


def _is_scrambled(chunks: list[str]) -> bool:
    letters = [chunk.lower() for chunk in chunks if not chunk.isdigit()]
    rare = sum(len(_patterns()[3].findall(chunk)) for chunk in letters)
    return rare >= 3 and rare * 7 >= sum(map(len, letters)) - len(letters)


def _entropy(value: str) -> float:
    from math import log2

    shares = [value.count(char) / len(value) for char in set(value)]
    return -sum(share * log2(share) for share in shares)


def looks_random(value: str, min_length: int) -> bool:
    """Return whether a value was generated: long enough, no white space, mixed, no words, high entropy."""
    sample = value[:JUDGED_CHARS]
    if len(sample) < min_length or " " in value or not sample.isascii() or not value.isprintable():
        return False
    if sum(map(str.isalpha, sample)) < 3 or _entropy(sample) < 2.8:
        return False
    chunks = _chunks(sample)
    mean = _mean_chunk(chunks)
    if sample.startswith(("/", "./", "../", "~/")) and mean >= 2.5:
        return False
    if any(map(str.isdigit, sample)) and (mean < 3.5 or (len(sample) >= 20 and _HEX.issuperset(sample))):
        return not _is_wordy(sample)
    if len(sample) >= 20 and not sample.islower() and not sample.isupper() and mean < 2.6:
        return not _is_wordy(sample)
    return len(sample) >= 16 and _is_scrambled(chunks) and not _is_wordy(sample)


def is_password(value: str) -> bool:
    """Return whether a value may be a password: short, unbroken, letters with digits or signs."""
    if not 6 <= len(value) <= 64 or not value.isprintable() or " " in value:
        return False
    if not value.isascii() and sum(map(str.isascii, value)) * 2 < len(value):
        return False  # a sentence in a language without spaces
    special = not _SPECIAL.isdisjoint(value)
    if not special and not {"/", ":", "."}.isdisjoint(value):
        return False
    return any(map(str.isalpha, value)) and (special or any(map(str.isdigit, value)))


def is_strong_password(value: str) -> bool:
    """Return whether a value in running text is a password: two digits, and both cases, signs or one word."""
    if not is_password(value) or sum(map(str.isdigit, value)) < 2 or not {"-", "_", "/", ":"}.isdisjoint(value):
        return False
    if not _SPECIAL.isdisjoint(value):
        return value[0] not in "+-*&" and sum(map(str.isalpha, value)) >= 3
    letters = value.rstrip("0123456789")
    return (letters.isalpha() and letters[1:].islower()) or looks_random(value, 8)


@cache
def _longer() -> tuple[re.Pattern[str], ...]:
    edge = r"[A-Za-z0-9!@#$%^&*?+=~]"
    return (
        re.compile(r"[^\s\"'`]{8,64}(?=[ \t]*(?:\r?\n|\Z))"),
        re.compile(rf"{edge}[^\s\"'`]{{6,62}}{edge}(?=[.,;:!?)]{{0,2}}(?:\s|\Z))"),
        # a call, a subscript, an unfinished expression, a link, line breaks, and the next pair
        re.compile(r"[\w$.]*[(\[{].*[)\]}]|.*[,;({\[]|.*(?:\]\(|\\[nrt]|[&;,]\w+=)\S*"),
    )


def longer_password(text: str, start: int, *, is_line: bool, is_word: bool) -> str:
    """Return a generated password with signs that end a value in code: all of a line or word; else an empty text."""
    for pattern in _longer()[not is_line : 1 + is_word]:
        match = pattern.match(text, start)
        value = "" if match is None else match[0]
        is_mixed = any(map(str.isdigit, value)) and not (value.islower() or value.isupper())
        if is_mixed and looks_random(value, 8) and not _longer()[2].fullmatch(value) and not is_placeholder(value):
            return value
    return ""


def is_plain_word(value: str) -> bool:
    """Return whether a value is a word of letters, as a password in an environment file may be."""
    return 6 <= len(value) <= 64 and value.replace("-", "").replace("_", "").isalpha()


_NO_PASSWORD = tuple(
    """
    pass pwd secret token user name login auth cred field input label keyword wort require option value string
    unicode config param arg file prompt hash crypt self none test wrong incorrect invalid exist bogus fake mock
    sample demo
    """.split()
)


def is_password_word(value: str) -> bool:
    """Return whether a plain word may be a password: it names neither a password nor what code does with one."""
    lowered = value.lower()
    return is_plain_word(value) and not is_placeholder(value) and not any(word in lowered for word in _NO_PASSWORD)


def holds_text(value: str) -> bool:
    """Return whether a value is base 64 of at least six readable characters, as in a Kubernetes manifest."""
    if not 8 <= len(value) <= 4_096 or len(value) % 4:
        return False
    from base64 import b64decode

    try:
        inner = b64decode(value, validate=True)
    except ValueError:
        return False
    return len(inner) >= 6 and all(32 <= byte < 127 for byte in inner)


def holds_pair(value: str) -> bool:
    """Return whether a value is base 64 of a name and a password with a colon, as in HTTP and Docker."""
    if len(value) < 8:
        return False
    from base64 import b64decode

    try:
        pair = b64decode(value + "=" * (-len(value) % 4), validate=True)
    except ValueError:
        return False
    return b":" in pair[1:] and all(32 <= byte < 127 for byte in pair)


_CODE_SIGNS = ("\\x", "\\u", "\\U", "&#", "&lt;", "&amp;", "(?", "[^", "a-z", "\\s", "\\w", "\\d", "('")


def is_pattern(value: str) -> bool:
    """Return whether a quoted value contains parts of regular expressions, escapes or entities."""
    return any(sign in value for sign in _CODE_SIGNS)
