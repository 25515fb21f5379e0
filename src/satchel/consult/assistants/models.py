"""Which models there are, and how much each can hold: one table, which configuration can override.

Figures: the vendors' pages of their models, and gateways' catalogues where those could not be read, in November 2026. A
model that is newer than this release is asked for as ``provider:model`` with a configured window.
"""

from __future__ import annotations

from dataclasses import dataclass

from satchel.base.errors import InvalidInput, nearest, unknown_name
from satchel.base.text import check_name
from satchel.consult.records import Window

PROVIDERS = ("openai", "anthropic", "gemini", "ollama", "compatible")
"""Who answers: three vendors, a server of Ollama's, and any endpoint that speaks OpenAI's chat completions."""

LEAST_WINDOW = 1_024
MOST_WINDOW = 100_000_000

_OUTPUT_PART = 4


@dataclass(frozen=True, slots=True)
class Family:
    """Models whose names begin alike and that hold as much.

    Attributes:
        provider: who answers.
        name: the name of a model, or what names of several begin with, up to a hyphen.
        tokens: of input and output together.
        output: the most tokens of an answer, thinking included.
    """

    provider: str
    name: str
    tokens: int
    output: int


FAMILIES: tuple[Family, ...] = (
    *(
        Family("openai", name, 1_050_000, 128_000)
        for name in ("gpt-6.2", "gpt-6.1", "gpt-6", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna")
    ),
    *(Family("openai", name, 400_000, 128_000) for name in ("gpt-5.2", "gpt-5.1", "gpt-5", "gpt-5-mini")),
    Family("openai", "gpt-5-chat-latest", 128_000, 16_384),
    Family("openai", "gpt-5.1-chat-latest", 128_000, 16_384),
    Family("openai", "gpt-5.2-chat-latest", 128_000, 16_384),
    Family("openai", "gpt-4.1", 1_047_576, 32_768),
    Family("openai", "gpt-4o", 128_000, 16_384),
    *(Family("openai", name, 200_000, 100_000) for name in ("o4-mini", "o3")),
    *(
        Family("anthropic", f"claude-{name}", 1_000_000, 128_000)
        for name in ("fable-5-1", "fable-5", "opus-5-5", "opus-5", "sonnet-5-5", "sonnet-5")
    ),
    *(
        Family("anthropic", f"claude-{name}", 1_000_000, 128_000)
        for name in ("opus-4-8", "opus-4-7", "opus-4-6", "sonnet-4-6")
    ),
    *(Family("anthropic", f"claude-{name}", 200_000, 64_000) for name in ("opus-4-5", "sonnet-4-5", "haiku-4-5")),
    Family("gemini", "gemini-4-argon", 1_048_576, 65_536),
    Family("gemini", "gemini-3.8-flash", 1_000_000, 65_536),
    *(Family("gemini", name, 1_048_576, 65_536) for name in ("gemini-3-flash", "gemini-3.1-pro")),
    *(Family("gemini", name, 1_048_576, 65_535) for name in ("gemini-2.5-pro", "gemini-2.5-flash")),
)


@dataclass(frozen=True, slots=True)
class Model:
    """A model that can be asked.

    Attributes:
        provider: one of :data:`PROVIDERS`.
        name: as the provider calls it.
    """

    provider: str
    name: str
    window: Window


def find_model(name: object, *, window: int | None = None, output: int | None = None) -> Model:
    """Find a model by its name.

    Args:
        name: as in ``gpt-6-astra``, ``anthropic:claude-opus-5-5`` or ``ollama:qwen3:8b``.
        window: tokens of input and output together, where configured: 1,024 to 100,000,000.
        output: the most tokens of an answer, where configured: from 1, less than the window.

    Returns:
        The model. Where no output limit is configured, its own is kept for the answer, but no more than a fourth of
        the window.

    Raises:
        InvalidInput: the model is not known and no window is configured, or a limit makes no sense.
    """
    full = check_name(name, "model")
    provider, colon, rest = full.partition(":")
    if colon and provider in PROVIDERS:
        model = check_name(rest, "model")
    elif colon and not _family(None, full):
        raise unknown_name("provider", provider, PROVIDERS)
    else:
        provider, model = "", full
    family = _family(provider or None, model)
    if family is not None:
        provider = family.provider
    elif not provider:
        raise _unknown(model)
    if window is None:
        if family is None:
            raise _without_window(provider, model)
        window = family.tokens
    if not LEAST_WINDOW <= window <= MOST_WINDOW:
        raise InvalidInput(
            f"a window of {window:,} tokens is out of range", f"Configure {LEAST_WINDOW:,} to {MOST_WINDOW:,}"
        )
    if output is None:
        output = min(window // _OUTPUT_PART, family.output if family else window)
    if not 1 <= output < window:
        raise InvalidInput(
            f"an output limit of {output:,} tokens does not fit a window of {window:,}",
            "Configure at least 1 and less than the window",
        )
    return Model(provider, model, Window(window, output))


def _family(provider: str | None, model: str) -> Family | None:
    """Return the family with the longest name that a model's name begins with."""
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
        f"with a provider of {', '.join(PROVIDERS)}, and configure consult.window_tokens",
    )


def _without_window(provider: str, model: str) -> InvalidInput:
    close = nearest(model, [family.name for family in FAMILIES if family.provider == provider])
    hint = f"Did you mean {close!r}? Otherwise configure" if close else "Configure"
    where = "; `ollama ps` shows it as CONTEXT" if provider == "ollama" else ""
    return InvalidInput(
        f"how much {provider}:{model[:80]} can hold is not known",
        f"{hint} consult.window_tokens with the tokens it takes{where}",
    )
