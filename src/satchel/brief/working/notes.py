"""Notes in the lines that hooks show, marked if the cited lines have changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from satchel.base.clock import span_in_words
from satchel.base.records import NamedTuple
from satchel.base.text import shortened
from satchel.brief.fields import by, name_text
from satchel.brief.working.hook_context import ItemVersion
from satchel.find.kind import Kind
from satchel.keep.entries.records import BUG, COMPARED_TYPES, ENTRY_TYPES, REVIEW_ISSUE
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from satchel.keep.citations import Citation

SHOWN_CHARS = 200
"""How much of an item's text is shown; get_items returns the rest."""

NOTE_TYPES = (*COMPARED_TYPES, REVIEW_ISSUE, BUG)
"""Types of use outside their loop; scratchpads, verdicts and analyses are for agents at the same work."""

FROM_COMMIT, OF_COMMIT = re.compile(r"commit [0-9a-f]{7,40}\b"), 0.6
"""How a note made from a commit begins, and what its strength is multiplied by."""

COLUMNS = "c.id, c.seq, c.type, c.content, c.file, c.line, a.name, c.created_at"
SOURCE = "context c LEFT JOIN agents a ON a.id = c.agent_id"


class Note(NamedTuple):
    """A note, with the fields of :data:`COLUMNS`.

    Attributes:
        seq: the number of its last change.
        type: the number of its type.
        created_at: milliseconds UTC.
    """

    number: int
    seq: int
    type: int
    content: str
    file: str | None
    line: int | None
    author: str | None
    created_at: int

    @property
    def version(self) -> ItemVersion:
        return Kind.ENTRY.number, self.number, self.seq

    def head(self, now: int, citation: Citation | None) -> str:
        """Return the part before the text: ref, type unless discovery, place, author, age and citation marks."""
        name = ENTRY_TYPES[self.type - 1]
        what = "" if name == "discovery" else f" {name.replace('_', ' ')}"
        where = f" line {self.line}" if self.line else ""
        author = f" {by(self.author)}," if self.author else ""
        marks = f" ({', '.join(citation.marks)})" if citation is not None and citation.marks else ""
        ago = span_in_words(now - self.created_at)
        return f"{Kind.ENTRY.ref(self.number)}{what}{where}{author} {ago} ago{marks}"

    def short_head(self, citation: Citation | None) -> str:
        """Return the part before the text: ref, type unless discovery, place and citation marks."""
        name = ENTRY_TYPES[self.type - 1]
        parts = [
            "" if name == "discovery" else name.replace("_", " "),
            f"{name_text(self.file)}:{self.line}" if self.file and self.line else name_text(self.file) or "",
            f"({', '.join(citation.marks)})" if citation is not None and citation.marks else "",
        ]
        head = " ".join(filter(None, parts))
        ref = Kind.ENTRY.ref(self.number)
        return f"{ref} {head}:" if head else f"{ref}:"

    @property
    def text(self) -> str:
        if self.type not in {REVIEW_ISSUE, BUG}:
            return self.content
        from satchel.keep.entries import structured

        return structured.labelled(ENTRY_TYPES[self.type - 1], self.content)


def line(head: str, text: str, most: int = SHOWN_CHARS) -> str:
    return f"{head}: {shortened(text, most)}"


def compare(
    transaction: Transaction,
    files_root: str | None,
    notes: Collection[Note],
    is_over: Callable[[], bool] = lambda: False,
) -> Mapping[int, Citation]:
    """Compare the citations of notes with the reader's files, by id.

    ``files_root`` None compares nothing. ``is_over`` is called before each file; the rest then stays unknown.
    """
    citing = [note.number for note in notes if note.file is not None]
    if not citing:
        return {}
    from satchel.keep import citations

    return citations.Comparing(files_root, is_over).compare(citations.load(transaction, citing))
