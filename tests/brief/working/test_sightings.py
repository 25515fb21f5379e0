"""Hooks that only read are signs of life of their session, too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ManualClock
from satchel import Satchel

Act = Callable[[Satchel, str], object]


@pytest.mark.parametrize(
    "act",
    [
        lambda hooks, _: hooks.working.prompt("thanks", lambda: False),
        lambda hooks, cwd: hooks.working.after_read(cwd, [("src/a.py", "")]),
    ],
    ids=["prompt", "read"],
)
def test_a_session_is_seen_at_a_prompt_or_read_that_has_nothing_to_record(
    begin: Callable[..., Satchel], project: Path, clock: ManualClock, act: Act
) -> None:
    hooks = begin()
    clock.advance(5 * 60_000)
    act(hooks, str(project))
    (session,) = hooks.sessions.team().sessions
    assert session.seen_at == clock()


def test_a_hook_that_has_nothing_to_record_writes_at_most_once_a_minute(
    begin: Callable[..., Satchel], clock: ManualClock
) -> None:
    hooks = begin()
    began = clock()
    clock.advance(59_000)
    assert hooks.working.prompt("thanks", lambda: False).why == "no stored item matches the prompt"
    (session,) = hooks.sessions.team().sessions
    assert session.seen_at == began
