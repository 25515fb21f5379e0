"""The kinds of items that can be found, and the statuses that their documents have."""

from __future__ import annotations

from enum import Enum

from satchel.base.errors import InvalidInput

LIVE = 1
SUPERSEDED = 2
"""Found only on request. Documents of any other status but 1, such as drafts (3), rank below the live ones."""


class Kind(Enum):
    """A kind of searchable item: its number in the documents, the letter of its short ids, and its table.

    ``satchel.keep.finding`` defines what differs between kinds, such as how to read their texts.
    """

    ENTRY = (1, "e", "context")
    DECISION = (2, "d", "decisions")
    CONSTRAINT = (3, "c", "constraints")
    MESSAGE = (4, "m", "agent_messages")
    FILE_CHANGE = (5, "f", "file_changes")
    PACKAGE = (6, "p", "context_packages")
    ERROR_PATTERN = (7, "x", "error_patterns")
    STRATEGY = (8, "s", "strategies")

    def __init__(self, number: int, letter: str, table: str) -> None:
        self.number = number
        self.letter = letter
        self.table = table

    def ref(self, number: int) -> str:
        """Return the short id of an item, such as ``e812``."""
        return f"{self.letter}{number}"

    def number_of(self, ref: object) -> int:
        """Parse a short id of this kind, with or without its letter."""
        thing = self.name.lower().replace("_", " ")
        return read_number(ref, self.letter, f"{'an' if thing[0] in 'aeiou' else 'a'} {thing}")


def read_number(ref: object, letter: str, thing: str) -> int:
    """Parse a short id, with or without its letter.

    ``thing`` names what the id should belong to, with its article, for the error.
    """
    digits = str(ref).strip().removeprefix(letter) if isinstance(ref, (str, int)) else ""
    if isinstance(ref, bool) or not (digits.isascii() and digits.isdigit() and len(digits) < 19):
        raise InvalidInput(f"{repr(ref)[:80]} is no id of {thing}", f"Give an id such as {letter}812; lists show them")
    return int(digits)
