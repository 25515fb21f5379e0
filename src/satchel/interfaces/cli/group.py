"""The main command group, which imports a command's module on use, to start fast."""

from __future__ import annotations

import importlib
import itertools

import click

from satchel import __version__
from satchel.interfaces.cli.suggesting import SuggestingGroup

_PURPOSES: dict[str, dict[str, str]] = {
    "Set up": {
        "setup": "Connect Claude Code, Codex, Gemini CLI and other clients",
        "tour": "Watch two agents share a memory (demo)",
        "init": "Create a store in this folder",
        "doctor": "Check that everything works",
        "guard": "Warn before committing files another agent has claimed",
        "pause": "Turn hooks off and on",
        "config": "Show or change the configuration",
        "mcp": "Run the MCP server (your client starts it)",
        "hook": "Handle an event of a client (your client starts it)",
    },
    "Notes and search": {
        "write": "Store a note",
        "read": "List notes",
        "search": "Search everything that is stored",
        "show": "Show items in full",
        "brief": "Show the briefing that an agent gets",
        "accept": "Accept what is proposed: drafts, rules, shared texts",
        "reject": "Reject what is proposed",
        "confirm": "Confirm that something is right",
        "retract": "Mark something as no longer true",
        "undo": "Undo your last change",
        "pin": "Pin items to every briefing, list or remove pins",
        "forget": "Permanently delete one item",
    },
    "Rules, decisions and lessons": {
        "rule": "Add and list rules",
        "edit": "Edit rules or decisions as one text in your editor",
        "decide": "Set a decision",
        "decisions": "List decisions",
        "error": "Report errors and look up their fixes",
        "strategy": "Save and list approaches that worked",
        "consult": "Ask another model",
    },
    "Work together": {
        "status": "Show what needs you, who is at work and what changed",
        "who": "Show who is at work",
        "message": "Send and read messages",
        "file": "Claim files and record edits",
        "package": "Save and list packages of context",
        "run": "Start, end and list runs",
    },
    "Share with a team": {
        "share": "Share items through git, or stop sharing them",
        "sync": "Synchronise the store with the shared files",
        "serve": "Run the server and the control room",
        "open": "Open the control room in your browser",
        "token": "Create, list and revoke access tokens",
    },
    "Maintain the store": {
        "stats": "Show what is stored and how large it is",
        "clear": "Delete old data and reclaim space",
        "trust": "Trust a store that you did not create",
        "backup": "Back up the store",
        "restore": "Restore a backup",
        "export": "Export the project as JSON lines",
        "import": "Import an export or another tool's data",
    },
}

# The commands that ``satchel --help`` shows; ``--all`` shows the rest too.
_FIRST = (
    *("setup", "status", "write", "search", "brief", "decide", "rule", "error", "message"),
    *("accept", "reject", "undo", "serve", "doctor", "tour"),
)

COMMANDS: dict[str, str] = {name: text for commands in _PURPOSES.values() for name, text in commands.items()}

_COMMANDS_OF_OPERATIONS = {
    "admin": "clear forget stats",
    "briefing": "brief",
    "constraints": "rule",
    "consulting": "consult",
    "corrections": "retract confirm undo pin accept reject",
    "decisions": "decide decisions",
    "entries": "write read",
    "errors": "error",
    "files": "file",
    "messages": "message who",
    "packages": "package",
    "runs": "run",
    "search": "search show",
    "sharing": "share sync",
    "strategies": "strategy",
}
# The module of operations that declares a command; any other command has a module of the same name.
_OPERATIONS = {name: module for module, names in _COMMANDS_OF_OPERATIONS.items() for name in names.split()}

# Commands that look after a store where it is, and ask no server.
OF_THE_STORE = ("init", "doctor", "trust", "backup", "restore", "export", "import")

_ALL = "satchel.all"

# The modules of commands that share one.
_MODULES = {
    "import": "import_cmd",
    "mcp": "hook",
    "pause": "hook",
    "open": "serve",
    **dict.fromkeys(("init", "trust", "backup", "restore", "export"), "store"),
}


class LazyGroup(SuggestingGroup):
    """A group whose commands are imported on use; listing them imports none."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 -- click's signature
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in _OPERATIONS:
            from satchel.interfaces.operations.as_command import command_named

            return command_named(cmd_name, _OPERATIONS[cmd_name], COMMANDS[cmd_name])
        module = importlib.import_module(f"satchel.interfaces.cli.commands.{_MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_ALL] = "--all" in itertools.takewhile(lambda one: one.startswith("-") or one == "help", args)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        sections = _PURPOSES if ctx.meta.get(_ALL) else {"Commands": {name: COMMANDS[name] for name in _FIRST}}
        for purpose, commands in sections.items():
            with formatter.section(purpose):
                formatter.write_dl([(name.ljust(width), text) for name, text in commands.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if not ctx.meta.get(_ALL):
            formatter.write_paragraph()
            formatter.write_text("`satchel --help --all` shows all commands, `satchel COMMAND --help` one.")


def _show_all(ctx: click.Context, _option: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "--version", message="satchel %(version)s")
@click.option(
    "--all", is_flag=True, is_eager=True, expose_value=False, callback=_show_all, help="Show all commands and exit."
)
def satchel_command() -> None:
    """Satchel gives your coding agents a shared memory: what one learns, decides or is working on, the next one knows.

    \b
    Begin with:
      satchel setup    connect Claude Code, Codex, Gemini CLI and other clients
      satchel tour     watch two agents share a memory
    """
