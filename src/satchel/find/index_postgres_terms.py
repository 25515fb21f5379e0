"""Search terms and their postings in the form of the index on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from satchel.base.records import dataclass
from satchel.find.conditions import Term
from satchel.find.index_postgres import LONGEST, joined, mark, stems
from satchel.find.scoring import Matched

_BITS_OF_TEXT = 0xFF00

Postings = dict[int, int]
"""The documents that contain a term, with length and counts; see :mod:`satchel.find.index_postgres`."""


@dataclass(frozen=True, slots=True)
class IndexTerm:
    """A term in the form of the index.

    Attributes:
        words: in the form of the postings.
        is_prefix: whether the last word also matches longer words that start with it.
        in_text: whether to search the text only.
    """

    words: tuple[str, ...]
    is_prefix: bool
    in_text: bool

    @staticmethod
    def of(term: Term) -> IndexTerm:
        words = stems(" ".join(term.words))
        if term.prefix and words:
            words[-1] = words[-1][:LONGEST]
        return IndexTerm(tuple(words), term.prefix, term.in_text)

    @property
    def is_word(self) -> bool:
        return len(self.words) == 1 and not self.is_prefix

    @property
    def bits(self) -> int:
        """The bits of the counts, one of which must be set."""
        return _BITS_OF_TEXT if self.in_text else 0xFFFF

    @property
    def text(self) -> str:
        """The phrase as it occurs in the words of a document."""
        text = joined(self.words)
        return text[:-1] if self.is_prefix else text

    @property
    def listed(self) -> str:
        """The words whose postings are read, without the prefix at the end of a phrase."""
        return " ".join(self.words[:-1] if self.is_prefix and len(self.words) > 1 else self.words)

    @property
    def mark(self) -> int | None:
        """The bit of a word that occurs as a whole, or None."""
        return None if self.is_prefix and len(self.words) == 1 else mark(self.words[0])

    @property
    def may_overlap(self) -> bool:
        """Return whether one occurrence may begin in another."""
        size = len(self.words)
        return self.is_prefix or any(self.words[:part] == self.words[size - part :] for part in range(1, size))


def added(one: int, other: int) -> int:
    """Return the sum of the counts of two words in one document."""
    in_text = min(255, (one >> 8 & 255) + (other >> 8 & 255))
    return (other & 0xFFFF_0000) + (in_text << 8) + min(255, (one & 255) + (other & 255))


def occurrences(phrase: str, words: str) -> int:
    """Return how often a phrase occurs, including overlaps."""
    count = 0
    place = words.find(phrase)
    while place >= 0:
        count += 1
        place = words.find(phrase, place + 1)
    return count


def for_scoring(
    terms: Sequence[IndexTerm], postings: Mapping[IndexTerm, Postings], documents: Iterable[int]
) -> list[Matched]:
    """Return documents with the counts of each term in the form that the scoring reads."""
    size = len(terms)
    totals = dict.fromkeys(documents, 0)
    top = 16 * size
    for place, term in enumerate(terms):
        shift = 16 * (size - place - 1)
        for document, counts in postings[term].items():
            if document in totals:
                totals[document] |= (counts >> 16) << top | (counts & term.bits) << shift
    return [(document, total.to_bytes(2 * size + 2, "big")) for document, total in totals.items()]
