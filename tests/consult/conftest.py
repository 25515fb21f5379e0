"""Fixtures for the tests of assistants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from consult.consulted import ENVIRON, MODELS, WINDOW, Consulted
from consult.providers.asking import Log, Pauses
from consult.providers.chat_completions import ChatCompletions
from consult.providers.openai_api import OpenAIApi
from satchel import Satchel


@pytest.fixture
def pauses() -> Pauses:
    """What a call waits with."""
    return Pauses()


@pytest.fixture
def log() -> Log:
    """Where a call records its hosted stores."""
    return Log()


@pytest.fixture
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy stands before this machine."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture(params=["compatible", "openai"])
def consulted(
    request: pytest.FixtureRequest, open_in: Callable[..., Satchel], project: Path, pauses: Pauses, direct: None
) -> Iterator[Consulted]:
    """A project whose questions go to a fake provider, of each of two kinds."""
    kind: str = request.param
    with ChatCompletions() if kind == "compatible" else OpenAIApi() as provider:
        satchel = open_in(
            project,
            environ={**ENVIRON, "OPENAI_BASE_URL": provider.url},
            settings={"consult.base_url": provider.url, **WINDOW},
            agent="ann",
        )
        one = Consulted(satchel, provider, MODELS[kind], project, pauses)
        one.be_quick()
        yield one
