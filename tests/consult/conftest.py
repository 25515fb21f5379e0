"""Fixtures for the tests of assistants."""

from __future__ import annotations

import pytest

from consult.providers.asking import Log, Pauses


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
