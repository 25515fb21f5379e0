"""Consulting where the store is on a server: the local program asks, with its own files, and keeps the conversation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from consult.providers.parrot import Parrot
from http_serving import Served
from satchel import Satchel, open_satchel
from satchel.remote import service

Opens = Callable[..., Satchel]


@pytest.fixture
def consulting(
    open_at: Opens, here: Path, server: Served, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, Parrot], Satchel]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(service, "state_folder", lambda: here.parent / "state")
    (here / "a.py").write_text("print('here')\n")

    def open_with(token: str, provider: Parrot) -> Satchel:
        settings = {"consult.base_url": provider.url, "consult.window_tokens": 18_000, "consult.output_tokens": 2_000}
        return open_at(f"http://127.0.0.1:{server.port}", token, settings=settings)

    return open_with


def test_the_local_program_asks_with_its_files_and_the_server_keeps_the_answer(
    consulting: Callable[..., Satchel], store: Path
) -> None:
    with Parrot() as provider:
        satchel = consulting("agent-token", provider)
        first = satchel.consulting.consult("compatible:tiny", "Why?", context=["a.py"], keep_as="discovery")
        second = satchel.consulting.consult("compatible:tiny", "And?", context=["a.py"], keep_as="decision:why")
    assert "print('here')" in str(first.answer)
    assert (second.turn, "print('here')" in str(second.answer)) == (2, False)
    with open_satchel(store, read_only=True, environ={}) as theirs:
        assert theirs.consulting.conversations.list().total == 0
        assert "print('here')" in theirs.entries.read().entries[0].content
        assert theirs.decisions.get("why") is not None


def test_a_conversation_of_another_token_on_this_machine_is_apart(consulting: Callable[..., Satchel]) -> None:
    with Parrot() as provider:
        consulting("agent-token", provider).consulting.consult("compatible:tiny", "Why?")
        assert consulting("person-token", provider).consulting.conversations.list().total == 0
        assert consulting("agent-token", provider).consulting.conversations.list().total == 1
