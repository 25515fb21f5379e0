"""Snippets: the part of a text that shows why it matched."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from satchel.base.records import dataclass
from satchel.find.conditions import Term
from satchel.find.index import index_of
from satchel.find.words import identifier_parts, unspaced_runs
from satchel.store.damage import MARK
from satchel.store.transaction import Transaction

_WORDS = 32
_MAX_READ_CHARS = 40_000
_MAX_SNIPPET_CHARS = 400


@dataclass(frozen=True, slots=True)
class Snippet:
    """Part of a text with its matches.

    Attributes:
        text: one line, with an ellipsis where the text was cut.
        marks: pairs of the first and last character of each match in ``text``.
    """

    text: str
    marks: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    """A word of a text, or a character in scripts without spaces, with its byte range and weight."""

    start: int
    end: int
    word: str
    weight: float


class Snipper:
    """Makes snippets for the terms of one search."""

    def __init__(self, transaction: Transaction, terms: Sequence[Term], idf: Sequence[float]) -> None:
        self._index = index_of(transaction)
        self._weights: dict[str, float] = {}
        for term, value in zip(terms, idf, strict=True):
            for word in term.words if term.weight else ():
                for stem in self._stems(word):
                    self._weights[stem] = max(self._weights.get(stem, 0.0), value * term.weight)
        self._prefixes = tuple(
            stem for term in terms if term.prefix and term.weight for stem in self._stems(term.words[-1])
        )
        self._part_weights: dict[str, float] = {}
        self._word_weights: dict[str, float] = {}

    def cut(self, text: str) -> Snippet:
        """Return the part of a text with the most telling terms, or its beginning if it has none."""
        places = range(0, len(text), _MAX_READ_CHARS) or (0,)
        snippets = (self._cut(text, place) for place in places)
        first = next(snippets)
        best = first if first.marks else next((snippet for snippet in snippets if snippet.marks), first)
        if MARK in text and MARK not in best.text:
            return Snippet(f"{best.text} {MARK}", best.marks)
        return best

    def _cut(self, whole: str, place: int) -> Snippet:
        text = whole[place : place + _MAX_READ_CHARS]
        raw = text.encode()
        pieces = self._pieces(text, raw)
        if not pieces:
            return _shorten(_one_line(text), (), cut_before=False, cut_after=False)
        first = _best_window(pieces)
        window = pieces[first : first + _WORDS]
        start = 0 if first == 0 else window[0].start
        end = len(raw) if window[-1] is pieces[-1] else window[-1].end
        parts: list[str] = []
        marks: list[tuple[int, int]] = []
        length = 0
        reached = start
        for piece in window:
            if piece.weight:
                before = _one_line(raw[reached : piece.start].decode())
                matching = _one_line(raw[piece.start : piece.end].decode())
                begin = length + len(before)
                if marks and not before:
                    begin = marks.pop()[0]
                length += len(before) + len(matching)
                marks.append((begin, length))
                parts += (before, matching)
                reached = piece.end
        parts.append(_one_line(raw[reached:end].decode()))
        return _shorten(
            "".join(parts),
            marks,
            cut_before=place + start > 0,
            cut_after=end < len(raw) or place + len(text) < len(whole),
        )

    def _pieces(self, text: str, raw: bytes) -> list[_Piece]:
        words = self._index.tokens(text)
        joined = self._joined(words, raw) if "_" in text else {}
        pieces: list[_Piece] = []
        for place, (start, end, stem) in enumerate(words):
            weight = self._weight(stem) or joined.get(place, 0.0)
            if weight:
                pieces.append(_Piece(start, end, stem, weight))
                continue
            word = raw[start:end].decode()
            if word not in self._word_weights and (runs := unspaced_runs(word)):
                pieces += self._unspaced(word, start, runs)
            else:
                pieces.append(_Piece(start, end, stem, self._word_weight(word)))
        return pieces

    def _word_weight(self, word: str) -> float:
        if word not in self._word_weights:
            self._word_weights[word] = max(map(self._part_weight, identifier_parts(word)), default=0.0)
        return self._word_weights[word]

    def _unspaced(self, word: str, start: int, runs: Sequence[str]) -> Iterator[_Piece]:
        """Yield the characters of a word without spaces, and the words mixed into it."""
        place = 0
        for run in (*runs, ""):
            next_run = word.index(run, place) if run else len(word)
            mixed = word[place:next_run]
            if mixed:
                yield _Piece(start, start + len(mixed.encode()), mixed, self._part_weight(mixed.lower()))
                start += len(mixed.encode())
            for at, character in enumerate(run):
                around = (character, run[max(0, at - 1) : at + 1], run[at : at + 2])
                size = len(character.encode())
                yield _Piece(start, start + size, character, max(map(self._part_weight, around)))
                start += size
            place = next_run + len(run)

    def _joined(self, words: Sequence[tuple[int, int, str]], raw: bytes) -> dict[int, float]:
        """Return the weights of words that match once their underscores are removed."""
        weights: dict[int, float] = {}
        first = 0
        for place, (_, end, _) in enumerate(words):
            if place + 1 < len(words) and raw[end : words[place + 1][0]] == b"_":
                continue
            if place > first:
                whole = raw[words[first][0] : end].decode().replace("_", "").lower()
                weights |= dict.fromkeys(range(first, place + 1), self._part_weight(whole))
            first = place + 1
        return weights

    def _part_weight(self, part: str) -> float:
        if part not in self._part_weights:
            self._part_weights[part] = max(map(self._weight, self._stems(part)), default=0.0)
        return self._part_weights[part]

    def _weight(self, stem: str) -> float:
        weight = self._weights.get(stem, 0.0)
        return weight or (1.0 if self._prefixes and stem.startswith(self._prefixes) else 0.0)

    def _stems(self, word: str) -> list[str]:
        return [stem for _, _, stem in self._index.tokens(word)]


def _best_window(pieces: Sequence[_Piece]) -> int:
    """Return the first piece of the window with the highest total weight; of equals the earliest."""
    best, best_weight = 0, -1.0
    matching = [place for place, piece in enumerate(pieces) if piece.weight]
    for place in matching:
        first = max(0, place - _WORDS // 4)
        within = matching[bisect_left(matching, first) : bisect_left(matching, first + _WORDS)]
        weight = sum({pieces[at].word: pieces[at].weight for at in within}.values())
        if weight > best_weight:
            best, best_weight = first, weight
    return best


def _one_line(text: str) -> str:
    for separator in "\n\t\u2028\u2029":
        text = text.replace(separator, " ")
    return text


def _shorten(text: str, marks: Sequence[tuple[int, int]], *, cut_before: bool, cut_after: bool) -> Snippet:
    """Return a snippet around the first mark, with an ellipsis where the text was cut."""
    ideal_start = marks[0][0] - _MAX_SNIPPET_CHARS // 4 if marks else 0
    first = max(0, min(ideal_start, len(text) - _MAX_SNIPPET_CHARS))
    excerpt = text[first : first + _MAX_SNIPPET_CHARS]
    before = "…" if cut_before or first else ""
    after = "…" if cut_after or first + len(excerpt) < len(text) else ""
    shift = len(before) - first
    inside = [
        (start + shift, min(end, first + len(excerpt)) + shift)
        for start, end in marks
        if first <= start < first + len(excerpt)
    ]
    return Snippet(f"{before}{excerpt}{after}", tuple(inside))
