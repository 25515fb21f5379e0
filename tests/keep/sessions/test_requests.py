"""The session of a request over HTTP: found by its token and the name that its client gave it, and by nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conftest import ManualClock
from satchel import Satchel
from satchel.base import processes
from satchel.keep.sessions.caller import Caller
from satchel.keep.sessions.service import Sessions


@pytest.fixture(autouse=True)
def nobody_looks_at_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_given: object) -> None:
        raise AssertionError("a process of the server's was looked at")

    for name in ("ancestors", "find_client", "find", "own"):
        monkeypatch.setattr(processes, name, refuse)


def entered(satchel: Satchel, token: str, session: str | None, client: str | None = "codex") -> str | None:
    """Enter as a server does that was just started; return the session's uid."""
    caller = Caller.of_request(token, session)
    caller.set_client(client, "1")
    found = Sessions(replace(satchel.workplace, caller=caller, root=None, files_root=None)).enter()
    return None if found is None else found.session


def test_a_server_that_was_started_again_finds_it(satchel: Satchel) -> None:
    assert entered(satchel, "t1", "mine") == entered(satchel, "t1", "mine")


@pytest.mark.parametrize("other", [("t2", "mine"), ("t1", "other"), ("t", "1:mine")])
def test_another_token_or_name_is_another_session(satchel: Satchel, other: tuple[str, str]) -> None:
    assert entered(satchel, "t1", "mine") != entered(satchel, *other)


def test_a_long_name_is_told_from_another_that_begins_alike(satchel: Satchel) -> None:
    assert entered(satchel, "t1", "s" * 199 + "a") != entered(satchel, "t1", "s" * 199 + "b")


def test_a_request_without_a_name_has_none(satchel: Satchel) -> None:
    assert entered(satchel, "t1", None) is None


def test_it_goes_on_after_any_silence_under_its_first_client(satchel: Satchel, clock: ManualClock) -> None:
    first = entered(satchel, "t1", "mine", None)
    clock.advance(86_400_000)
    assert entered(satchel, "t1", "mine", "codex") == first
    (session,) = satchel.sessions.team().sessions
    assert (session.client, session.gone, session.predecessor) == ("codex", False, None)


def test_it_is_gone_after_silence(satchel: Satchel, clock: ManualClock) -> None:
    entered(satchel, "t1", "mine")
    clock.advance(31 * 60_000)
    assert [one.gone for one in satchel.sessions.team().sessions] == [True]
