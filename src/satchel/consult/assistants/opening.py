"""From the name of a model to the assistant that answers for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass
from satchel.consult.assistants import failing
from satchel.consult.assistants.anthropic import AnthropicMessages
from satchel.consult.assistants.base import SdkAssistant
from satchel.consult.assistants.gemini import GeminiContents
from satchel.consult.assistants.models import find_model
from satchel.consult.assistants.openai_compatible import OpenAICompatible
from satchel.consult.assistants.openai_responses import OpenAIResponses
from satchel.consult.assistants.protocol import Assistant, Timing
from satchel.consult.assistants.retrying import Patience

OLLAMA_URL = "http://127.0.0.1:11434/v1"
"""Where a server of Ollama's listens unless told otherwise."""

_URL_VARIABLES = {
    "openai": "OPENAI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
    "gemini": "GOOGLE_GEMINI_BASE_URL",
}
"""Each vendor's own variable for another address. The configured one is for others: no vendor's key goes there."""

_VENDORS: Mapping[str, type[SdkAssistant[Any]]] = {
    "openai": OpenAIResponses,
    "anthropic": AnthropicMessages,
    "gemini": GeminiContents,
}
"""Who answers for each vendor's models; everything else speaks OpenAI's chat completions."""


@dataclass(frozen=True, slots=True)
class AssistantSettings:
    """What is configured for assistants; None where it is not.

    Attributes:
        base_url: of the endpoint of ``compatible`` and ``ollama`` models; a vendor's key is never sent there.
        window: tokens of input and output together.
        output: the most tokens of an answer.
    """

    base_url: str | None = None
    window: int | None = None
    output: int | None = None


@dataclass(frozen=True, slots=True)
class ProviderState:
    """Whether a provider can be asked: its name, and what is missing for it, in words, or None."""

    provider: str
    missing: str | None


def open_assistant(
    name: str,
    environ: Mapping[str, str],
    settings: AssistantSettings | None = None,
    *,
    timing: Timing | None = None,
    patience: Patience | None = None,
) -> Assistant:
    """Return the assistant of a model; nothing is sent and no SDK is imported yet.

    Args:
        name: as :func:`satchel.consult.assistants.models.find_model` takes it.
        environ: the environment variables; keys are read from nowhere else.

    Raises:
        InvalidInput: the model is unknown, its endpoint is not configured, or its key cannot be one.
        Unavailable: its key is not set.
    """
    settings = settings or AssistantSettings()
    model = find_model(name, window=settings.window, output=settings.output)
    adapter: type[SdkAssistant[Any]] = OpenAICompatible
    if model.provider in _VENDORS:
        adapter = _VENDORS[model.provider]
        url = environ.get(_URL_VARIABLES[model.provider], "").strip() or None
        if not _key(environ, adapter):
            raise failing.missing_key(model.full_name, adapter.variable)
    else:
        url = settings.base_url or (OLLAMA_URL if model.provider == "ollama" else None)
        if url is None:
            raise InvalidInput(
                f"the address of {name} is not configured", "Set consult.base_url to the endpoint, up to and with /v1"
            )
    return adapter(model, key=_key(environ, adapter) or None, base_url=url, timing=timing, patience=patience)


def _key(environ: Mapping[str, str], adapter: type[SdkAssistant[Any]]) -> str:
    key = environ.get(adapter.variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InvalidInput(f"{adapter.variable} holds characters that no key has", "Set it again, to one line of ASCII")
    return key


def providers(environ: Mapping[str, str], settings: AssistantSettings | None = None) -> tuple[ProviderState, ...]:
    """Return who could be asked here, and what is missing for the others."""
    base_url = settings.base_url if settings else None
    return (
        *(
            ProviderState(
                provider, None if environ.get(adapter.variable, "").strip() else f"{adapter.variable} is not set"
            )
            for provider, adapter in _VENDORS.items()
        ),
        ProviderState("ollama", None),
        ProviderState("compatible", None if base_url else "consult.base_url is not set"),
    )
