"""Records of consultations and stored conversations, as gathering, planning, tables and assistants share them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from satchel.base.clock import moment_text
from satchel.base.errors import Interrupted
from satchel.base.paging import Page
from satchel.base.records import dataclass, field

IsCancelled = Callable[[], bool]
"""Asked again and again, several times a second while a provider is waited for, then from another thread; True ends the
call."""


Tell = Callable[[str], None]
"""Gets what is being done, in a few words."""


def never() -> bool:
    """Answer for a call that nobody can cancel."""
    return False


def raise_if_cancelled(is_cancelled: IsCancelled) -> None:
    """Raise Interrupted if the call is cancelled."""
    if is_cancelled():
        raise Interrupted("the consultation was cancelled", "Nothing of it was recorded")


DIGEST_BYTES = 16
"""Half of SHA-256: two contents that agree by chance are not to be expected among less than 2^64 of them."""


def digest_of(data: bytes) -> bytes:
    """Return the digest of a content: the first 16 bytes of its SHA-256."""
    import hashlib

    return hashlib.sha256(data).digest()[:DIGEST_BYTES]


def digest_of_text(text: str) -> bytes:
    """Return the digest of a text in UTF-8; lone surrogates count as what they are stored as."""
    return digest_of(text.encode("utf-8", "surrogatepass"))


class Overflow(Enum):
    """Reason for a file's overflow: no room next to others, too large alone, or too late."""

    NO_ROOM = 1
    TOO_LARGE = 2
    LATE = 3


@dataclass(frozen=True, slots=True)
class Stat:
    """Cheap evidence that a file is unchanged."""

    size: int
    mtime_ns: int


class FoundFile(NamedTuple):
    """A file that was asked for, looked at but not read.

    A tuple, like :class:`KnownFile`: every turn makes thousands, and a frozen dataclass takes three times as long.
    """

    path: str
    real_path: str
    root: str
    size: int
    mtime_ns: int
    is_media: bool = False


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A file that is not sent, and why."""

    path: str
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Gathering:
    """Files in the order of their paths, each once, and those that are held back."""

    files: tuple[FoundFile, ...]
    held_back: tuple[HeldBack, ...]


@dataclass(frozen=True, slots=True)
class Media:
    """An image or PDF, the tokens that a model takes it for, and whether its provider searches it."""

    path: str
    type: str
    data: bytes
    tokens: int = 0
    is_searchable: bool = False


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a file as it was read, all from the same read; an image or PDF has no text."""

    text: str
    digest: bytes
    stat: Stat
    media: Media | None = None

    @property
    def is_searchable(self) -> bool:
        """Whether it can be searched where it does not fit into the prompt."""
        return self.media is None or self.media.is_searchable


class KnownFile(NamedTuple):
    """State of one file in a conversation.

    Attributes:
        size: bytes of the content that ``digest`` is of.
        mtime_ns: when that was written, in nanoseconds since 1970; None where it tells nothing: written so shortly
            before it was read that a later change may have the same time, or no longer held.
        digest: of the content that the model holds, or that was last searched; None once it was removed.
        tokens: what the content took when it was last counted.
        first_turn: the turn in which the file was placed.
        why: why it overflowed; None for a file in the prompt. A file never moves from one to the other.
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
    files: Mapping[str, KnownFile] = field(default_factory=dict)
    held_tokens: int = 0
    has_overflowed: bool = False
    provider_ref: str | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """Capacity of a model: `output` tokens are reserved for the answer, and `token_factor` of its tokens
    stand for one of ours at most."""

    tokens: int
    output: int
    token_factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a model for one turn; None leaves one to the provider.

    Attributes:
        effort: how much to think: ``low``, ``medium`` or ``high``.
        temperature: of the sampling.
        schema: the JSON Schema of the answer.
        web_search: whether the provider searches the web.
    """

    effort: str | None = None
    temperature: float | None = None
    schema: Mapping[str, Any] | None = None
    web_search: bool = False


INLINE_SHARE = 0.5
"""How much of the room may be filled when files are placed inline. The rest is for what a conversation grows by:
answers, questions and changed files. A room filled to the brim by its first turn would have none for a second; with
files for 85 % of the share, 30 commits of encode/httpx fit as 30 turns, where a share of 0.65 was full after 19."""

ALONE_SHARE = 0.75
"""The same for a question without a named conversation, which seldom has a second."""


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """Request of one turn, without the files of its context.

    Attributes:
        conversation: the caller's name for it.
        instructions: what the assistant is asked.
        now: milliseconds UTC, taken before the files were looked at.
        priority: paths, as gathering named them, that are placed first.
        attachments: files to search in this turn only.
        briefing: what the store knows, or None.
        is_stable: whether files are sent once; else every file in the prompt is sent whole in every turn.
        taken: session ids in use with this assistant, for the name of the next one.
        earlier: turns that the assistant has forgotten, the oldest first: as many of the newest are said again as fit
            into a fifth of the room, and beside the files.
        inline_share: how much of the room files may fill.
        search_reserve: tokens to keep free in the window for what searches return, where the first turn has
            anything to search.
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
        question: what the caller asks.
        prompt: the text of the turn, files and question included.
        tokens: what the prompt adds to the conversation, counted once, as a whole.
        overflow: contents that the turn needs in a vector store, by path.
        attachments: the paths among them that are searched in this turn only.
        files: what the conversation knows of every file once the turn has succeeded.
        new_contents: contents whose digests the state refers to, by digest: texts, which diffs will be made from, and
            images and PDF, which a provider that keeps no history gets with every turn.
        media: the images and PDF of the turn, in the order of their numbers in the prompt.
        parts: texts of files and diffs in the prompt, in their order.
        held_back: what is not sent, and why.
        resent_tokens: what a full resend of all inline files would have added.
        notes: what the caller should know, such as that the window is filling.
        has_overflowed: as in :class:`ConversationState`, after this turn.
    """

    question: str
    prompt: str
    tokens: int
    overflow: Mapping[str, Content]
    attachments: tuple[str, ...]
    files: Mapping[str, KnownFile]
    new_contents: Mapping[bytes, str | bytes]
    held_back: tuple[HeldBack, ...]
    resent_tokens: int
    notes: tuple[str, ...]
    has_overflowed: bool
    media: tuple[Media, ...] = ()
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConversationKey:
    """The identity of a conversation among those of its project and owner."""

    assistant: str
    conversation: str


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to continue a conversation, which one call at a time has."""

    token: bytes
    holder: str
    since: int
    until: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation that a call holds, as it was after its last successful turn."""

    id: int
    project_id: int
    key: ConversationKey
    lease: Lease
    state: ConversationState


@dataclass(frozen=True, slots=True)
class TurnResult:
    """A turn that the assistant has answered."""

    plan: TurnPlan
    answer: str
    answer_tokens: int
    provider_ref: str | None = None
    starts_over: bool = False


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a past turn sent, and its answer."""

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


def list_placements(files: Mapping[str, KnownFile]) -> tuple[tuple[ListedFile, ...], tuple[ListedFile, ...]]:
    """Return the files in the prompt and those that overflowed, each by path."""
    inline: list[ListedFile] = []
    overflow: list[ListedFile] = []
    first = min((known.first_turn for known in files.values() if known.why is not None), default=0)
    for _, known in sorted(files.items()):
        why = None if known.why is None else _overflow_reason(known.why, known.first_turn, first)
        part = inline if why is None else overflow
        part.append(ListedFile(known.path, known.tokens, known.digest is None, why))
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
    """Put a zero byte, which no prompt has, in the place of each part of a prompt; the parts come in their order."""
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
