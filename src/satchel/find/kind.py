"""The kinds of items that can be found, and the statuses that their documents have."""

from __future__ import annotations

from enum import Enum

from satchel.base.errors import InvalidInput

LIVE = 1
# Found only on request. Documents of any other status but 1, such as drafts (3), rank below the live ones.
SUPERSEDED = 2


_UNREPLACED = "i.superseded_by IS NULL"
_NOBODY = "CAST(NULL AS BIGINT)"
# A rule that a person stated is that person's once it is confirmed.
_AUTHOR_OF_RULE = "CASE WHEN i.unconfirmed = 0 AND i.stated_by IS NOT NULL THEN i.stated_by ELSE i.created_by END"


class Kind(Enum):
    """A kind of searchable item, with the SQL that tables of several kinds need; items are ``i`` in it.

    The rest of a kind's declaration is a :class:`satchel.keep.kind.ItemKind`.

    Attributes:
        number: its number in documents, pins, corrections and events.
        letter: the letter of its short ids.
        author: SQL for the author of an item.
        changed_by, changed_at: SQL for the author and the time of its last change.
        live: the condition that it is neither replaced nor ended; None for kinds that are not pinned.
        text: the column that replaced, retracted and confirmed items are quoted by; None for kinds without corrections.
    """

    ENTRY = (1, "e", "context", "i.agent_id", "created_at", _UNREPLACED, "content")
    DECISION = (2, "d", "decisions", "i.agent_id", "updated_at", "i.status <> 2")
    CONSTRAINT = (3, "c", "constraints", _AUTHOR_OF_RULE, "deactivated_at", "i.active = 1", "text", "deactivated_by")
    MESSAGE = (4, "m", "agent_messages", "i.from_agent_id", "created_at")
    FILE_CHANGE = (5, "f", "file_changes", "i.agent_id", "created_at")
    PACKAGE = (6, "p", "context_packages", "i.producer_id", "updated_at", _UNREPLACED)
    ERROR_PATTERN = (7, "x", "error_patterns", None, "last_seen")
    STRATEGY = (8, "s", "strategies", "i.agent_id", "last_seen", _UNREPLACED, "insight")

    def __init__(
        self,
        number: int,
        letter: str,
        table: str,
        author: str | None,
        changed_at: str,
        live: str | None = None,
        text: str | None = None,
        ended_by: str | None = None,
    ) -> None:
        self.number = number
        self.letter = letter
        self.table = table
        self.author = author or _NOBODY
        self.changed_by = self.author if ended_by is None else f"COALESCE(i.{ended_by}, {self.author})"
        self.changed_at = f"COALESCE(i.{changed_at}, i.created_at)" if ended_by is not None else f"i.{changed_at}"
        self.live = live
        self.text = text

    def ref(self, number: int) -> str:
        return f"{self.letter}{number}"

    def number_of(self, ref: object) -> int:
        """Parse a short id of this kind, with or without its letter."""
        return read_number(ref, self.letter, f"{'an' if self.noun[0] in 'aeiou' else 'a'} {self.noun}")

    @property
    def noun(self) -> str:
        return _NOUNS.get(self.name, self.name.lower().replace("_", " "))


_NOUNS = {"ENTRY": "note", "CONSTRAINT": "rule", "ERROR_PATTERN": "error"}

# Kinds by number.
KIND_OF = {kind.number: kind for kind in Kind}

# Kinds by name, as in searches and lines.
KIND_NAMED = {kind.name.lower(): kind for kind in Kind}


def read_number(ref: object, letter: str, thing: str) -> int:
    """Parse a short id, with or without its letter.

    ``thing`` names what the id should belong to, with its article, for the error.
    """
    digits = str(ref).strip().removeprefix(letter) if isinstance(ref, (str, int)) else ""
    if isinstance(ref, bool) or not (digits.isascii() and digits.isdigit() and len(digits) < 19):
        raise InvalidInput(f"{repr(ref)[:80]} is no id of {thing}", f"Give an id such as {letter}812; lists show them")
    return int(digits)
