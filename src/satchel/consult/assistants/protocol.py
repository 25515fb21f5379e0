"""What every assistant takes and gives."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from satchel.base.errors import AssistantFailed
from satchel.base.records import dataclass, field
from satchel.consult.records import Content, HeldBack, IsCancelled, Window, never

if TYPE_CHECKING:
    from satchel.consult.sweeping import Sweeper, VectorStore


class ThreadLost(AssistantFailed):
    """The provider has forgotten the thread that ``provider_ref`` names: what it held has to be sent again."""


def _chance() -> float:
    # of the system's own source: nothing is seeded alike in two processes
    return int.from_bytes(os.urandom(4)) / 2**32


@dataclass(frozen=True, slots=True)
class Timing:
    """How long each part of a call may take, in seconds, and the clock it is measured with.

    Attributes:
        connect: to reach the provider.
        silence: without a byte from the provider; a model may think for minutes.
        total: for the whole call.
        indexing: until a hosted vector store has taken in a batch of files; each file adds a little.
        cleanup: to delete a hosted vector store once the call is over, however it ended; each file adds a little.
        poll: between two looks at a store that takes in files.
        sleep: what waiting is done with; None waits in a way that a cancellation cuts short.
        clock: seconds that never go back.
        chance: what spreads the pauses of those who failed together: from 0 to 1.
    """

    connect: float = 10.0
    silence: float = 300.0
    total: float = 1_800.0
    indexing: float = 300.0
    cleanup: float = 20.0
    poll: float = 0.5
    sleep: Callable[[float], None] | None = None
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = _chance


class StoreLog(Protocol):
    """Where hosted vector stores are recorded before they are made; see :mod:`satchel.consult.sweeping`."""

    def announce(self, provider: str) -> VectorStore:
        """Record a store that is about to be made."""

    def made(self, store: VectorStore, external_id: str) -> VectorStore:
        """Record the provider's name for it."""

    def deleted(self, store: VectorStore) -> None:
        """Record that it is gone."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A past turn: what was asked and what was answered."""

    prompt: str
    answer: str


def noop(_: str = "") -> None:
    """Take what nobody listens to."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One turn to be answered.

    Attributes:
        prompt: the text of the turn, files and question included.
        provider_ref: the provider's name for the thread to go on with; only an assistant that keeps history has one.
        history: the turns of the thread so far, oldest first; only an assistant that keeps no history needs them.
        searchable: contents for a vector store that lives as long as the call, by path.
        tokens: what prompt and history were counted as; tells an endpoint that cuts its input, and how much room
            search results may take. 0 where nobody counted.
        on_text: called with every piece of the answer as it arrives, in the thread of the call; where the answer is cut
            off before anybody saw it, with all of it once more.
        on_progress: called with what is being done, in a few words, in the thread of the call.
        is_cancelled: asked several times a second, from another thread too.
        stores: where hosted vector stores are recorded; needed by adapters that make them.
        on_sign: called, in the thread of the call, before each request and whenever the provider sends something, be
            it no word of the answer: a model may think for longer than a lease lasts.
        is_shown: whether ``on_text`` shows the text to anybody: what was shown is not asked for again.
        effort: how much the model should think: ``low``, ``medium`` or ``high``; None leaves it to the provider.
        temperature: of the sampling; None leaves it to the provider.
    """

    prompt: str
    provider_ref: str | None = None
    history: tuple[Exchange, ...] = ()
    searchable: Mapping[str, Content] = field(default_factory=dict)
    tokens: int = 0
    on_text: Callable[[str], None] = noop
    on_progress: Callable[[str], None] = noop
    is_cancelled: IsCancelled = never
    stores: StoreLog | None = None
    on_sign: Callable[[], None] = noop
    is_shown: bool = True
    effort: str | None = None
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What an assistant answered.

    Attributes:
        text: the whole answer: what was given to ``on_text``, joined.
        provider_ref: the provider's name for the thread that ends with this answer, or None.
        input_tokens, output_tokens: as the provider counts them, thinking included; None where it does not say.
        queries: what the assistant searched for.
        cited: paths that the answer cites, where the provider says so.
        dropped: files that the vector store did not take.
        notes: what the caller should know, such as that the answer was cut at the output limit.
    """

    text: str
    provider_ref: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    queries: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    dropped: tuple[HeldBack, ...] = ()
    notes: tuple[str, ...] = ()


class Assistant(Protocol):
    """A model that answers consultations."""

    @property
    def name(self) -> str:
        """What conversations know it by, as in ``openai:gpt-6-astra``."""

    @property
    def address(self) -> str:
        """Where it is asked: scheme, host, port and path, and no more of what may hold a password or a key."""

    @property
    def window(self) -> Window:
        """How much it can hold."""

    @property
    def keeps_history(self) -> bool:
        """Whether the provider keeps the thread, so that only new turns are sent."""

    @property
    def sweeper(self) -> Sweeper | None:
        """What deletes the stores that earlier calls left at the provider; None where none are made there."""

    def ask(self, ask: Ask) -> Reply:
        """Answer one turn.

        Raises:
            Unavailable: a key or the vendor's SDK is missing; nothing was sent.
            ThreadLost: the provider has forgotten the thread; nothing was answered.
            AssistantFailed: the provider refused, failed, or was cut off.
            Interrupted: the call was cancelled.
        """
