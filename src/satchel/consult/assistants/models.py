"""Which models there are, and how much each can hold: one table, which configuration can override.

Sources, read in November 2026: https://developers.openai.com/api/docs/models (a page for each model),
https://platform.claude.com/docs/en/models/overview (likewise) and https://ai.google.dev/gemini-api/docs/models, and for
GPT-5.4 and GPT-5.5, whose pages could not be read, the catalogues of gateways, of which the lowest figures are taken.
Names are those that the vendors' SDKs know of and that are not shut down; windows hold input and output together, as
OpenAI says outright (1,050,000 with at most 922,000 of input). A model that is newer than this release is asked for as
``provider:model`` with a configured window.
"""

from __future__ import annotations

from satchel.base.errors import InvalidInput, nearest, unknown_name
from satchel.base.records import dataclass
from satchel.base.text import check_name
from satchel.consult.records import Window

PROVIDERS = (
    *("openai", "anthropic", "gemini", "openrouter", "grok", "azure", "mistral", "deepseek", "groq"),
    *("ollama", "lmstudio", "vllm", "compatible"),
)
"""Three vendors with protocols of their own, and endpoints that speak OpenAI's chat completions."""

TOKEN_FACTORS = {"openai": 1.0, "azure": 1.0, "anthropic": 1.75}
"""How many tokens of a provider's models one of o200k_base stands for at most, as far as is known.

Claude counted 20 to 30 % above GPT-4o ("Hidden costs in AI deployment", VentureBeat, 2025), and from 4.7 on up to 35 %
above itself (https://platform.claude.com/docs/en/about-claude/models/migration-guide). For the others the margin is
that of an estimate.
"""

_EARLIER_CLAUDE = 1.3
_USUAL_FACTOR = 1.15

LEAST_WINDOW = 1_024
MAX_WINDOW = 100_000_000

_OUTPUT_PART = 4


@dataclass(frozen=True, slots=True)
class Family:
    """Models whose names begin alike and that hold as much.

    Attributes:
        provider: who answers.
        name: the name of a model, or what names of several begin with, up to a hyphen.
        tokens: of input and output together.
        output: the most tokens of an answer, thinking included.
        token_factor: see :data:`TOKEN_FACTORS`.
    """

    provider: str
    name: str
    tokens: int
    output: int
    token_factor: float | None = None


FAMILIES: tuple[Family, ...] = (
    *(
        Family("openai", name, 1_050_000, 128_000)
        for name in (
            *("gpt-6.2", "gpt-6.2-astra", "gpt-6.2-sol", "gpt-6.1", "gpt-6.1-sol", "gpt-6.1-terra"),
            *("gpt-6", "gpt-6-astra", "gpt-6-sol", "gpt-6-luna"),
            *("gpt-5.6", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna", "gpt-5.5", "gpt-5.4"),
        )
    ),
    *(
        Family("openai", name, 400_000, 128_000)
        for name in ("gpt-5.4-mini", "gpt-5.4-nano", "gpt-5.2", "gpt-5.1", "gpt-5", "gpt-5-mini")
    ),
    Family("openai", "gpt-4.1", 1_047_576, 32_768),
    Family("openai", "gpt-4o", 128_000, 16_384),
    Family("openai", "o3", 200_000, 100_000),
    *(
        Family("anthropic", f"claude-{name}", 1_000_000, 128_000)
        for name in (
            *("fable-5-2", "fable-5-1", "fable-5", "mythos-5"),
            *("opus-5-5", "opus-5", "sonnet-5-5", "sonnet-5", "haiku-5-5", "opus-4-8", "opus-4-7"),
        )
    ),
    *(
        Family("anthropic", f"claude-{name}", 1_000_000, 128_000, _EARLIER_CLAUDE)
        for name in ("opus-4-6", "sonnet-4-6")
    ),
    *(
        Family("anthropic", f"claude-{name}", 200_000, 64_000, _EARLIER_CLAUDE)
        for name in ("opus-4-5", "sonnet-4-5", "haiku-4-5")
    ),
    *(
        Family("gemini", name, 1_048_576, 65_536)
        for name in (
            *("gemini-4-argon", "gemini-3.8-flash", "gemini-3.7-flash", "gemini-3.6-flash"),
            *("gemini-3.5-flash", "gemini-3.1-pro", "gemini-3.1-flash-lite", "gemini-3-flash"),
            *("gemini-2.5-pro", "gemini-2.5-flash"),
        )
    ),
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

    @property
    def full_name(self) -> str:
        """What conversations know it by."""
        return f"{self.provider}:{self.name}"


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
