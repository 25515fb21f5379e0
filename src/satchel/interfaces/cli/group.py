"""The command group: each command's module is loaded when the command is used, so that starting stays fast."""

from __future__ import annotations

import importlib

import click

from satchel import __version__
from satchel.interfaces.cli.suggesting import SuggestingGroup

_PURPOSES: dict[str, dict[str, str]] = {
    "Begin": {
        "tour": "Watch two agents share what they know",
        "setup": "Connect your coding clients",
        "init": "Make this folder a project",
        "mcp": "Serve agents over stdio",
        "hook": "Answer a hook of a client",
        "guard": "Let git's commits mind claims",
        "pause": "Silence hooks, or let them speak again",
        "config": "Show the configuration",
    },
    "Notes and search": {
        "write": "Keep a note",
        "read": "Read or search notes",
        "search": "Search everything the project keeps",
        "show": "Show items of any kind in full",
        "retract": "Say that something holds no more",
        "confirm": "Say that something is right",
        "undo": "Take back the last correction",
        "pin": "Let briefings treat something as critical",
        "unpin": "End that",
        "pins": "List what is pinned",
        "brief": "Brief an agent inside a token budget",
    },
    "What binds everyone": {
        "decide": "Set a decision",
        "decisions": "List what was decided",
        "constraint": "Add and list rules",
    },
    "Work together": {
        "status": "Show what needs you, who is at work and what changed",
        "who": "Show who is at work, on what and since when",
        "run": "Start, end, list and show runs",
        "message": "Send, list and read messages",
        "file": "Record edits, claim and check files",
        "package": "Save, list and show packages",
    },
    "Share with a team": {
        "share": "Write items into files that git carries",
        "unshare": "Share items no longer",
        "sync": "Bring the store and the shared files in step",
        "shared": "Show and accept what others wrote",
    },
    "Serve a team": {
        "serve": "Serve Satchel over HTTP",
        "token": "Make, list and revoke tokens of the server",
        "open": "Open the server's pages in your browser",
    },
    "Learn and ask": {
        "learn": "Report errors and what fixed them, save strategies",
        "consult": "Ask another model, with files that are sent once",
        "conversations": "List and reset conversations with other models",
    },
    "Look after the store": {
        "stats": "Count what is kept",
        "clear": "Remove old messages and file changes",
        "prune": "Remove the oldest notes of a run",
        "forget": "Remove one item for good",
        "doctor": "Examine the store",
        "trust": "Trust a store that you did not make here",
        "backup": "Copy the store, verified",
        "restore": "Go back to a backup",
        "compact": "Reclaim space",
        "rebuild": "Rebuild the search index",
        "move": "Copy a store into another database",
        "export": "Write everything of a project as lines of JSON",
        "import": "Take over an export, or a store of another tool",
    },
}

COMMANDS: dict[str, str] = {name: text for commands in _PURPOSES.values() for name, text in commands.items()}
"""Every command with its one line of help, in the order shown."""

_OPERATIONS: dict[str, tuple[str, ...]] = {
    "write": ("entries",),
    "read": ("entries",),
    "prune": ("entries",),
    "search": ("search",),
    "show": ("items",),
    "retract": ("corrections",),
    "confirm": ("corrections",),
    "undo": ("corrections",),
    "pin": ("corrections",),
    "unpin": ("corrections",),
    "pins": ("corrections",),
    "decide": ("decisions",),
    "decisions": ("decisions",),
    "clear": ("admin",),
    "constraint": ("constraints",),
    "learn": ("errors", "strategies"),
    "brief": ("briefing",),
    "consult": ("consulting",),
    "conversations": ("consulting",),
    "file": ("files",),
    "forget": ("admin",),
    "message": ("messages",),
    "package": ("packages",),
    "run": ("runs",),
    "share": ("sharing",),
    "unshare": ("sharing",),
    "sync": ("sharing",),
    "shared": ("sharing",),
    "stats": ("admin",),
    "who": ("team",),
}
"""The modules of operations that declare a command; any other command has a module of its own name."""

OF_THE_STORE = ("init", "doctor", "trust", "backup", "restore", "compact", "rebuild", "move", "export", "import")
"""Commands that look after a store where it is, and ask no server."""

_MODULES = {"import": "import_cmd"}
"""The module of a command whose name cannot be one, being a word of Python."""


class LazyGroup(SuggestingGroup):
    """A group whose commands are imported on use; listing them costs nothing."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 -- click's signature
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in _OPERATIONS:
            from satchel.interfaces.operations.as_command import command_named

            return command_named(cmd_name, _OPERATIONS[cmd_name])
        module = importlib.import_module(f"satchel.interfaces.cli.commands.{_MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 -- click's signature
        width = max(map(len, COMMANDS))
        for purpose, commands in _PURPOSES.items():
            with formatter.section(purpose):
                formatter.write_dl([(name.ljust(width), text) for name, text in commands.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "--version", message="satchel %(version)s")
def satchel_command() -> None:
    """Satchel keeps what coding agents learn, in one store that all of them share.

    \b
    Begin with:
      satchel tour            watch two agents share what they know
      satchel mcp             what your agent's host is to start
    """
