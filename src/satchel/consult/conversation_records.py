"""The records of stored conversations: how one is named, held, continued and listed."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.base.clock import moment_text
from satchel.base.paging import Page
from satchel.base.records import dataclass
from satchel.consult.records import ConversationState, KnownFile, Overflow, TurnPlan


@dataclass(frozen=True, slots=True)
class ConversationKey:
    """The identity of a conversation among those of its project and owner.

    Attributes:
        assistant: the name of the assistant that answers.
        conversation: the caller's name for the thread.
    """

    assistant: str
    conversation: str


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to continue a conversation, which one call at a time has.

    Attributes:
        token: tells this call from any other.
        holder: who calls, in words.
        since: when it was granted; with ``until``, when it ends, in milliseconds UTC.
    """

    token: bytes
    holder: str
    since: int
    until: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation that a call holds, as it was after its last successful turn.

    Attributes:
        id: its number in the store.
    """

    id: int
    project_id: int
    key: ConversationKey
    lease: Lease
    state: ConversationState


@dataclass(frozen=True, slots=True)
class TurnResult:
    """A turn that the assistant has answered.

    Attributes:
        plan: what was sent.
        answer: the whole answer.
        answer_tokens: what the answer adds to the conversation.
        provider_ref: the provider's new name for the thread, or None.
        starts_over: whether the thread started over with this turn, since the provider had lost the earlier ones.
    """

    plan: TurnPlan
    answer: str
    answer_tokens: int
    provider_ref: str | None = None
    starts_over: bool = False


@dataclass(frozen=True, slots=True)
class Committed:
    """What a successful turn left.

    Attributes:
        state: what the conversation holds now.
        notes: what was redacted in what is stored of the turn; the assistant had it unaltered.
    """

    state: ConversationState
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """A past turn.

    Attributes:
        n: the how-manieth of its conversation, from 1.
        prompt, answer: as they were, but for secrets.
        sent_tokens: what the prompt added to the conversation.
        resent_tokens: what it would have added with every inline file.
        created_at: when it was answered, in milliseconds UTC.
        question: the part of the prompt that was asked.
    """

    n: int
    prompt: str
    answer: str
    provider_ref: str | None
    sent_tokens: int
    resent_tokens: int
    answer_tokens: int
    created_at: int
    question: str

    @property
    def saved_tokens(self) -> int:
        """What was not sent again."""
        return max(0, self.resent_tokens - self.sent_tokens)


@dataclass(frozen=True, slots=True)
class EarlierAnswer:
    """An answer of an assistant to nearly the same question about the same contents of the same files."""

    conversation: str
    turn: int
    created_at: int
    answer: str

    @property
    def told(self) -> str:
        """Which one it is, in words."""
        return f"turn {self.turn} of conversation {self.conversation!r}, {moment_text(self.created_at)}"


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of a conversation.

    Attributes:
        tokens: of the content when it was last counted.
        is_removed: whether the assistant was told that it is gone; it would come back to the same place.
        why: for a file in a vector store, why it is there; None for one in the prompt.
    """

    path: str
    tokens: int
    is_removed: bool
    why: str | None


@dataclass(frozen=True, slots=True)
class ListedConversation:
    """A conversation, as a list shows it.

    Attributes:
        inline: the files that go into the prompt, by path.
        overflow: the files that go into a vector store, by path.
        held_tokens: what the thread holds: prompts and answers.
        sent_tokens: of all prompts; in all turns, forgotten threads included.
        resent_tokens: of all prompts, had every inline file been sent with each.
        answer_tokens: of all answers.
        lease: of the call that is under way, or None.
        created_at: when it began, with ``updated_at``, when its last turn succeeded, in milliseconds UTC.
    """

    id: int
    uid: str
    seq: int
    key: ConversationKey
    turns: int
    inline: tuple[ListedFile, ...]
    overflow: tuple[ListedFile, ...]
    held_tokens: int
    sent_tokens: int
    resent_tokens: int
    answer_tokens: int
    lease: Lease | None
    created_at: int
    updated_at: int

    @property
    def saved_tokens(self) -> int:
        """What was not sent again."""
        return max(0, self.resent_tokens - self.sent_tokens)


@dataclass(frozen=True, slots=True)
class ConversationHistory:
    """A conversation with its turns, the newest first."""

    conversation: ListedConversation
    turns: Page[Turn]


@dataclass(frozen=True, slots=True)
class ForgottenConversation:
    """What a reset forgot: so many turns, placements of files, and contents that nothing else needed."""

    key: ConversationKey
    turns: int
    files: int
    contents: int


def list_placements(files: Mapping[str, KnownFile]) -> tuple[tuple[ListedFile, ...], tuple[ListedFile, ...]]:
    """Return the files in the prompt and those that overflowed, each by path.

    Args:
        files: all that the conversation knows.
    """
    inline: list[ListedFile] = []
    overflow: list[ListedFile] = []
    first = min((known.first_turn for known in files.values() if known.why is not None), default=0)
    for _, known in sorted(files.items()):
        why = None if known.why is None else _told(known.why, known.first_turn, first)
        part = inline if why is None else overflow
        part.append(ListedFile(known.path, known.tokens, known.digest is None, why))
    return tuple(inline), tuple(overflow)


def _told(why: Overflow, turn: int, first: int) -> str:
    """Say why a file that came in a turn is not in the prompt, given the turn in which files overflowed first."""
    if why is Overflow.TOO_LARGE:
        return "larger alone than the part of the window that files may take"
    if why is Overflow.LATE:
        return f"new in turn {turn}, after others had overflowed in turn {first}"
    if turn == 1:
        return "did not fit beside the files that go first"
    return f"new in turn {turn}, when it did not fit any more"
