"""Near-duplicates: the same thing under another name, or the same statement in other words."""

# Candidates share a band, so that one indexed statement finds them in a store of any size; then the words themselves
# are compared. A key has a band for all of its words and one for all but each single word, which a key of one word
# less looks up; a word is represented by two letters that its misspellings and abbreviations share. A text has six
# bands, each of two minima of hashes over its words (locality-sensitive hashing by MinHash: Broder 1997, "On the
# resemblance and containment of documents"): texts that share 60 % of all their words share a band with a probability
# of about 93 %, 80 % with one of 99.8 %, 5 % with one of 1.5 %. The minima are the first hashes from twelve places
# on, around the circle (Shrivastava and Li 2014, "Densifying One Permutation Hashing via Rotation"), so that each
# word is hashed once instead of twelve times.

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from functools import cache, lru_cache
from itertools import repeat

from satchel.base.records import dataclass
from satchel.find.kind import Kind
from satchel.find.words import STOP_WORDS, identifier_parts, unspaced_parts, unspaced_runs, words_in
from satchel.store.transaction import Transaction

# The percentage from which two keys or texts are similar.
THRESHOLD = 80

# Texts with fewer different words are never similar: many of them are just ``Redis``.
MIN_WORDS = 3

_BANDS = 6
_ROWS = 2
# Part of the seed of text bands, so that bands of another scheme do not match.
_CUT = "text of six"

_MAX_WORDS = 200
_NOT_TELLING = ""
_SHORT = 500
_HALF = 1 << 63
_HALF_OF_BAND = 1 << 31
_STARTS = tuple(place * 2 * _HALF // (_BANDS * _ROWS) for place in range(_BANDS * _ROWS))
# Odd numbers that keep the minima of a band apart, so that their order counts.
_MIXERS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)

_MAX_KEY_WORDS = 8
_LEAST_LETTERS = 4
_VOWELS = "aeiouy"
_LOOKED_UP = (6, 8, 16)
_MAX_CANDIDATES = 16


def words_of(text: str) -> tuple[str, ...]:
    """Return the distinct telling words of a key or text, in lower case and without a plural s."""
    return _words_of_short(text) if len(text) <= _SHORT else _words_of(text)


@lru_cache(maxsize=2_048)
def _words_of_short(text: str) -> tuple[str, ...]:
    # cached because the same candidates recur
    return _words_of(text)


def _words_of(text: str) -> tuple[str, ...]:
    parts: list[str] = []
    for word in words_in(text):
        parts += _parts_of(word)
        if len(parts) > _MAX_WORDS:
            break
    for run in unspaced_runs(text[:_MAX_WORDS]):
        parts += unspaced_parts(run)
    telling = dict.fromkeys(parts)
    telling.pop(_NOT_TELLING, None)
    return tuple(telling)


@lru_cache(maxsize=8_192)
def _parts_of(word: str) -> tuple[str, ...]:
    # cached because the same words recur
    parts = [word] if word.islower() and word.isalpha() else identifier_parts(word) or [word.lower()]
    return tuple(_NOT_TELLING if part in STOP_WORDS else _stem(part) for part in parts)


def key_likeness(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the similarity of two keys in percent: 0 unless every word of the shorter one is in the longer.

    A word matches itself, its abbreviation (auth, authentication) and its misspellings. Both keys are given as the
    words that :func:`words_of` returns.
    """
    shorter, longer = sorted((one, other), key=len)
    if not shorter or len(longer) > max(len(shorter) + 1, 1) or (len(shorter) == 1 and len(longer) > 1):
        return 0
    unmatched = list(longer)
    for word in shorter:
        match = next((candidate for candidate in unmatched if _same_word(word, candidate)), None)
        if match is None:
            return 0
        unmatched.remove(match)
    return round(200 * len(shorter) / (len(one) + len(other)))


def text_likeness(one: Collection[str], other: Collection[str]) -> int:
    """Return the similarity of two texts in percent, as the share of common words (Dice 1945).

    Both texts are given as the words that :func:`words_of` returns; fewer than :data:`MIN_WORDS` give 0.
    """
    if min(len(one), len(other)) < MIN_WORDS:
        return 0
    mine, theirs = set(one), set(other)
    return round(200 * len(mine & theirs) / (len(mine) + len(theirs)))


@dataclass(frozen=True, slots=True)
class Bands:
    """The bands to record with an item, and those to look up for similar items."""

    recorded: tuple[int, ...]
    looked_up: tuple[int, ...]

    def __add__(self, other: Bands) -> Bands:
        return Bands(self.recorded + other.recorded, self.looked_up + other.looked_up)


NO_BANDS = Bands((), ())


def key_bands(project_id: int, words: Sequence[str]) -> Bands:
    hashes = [_hash(_beginning(word)) for word in words[:_MAX_KEY_WORDS]]
    if not hashes:
        return NO_BANDS
    # a sum does not depend on the order of words, and a subtraction removes one
    every, whole, part = sum(hashes), _seed("whole", project_id), _seed("part", project_id)
    shorter = {every - one for one in hashes} if len(hashes) > 2 else ()
    recorded = (_signed(every + whole), *(_signed(rest + part) for rest in shorter))
    looked_up = (recorded[0], _signed(every + part), *(_signed(rest + whole) for rest in shorter))
    return Bands(recorded, looked_up)


def text_bands(project_id: int, words: Collection[str]) -> Bands:
    if len(words) < MIN_WORDS:
        return NO_BANDS
    hashes = sorted(map(_hash, words))
    # the circle closes after the last hash
    hashes.append(hashes[0] + 2 * _HALF)
    least = [hashes[bisect_left(hashes, start)] for start in _STARTS]
    seed, (one, other) = _seed(_CUT, project_id), _MIXERS
    bands = tuple(_signed(least[band] * one + least[band + _BANDS] * other + seed + band) for band in range(_BANDS))
    return Bands(bands, bands)


def mark(what: str, project_id: int) -> int:
    """Return a number for recording something else in the table of bands."""
    return _signed(_seed(what, project_id))


def remember(transaction: Transaction, project_id: int, kind: Kind, item: int, bands: Iterable[int]) -> None:
    marks = {f"m{place}": band for place, band in enumerate(bands)}
    if marks:
        transaction.run(_remembering(len(marks)), {**marks, "project": project_id, "kind": kind.number, "item": item})


@cache
def _remembering(count: int) -> str:
    # one statement for all bands; one for each costs a server a fifth more processor time
    rows = ", ".join(f"(:project, :m{place}, :kind, :item)" for place in range(count))
    return f"INSERT INTO likenesses (project_id, mark, kind, item_id) VALUES {rows} ON CONFLICT DO NOTHING"


def forget(transaction: Transaction, project_id: int, kind: Kind, item: int, bands: Iterable[int]) -> None:
    transaction.many(
        "DELETE FROM likenesses WHERE project_id = :project AND mark = :band AND kind = :kind AND item_id = :item",
        [{"project": project_id, "band": band, "kind": kind.number, "item": item} for band in bands],
    )


_OF_BAND = """
    SELECT * FROM (
        SELECT item_id FROM likenesses WHERE project_id = :project AND mark = :m{0} AND kind = :kind
        ORDER BY item_id DESC LIMIT :of_band
    ) AS m{0}
"""

# few statements for any number of bands, because preparing one costs more than running it
_LOOK_UP = {
    size: f"""
    SELECT item_id FROM ({" UNION ALL ".join(map(_OF_BAND.format, range(size)))}) AS shared
    GROUP BY item_id ORDER BY count(*) DESC, item_id DESC LIMIT :most
    """
    for size in _LOOKED_UP
}


def look_up(project_id: int, kind: Kind, bands: Bands, most: int, of_band: int) -> tuple[str, dict[str, object]]:
    """Return SQL for the ``item_id`` of items that share a band, and its parameters.

    Items with the most shared bands come first, then the newest. At most ``of_band`` items of each band are considered,
    and at most ``most`` returned; there must be a band to look up.
    """
    size = next((size for size in _LOOKED_UP if size >= len(bands.looked_up)), _LOOKED_UP[-1])
    padded = (*bands.looked_up, *repeat(None, size))[:size]
    values: dict[str, object] = {f"m{place}": band for place, band in enumerate(padded)}
    return _LOOK_UP[size], values | {"project": project_id, "kind": kind.number, "most": most, "of_band": of_band}


def candidates(transaction: Transaction, project_id: int, kind: Kind, bands: Bands) -> list[int]:
    """Return up to 16 items that share a band, those with the most shared bands first, then the newest."""
    if not bands.looked_up:
        return []
    sql, values = look_up(project_id, kind, bands, _MAX_CANDIDATES, _MAX_CANDIDATES)
    return [row[0] for row in transaction.all(sql, values)]


def _same_word(one: str, other: str) -> bool:
    if one == other:
        return True
    shorter, longer = sorted((one, other), key=len)
    if not longer.isalpha() or len(shorter) < _LEAST_LETTERS:
        return False
    if longer.startswith(shorter):
        return len(longer) >= len(shorter) + 4
    return len(shorter) >= 5 and len(longer) <= len(shorter) + 1 and _is_one_slip(shorter, longer)


def _beginning(word: str) -> str:
    if len(word) < _LEAST_LETTERS or not (word.isascii() and word.isalpha()):
        return word[:_LEAST_LETTERS]
    return word[0] + next((letter for letter in word[1:] if letter not in _VOWELS and letter != word[0]), "")


def _is_one_slip(shorter: str, longer: str) -> bool:
    start = next((place for place, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter))
    if len(longer) > len(shorter):
        return shorter[start:] == longer[start + 1 :]
    swapped = shorter[start : start + 2][::-1] == longer[start : start + 2]
    return shorter[start + 1 :] == longer[start + 1 :] or (swapped and shorter[start + 2 :] == longer[start + 2 :])


def _stem(word: str) -> str:
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-3] + "y" if word.endswith("ies") and len(word) > 4 else word[:-1]
    return word


@lru_cache(maxsize=4_096)
def _hash(word: str) -> int:
    from hashlib import blake2b  # imported here because it loads OpenSSL

    return int.from_bytes(blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "big")


@lru_cache(maxsize=256)
def _seed(what: str, project_id: int) -> int:
    return _hash(f"{what} {project_id}")


def _signed(number: int) -> int:
    # 32 bits: four bytes less for each band, and whether two items are alike is decided on their words
    return ((number + _HALF_OF_BAND) & (2 * _HALF_OF_BAND - 1)) - _HALF_OF_BAND
