"""The records of consultations that travel between gathering, planning, state and assistants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Placement(Enum):
    """Where a file of a conversation is: in the prompt, or in a vector store. Once decided, it never changes."""

    INLINE = 1
    OVERFLOW = 2


@dataclass(frozen=True, slots=True)
class Stat:
    """What tells cheaply that a file is unchanged.

    Attributes:
        size: bytes.
        mtime_ns: nanoseconds since 1970, a whole number.
    """

    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that was asked for, looked at but not read.

    Attributes:
        path: its name in the conversation: relative to the base with forward slashes, or absolute outside it.
        real_path: where it is behind every link.
        root: the allowed root that holds it.
    """

    path: str
    real_path: str
    root: str
    stat: Stat


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A file that is not sent, and why.

    Attributes:
        reason: a short name of the reason, such as ``binary`` or ``secret``.
        detail: the reason in words, with what would send it, if anything.
    """

    path: str
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Gathering:
    """What paths hold: files in the order of their paths, each once, and what is held back."""

    files: tuple[FoundFile, ...]
    held_back: tuple[HeldBack, ...]


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a file as it was read, all from the same read.

    Attributes:
        text: decoded from UTF-8 with nothing changed: encoding it gives the bytes back.
        digest: SHA-256 of the bytes.
        stat: of the file when it was read.
    """

    text: str
    digest: bytes
    stat: Stat


@dataclass(frozen=True, slots=True)
class KnownFile:
    """What a conversation knows of one file that was sent in it.

    Attributes:
        digest: of the content that the model holds, or that was last searched; None once it was removed.
        sent_at: when that content was read, in milliseconds UTC.
        tokens: what the content took when it was last counted.
    """

    path: str
    placement: Placement
    stat: Stat
    digest: bytes | None
    sent_at: int
    tokens: int


@dataclass(frozen=True, slots=True)
class ConversationState:
    """What a conversation holds after its last successful turn.

    Attributes:
        turns: how many turns succeeded.
        files: by path.
        held_tokens: what the conversation holds in all: prompts and answers.
        has_overflowed: whether any file ever overflowed, so that room was promised away.
        provider_ref: the provider's name for the thread, or None.
    """

    turns: int = 0
    files: Mapping[str, KnownFile] = field(default_factory=dict)
    held_tokens: int = 0
    has_overflowed: bool = False
    provider_ref: str | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """How much a model can hold.

    Attributes:
        tokens: of input and output together.
        output: the tokens kept for the answer.
    """

    tokens: int
    output: int


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """What one turn sends, decided before anything is sent.

    Attributes:
        prompt: the text of the turn, files and question included.
        tokens: what the prompt adds to the conversation, counted once, as a whole.
        overflow: contents that the turn needs in a vector store, by path.
        files: what the conversation knows of every file once the turn has succeeded.
        new_contents: texts whose digests the state refers to and that diffs will be made from, by digest.
        held_back: what is not sent, and why.
        resent_tokens: what a full resend of all inline files would have added.
        notes: what the caller should know, such as that the window is filling.
        has_overflowed: as in :class:`ConversationState`, after this turn.
    """

    prompt: str
    tokens: int
    overflow: Mapping[str, Content]
    files: Mapping[str, KnownFile]
    new_contents: Mapping[bytes, str]
    held_back: tuple[HeldBack, ...]
    resent_tokens: int
    notes: tuple[str, ...]
    has_overflowed: bool
