"""Words as FTS5 splits and stems them in this process, so that both databases find the same."""

from __future__ import annotations

import threading
from typing import Any

import apsw


class _Tokenizer(threading.local):
    def __init__(self) -> None:
        connection = apsw.Connection(":memory:")
        self.split: Any = connection.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])


_TOKENIZER = _Tokenizer()


def tokens(text: str) -> list[tuple[int, int, str]]:
    """Return the stems of the words of a text, with the start and end of each word in UTF-8 bytes."""
    words = _TOKENIZER.split(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False)
    return [(start, end, stem) for start, end, stem in words]


def stems(text: str) -> list[str]:
    words: list[str] = _TOKENIZER.split(
        text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
    )
    return words
