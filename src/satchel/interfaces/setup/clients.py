"""The supported clients: the location of their files and the contents that setup writes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from satchel.base.config import RESERVED_VARIABLES
from satchel.base.records import dataclass, field
from satchel.base.user_files import followed
from satchel.interfaces.setup.editing import Syntax, edited, parse
from satchel.interfaces.setup.entries import JsonPart, Server
from satchel.interfaces.setup.parts import NAME, Chosen, Content, Fixed, Found, Hooks, Keys, Listed, hook_command
from satchel.interfaces.setup.texts import HOOK_SECONDS, TextPart, opencode_plugin
from satchel.remote.where import INSECURE, URL

PERMISSION = f"mcp__{NAME}"

# Codex caps this timeout, and warns at every start about a handler that asks for more (seen in 0.169.0).
_CODEX_SECONDS_AT_END = 3

# Codex passes no other variables to its servers; without the folders, Satchel would use a different list of stores.
_HANDED_ON = (
    *(name for name in RESERVED_VARIABLES if name != "SATCHEL_DEBUG"),
    *(URL, INSECURE, "XDG_CONFIG_HOME", "XDG_STATE_HOME"),
)


class Event(NamedTuple):
    """A moment at which clients call ``satchel hook``.

    Attributes:
        name: the event's name in Claude Code, which most clients share; some spell it ``sessionStart``.
        clients: the names of the clients that support it.
        names: the event's name in clients that use a different one.
        matchers: the tools it applies to, by client; VS Code ignores matchers.
    """

    name: str
    clients: str
    names: Mapping[str, str] = {}
    matchers: Mapping[str, str] = {}


_EDITS = {
    "claude": "Edit|Write|MultiEdit|NotebookEdit",
    "codex": "apply_patch",
    "gemini": "write_file|replace",
    "qwen": "write_file|edit|notebook_edit",
    "copilot": "create|edit|apply_patch",
    "cursor": "Write|StrReplace|Edit|Delete",
}
_READS = {"claude": "Read", "gemini": "read_file", "qwen": "read_file", "copilot": "view", "cursor": "Read"}
_COMMANDS = {
    "claude": "Bash",
    "codex": "Bash",
    "gemini": "run_shell_command",
    "qwen": "run_shell_command",
    "copilot": "bash",
    "cursor": "Shell",
}
_PLANS = {"claude": "ExitPlanMode", "qwen": "exit_plan_mode"}
_AT_TOOLS = "claude codex gemini qwen copilot cursor vscode"
# Clients that search for a matcher anywhere in a tool's name, including the names of server tools.
_ANYWHERE = frozenset({"gemini", "qwen"})


def _matchers(*tools: Mapping[str, str]) -> dict[str, str]:
    names = {name: "|".join(one[name] for one in tools if name in one) for name in tools[0]}
    return {name: f"^({result})$" if name in _ANYWHERE else result for name, result in names.items()}


# The events that setup installs hooks for; to support another, add a line here.
EVENTS = (
    Event("SessionStart", "claude codex gemini qwen copilot cursor vscode"),
    Event("SubagentStart", "claude codex qwen copilot vscode"),
    Event("SessionEnd", "claude codex gemini qwen copilot cursor"),
    Event("Stop", "claude codex gemini qwen copilot", {"gemini": "AfterAgent", "copilot": "agentStop"}),
    Event(
        "UserPromptSubmit",
        "claude codex gemini qwen copilot",
        {"gemini": "BeforeAgent", "copilot": "userPromptSubmitted"},
    ),
    Event("PreToolUse", _AT_TOOLS, {"gemini": "BeforeTool"}, _matchers(_EDITS)),
    Event("PostToolUse", _AT_TOOLS, {"gemini": "AfterTool"}, _matchers(_EDITS, _READS, _COMMANDS, _PLANS)),
    Event("PostToolUseFailure", "claude qwen cursor", matchers=_matchers(_COMMANDS)),
    Event("PreCompact", "copilot"),
)


@dataclass(frozen=True, slots=True)
class Place:
    """The folders and environment that setup works in."""

    home: Path
    environ: Mapping[str, str]
    project: Path | None = None

    def named(self, variable: str, default: Path) -> Path:
        """Return the folder named by a variable if that is an absolute path, else the default."""
        folder = self.environ.get(variable, "")
        return Path(folder) if Path(folder).is_absolute() else default


@dataclass(frozen=True, slots=True)
class Wish:
    """Options for setup."""

    launcher: str
    in_project: bool = False
    hooks: bool = True
    allowed: frozenset[str] = frozenset()


class Target(NamedTuple):
    """A client's file and the parts that belong in it.

    Attributes:
        syntax: how the client parses it; None for plain text.
        parts: the parts to write; exactly one in a plain text.
        below: the folder below which links are refused.
    """

    path: Path
    syntax: Syntax | None
    parts: tuple[JsonPart | TextPart, ...]
    below: Path

    def content(self, text: str) -> Content:
        return {} if self.syntax is None else parse(text, self.syntax)

    def found(self, text: str) -> list[tuple[str, Found]]:
        """Return the state of each part in a text of the file, by the part's role."""
        content = self.content(text)
        return [
            (part.role, part.found(text) if isinstance(part, TextPart) else part.found(content)) for part in self.parts
        ]

    def put(self, text: str, part: JsonPart | TextPart) -> str:
        if isinstance(part, TextPart):
            return part.put(text)
        assert self.syntax is not None
        return edited(text, self.syntax, part.put(self.content(text)))

    def take(self, text: str, part: JsonPart | TextPart) -> str:
        if isinstance(part, TextPart):
            return part.take(text)
        assert self.syntax is not None
        return edited(text, self.syntax, part.take(self.content(text)))


@dataclass(frozen=True, slots=True)
class Client:
    """A coding client.

    Attributes:
        name: its name in Satchel.
        title: the name its vendor uses.
        program: the command that starts it.
        folder: its configuration folder, relative to the home folder.
        variable: the environment variable that moves the folder.
        below_variable: the folder's name below the variable's value; empty if the variable names the folder itself.
        server: the file with the server's entry, by scope (user, project).
        hooks: the file with the hooks; None if the client has none in that scope.
        place: the object that contains the servers.
        syntax: how the client parses its files.
        entry: the keys of the server's entry apart from its command.
        one_list: whether command and arguments form one list.
        grouped, camel, command_key, handler: the format of its hooks; the last item of ``handler`` is the timeout.
        before, before_hooks: the contents to write before the servers and before the hooks.
        known: the version with which the hooks were tested; None if they were not.
        has_trust: whether its servers can be trusted, so that their tools run without asking.
    """

    name: str
    title: str
    program: str
    folder: str
    server: tuple[str, str]
    hooks: tuple[str | None, str | None]
    variable: str | None = None
    below_variable: str = ""
    place: Keys = ("mcpServers",)
    syntax: Syntax = Syntax.JSON
    entry: Mapping[str, object] = field(default_factory=dict)
    one_list: bool = False
    united: frozenset[str] = frozenset()
    grouped: bool = True
    camel: bool = False
    command_key: str = "command"
    handler: Mapping[str, object] = field(default_factory=lambda: {"type": "command", "timeout": HOOK_SECONDS})
    before: tuple[Fixed, ...] = ()
    before_hooks: tuple[Fixed, ...] = ()
    known: str | None = None
    has_trust: bool = False

    def folder_in(self, place: Place) -> Path:
        """Return this client's user configuration folder."""
        default = place.home / self.folder
        if self.name == "vscode":
            return _vscode_folder(place)
        if self.variable is None:
            return default
        folder = place.named(self.variable, default)
        return default if folder == default else folder / self.below_variable

    def targets(self, place: Place, wish: Wish) -> tuple[Target, ...]:
        """Return the client's files with the parts that belong in them, in write order."""
        base = (place.project or place.home) if wish.in_project else self.folder_in(place)
        below = base if wish.in_project or not base.is_relative_to(place.home) else place.home
        while not below.exists():
            below = below.parent
        server: tuple[JsonPart, ...] = (
            *self.before,
            Server(self.place, wish.launcher, self.entry, self.one_list, self.united),
        )
        if self.name in wish.allowed and self.has_trust:
            server += (Chosen("permission", (*self.place, NAME, "trust"), True),)
        path = self._server_file(base, place, wish)
        targets = [Target(path, Syntax.TOML if path.suffix == ".toml" else self.syntax, server, below)]
        hooks = self.hooks[wish.in_project]
        if hooks is not None and wish.hooks:
            if self.name == "opencode":
                targets.append(Target(base / hooks, None, (opencode_plugin(wish.launcher),), below))
            else:
                parts: tuple[JsonPart, ...] = (
                    *self.before_hooks,
                    Hooks(self._handlers(wish), self.grouped, self.command_key),
                )
                targets.append(Target(base / hooks, self.syntax, parts, below))
        if self.name in wish.allowed and self.name == "claude":
            permission = Listed("permission", ("permissions", "allow"), PERMISSION)
            targets.append(Target(base / "settings.json", self.syntax, (permission,), below))
        if below == place.home:  # whoever made the clone controls the links in a project
            return tuple(target._replace(path=followed(target.path, place.home)) for target in targets)
        return tuple(targets)

    def _server_file(self, base: Path, place: Place, wish: Wish) -> Path:
        if self.name == "claude" and not wish.in_project and not place.environ.get("CLAUDE_CONFIG_DIR"):
            return place.home / self.server[False]  # next to its folder, unless a variable moves it
        file = base / self.server[wish.in_project]
        with_comments = file.with_suffix(".jsonc")
        return with_comments if self.name == "opencode" and with_comments.exists() else file

    def _handlers(self, wish: Wish) -> dict[str, dict[str, object]]:
        handlers: dict[str, dict[str, object]] = {}
        for event in EVENTS:
            if self.name not in event.clients.split():
                continue
            default = event.name[0].lower() + event.name[1:] if self.camel else event.name
            name = event.names.get(self.name, default)
            command = hook_command(wish.launcher, self.name, name, is_guarded=wish.in_project)
            *kind, (limit, time) = self.handler.items()
            handler: dict[str, object] = {**dict(kind), self.command_key: command, limit: time}
            if self.name == "codex" and event.name == "SessionEnd":
                handler["timeout"] = _CODEX_SECONDS_AT_END
            matcher = {"matcher": event.matchers[self.name]} if self.name in event.matchers else {}
            handlers[name] = {**matcher, **({"hooks": [handler]} if self.grouped else handler)}
        return handlers


def _vscode_folder(place: Place) -> Path:
    if sys.platform == "darwin":
        return place.home / "Library/Application Support/Code/User"
    return place.named("XDG_CONFIG_HOME", place.home / ".config") / "Code/User"


_STDIO = {"type": "stdio"}
_GEMINI_HANDLER = {"name": NAME, "type": "command", "timeout": HOOK_SECONDS * 1_000}

CLIENTS: dict[str, Client] = {
    client.name: client
    for client in (
        Client(
            "claude",
            "Claude Code",
            "claude",
            ".claude",
            (".claude.json", ".mcp.json"),
            ("settings.json", ".claude/settings.json"),
            "CLAUDE_CONFIG_DIR",
            entry=_STDIO,
            known="2.1.330",
        ),
        Client(
            "codex",
            "Codex",
            "codex",
            ".codex",
            ("config.toml", ".codex/config.toml"),
            ("hooks.json", ".codex/hooks.json"),
            "CODEX_HOME",
            place=("mcp_servers",),
            entry={"env_vars": list(_HANDED_ON)},
            united=frozenset({"env_vars"}),
            known="0.169.0",
        ),
        Client(
            "gemini",
            "Gemini CLI",
            "gemini",
            ".gemini",
            ("settings.json", ".gemini/settings.json"),
            ("settings.json", ".gemini/settings.json"),
            "GEMINI_CLI_HOME",
            ".gemini",
            syntax=Syntax.JSONC,
            handler=_GEMINI_HANDLER,
            known="0.61.0",
            has_trust=True,
        ),
        Client(
            "qwen",
            "Qwen Code",
            "qwen",
            ".qwen",
            ("settings.json", ".qwen/settings.json"),
            ("settings.json", ".qwen/settings.json"),
            "QWEN_HOME",
            syntax=Syntax.JSONC,
            handler={"type": "command", "timeout": HOOK_SECONDS * 1_000},  # from 1,000 on the unit is milliseconds
            known="0.24.4",
            has_trust=True,
        ),
        Client(
            "copilot",
            "Copilot CLI",
            "copilot",
            ".copilot",
            ("mcp-config.json", ".mcp.json"),
            (f"hooks/{NAME}.json", None),
            "COPILOT_HOME",
            entry={"type": "local", "tools": ["*"]},
            grouped=False,
            camel=True,
            command_key="bash",
            handler={"type": "command", "timeoutSec": HOOK_SECONDS},
            before_hooks=(Fixed(("version",), 1),),
            known="1.0.102",
        ),
        Client(
            "opencode",
            "opencode",
            "opencode",
            ".config/opencode",
            ("opencode.json", "opencode.json"),
            (f"plugin/{NAME}.js", f".opencode/plugin/{NAME}.js"),
            "XDG_CONFIG_HOME",
            "opencode",
            before=(Fixed(("$schema",), "https://opencode.ai/config.json", only_new=True),),  # else opencode adds it
            place=("mcp",),
            syntax=Syntax.JSONC,
            entry={"type": "local"},
            one_list=True,
            known="1.18.33",
        ),
        Client(
            "cursor",
            "Cursor",
            "cursor",
            ".cursor",
            ("mcp.json", ".cursor/mcp.json"),
            ("hooks.json", ".cursor/hooks.json"),
            grouped=False,
            camel=True,
            handler={"timeout": HOOK_SECONDS},
            before_hooks=(Fixed(("version",), 1),),
        ),
        Client(
            "vscode",
            "VS Code",
            "code",
            ".config/Code/User",
            ("mcp.json", ".vscode/mcp.json"),
            (None, f".github/hooks/{NAME}.json"),
            place=("servers",),
            syntax=Syntax.JSONC,
            entry=_STDIO,
            grouped=False,
        ),
    )
}
