"""Clients with the hooks of `satchel setup`, asked about something that is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from end_to_end.clients.client_programs import Workplace, texts
from end_to_end.clients.clients_set_up import CLAUDE, CODEX, Client, set_up
from end_to_end.clients.scripted_model import ScriptedModel
from satchel.interfaces.setup.clients import EVENTS

pytestmark = pytest.mark.referee

NOTE = "webhook retries stop after seven attempts, since the partner bans callers that go on"
ASKED = "Why do webhook retries stop after seven attempts?"


@pytest.mark.parametrize("client", [CLAUDE, CODEX], ids=lambda client: client.name)
def test_what_is_kept_of_a_prompt_comes_with_it(client: Client, tmp_path: Path) -> None:
    if not any(event.name == "UserPromptSubmit" and client.name in event.clients.split() for event in EVENTS):
        pytest.skip(f"setup installs no hook at a prompt of {client.name}")
    workplace = Workplace.make(tmp_path)
    workplace.run(["satchel", "write", "discovery", NOTE, "--agent", "ann"])
    with ScriptedModel(client.dialect, {ASKED: []}) as model:
        environment = set_up(client, workplace, model) | {"SATCHEL_HOOKS_START": "0"}
        workplace.run([*client.program(), *client.asks, ASKED], environment)
    assert NOTE in "\n".join(texts(model.asked_for(ASKED)[0]))
