"""Write the plugin for Claude Code, its marketplace file, the Agent Skill and server.json. A test compares them.

python scripts/make_plugin.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import satchel
from satchel.interfaces.mcp.guidance import PROMPTS, instructions
from satchel.interfaces.mcp.registry import Registry
from satchel.interfaces.operations.as_tool import ALL_TOOLS, DEFAULT_TOOLSETS
from satchel.interfaces.setup.clients import EVENTS
from satchel.interfaces.setup.parts import NAME, hook_command
from satchel.interfaces.setup.texts import HOOK_SECONDS

ROOT = Path(__file__).parent.parent
SUMMARY = "Shared memory and coordination for coding agents, in one SQLite file inside the project."
REGISTRY_NAME = "io.github.OWNER/satchel"  # OWNER is the account that publishes: see CONTRIBUTING.md, "Releasing"
SERVER_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
AUTHOR = {"name": "The Satchel maintainers"}
PURPOSE = "What this project's coding agents learn, decide and work on, shared by all of them on this machine."

HOOK_EVENTS = {event.name: event.matchers.get("claude") for event in EVENTS if "claude" in event.clients.split()}
"""The events of Claude Code that call ``satchel hook claude EVENT``, each with the tools it is meant for, or None."""

_SKILL = """\
---
name: {name}
description: >-
  Shared memory of this project's coding agents: rules, decisions, notes, known errors with their fix, messages, and who
  edits which file. Use it when you start or resume work, before you edit files or try an approach, when something
  fails, when a decision is made, and when asked to remember, recall, hand over or coordinate.
license: Apache-2.0
compatibility: Needs the satchel command, a Python 3.11 program; its MCP server is optional.
metadata:
  version: "{version}"
---

# Satchel

{purpose}
The MCP server `satchel` and the command `satchel` use the same store. Use the tools if you have them; a host that
defers tools shows them once you search for their names.

## What to do

{instructions}

Write what others would otherwise have to find out again, with its file and line; not what the code says itself. Write
no secrets: what stands between `<private>` and `</private>` is never stored.

## Tools

Their names may carry a prefix of your host. Items have short ids, such as `e12` for a note and `d3` for a decision.

| tool | what it does |
|---|---|
{tools}

The server's prompts {prompts} say more for one kind of work.

## In a shell

The same without tools; `--json` gives JSON, `--help` every option.

```sh
satchel brief "make refreshed tokens survive a restart"
satchel search "token refresh"
satchel write discovery "The gateway caches sessions for 300 s" --file src/auth.py
satchel write scratchpad '{{"iteration": 1, "done": false, "next_step": "persist the key"}}'
satchel show e1
satchel decide session_ttl 300 --why "matches the gateway"
satchel rule add "Passwords are never logged" --priority critical
satchel error report TokenExpired "signature has expired" --lang python
satchel error outcome x1 --solution "The gateway's clock is 30 s ahead: allow leeway=60"
satchel file claim src/auth.py --why "token refresh"
satchel file release src/auth.py
satchel message send "src/auth.py is yours" --to reviewer
satchel message list --unread
satchel who
```

## When something is wrong

An error says what was wrong and what would be right. `satchel doctor` examines the store. Whether a store is trusted,
restored or begun anew (`satchel trust`, `satchel restore`, `satchel init`) is for a person to decide: say what the
error names, and go on without Satchel.
"""

_README = """\
# Satchel for Claude Code

{purpose}

This plugin starts Satchel's MCP server, briefs each session and subagent when it begins, ends what a session held when
it is over, and brings a skill that says when to use which tool. It needs the `satchel` command on your path; without it
the hooks do nothing and the server is shown as failed. Nothing leaves your machine.

In Claude Code, with the repository of Satchel at hand:

```text
/plugin marketplace add /path/to/satchel
/plugin install satchel@satchel
```

To let its tools run without asking, allow `mcp__plugin_satchel_satchel` in the permissions. Use either this plugin or
`satchel setup claude`, not both: together they start two servers.

Version {version}, Apache-2.0. Made by `scripts/make_plugin.py`.
"""


def files() -> dict[str, str]:
    """Return the text of every file by its path in the repository."""
    version = satchel.__version__
    plugin = {
        "name": NAME,
        "version": version,
        "description": PURPOSE,
        "author": AUTHOR,
        "license": "Apache-2.0",
        "keywords": ["memory", "context", "agents", "mcp"],
    }
    marketplace = {
        "name": NAME,
        "owner": AUTHOR,
        "description": SUMMARY,
        "plugins": [{"name": NAME, "source": "./plugin", "description": PURPOSE}],
    }
    hooks = {
        "description": "Brief sessions and subagents, claim what they edit, show what fixed an error, deliver messages",
        "hooks": {
            event: [{**({"matcher": matcher} if matcher else {}), "hooks": [_handler(event)]}]
            for event, matcher in HOOK_EVENTS.items()
        },
    }
    server = {
        "$schema": SERVER_SCHEMA,
        "name": REGISTRY_NAME,
        "title": "Satchel",
        "description": SUMMARY,
        "version": version,
        "packages": [
            {
                "registryType": "pypi",
                "identifier": NAME,
                "version": version,
                "runtimeHint": "uvx",
                "packageArguments": [{"type": "positional", "value": "mcp"}],
                "transport": {"type": "stdio"},
            }
        ],
    }
    return {
        "server.json": _json(server),
        ".claude-plugin/marketplace.json": _json(marketplace),
        "plugin/.claude-plugin/plugin.json": _json(plugin),
        "plugin/.mcp.json": _json({"mcpServers": {NAME: {"command": "satchel", "args": ["mcp"]}}}),
        "plugin/hooks/hooks.json": _json(hooks),
        f"plugin/skills/{NAME}/SKILL.md": _skill(version),
        "plugin/README.md": _README.format(purpose=PURPOSE, version=version),
    }


def _handler(event: str) -> dict[str, object]:
    """Return the hook of an event: silent and successful also where there is no ``satchel``."""
    command = hook_command(NAME, "claude", event, is_guarded=True)
    return {"type": "command", "command": command, "timeout": HOOK_SECONDS}


def _skill(version: str) -> str:
    served = Registry(ALL_TOOLS, DEFAULT_TOOLSETS).tools
    tools = [(tool.name, tool.description.partition(". ")[0].rstrip(".")) for tool in served.values()]
    return _SKILL.format(
        name=NAME,
        version=version,
        purpose=PURPOSE,
        instructions="\n".join(f"- {line}" for line in instructions(served).splitlines()),
        tools="\n".join(f"| `{name}` | {does} |" for name, does in tools),
        prompts=", ".join(f"`{prompt.name}`" for prompt in PROMPTS),
    )


def _json(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"


def main() -> None:
    """Write every file."""
    for name, text in files().items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{name}\n")


if __name__ == "__main__":
    main()
