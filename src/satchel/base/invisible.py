"""Invisible characters: removed from content, because a model reads what a person cannot see."""

# They are Unicode's default ignorable code points (`Default_Ignorable_Code_Point` in DerivedCoreProperties.txt) and
# the interlinear annotation marks. A few of them shape real text and are kept there, at most one after a visible
# character: joiners in scripts that need them and between emoji, variation selectors after characters with variants,
# and the tags of flags. A longer run, or one elsewhere, is hidden text.

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import islice

from satchel.base.lazy import lazy_regex

# The body of a character class: every invisible character except controls.
INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)


# The invisible characters that scripts and emoji need.
_SHAPERS = "\u200c\u200d\ufe0e\ufe0f"


@cache
def _any_unseen() -> re.Pattern[str]:
    return re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]|(?![{_SHAPERS}])[{INVISIBLE}]")


def revealed(text: str) -> str:
    r"""Return a text with the code of each invisible or direction-changing character, such as ``\u{202e}``."""
    # most texts are plain, and this check is ten times as fast as the search
    if text.isascii() and text.isprintable():
        return text
    return _any_unseen().sub(lambda match: f"\\u{{{ord(match[0]):x}}}", text)


@cache
def any_invisible() -> re.Pattern[str]:
    """Return the pattern of an invisible character, compiled on first use."""
    return re.compile(f"[{INVISIBLE}]")


def first_invisible(text: str) -> str | None:
    match = any_invisible().search(text)
    return match[0] if match else None


def visible(text: str) -> str:
    """Return a text without invisible characters, for an error that repeats it."""
    return any_invisible().sub("", text)


_MAX_LISTED = 3

_VARIANTS_MONGOLIAN = "\u180b-\u180d\u180f"
_JOINERS = "\u200c\u200d"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_TAGS = "\U000e0020-\U000e007f"

_SHAPING = f"{_VARIANTS_MONGOLIAN}{_JOINERS}{_SELECTORS}{_TAGS}"
# one fast pass removes most hidden text; the remaining runs are then checked one by one
_NEVER_SHAPING = lazy_regex(f"(?![{_SHAPING}])[{INVISIBLE}]|(?<![\u0080-\U0010ffff0-9#*])[{_SHAPING}]+")
_RUN = lazy_regex(f"[{_SHAPING}]+")
_MAX_IN_RUN = 16  # longer runs are cut: no flag has more tags

# scripts whose letters change form next to a joiner: Arabic to Tibetan, Myanmar, Khmer, Mongolian to Vedic, the
# later Indic blocks, Arabic forms, the historic and Brahmic blocks, Adlam
_JOINING = lazy_regex(
    "[\u0620-\u0fff\u1000-\u109f\u1780-\u18af\u1900-\u1cff\ua800-\uaaff\uabc0-\uabff\ufb50-\ufdff\ufe70-\ufefc"
    "\U00010a00-\U00010fff\U00011000-\U00011fff\U0001e900-\U0001e95f]"
)
_KEYCAP = lazy_regex("[0-9#*]")
_EMOJI = lazy_regex(
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001faff]"
)
_IDEOGRAPH = lazy_regex("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_MONGOLIAN = lazy_regex("[\u1820-\u18aa]")
# dotted forms of Myanmar, and Phags-pa (StandardizedVariants.txt)
_ONE_VARIANT = lazy_regex("[\u1000-\u109f\uaa60-\uaa7f\ua840-\ua87f]")
# the flags that Unicode recommends for interchange (emoji-tag-sequences in emoji-sequences.txt), and Texas, which
# clients draw too; any other region is a black flag to its reader, and room for a hidden word
_FLAG = "\U0001f3f4"
_FLAG_TAGS = frozenset(
    "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"
    for region in ("gbeng", "gbsct", "gbwls", "ustx")
)
# the combining class of the marks that silence a consonant's vowel; a joiner after one may end a word (Malayalam)
_VIRAMA = 9


def keep_shaping(text: str) -> str:
    """Return a text without invisible characters, except those that shape adjacent visible ones."""
    return _RUN().sub(_shaping, _NEVER_SHAPING().sub("", text))


def _shaping(run: re.Match[str]) -> str:
    text = run.string
    start, end = run.span()
    return _shaping_part(text[start - 1 : start], run[0][:_MAX_IN_RUN], text[end : end + 1])


@lru_cache(maxsize=4_096)
def _shaping_part(before: str, run: str, after: str) -> str:
    if before == _FLAG:
        tags = "".join(character for character in run if "\U000e0020" <= character <= "\U000e007f")
        if tags in _FLAG_TAGS:
            return tags
    selector = next((character for character in run if _selects(character, before)), "")
    joiner = next((character for character in run if _joins(character, before, after)), "")
    return selector + joiner


def _selects(character: str, base: str) -> bool:
    if character in "\ufe0e\ufe0f":
        return bool(_EMOJI().match(base) or _KEYCAP().match(base))
    if "\u180b" <= character <= "\u180f":
        return bool(_MONGOLIAN().match(base))
    # no ideograph has more registered variants (the Ideographic Variation Database)
    if "\ufe00" <= character <= "\ufe02" or "\U000e0100" <= character <= "\U000e011f":
        return bool(_IDEOGRAPH().match(base) or (character == "\ufe00" and _ONE_VARIANT().match(base)))
    return False


def _joins(character: str, before: str, after: str) -> bool:
    if character not in _JOINERS or not before:
        return False
    if character == "\u200d" and _EMOJI().match(before):
        return bool(_EMOJI().match(after))
    if not (_JOINING().match(before) and _is_letter(before)):
        return False
    import unicodedata

    return bool(_JOINING().match(after) and _is_letter(after)) or unicodedata.combining(before) == _VIRAMA


def _is_letter(character: str) -> bool:
    import unicodedata

    return unicodedata.category(character)[0] in "LM"


def without_hidden(text: str) -> tuple[str, str | None]:
    """Remove invisible characters that shape nothing; return the text and a note, or None.

    The result depends on adjacent visible characters only, so removing again changes nothing.
    """
    cleaned = keep_shaping(text)
    number = len(text) - len(cleaned)
    if not number:
        return text, None
    return cleaned, f"{number} invisible character{'s' * (number > 1)} removed ({_kinds(text, cleaned)})"


def _kinds(text: str, cleaned: str) -> str:
    kinds = dict.fromkeys(any_invisible().findall(text))
    removed = list(islice((kind for kind in kinds if text.count(kind) > cleaned.count(kind)), _MAX_LISTED + 1))
    listed = ", ".join(f"U+{ord(character):04X}" for character in removed[:_MAX_LISTED])
    return f"{listed}, ..." if len(removed) > _MAX_LISTED else listed
