"""Records that gathering, planning, tables and assistants share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from satchel.base.clock import moment_text
from satchel.base.errors import Interrupted
from satchel.base.paging import Page
from satchel.base.records import dataclass, field

# Returns True to cancel the call. Polled several times a second while waiting for a provider, from another thread.
IsCancelled = Callable[[], bool]


# Receives the current step, in a few words.
Tell = Callable[[str], None]


def never() -> bool:
    """Return False: the call cannot be cancelled."""
    return False


def raise_if_cancelled(is_cancelled: IsCancelled) -> None:
    """Raise Interrupted if the call is cancelled."""
    if is_cancelled():
        raise Interrupted("the consultation was cancelled", "Nothing of it was recorded")


# Half of SHA-256: a collision by chance needs about 2^64 contents.
DIGEST_BYTES = 16


def digest_of(data: bytes) -> bytes:
    """Return the digest of a content: the first 16 bytes of its SHA-256."""
    import hashlib

    return hashlib.sha256(data).digest()[:DIGEST_BYTES]


def digest_of_text(text: str) -> bytes:
    """Return the digest of a text in UTF-8; lone surrogates count as they are stored."""
    return digest_of(text.encode("utf-8", "surrogatepass"))


class Overflow(Enum):
    """Reason for a file's overflow: no room next to others, too large alone, or too late."""

    NO_ROOM = 1
    TOO_LARGE = 2
    LATE = 3


@dataclass(frozen=True, slots=True)
class Stat:
    """Size and time of a file, cheap evidence that it is unchanged."""

    size: int
    mtime_ns: int


class SourceFile(NamedTuple):
    """A requested file, listed but not read.

    A tuple, like :class:`FileState`: every turn makes thousands, and a frozen record takes three times as long.
    """

    path: str
    real_path: str
    root: str
    size: int
    mtime_ns: int
    is_media: bool = False


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A file that is not sent, with the reason."""

    path: str
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Gathering:
    """Files by path, each once, and the files that are held back."""

    files: tuple[SourceFile, ...]
    held_back: tuple[HeldBack, ...]


@dataclass(frozen=True, slots=True)
class Media:
    """An image or PDF, its tokens for a model, and whether the provider searches it."""

    path: str
    type: str
    data: bytes
    tokens: int = 0
    is_searchable: bool = False


@dataclass(frozen=True, slots=True)
class Content:
    """Content of a file from one read; an image or PDF has no text."""

    text: str
    digest: bytes
    stat: Stat
    media: Media | None = None

    @property
    def is_searchable(self) -> bool:
        """Whether it can be searched if it does not fit into the prompt."""
        return self.media is None or self.media.is_searchable


class FileState(NamedTuple):
    """State of one file in a conversation.

    Attributes:
        size: bytes of the content of ``digest``.
        mtime_ns: time of that content, in nanoseconds since 1970; None if it proves nothing, since the file was written
            so shortly before its reading that a later change may have the same time, or if the file was removed.
        digest: of the content that the model has, or that was last searched; None after removal.
        tokens: last count of the content.
        first_turn: turn in which the file was placed.
        why: reason for its overflow; None for a file in the prompt. A file never moves between the two.
    """

    path: str
    size: int
    mtime_ns: int | None
    digest: bytes | None
    tokens: int
    first_turn: int
    why: Overflow | None


@dataclass(frozen=True, slots=True)
class PastTurn:
    """Question and answer of a turn, without files and with secrets redacted."""

    n: int
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class ConversationState:
    """State of a conversation after its last successful turn."""

    turns: int = 0
    files: Mapping[str, FileState] = field(default_factory=dict)
    held_tokens: int = 0
    has_overflowed: bool = False
    provider_ref: str | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """Capacity of a model: `output` tokens are reserved for the answer; one token by our count is at most
    `token_factor` of the model's."""

    tokens: int
    output: int
    token_factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a model for one turn; None leaves one to the provider.

    Attributes:
        effort: amount of thinking: ``low``, ``medium`` or ``high``.
        temperature: of the sampling.
        schema: the JSON Schema of the answer.
        web_search: whether the provider searches the web.
    """

    effort: str | None = None
    temperature: float | None = None
    schema: Mapping[str, Any] | None = None
    web_search: bool = False


# Share of the room for inline files. The rest is for answers, questions and changed files: a first turn that fills the
# room leaves none for a second. With files for 85 % of this share, 30 commits of encode/httpx fit as 30 turns; a share
# of 0.65 was full after 19.
INLINE_SHARE = 0.5

# The same for a question without a named conversation, which seldom has a second turn.
ALONE_SHARE = 0.75


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """Request of one turn, without the files of its context.

    Attributes:
        conversation: the caller's name for it.
        instructions: question to the assistant.
        now: milliseconds UTC, read before the files were listed.
        priority: paths, as gathering named them, that are placed first.
        attachments: files to search in this turn only.
        briefing: text from the store, or None.
        is_stable: send files once; otherwise every file in the prompt is sent whole in every turn.
        taken: conversation names in use with this assistant, to name the next one.
        earlier: turns that the assistant no longer has, the oldest first; the newest that fit into a fifth of the
            room, next to the files, are repeated.
        inline_share: share of the room for inline files.
        search_reserve: tokens of the window to keep free for search results, if the first turn has files to search.
    """

    conversation: str
    instructions: str
    now: int
    priority: Collection[str] = frozenset()
    attachments: Gathering = Gathering((), ())
    briefing: str | None = None
    is_stable: bool = True
    taken: Collection[str] = frozenset()
    earlier: Sequence[PastTurn] = ()
    search_reserve: int = 0
    inline_share: float = INLINE_SHARE


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """Plan of one turn, made before anything is sent.

    Attributes:
        question: instructions of the caller.
        prompt: the text of the turn, files and question included.
        tokens: size of the prompt, counted once, as a whole.
        overflow: contents that the turn needs in a vector store, by path.
        attachments: paths of ``overflow`` that are searched in this turn only.
        files: state of every file after a successful turn.
        new_contents: contents to store, by digest: texts, for later diffs, and images and PDF, which a provider without
            history gets with every turn.
        media: the images and PDF of the turn, in the order of their numbers in the prompt.
        parts: texts of files and diffs in the prompt, in their order.
        held_back: files that are not sent, with the reason.
        resent_tokens: tokens that a full resend of all inline files would have added.
        notes: notes for the caller, such as that the window is filling.
        has_overflowed: as in :class:`ConversationState`, after this turn.
    """

    question: str
    prompt: str
    tokens: int
    overflow: Mapping[str, Content]
    attachments: tuple[str, ...]
    files: Mapping[str, FileState]
    new_contents: Mapping[bytes, str | bytes]
    held_back: tuple[HeldBack, ...]
    resent_tokens: int
    notes: tuple[str, ...]
    has_overflowed: bool
    media: tuple[Media, ...] = ()
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConversationKey:
    """Key of a conversation within its project and owner."""

    assistant: str
    conversation: str


@dataclass(frozen=True, slots=True)
class Lease:
    """Exclusive right of one call to continue a conversation."""

    token: bytes
    holder: str
    since: int
    until: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """An acquired conversation, in the state after its last successful turn."""

    id: int
    project_id: int
    key: ConversationKey
    lease: Lease
    state: ConversationState


@dataclass(frozen=True, slots=True)
class TurnResult:
    """Plan and answer of a turn."""

    plan: TurnPlan
    answer: str
    answer_tokens: int
    provider_ref: str | None = None
    starts_over: bool = False


@dataclass(frozen=True, slots=True)
class Exchange:
    """Prompt and answer of a past turn."""

    prompt: str
    answer: str
    media: tuple[Media, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """A past turn."""

    n: int
    answer: str
    sent_tokens: int
    resent_tokens: int
    answer_tokens: int
    created_at: int
    question: str

    @property
    def saved_tokens(self) -> int:
        return max(0, self.resent_tokens - self.sent_tokens)


@dataclass(frozen=True, slots=True)
class EarlierAnswer:
    """An answer of an assistant to nearly the same question about the same contents of the same files."""

    conversation: str
    turn: int
    created_at: int
    answer: str

    @property
    def description(self) -> str:
        """Description of its turn and conversation."""
        return f"turn {self.turn} of conversation {self.conversation!r}, {moment_text(self.created_at)}"


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of a conversation."""

    path: str
    tokens: int
    is_removed: bool
    why: str | None


@dataclass(frozen=True, slots=True)
class ListedConversation:
    """A conversation, as a list shows it."""

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
        return max(0, self.resent_tokens - self.sent_tokens)


@dataclass(frozen=True, slots=True)
class ConversationHistory:
    """A conversation with its turns, the newest first."""

    conversation: ListedConversation
    turns: Page[Turn]


def list_placements(files: Mapping[str, FileState]) -> tuple[tuple[ListedFile, ...], tuple[ListedFile, ...]]:
    """Return the files in the prompt and those that overflowed, each by path."""
    inline: list[ListedFile] = []
    overflow: list[ListedFile] = []
    first = min((file.first_turn for file in files.values() if file.why is not None), default=0)
    for _, file in sorted(files.items()):
        why = None if file.why is None else _overflow_reason(file.why, file.first_turn, first)
        part = inline if why is None else overflow
        part.append(ListedFile(file.path, file.tokens, file.digest is None, why))
    return tuple(inline), tuple(overflow)


def _overflow_reason(why: Overflow, turn: int, first: int) -> str:
    if why is Overflow.TOO_LARGE:
        return "larger alone than the part of the window that files may take"
    if why is Overflow.LATE:
        return f"new in turn {turn}, after others had overflowed in turn {first}"
    if turn == 1:
        return "did not fit next to the files that go first"
    return f"new in turn {turn}, when it did not fit any more"


def cut_out(prompt: str, parts: Iterable[str]) -> str:
    """Replace each part of a prompt, given in order, by a zero byte, which no prompt contains."""
    words, at = [], 0
    for part in parts:
        start = prompt.index(part, at)
        words.append(prompt[at:start])
        at = start + len(part)
    return "\0".join([*words, prompt[at:]])


def put_back(words: str, parts: Iterable[str]) -> str:
    """Undo :func:`cut_out`."""
    first, *rest = words.split("\0")
    return "".join([first, *(text for pair in zip(parts, rest, strict=True) for text in pair)])
