"""The query language: any text is a valid query."""

from __future__ import annotations

import re

MAX_TERMS = 64

# what SQLite's unicode61 tokenizer takes for a word: letters and digits, never the underscore
_WORD = re.compile(r"[^\W_]+")

STOP_WORDS = frozenset(
    [
        "a",
        "about",
        "after",
        "again",
        "all",
        "also",
        "am",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "because",
        "been",
        "before",
        "being",
        "but",
        "by",
        "can",
        "cannot",
        "could",
        "did",
        "do",
        "does",
        "doing",
        "done",
        "down",
        "for",
        "from",
        "had",
        "has",
        "have",
        "having",
        "he",
        "her",
        "here",
        "hers",
        "him",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "just",
        "like",
        "me",
        "more",
        "most",
        "my",
        "no",
        "nor",
        "not",
        "now",
        "of",
        "off",
        "on",
        "once",
        "only",
        "or",
        "other",
        "our",
        "ours",
        "out",
        "over",
        "own",
        "please",
        "s",
        "same",
        "she",
        "should",
        "so",
        "some",
        "such",
        "t",
        "than",
        "that",
        "the",
        "their",
        "theirs",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "through",
        "to",
        "too",
        "under",
        "until",
        "up",
        "us",
        "very",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "whom",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
        "yours",
    ]
)
"""Words that say nothing about what is looked for (a list of our own, of English function words)."""


def words(text: str) -> list[str]:
    """Return the words to look for, each once, in the order given, without stop words.

    Args:
        text: anything a person or an agent types; no character has a meaning of its own.

    Returns:
        At most :data:`MAX_TERMS` words, as they were typed: the index folds case in its own way, where a sharp s stays
        one. A text of nothing but stop words keeps them. Empty when the text has no letter and no digit.
    """
    found: dict[str, str] = {}
    for word in _WORD.findall(text):
        found.setdefault(word.lower(), word)
    return ([word for lowered, word in found.items() if lowered not in STOP_WORDS] or list(found.values()))[:MAX_TERMS]


def any_of(terms: list[str]) -> str:
    """Return a full-text expression that matches a text with any of the words; each is quoted, so none is syntax."""
    return " OR ".join(f'"{term}"' for term in terms)
