"""What the tests of OpenAI's assistant share: an assistant, files for it to search, and a look at what is left."""

from __future__ import annotations

from consult.providers.asking import Log, Pauses, content, quick
from consult.providers.openai_api import OpenAIApi
from satchel.consult.models import Model
from satchel.consult.openai import OpenAIResponses
from satchel.consult.records import Window
from satchel.consult.vector_stores import VectorStore

WINDOW = Window(tokens=200_000, output=50_000)
MODEL = Model("openai", "gpt-test", WINDOW)
FILES = {"src/auth.py": content("def refresh(): ...\n"), "Makefile": content("all:\n\ttrue\n")}


def openai(provider: OpenAIApi, pauses: Pauses, **times: float) -> OpenAIResponses:
    """Return an assistant that tries three times."""
    timing = quick(pauses, attempts=3, **times)
    return OpenAIResponses(MODEL, "KEY", key=provider.key, base_url=provider.url, timing=timing)


def sweep(assistant: OpenAIResponses, store: VectorStore) -> None:
    """Delete what an earlier call has left."""
    assistant.sweeper.remove(store, lambda: False)


def assert_nothing_is_left(provider: OpenAIApi, log: Log) -> None:
    """Check the provider, and what is recorded of it."""
    assert (provider.stores, provider.files, log.left) == ({}, {}, {})
