"""Snippets: the part of a text that shows why it was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from satchel.find import index_sqlite as index
from satchel.find.query import Term
from satchel.find.words import identifier_parts, unspaced_runs
from satchel.store.sqlite import Transaction

_WORDS = 32
_MAX_TEXT_CHARS = 40_000
_MAX_SNIPPET_CHARS = 400


@dataclass(frozen=True, slots=True)
class Snippet:
    """Part of a text, and what in it matched.

    Attributes:
        text: the part, on one line, with an ellipsis where something was cut off.
        marks: pairs of first and last character of each match in ``text``.
    """

    text: str
    marks: tuple[tuple[int, int], ...]


class Snipper:
    """Makes snippets for the terms of one search."""

    def __init__(self, transaction: Transaction, terms: Sequence[Term], idf: Sequence[float]) -> None:
        self._transaction = transaction
        self._weights: dict[str, float] = {}
        for term, value in zip(terms, idf, strict=True):
            for word in term.words:
                for _, _, stem in index.tokens(transaction, word):
                    self._weights[stem] = max(self._weights.get(stem, 0.0), value * term.weight)
        self._prefixes = tuple(term.words[-1] for term in terms if term.prefix)

    def cut(self, text: str) -> Snippet:
        """Return the window of a text that holds the most telling terms, or its beginning where it holds none."""
        text = text[:_MAX_TEXT_CHARS]
        raw = text.encode()
        words = index.tokens(self._transaction, text)
        found = [self._weight(stem, raw[start:end].decode()) for start, end, stem in words]
        first = self._best_window(words, found)
        window = range(first, min(len(words), first + _WORDS))
        if not window:
            return Snippet(" ".join(text[:_MAX_SNIPPET_CHARS].split()), ())
        start = 0 if first == 0 else words[first][0]
        end = len(raw) if window[-1] == len(words) - 1 else words[window[-1]][1]
        pieces: list[str] = ["…"] if start else []
        marks: list[tuple[int, int]] = []
        length = len(pieces)
        place = start
        for word in window:
            if found[word]:
                first_byte, last_byte, _ = words[word]
                before, matching = (
                    _on_one_line(raw[place:first_byte].decode()),
                    _on_one_line(raw[first_byte:last_byte].decode()),
                )
                marks.append((length + len(before), length + len(before) + len(matching)))
                pieces += (before, matching)
                length += len(before) + len(matching)
                place = last_byte
        pieces.append(_on_one_line(raw[place:end].decode()))
        return _shortened("".join(pieces) + ("…" if end < len(raw) else ""), marks)

    def _weight(self, stem: str, word: str) -> float:
        weight = self._weights.get(stem, 0.0)
        if not weight and self._prefixes and word.lower().startswith(self._prefixes):
            return 1.0
        if not weight:
            parts = identifier_parts(word) or [run[i : i + 2] for run in unspaced_runs(word) for i in range(len(run))]
            weight = max((self._weights.get(part, 0.0) for part in parts), default=0.0)
        return weight

    def _best_window(self, words: Sequence[tuple[int, int, str]], found: Sequence[float]) -> int:
        """Return the first word of the window whose different terms weigh most; the earliest of equals."""
        best, best_weight = 0, -1.0
        matching = [place for place, weight in enumerate(found) if weight]
        for place in matching:
            first = max(0, place - _WORDS // 4)
            inside = {words[at][2]: found[at] for at in matching if first <= at < first + _WORDS}
            weight = sum(inside.values())
            if weight > best_weight:
                best, best_weight = first, weight
        return best


def _on_one_line(text: str) -> str:
    return text.replace("\n", " ").replace("\t", " ")


def _shortened(text: str, marks: Sequence[tuple[int, int]]) -> Snippet:
    if len(text) <= _MAX_SNIPPET_CHARS:
        return Snippet(text, tuple(marks))
    first = max(0, min(marks[0][0] - _MAX_SNIPPET_CHARS // 4, len(text) - _MAX_SNIPPET_CHARS)) if marks else 0
    kept = text[first : first + _MAX_SNIPPET_CHARS]
    inside = [(start - first, end - first) for start, end in marks if start >= first and end - first <= len(kept)]
    return Snippet(kept, tuple(inside))
