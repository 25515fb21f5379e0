"""Snippets: the part of a text that shows why it matched."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice

from satchel.base.lazy import lazy_regex
from satchel.base.records import dataclass
from satchel.find.scopes import Term
from satchel.find.stemming import stems, tokens
from satchel.find.words import identifier_parts, unspaced_runs
from satchel.store.damage import MARK

_WORDS = 32
_MAX_READ_CHARS = 40_000
_MAX_SNIPPET_CHARS = 400

_ascii_word = lazy_regex(r"[0-9A-Za-z]+")

# First byte, end, word and weight of a word of a text, or of a character in scripts without spaces.
_Piece = tuple[int, int, str, float]


@dataclass(frozen=True, slots=True)
class Snippet:
    """Part of a text with its matches.

    Attributes:
        text: one line, with an ellipsis where the text was cut.
        marks: pairs of the first and last character of each match in ``text``.
    """

    text: str
    marks: tuple[tuple[int, int], ...]


class Snipper:
    """Makes snippets for the terms of one search."""

    def __init__(self, terms: Sequence[Term], idf: Sequence[float]) -> None:
        self._weights: dict[str, float] = {}
        for term, value in zip(terms, idf, strict=True):
            for word in term.words if term.weight else ():
                for stem in self._stems(word):
                    self._weights[stem] = max(self._weights.get(stem, 0.0), value * term.weight)
        self._prefixes = tuple(
            stem for term in terms if term.prefix and term.weight for stem in self._stems(term.words[-1])
        )
        self._part_weights: dict[str, float] = {}
        self._word_weights: dict[bytes, float | None] = {}

    def cut(self, text: str) -> Snippet:
        """Return the part of a text with the most telling terms, or its beginning if it has none."""
        if self._weights or self._prefixes:
            places = range(0, len(text), _MAX_READ_CHARS) or (0,)
            snippets = (self._cut(text, place, _MAX_READ_CHARS) for place in places)
            first = next(snippets)
            best = first if first.marks else next((snippet for snippet in snippets if snippet.marks), first)
        elif (head := text[: 2 * _MAX_SNIPPET_CHARS]).isascii():
            # the tokenizer splits ASCII alike, at 1.5 times the cost
            ends = [word.end() for word in islice(_ascii_word().finditer(head), _WORDS + 1)]
            end = ends[_WORDS - 1] if len(ends) > _WORDS else len(head)
            best = _shorten(_one_line(head[:end]), (), cut_before=False, cut_after=end < len(text))
        else:
            best = self._cut(text, 0, len(head))
        if MARK in text and MARK not in best.text:
            return Snippet(f"{best.text} {MARK}", best.marks)
        return best

    def _cut(self, whole: str, place: int, size: int) -> Snippet:
        text = whole[place : place + size]
        raw = text.encode()
        pieces = self._pieces(text, raw)
        if not pieces:
            return _shorten(_one_line(text), (), cut_before=False, cut_after=False)
        first = _best_window(pieces)
        window = pieces[first : first + _WORDS]
        start = 0 if first == 0 else window[0][0]
        end = len(raw) if window[-1] is pieces[-1] else window[-1][1]
        parts: list[str] = []
        marks: list[tuple[int, int]] = []
        length = 0
        reached = start
        for piece_start, piece_end, _, weight in window:
            if weight:
                before = _one_line(raw[reached:piece_start].decode())
                matching = _one_line(raw[piece_start:piece_end].decode())
                begin = length + len(before)
                if marks and not before:
                    begin = marks.pop()[0]
                length += len(before) + len(matching)
                marks.append((begin, length))
                parts += (before, matching)
                reached = piece_end
        parts.append(_one_line(raw[reached:end].decode()))
        return _shorten(
            "".join(parts),
            marks,
            cut_before=place + start > 0,
            cut_after=end < len(raw) or place + len(text) < len(whole),
        )

    def _pieces(self, text: str, raw: bytes) -> list[_Piece]:
        words = tokens(text)
        joined = self._joined(words, raw) if "_" in text else {}
        pieces: list[_Piece] = []
        weights = self._word_weights
        for place, (start, end, stem) in enumerate(words):
            word = raw[start:end]
            if word not in weights:
                weights[word] = self._word_weight(word.decode(), stem)
            weight = joined.get(place) or weights[word]
            if weight is None:
                pieces += self._unspaced(word.decode(), start)
            else:
                pieces.append((start, end, stem, weight))
        return pieces

    def _word_weight(self, word: str, stem: str) -> float | None:
        weight = self._weight(stem)
        if not weight and unspaced_runs(word):
            return None
        return weight or max(map(self._part_weight, identifier_parts(word)), default=0.0)

    def _unspaced(self, word: str, start: int) -> Iterator[_Piece]:
        place = 0
        for run in (*unspaced_runs(word), ""):
            next_run = word.index(run, place) if run else len(word)
            mixed = word[place:next_run]
            if mixed:
                yield start, start + len(mixed.encode()), mixed, self._part_weight(mixed.lower())
                start += len(mixed.encode())
            for at, character in enumerate(run):
                around = (character, run[max(0, at - 1) : at + 1], run[at : at + 2])
                size = len(character.encode())
                yield start, start + size, character, max(map(self._part_weight, around))
                start += size
            place = next_run + len(run)

    def _joined(self, words: Sequence[tuple[int, int, str]], raw: bytes) -> dict[int, float]:
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
        return stems(word)


def _best_window(pieces: Sequence[_Piece]) -> int:
    best, best_weight = 0, -1.0
    matching = [place for place, (_, _, _, weight) in enumerate(pieces) if weight]
    for place in matching:
        first = max(0, place - _WORDS // 4)
        within = matching[bisect_left(matching, first) : bisect_left(matching, first + _WORDS)]
        weight = sum({pieces[at][2]: pieces[at][3] for at in within}.values())
        if weight > best_weight:
            best, best_weight = first, weight
    return best


def _one_line(text: str) -> str:
    for separator in "\n\t\u2028\u2029":
        text = text.replace(separator, " ")
    return text


def _shorten(text: str, marks: Sequence[tuple[int, int]], *, cut_before: bool, cut_after: bool) -> Snippet:
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
