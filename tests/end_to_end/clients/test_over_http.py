"""Claude Code and Codex as referees of MCP over HTTP: with a token from the environment, they work as over stdio."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import pytest

from end_to_end.clients.client_programs import (
    BRIEFING,
    CLAIM,
    CLAUDE_WAITS,
    MESSAGE,
    NOTE,
    SEARCH,
    SECONDS,
    SHOW,
    WORK,
    Seen,
    Workplace,
    program,
)
from end_to_end.clients.dialects import Call, Messages, Responses
from end_to_end.clients.scripted_model import LAST_WORDS, PROMPT, ScriptedModel

pytestmark = pytest.mark.referee

OF_CLAUDE, OF_CODEX = "mcp__satchel__", "mcp__satchel."
LOADED = Call("ToolSearch", {"query": "select:" + ",".join(OF_CLAUDE + call.tool for call in WORK), "max_results": 10})
FOUND = Call("tool_search", {"query": " ".join(call.tool for call in WORK), "limit": 20})

CONFIGURATION = """\
model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
plugins = false

[model_providers.scripted]
name = "scripted"
base_url = "{model}/v1"
wire_api = "responses"

[mcp_servers.satchel]
url = "{url}/mcp"
bearer_token_env_var = "SATCHEL_TOKEN"
http_headers = {{ "Satchel-Session" = "of codex" }}
"""


@contextmanager
def serving(workplace: Workplace) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Serve the project; return the address, and the environment with a token."""
    token = workplace.run(["satchel", "token", "new", "laptop"]).strip()
    command = ["satchel", "serve", "--port", "0", "--json"]
    with (workplace.home / "log").open("w") as log:
        server = subprocess.Popen(
            command, cwd=workplace.home, env=workplace.environment, stdout=subprocess.PIPE, stderr=log, text=True
        )
    assert server.stdout is not None
    try:
        started = server.stdout.readline()
        while not started.rstrip().endswith("}"):
            more = server.stdout.readline()
            assert more, (workplace.home / "log").read_text()
            started += more
        yield json.loads(started)["url"], {"SATCHEL_TOKEN": token}
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(SECONDS)
        server.stdout.close()


def at_work_in_claude(workplace: Workplace) -> Seen:
    claude = program("Claude Code", "@anthropic-ai/claude-code", "claude")
    script = (LOADED, *(replace(call, tool=OF_CLAUDE + call.tool) for call in WORK))
    with ScriptedModel(Messages(), {PROMPT: script}) as model, serving(workplace) as (url, with_token):
        environment = model.environment | {
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            **CLAUDE_WAITS,
            **with_token,
        }
        headers = ["--header", "Authorization: Bearer ${SATCHEL_TOKEN}", "--header", "Satchel-Session: of claude"]
        adding = ["mcp", "add", "--transport", "http", "--scope", "user", "satchel", f"{url}/mcp", *headers]
        workplace.run([claude, *adding], environment)
        assert with_token["SATCHEL_TOKEN"] not in (workplace.home / ".claude.json").read_text()
        allowed = ["--allowedTools", OF_CLAUDE.rstrip("_")]
        said = workplace.run([claude, "--print", PROMPT, "--model", "scripted", *allowed], environment)
        assert said.strip() == LAST_WORDS
        return Seen.after(workplace, script, model)


def at_work_in_codex(workplace: Workplace) -> Seen:
    codex = program("Codex", "@openai/codex", "vendor/*/bin/codex")
    script = (FOUND, *(replace(call, tool=OF_CODEX + call.tool) for call in WORK))
    with ScriptedModel(Responses(), {PROMPT: script}) as model, serving(workplace) as (url, with_token):
        configuration = workplace.home / ".codex" / "config.toml"
        configuration.parent.mkdir()
        configuration.write_text(CONFIGURATION.format(model=model.url, url=url), encoding="utf-8")
        environment = {**model.environment, **with_token}
        said = workplace.run([codex, "exec", "--sandbox", "workspace-write", PROMPT], environment)
        assert said.strip() == LAST_WORDS
        return Seen.after(workplace, script, model)


@pytest.fixture(scope="module", params=["claude", "codex"])
def client(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def seen(client: str, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    workplace = Workplace.make(tmp_path_factory.mktemp(client))
    return {"claude": at_work_in_claude, "codex": at_work_in_codex}[client](workplace)


@pytest.fixture(scope="module")
def prefix(client: str) -> str:
    return {"claude": OF_CLAUDE, "codex": OF_CODEX}[client]


def test_it_refuses_no_call(seen: Seen, prefix: str) -> None:
    said = [seen.given(replace(call, tool=prefix + call.tool)) for call in WORK]
    assert not any(one.is_error or "error [" in one.text for one in said), said


def test_what_its_model_does_is_done(seen: Seen) -> None:
    assert NOTE in {note["content"] for note in seen.workplace.satchel("read")["entries"]}
    assert [claim["path"] for session in seen.sessions for claim in session["claims"]] == CLAIM.arguments["paths"]
    (message,) = seen.workplace.satchel("message", "list", "--agent", "ann")["messages"]
    assert message["message"] == MESSAGE.arguments["message"]


def test_its_session_is_the_one_that_its_header_names(seen: Seen, client: str) -> None:
    (session,) = seen.sessions
    assert session["client"] == client


@pytest.mark.parametrize("call", [SEARCH, BRIEFING, SHOW], ids=lambda call: call.tool)
def test_its_model_finds_what_it_wrote(seen: Seen, prefix: str, call: Call) -> None:
    assert NOTE.partition("\n")[2] in seen.given(replace(call, tool=prefix + call.tool)).text


def test_it_asks_nobody_but_the_model_and_the_server(seen: Seen) -> None:
    assert seen.strangers == (), seen.strangers
