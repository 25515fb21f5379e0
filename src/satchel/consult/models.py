"""Models, their windows, the check that a turn fits, and the interface of assistants.

Sources, read in November 2026: https://developers.openai.com/api/docs/models (a page for each model),
https://platform.claude.com/docs/en/models/overview (likewise) and https://ai.google.dev/gemini-api/docs/models, and for
GPT-5.4 and GPT-5.5, whose pages could not be read, the lowest figures in the catalogues of gateways.
Names are those in the vendors' SDKs that are not shut down; windows hold input and output together, as OpenAI states
(1,050,000 with at most 922,000 of input). A model newer than this release is named as ``provider:model``, with a
configured window.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from satchel.base.errors import AssistantFailed, InvalidInput, TooLarge, nearest, unknown_name
from satchel.base.records import dataclass, field
from satchel.base.text import MAX_NAME_CHARS, check_name
from satchel.base.tokens import TokenCounter
from satchel.consult.records import Content, Exchange, HeldBack, IsCancelled, Media, Settings, Window, never

if TYPE_CHECKING:
    from satchel.consult.vector_stores import Sweeper, VectorStores


class ThreadLost(AssistantFailed):
    """The provider no longer has the thread of ``provider_ref``: its contents have to be sent again."""


def _chance() -> float:
    # from the system's source, so that no two processes share a seed
    return int.from_bytes(os.urandom(4)) / 2**32


@dataclass(frozen=True, slots=True)
class Timing:
    """Time limits of a call in seconds, attempts for passing failures, and a clock."""

    connect: float = 10.0
    silence: float = 300.0
    total: float = 1_800.0
    indexing: float = 300.0
    cleanup: float = 20.0
    attempts: int = 5
    poll: float = 0.5
    sleep: Callable[[float], None] | None = None
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = _chance


def noop(_: str = "") -> None:
    """Ignore a message."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Request for the answer of one turn.

    Attributes:
        prompt: the text of the turn, files and question included.
        provider_ref: the provider's name for the thread to continue; None unless the assistant keeps history.
        history: the turns of the thread so far, oldest first; only an assistant that keeps no history needs them.
        searchable: contents for a vector store of this call, by path.
        tokens: count of prompt and history; reveals an endpoint that truncates its input, and limits search
            results. 0 if uncounted.
        on_text: called with every piece of the answer as it arrives, in the thread of the call; if the answer breaks
            off unseen, with the whole repeated answer.
        on_progress: called with the current step in a few words, in the thread of the call.
        is_cancelled: polled several times a second, from another thread too.
        stores: log of hosted vector stores, for adapters that make them.
        on_sign: called, in the thread of the call, before each request and whenever the provider sends anything: a
            model may think for longer than a lease lasts.
        media: the images and PDF of the turn, which the prompt counts.
        is_shown: whether ``on_text`` shows the text to somebody; an answer that was shown is not requested again.
    """

    prompt: str
    provider_ref: str | None = None
    history: tuple[Exchange, ...] = ()
    searchable: Mapping[str, Content] = field(default_factory=dict)
    tokens: int = 0
    on_text: Callable[[str], None] = noop
    on_progress: Callable[[str], None] = noop
    is_cancelled: IsCancelled = never
    stores: VectorStores | None = None
    on_sign: Callable[[], None] = noop
    is_shown: bool = True
    settings: Settings = Settings()
    media: tuple[Media, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer of an assistant."""

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
        """Name in conversations, as in ``openai:gpt-6-astra``."""

    @property
    def address(self) -> str:
        """Address with scheme, host, port and path, without passwords and keys."""

    @property
    def window(self) -> Window:
        """Capacity."""

    @property
    def keeps_history(self) -> bool:
        """Whether the provider keeps the thread, so that only new turns are sent."""

    @property
    def unsupported(self) -> frozenset[str]:
        """Names of unsupported :class:`Settings`."""

    @property
    def sweeper(self) -> Sweeper | None:
        """Deleter of stores left by earlier calls; None if the provider has no stores."""

    def ask(self, ask: Ask) -> Reply:
        """Answer one turn."""


# Three vendors with their own protocols, endpoints for OpenAI's chat completions, and installed clients.
PROVIDER_NAMES = (
    *("openai", "anthropic", "gemini", "openrouter", "grok", "azure", "mistral", "deepseek", "groq"),
    *("ollama", "lmstudio", "vllm", "compatible", "cli"),
)

# The most tokens of a provider's models per token of o200k_base, as far as known.
#
# Claude counted 20 to 30 % above GPT-4o ("Hidden costs in AI deployment", VentureBeat, 2025), and from 4.7 on up to 35
# % above itself (https://platform.claude.com/docs/en/about-claude/models/migration-guide). For the others the margin
# is that of an estimate.
TOKEN_FACTORS = {"openai": 1.0, "azure": 1.0, "anthropic": 1.75}

_EARLIER_CLAUDE = 1.3
_USUAL_FACTOR = 1.15

LEAST_WINDOW = 1_024
MAX_WINDOW = 100_000_000

_OUTPUT_PART = 4


@dataclass(frozen=True, slots=True)
class Family:
    """Models with a common prefix and the same window."""

    provider: str
    name: str
    tokens: int
    output: int
    token_factor: float | None = None


# a client's instructions and tools take part of its model's window
_CLIENTS = {
    "claude": Family("cli", "claude", 180_000, 32_000, 1.75),
    "codex": Family("cli", "codex", 250_000, 64_000, 1.0),
    "gemini": Family("cli", "gemini", 1_000_000, 65_536),
}

_MODELS: tuple[tuple[str, int, int, float | None, str], ...] = (
    (
        *("openai", 1_050_000, 128_000, None),
        "gpt-6.2 gpt-6.2-astra gpt-6.2-sol gpt-6.1 gpt-6.1-sol gpt-6.1-terra gpt-6 gpt-6-astra gpt-6-sol gpt-6-luna "
        "gpt-5.6 gpt-5.6-sol gpt-5.6-terra gpt-5.6-luna gpt-5.5 gpt-5.4",
    ),
    ("openai", 400_000, 128_000, None, "gpt-5.4-mini gpt-5.4-nano gpt-5.2 gpt-5.1 gpt-5 gpt-5-mini"),
    ("openai", 1_047_576, 32_768, None, "gpt-4.1"),
    ("openai", 128_000, 16_384, None, "gpt-4o"),
    ("openai", 200_000, 100_000, None, "o3"),
    (
        *("anthropic", 1_000_000, 128_000, None),
        "claude-fable-5-2 claude-fable-5-1 claude-fable-5 claude-mythos-5 claude-opus-5-5 claude-opus-5 "
        "claude-sonnet-5-5 claude-sonnet-5 claude-haiku-5-5 claude-opus-4-8 claude-opus-4-7",
    ),
    ("anthropic", 1_000_000, 128_000, _EARLIER_CLAUDE, "claude-opus-4-6 claude-sonnet-4-6"),
    ("anthropic", 200_000, 64_000, _EARLIER_CLAUDE, "claude-opus-4-5 claude-sonnet-4-5 claude-haiku-4-5"),
    (
        *("gemini", 1_048_576, 65_536, None),
        "gemini-4-argon gemini-3.8-flash gemini-3.7-flash gemini-3.6-flash gemini-3.5-flash gemini-3.1-pro "
        "gemini-3.1-flash-lite gemini-3-flash gemini-2.5-pro gemini-2.5-flash",
    ),
)
FAMILIES = tuple(
    Family(provider, name, tokens, output, factor)
    for provider, tokens, output, factor, names in _MODELS
    for name in names.split()
)


@dataclass(frozen=True, slots=True)
class Model:
    """A model that can be asked."""

    provider: str
    name: str
    window: Window

    @property
    def full_name(self) -> str:
        """Name in conversations."""
        return f"{self.provider}:{self.name}"


def find_model(name: object, *, window: int | None = None, output: int | None = None) -> Model:
    """Find a model by its name."""
    full = check_name(name, "model")
    provider, colon, rest = full.partition(":")
    if colon and provider in PROVIDER_NAMES:
        model = check_name(rest, "model")
    elif colon and not _family(None, full):
        raise unknown_name("provider", provider, PROVIDER_NAMES)
    else:
        provider, model = "", full
    family = _family(provider or None, model)
    if family is not None:
        provider = family.provider
    elif not provider:
        raise _unknown(model)
    elif provider == "cli":
        names = ", ".join(f"cli:{one}" for one in _CLIENTS)
        raise InvalidInput(f"there is no client cli:{model[:80]}", f"Known: {names}")
    if window is None:
        if family is None:
            raise _without_window(provider, model)
        window = family.tokens
    if not LEAST_WINDOW <= window <= MAX_WINDOW:
        raise InvalidInput(
            f"a window of {window:,} tokens is out of range", f"Configure {LEAST_WINDOW:,} to {MAX_WINDOW:,}"
        )
    if output is None:
        output = min(window // _OUTPUT_PART, family.output if family else window)
    if not 1 <= output < window:
        raise InvalidInput(
            f"an output limit of {output:,} tokens does not fit a window of {window:,}",
            "Configure at least 1 and less than the window",
        )
    factor = family.token_factor if family else None
    return Model(
        provider,
        model,
        Window(window, output, TOKEN_FACTORS.get(provider, _USUAL_FACTOR) if factor is None else factor),
    )


# US dollars for a million tokens of input, and of output.
Price = tuple[float, float]


_PRICE = re.compile(r"(\S+) +([0-9]+(?:\.[0-9]+)?) +([0-9]+(?:\.[0-9]+)?)")


def find_price(model: str, prices: str | None) -> Price | None:
    """Return the configured price of a model by its full name or the part after the provider; None if unknown."""
    for line in prices.split(",") if prices else ():
        price = _PRICE.fullmatch(line.strip())
        if price is None:
            raise InvalidInput(
                f"{line[:80]!r} in consult.prices is no price",
                "Give the name of a model and the dollars for a million tokens of input and of output: gpt-6-sol 2 10",
            )
        if price[1] in {model, model.partition(":")[2]}:
            return float(price[2]), float(price[3])
    return None


def full_name_of(name: str) -> str:
    """Return the name of a model in conversations; an unknown one is returned as it is and refused by its turn."""
    try:
        return find_model(name, window=MAX_WINDOW).full_name
    except InvalidInput:
        return name


def _family(provider: str | None, model: str) -> Family | None:
    if provider == "cli":
        return _CLIENTS.get(model)
    fitting = [
        family
        for family in FAMILIES
        if provider in {None, family.provider} and (model == family.name or model.startswith(f"{family.name}-"))
    ]
    return max(fitting, key=lambda family: len(family.name), default=None)


def _unknown(model: str) -> InvalidInput:
    names = [family.name for family in FAMILIES]
    close = nearest(model, names)
    hint = f"Did you mean {close!r}? " if close else ""
    return InvalidInput(
        f"unknown model {model[:80]!r}",
        f"{hint}Known: {', '.join(names)}, and what these names begin. For any other, give provider:model, "
        f"with a provider of {', '.join(PROVIDER_NAMES)}, and configure consult.window_tokens",
    )


def _without_window(provider: str, model: str) -> InvalidInput:
    close = nearest(model, [family.name for family in FAMILIES if family.provider == provider])
    hint = f"Did you mean {close!r}? Otherwise configure" if close else "Configure"
    where = "; `ollama ps` shows it as CONTEXT" if provider == "ollama" else ""
    return InvalidInput(
        f"how much {provider}:{model[:80]} can hold is not known",
        f"{hint} consult.window_tokens with the tokens it takes{where}",
    )


# Share of the room from which each turn reports how full the window is.
WARN_SHARE = 0.85

# Margin for estimated tokens: :func:`satchel.base.tokens.estimate` was 12 % too low at p95 for whole files, and errors
# of several files even out.
ESTIMATE_MARGIN = 1.15

# Reserve for what a provider adds to messages.
_FRAME_TOKENS = 64

# Name of a conversation that continues a full one, with its number.
NUMBERED = re.compile(r"(.+)-([1-9][0-9]{0,8})")


class WindowFull(TooLarge):
    """A turn that does not fit into the rest of the window; nothing was sent or recorded."""

    def __init__(self, problem: str, continue_as: str) -> None:
        self.continue_as = continue_as
        super().__init__(
            problem, f"Continue with conversation {continue_as!r}, which begins with all files and the last turns"
        )


def room(window: Window, counter: TokenCounter) -> int:
    """Return the tokens, by the counter, for all prompts and answers before the next answer."""
    tokens = window.tokens - window.output - _FRAME_TOKENS
    if window.output < 1 or tokens < 1:
        raise InvalidInput(
            f"a window of {window.tokens:,} tokens with {window.output:,} kept for the answer leaves no room",
            "Configure a larger window or a smaller output limit for this model",
        )
    return tokens if counter.exact else int(tokens / ESTIMATE_MARGIN)


def check_fits(
    used: int, added: int, least: int, most: int, conversation: str, names: Collection[str]
) -> tuple[str, ...]:
    """Refuse a turn that does not fit, and warn of one that nearly fills the window."""
    if least > most:
        raise TooLarge(
            f"instructions and briefing take {least:,} tokens, and the model has room for {most:,}",
            "Shorten them, or ask a model with a larger window",
        )
    next_id = next_conversation(conversation, names)
    if used + added > most:
        raise WindowFull(
            f"the conversation holds {used:,} of {most:,} tokens and this turn would add {added:,}", next_id
        )
    if used + added < WARN_SHARE * most:
        return ()
    percent = 100 * (used + added) // most
    return (
        f"the window is {percent} % full: {used + added:,} of {most:,} tokens with this question, before its answer; "
        f"when it is full, continue with conversation {next_id!r}",
    )


def next_conversation(conversation: str, names: Collection[str]) -> str:
    """Return the name that continues a full conversation: ``auth``, ``auth-2``, ``auth-3``.

    A number at the end is counted up only if the conversation without it exists; else it is part of the name.
    """
    stem, number = conversation, 1
    numbered = NUMBERED.fullmatch(conversation)
    if numbered and numbered[1] in names:
        stem, number = numbered[1], int(numbered[2])
    while True:
        number += 1
        ending = f"-{number}"
        name = stem[: MAX_NAME_CHARS - len(ending)] + ending
        if name != conversation and name not in names:
            return name


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of the model: the provider's id, the tool's name, and its arguments as JSON."""

    id: str
    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Round:
    """Answer of a model to one request."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    raw: tuple[Any, ...] = ()
    is_cut: bool = False
    is_paused: bool = False
    provider_ref: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    queries: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
