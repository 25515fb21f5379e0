"""Codex as a referee: what it shows its model of Satchel, and what it lets the model do."""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from end_to_end.clients.client_programs import (
    BRIEFING,
    CLAIM,
    FROM_THE_SHELL,
    MESSAGE,
    NOTE,
    SEARCH,
    SHELL_COMMAND,
    SHOW,
    WORK,
    Seen,
    Workplace,
    program,
    texts,
)
from end_to_end.clients.dialects import Call, Responses
from end_to_end.clients.scripted_model import LAST_WORDS, PROMPT, ScriptedModel

pytestmark = pytest.mark.referee

NAMESPACE = "mcp__satchel"

FOUND = Call("tool_search", {"query": " ".join(call.tool for call in WORK), "limit": 20})
WORKED = [replace(call, tool=f"{NAMESPACE}.{call.tool}") for call in WORK]
# its shell is a login shell, which has a search path of its own
SHELL = Call("exec_command", {"cmd": f"PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH; {SHELL_COMMAND}"})
SCRIPT = (FOUND, *WORKED, SHELL)

CONFIGURATION = """\
model = "gpt-5.5"  # a name that it knows: of other models it believes that they cannot search for tools
model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
plugins = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"

[mcp_servers.satchel]
command = "satchel"
args = ["mcp"]
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """A session of Codex that may edit the project, as far as its sandbox goes, and asks nobody for more."""
    codex = program("Codex", "@openai/codex", "vendor/*/bin/codex")
    workplace = Workplace.make(tmp_path_factory.mktemp("codex"))
    with ScriptedModel(Responses(), {PROMPT: SCRIPT}) as model:
        configuration = workplace.home / ".codex" / "config.toml"
        configuration.parent.mkdir()
        configuration.write_text(CONFIGURATION.format(url=model.url), encoding="utf-8")
        said = workplace.run([codex, "exec", "--sandbox", "workspace-write", PROMPT], model.environment)
    assert said.strip() == LAST_WORDS
    return Seen.after(workplace, SCRIPT, model)


def test_it_asks_nobody_but_the_model(seen: Seen) -> None:
    assert seen.strangers == (), seen.strangers


def test_its_model_reads_the_first_line_of_the_instructions_before_it_searches(seen: Seen) -> None:
    (handshake,) = seen.workplace.ask_server()
    first, _, _ = handshake["instructions"].partition("\n")
    lines = [line for text in texts(seen.asked[0]) for line in text.splitlines()]
    assert f"- {NAMESPACE}: {first}" in lines


def test_its_model_reads_all_of_the_instructions_with_what_it_found(seen: Seen) -> None:
    (handshake,) = seen.workplace.ask_server()
    assert handshake["instructions"] in texts(seen.asked[1])


def test_its_model_finds_the_tools_that_it_names(seen: Seen) -> None:
    assert {call.tool for call in WORKED} <= set(seen.given(FOUND).tools)


@pytest.mark.parametrize("call", [SEARCH, BRIEFING, SHOW], ids=lambda call: call.tool)
def test_its_model_finds_what_it_wrote(seen: Seen, call: Call) -> None:
    assert NOTE.partition("\n")[2] in seen.given(replace(call, tool=f"{NAMESPACE}.{call.tool}")).text


def test_what_its_model_does_is_done_without_approval(seen: Seen) -> None:
    notes = seen.workplace.satchel("read")["entries"]
    assert NOTE in {note["content"] for note in notes}
    assert [claim["path"] for session in seen.sessions for claim in session["claims"]] == CLAIM.arguments["paths"]
    (message,) = seen.workplace.satchel("message", "list", "--agent", "ann")["messages"]
    assert message["message"] == MESSAGE.arguments["message"]


def test_its_model_reads_an_answer_as_it_was_written(seen: Seen) -> None:
    _, answer = seen.workplace.ask_server(("tools/call", {"name": SHOW.tool, "arguments": SHOW.arguments}))
    given = seen.given(replace(SHOW, tool=f"{NAMESPACE}.{SHOW.tool}")).text
    _, _, text = given.partition("\nOutput:\n")
    assert text == answer["content"][0]["text"]


def test_a_command_of_its_shell_is_in_the_session_of_its_server(seen: Seen) -> None:
    if sys.platform == "linux" and subprocess.run(["unshare", "--user", "true"], check=False).returncode:
        pytest.skip("this machine allows no user namespaces, which the sandbox of Codex's shell needs")
    notes = seen.workplace.satchel("read")["entries"]
    assert {note["content"] for note in notes} == {NOTE, FROM_THE_SHELL}, seen.given(SHELL).text
    assert len({note["agent"] for note in notes}) == 1
    assert [session["client"] for session in seen.sessions] == ["codex"]
