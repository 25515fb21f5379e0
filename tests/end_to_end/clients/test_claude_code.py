"""Claude Code as a referee: what it shows its model of Satchel, and what it lets the model do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from end_to_end.clients.client_programs import (
    CLAIM,
    CLAUDE_WAITS,
    FROM_THE_SHELL,
    MESSAGE,
    NOTE,
    SHELL_COMMAND,
    SHOW,
    WORK,
    Seen,
    Workplace,
    program,
    texts,
)
from end_to_end.clients.dialects import Call, Messages
from end_to_end.clients.scripted_model import LAST_WORDS, PROMPT, ScriptedModel

pytestmark = pytest.mark.referee

PREFIX = "mcp__satchel__"

HINTS = {
    "remember": {"get_items"},
    "memory": {"get_items"},
    "notes": {"get_items"},
    "what did the others do": {"get_team"},
    "context from other agents": {"get_team"},
    "rules": {"get_items"},
    "who is editing": {"get_items", "get_team"},
    "this error again": {"report_error"},
}
"""Words that a model searches for tools with, and the tools of which they are to find one at least."""

LOOKED_FOR = {words: Call("ToolSearch", {"query": words}) for words in HINTS}
LOADED = Call("ToolSearch", {"query": "select:" + ",".join(PREFIX + call.tool for call in WORK), "max_results": 10})
WORKED = [replace(call, tool=PREFIX + call.tool) for call in WORK]
SHELL = Call("Bash", {"command": SHELL_COMMAND, "description": "Keep a note"})
SCRIPT = (*LOOKED_FOR.values(), LOADED, *WORKED, SHELL)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """A session of Claude Code that may use Satchel's tools and commands, as its documentation says to allow them."""
    claude = program("Claude Code", "@anthropic-ai/claude-code", "claude")
    workplace = Workplace.make(tmp_path_factory.mktemp("claude"))
    with ScriptedModel(Messages(), {PROMPT: SCRIPT}) as model:
        environment = model.environment | {
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            **CLAUDE_WAITS,
        }
        workplace.run([claude, "mcp", "add", "--scope", "user", "satchel", "--", "satchel", "mcp"], environment)
        allowed = ["--allowedTools", PREFIX.rstrip("_"), "Bash(satchel *)"]
        said = workplace.run([claude, "--print", PROMPT, "--model", "scripted", *allowed], environment)
    assert said.strip() == LAST_WORDS
    return Seen.after(workplace, SCRIPT, model)


def test_it_asks_nobody_but_the_model(seen: Seen) -> None:
    assert seen.strangers == (), seen.strangers


def test_its_model_reads_all_of_the_instructions(seen: Seen) -> None:
    (handshake,) = seen.workplace.ask_server()
    assert any(handshake["instructions"] in text for text in texts(seen.asked[0]))


def test_its_model_knows_every_tool_by_name(seen: Seen) -> None:
    _, listing = seen.workplace.ask_server(("tools/list", {}))
    words = {word for text in texts(seen.asked[0]) for word in text.split()}
    assert {PREFIX + tool["name"] for tool in listing["tools"]} <= words


def test_its_model_gets_the_tools_that_it_selects(seen: Seen) -> None:
    assert set(seen.given(LOADED).tools) == {call.tool for call in WORKED}


@pytest.mark.parametrize("call", WORKED, ids=lambda call: call.tool.removeprefix(PREFIX))
def test_it_refuses_no_call(seen: Seen, call: Call) -> None:
    assert not seen.given(call).is_error, seen.given(call).text


def test_what_its_model_does_is_done(seen: Seen) -> None:
    (session,) = seen.sessions
    assert [claim["path"] for claim in session["claims"]] == CLAIM.arguments["paths"]
    (message,) = seen.workplace.satchel("message", "list", "--agent", "ann")["messages"]
    assert message["message"] == MESSAGE.arguments["message"]


def test_its_model_reads_an_answer_as_it_was_written(seen: Seen) -> None:
    _, answer = seen.workplace.ask_server(("tools/call", {"name": SHOW.tool, "arguments": SHOW.arguments}))
    text = answer["content"][0]["text"]
    assert seen.given(replace(SHOW, tool=PREFIX + SHOW.tool)).text == text
    assert NOTE.partition("\n")[2] in text


def test_a_command_of_its_shell_is_in_the_session_of_its_server(seen: Seen) -> None:
    assert not seen.given(SHELL).is_error, seen.given(SHELL).text
    notes = seen.workplace.satchel("read")["entries"]
    assert {note["content"] for note in notes} == {NOTE, FROM_THE_SHELL}
    assert len({note["agent"] for note in notes}) == 1
    assert [session["client"] for session in seen.sessions] == ["claude"]


@pytest.mark.parametrize("words", HINTS)
def test_its_search_for_tools_finds_one_by_what_it_is_for(seen: Seen, words: str) -> None:
    found = {tool.removeprefix(PREFIX) for tool in seen.given(LOOKED_FOR[words]).tools}
    assert found & HINTS[words], sorted(found)
