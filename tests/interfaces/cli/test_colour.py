"""Colour: where the terminal and the environment allow it."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

import pytest

from satchel.interfaces.cli import run


class Terminal(io.StringIO):
    """A screen."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """What an error says on a terminal."""
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")

    def tell() -> str:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", screen := Terminal())
            run(["nonsense"])
        return screen.getvalue()

    return tell


def test_an_error_is_red_on_a_terminal(told: Callable[[], str]) -> None:
    assert told().startswith("\x1b[31m")


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_an_error_is_plain_where_the_environment_wants_no_colour(
    told: Callable[[], str], monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    assert told().startswith("error [invalid_input]: ")
