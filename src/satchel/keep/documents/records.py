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
        line: its first line in the document, from 1.
        kind: one of :data:`KINDS`.
        text: what the item says: the part below its headings, or what a record decides.
        source: the part as it stands in the document, hidden characters and comments included.
        key: of a decision, else empty.
        reason: of a decision.
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
        path: the document, relative to the project.
        line: the line in it; of a removed text its last known one.
        why: :data:`NEW`, :data:`CHANGED` or :data:`REMOVED`.
        kind: rule, decision or note.
        text: what the item would say; of a removed text what it says.
        source: the text as it stands in the document; empty if it was removed.
        paths: globs of the files that it would bind.
        marks: what needs a look: hidden characters, a comment, a secret, commands, network, tool calls.
        item: the short id of the item that it changes or ends, or None.
        before: what that item says, or None.
        also: other documents that say the same.
        digest: identifies the text.
        key, reason: of a decision, else empty.
        clients: those that load the text by themselves, as the table stores them.
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
        """Return what names it: its place, or of a removed text its item."""
        return self.place if self.source or self.item is None else self.item

    @property
    def needs_a_look(self) -> bool:
        """Return whether only a person who names it accepts it."""
        return not NEEDS_A_LOOK.isdisjoint(self.marks)


@dataclass(frozen=True, slots=True)
class Review:
    """The documents of a project, and what they propose.

    Attributes:
        branch: the branch that they were read from, or None.
        documents: their paths.
        proposals: in the order of the documents.
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
    """Result of a person's decision on proposals.

    Attributes:
        accepted: whether they were accepted, else rejected.
        items: the decided ones, each with the short id of its item, or None.
        failed: those that could not be stored, with the reason.
        left_out: proposals that were left out, since only a person who names them accepts them.
        notes: what was removed from a text before it was stored.
    """

    accepted: bool
    items: tuple[tuple[Proposal, str | None], ...]
    failed: tuple[tuple[str, str], ...] = ()
    left_out: tuple[Proposal, ...] = ()
    notes: tuple[str, ...] = ()
