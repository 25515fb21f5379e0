"""Every kind of provider with the assistant that talks to it, for what all of them have to do alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from consult.providers import anthropic_api, chat_completions, gemini_api
from consult.providers.asking import Pauses, quick
from consult.providers.openai_api import OpenAIApi
from consult.providers.server import FakeProvider
from satchel.consult.models import Ask, Model
from satchel.consult.providers import OpenAICompatible
from satchel.consult.records import Window
from satchel.consult.rounds import SdkAssistant
from satchel.consult.vendors import AnthropicMessages, GeminiContents, OpenAIResponses


@dataclass
class Line:
    """A provider, and a way to ask it, twice at most.

    Attributes:
        step: at which the provider answers.
    """

    adapter: type[SdkAssistant[Any]]
    provider: FakeProvider
    model: str
    key: str
    step: str
    pauses: Pauses

    def assistant(self, url: str | None = None, **times: float) -> SdkAssistant[Any]:
        """Return the assistant, at another address if that is given."""
        return self.adapter(
            Model("some", self.model, Window(tokens=32_000, output=4_000)),
            "THE_KEY",
            key=self.key,
            base_url=url or self.provider.url,
            timing=quick(self.pauses, attempts=2, **times),
        )

    def ask(self, url: str | None = None, **times: float) -> str:
        """Return the answer to a question."""
        return self.assistant(url, **times).ask(Ask("Why?")).text


Pieces = tuple[str, ...]


def _compatible(pieces: Pieces, pauses: Pauses) -> Line:
    provider = chat_completions.ChatCompletions(chat_completions.Said(pieces))
    return Line(OpenAICompatible, provider, "tiny", "none", "chat", pauses)


def _openai(pieces: Pieces, pauses: Pauses) -> Line:
    provider = OpenAIApi()
    provider.pieces = pieces
    return Line(OpenAIResponses, provider, "gpt-test", provider.key, "respond", pauses)


def _anthropic(pieces: Pieces, pauses: Pauses) -> Line:
    provider = anthropic_api.AnthropicApi(anthropic_api.Said(pieces))
    return Line(AnthropicMessages, provider, "claude-test", provider.key, "chat", pauses)


def _gemini(pieces: Pieces, pauses: Pauses) -> Line:
    provider = gemini_api.GeminiApi(gemini_api.Said(pieces))
    return Line(GeminiContents, provider, "gemini-test", provider.key, "chat", pauses)


KINDS: Mapping[str, Callable[[Pieces, Pauses], Line]] = {
    "compatible": _compatible,
    "openai": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
}


@contextmanager
def line_to(kind: str, pauses: Pauses, pieces: Pieces = ("It ", "is ", "so.")) -> Iterator[Line]:
    """Start a provider of a kind, whose model says something."""
    line = KINDS[kind](pieces, pauses)
    with line.provider:
        yield line
