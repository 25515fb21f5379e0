"""What is looked for in the index on PostgreSQL, and what was found, without asking for anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from satchel.base.records import dataclass
from satchel.find.conditions import Term
from satchel.find.index_postgres import LONGEST, joined, mark, stems
from satchel.find.scoring import Matched

_BITS_OF_TEXT = 0xFF00

Found = dict[int, int]
"""The documents that hold a term, each with its length and counts; see :mod:`satchel.find.index_postgres`."""


@dataclass(frozen=True, slots=True)
class Sought:
    """A term as it is looked for.

    Attributes:
        words: as they stand in the postings.
        is_prefix: whether a word that begins as the last one does is meant too.
        in_text: whether only the text is looked at.
    """

    words: tuple[str, ...]
    is_prefix: bool
    in_text: bool

    @staticmethod
    def of(term: Term) -> Sought:
        """Return how a term is looked for."""
        words = stems(" ".join(term.words))
        if term.prefix and words:
            words[-1] = words[-1][:LONGEST]
        return Sought(tuple(words), term.prefix, term.in_text)

    @property
    def is_word(self) -> bool:
        """Whether it is a single whole word."""
        return len(self.words) == 1 and not self.is_prefix

    @property
    def bits(self) -> int:
        """The bits of the counts of which one must be set."""
        return _BITS_OF_TEXT if self.in_text else 0xFFFF

    @property
    def text(self) -> str:
        """What the words of a document hold where they hold the phrase."""
        text = joined(self.words)
        return text[:-1] if self.is_prefix else text

    @property
    def listed(self) -> str:
        """The words that postings are looked for by; a phrase's last one that only begins so has none of its own."""
        return " ".join(self.words[:-1] if self.is_prefix and len(self.words) > 1 else self.words)

    @property
    def mark(self) -> int | None:
        """The bit of a word that is there as a whole, or None."""
        return None if self.is_prefix and len(self.words) == 1 else mark(self.words[0])

    @property
    def may_overlap(self) -> bool:
        """Whether one occurrence may begin in another."""
        size = len(self.words)
        return self.is_prefix or any(self.words[:part] == self.words[size - part :] for part in range(1, size))


def added(one: int, other: int) -> int:
    """Return the counts of two words of one document together."""
    in_text = min(255, (one >> 8 & 255) + (other >> 8 & 255))
    return (other & 0xFFFF_0000) + (in_text << 8) + min(255, (one & 255) + (other & 255))


def occurrences(phrase: str, words: str) -> int:
    """Return how often a phrase is in words, also where one occurrence begins in another."""
    count = 0
    place = words.find(phrase)
    while place >= 0:
        count += 1
        place = words.find(phrase, place + 1)
    return count


def for_scoring(sought: Sequence[Sought], found: Mapping[Sought, Found], documents: Iterable[int]) -> list[Matched]:
    """Return documents as the scoring wants them."""
    size = len(sought)
    totals = dict.fromkeys(documents, 0)
    top = 16 * size
    for place, one in enumerate(sought):
        shift = 16 * (size - place - 1)
        for document, counts in found[one].items():
            if document in totals:
                totals[document] |= (counts >> 16) << top | (counts & one.bits) << shift
    return [(document, total.to_bytes(2 * size + 2, "big")) for document, total in totals.items()]
