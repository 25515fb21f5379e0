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


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of models. Its key is sent to its own address only.

    Attributes:
        key: the environment variable of its key.
        url: its default address; None if it has none, or the adapter knows it.
        url_variable: the environment variable that overrides the address; with None, ``consult.base_url`` does.
        adapter: the client of its protocol; most speak OpenAI's chat completions.
        needs_key: whether it refuses calls without a key.
    """

    key: str
    url: str | None
    url_variable: str | None
    adapter: type[SdkAssistant[Any]] = OpenAICompatible
    needs_key: bool = True


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider("OPENAI_API_KEY", None, "OPENAI_BASE_URL", OpenAIResponses),
    "anthropic": Provider("ANTHROPIC_API_KEY", None, "ANTHROPIC_BASE_URL", AnthropicMessages),
    "gemini": Provider("GEMINI_API_KEY", None, "GOOGLE_GEMINI_BASE_URL", GeminiContents),
    "openrouter": Provider("OPENROUTER_API_KEY", "https://openrouter.ai/api/v1", "OPENROUTER_BASE_URL"),
    "grok": Provider("XAI_API_KEY", "https://api.x.ai/v1", "XAI_BASE_URL"),
    "azure": Provider("AZURE_OPENAI_API_KEY", None, "AZURE_OPENAI_BASE_URL"),
    "mistral": Provider("MISTRAL_API_KEY", "https://api.mistral.ai/v1", "MISTRAL_BASE_URL"),
    "deepseek": Provider("DEEPSEEK_API_KEY", "https://api.deepseek.com/v1", "DEEPSEEK_BASE_URL"),
    "groq": Provider("GROQ_API_KEY", "https://api.groq.com/openai/v1", "GROQ_BASE_URL"),
    "ollama": Provider("SATCHEL_CONSULT_KEY", "http://127.0.0.1:11434/v1", None, needs_key=False),
    "lmstudio": Provider("LMSTUDIO_API_KEY", "http://127.0.0.1:1234/v1", "LMSTUDIO_BASE_URL", needs_key=False),
    "vllm": Provider("VLLM_API_KEY", "http://127.0.0.1:8000/v1", "VLLM_BASE_URL", needs_key=False),
    "compatible": Provider("SATCHEL_CONSULT_KEY", None, None, needs_key=False),
}


@dataclass(frozen=True, slots=True)
class AssistantSettings:
    """What is configured for assistants; None where it is not.

    Attributes:
        base_url: of the endpoint of ``compatible`` and ``ollama`` models.
        window: tokens of input and output together.
        output: the most tokens of an answer.
    """

    base_url: str | None = None
    window: int | None = None
    output: int | None = None


@dataclass(frozen=True, slots=True)
class ProviderState:
    """Whether a provider can be asked: its name, and the variables and keys that are not set, or None."""

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
    provider = PROVIDERS[model.provider]
    key, url = _read_key(environ, provider.key), _url(environ, provider, settings)
    if url is None and provider.adapter is OpenAICompatible:
        raise InvalidInput(
            f"the address of {name} is not configured",
            f"Set {provider.url_variable or 'consult.base_url'} to the endpoint, up to and with /v1",
        )
    if provider.needs_key and not key:
        raise failing.missing_key(model.full_name, provider.key)
    return provider.adapter(model, provider.key, key=key or None, base_url=url, timing=timing, patience=patience)


def _url(environ: Mapping[str, str], provider: Provider, settings: AssistantSettings) -> str | None:
    url = settings.base_url if provider.url_variable is None else environ.get(provider.url_variable, "").strip()
    return url or provider.url


def _read_key(environ: Mapping[str, str], variable: str) -> str:
    key = environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InvalidInput(f"{variable} holds characters that no key has", "Set it again, to one line of ASCII")
    return key


def providers(environ: Mapping[str, str], settings: AssistantSettings | None = None) -> tuple[ProviderState, ...]:
    """Return who could be asked here, and what is missing for the others."""
    settings = settings or AssistantSettings()
    states = []
    for name, provider in PROVIDERS.items():
        missing = [provider.key] if provider.needs_key and not environ.get(provider.key, "").strip() else []
        if provider.adapter is OpenAICompatible and _url(environ, provider, settings) is None:
            missing.append(provider.url_variable or "consult.base_url")
        states.append(ProviderState(name, ", ".join(missing) or None))
    return tuple(states)
