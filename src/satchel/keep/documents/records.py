"""Records of documents and their proposals."""

from __future__ import annotations

from satchel.base.records import NamedTuple, dataclass

RULE, DECISION, NOTE = "rule", "decision", "note"
KINDS = (RULE, DECISION, NOTE)

NEW, CHANGED, REMOVED = "new", "changed", "removed"
"""Why something is proposed."""

HIDDEN, UNSEEN, COMMENT, SECRET = "hidden characters", "what a rendered page hides", "a comment", "a secret"
COMMANDS, NETWORK, SECRETS, TOOLS = "commands", "network", "secrets", "tool calls"
NEEDS_A_LOOK = frozenset((HIDDEN, UNSEEN, COMMENT, SECRET))
"""Marks of proposals that are accepted one by one only."""


class Piece(NamedTuple):
    """A part of a document that makes one item.

    Attributes:
        text: the part below its headings, or the decision of a record.
        source: the part as written, hidden characters and comments included.
    """

    line: int
    kind: str
    text: str
    source: str
    key: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of the memory that a document proposes.

    Attributes:
        line: the line in the document; of a removed text its last known one.
        source: the text as written in the document; empty if it was removed.
        item: the short id of the item that it changes or ends, or None, and ``before`` its text.
        also: other documents with the same text.
        clients: those that load the text themselves, as the table stores them.
    """

    path: str
    line: int
    why: str
    kind: str
    text: str
    source: str
    digest: str
    key: str = ""
    reason: str = ""
    paths: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    item: str | None = None
    before: str | None = None
    also: tuple[str, ...] = ()
    clients: str = ""

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"

    @property
    def ref(self) -> str:
        return self.place if self.source or self.item is None else self.item

    @property
    def needs_a_look(self) -> bool:
        """Return whether only a person who names it accepts it."""
        return not NEEDS_A_LOOK.isdisjoint(self.marks)


@dataclass(frozen=True, slots=True)
class Review:
    """The documents of a project, and what they propose.

    Attributes:
        in_step: how many texts are items already.
        rejected: how many texts a person rejected.
        skipped: what was not read, each with the reason.
    """

    branch: str | None
    documents: tuple[str, ...]
    proposals: tuple[Proposal, ...]
    in_step: int
    rejected: int
    skipped: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Decided:
    """Result of a person's decision on proposals, each with the short id of its item.

    Attributes:
        left_out: proposals that only a person who names them accepts.
    """

    accepted: bool
    items: tuple[tuple[Proposal, str | None], ...]
    failed: tuple[tuple[str, str], ...] = ()
    left_out: tuple[Proposal, ...] = ()
    notes: tuple[str, ...] = ()
