"""Command groups that suggest near matches for an unknown command."""

from __future__ import annotations

import click

_WORDS = {
    ("write",): "add note remember memo save store todo put new create bug",
    ("read",): "notes",
    ("read", "rule list", "decisions"): "list ls",
    ("status", "decisions"): "log",
    ("status --watch", "status"): "top",
    ("decisions --key", "status"): "history",
    ("pause --off",): "resume unpause",
    ("search",): "find grep query recall lookup",
    ("show",): "get view cat print",
    ("retract", "forget"): "rm remove delete del drop erase",
    ("retract",): "wrong correct obsolete invalidate",
    ("undo",): "revert rollback unretract",
    ("decide",): "set",
    ("decisions", "decide"): "decision",
    ("decide", "write"): "change",
    ("rule add",): "constraint constraints must",
    ("rule list",): "rules",
    ("rule add --path", "rule list FILE", "decide --path"): "--file",
    ("error list",): "errors fixes",
    ("error report",): "learn report",
    ("error outcome --solution",): "fix solve solved",
    ("strategy list",): "strategies lessons",
    ("status", "share --list", "import docs"): "proposal proposals",
    ("share --list",): "shared",
    ("accept",): "approve take ok",
    ("reject",): "decline deny refuse",
    ("accept", "reject"): "review",
    ("message send",): "send msg tell notify",
    ("message send --reply-to",): "reply answer",
    ("message sent",): "--sent outbox",
    ("message list",): "messages inbox mail",
    ("consult",): "ask chat",
    ("consult --list",): "conversations",
    ("export", "import --as-written"): "move",
    ("file claim",): "claim lock reserve",
    ("file release",): "release unlock",
    ("file claims",): "claims locks",
    ("file list",): "changes files edits",
    ("who",): "team agents sessions ps",
    ("brief",): "briefing context prompt",
    ("clear",): "clean cleanup gc purge",
    ("clear --notes",): "prune",
    ("clear --compact",): "compact vacuum",
    ("pin --remove",): "unpin",
    ("pin --list",): "pins pinned",
    ("stats --by tag",): "tags scopes layers categories",
    ("share --remove",): "unshare",
    ("doctor --rebuild",): "rebuild reindex",
    ("doctor",): "check health test verify diagnose",
    ("setup",): "install connect configure hooks clients",
    ("setup --remove",): "uninstall disconnect --undo --uninstall",
    ("serve", "open"): "server web ui dashboard gui room control-room",
    ("open",): "login browse",
    ("tour",): "demo example",
    ("run list",): "runs",
    ("--version",): "version",
    ("hook --explain claude SessionStart",): "handover handoff",
}

# The commands for each word and unknown option; no word is a command itself.
GUESSES: dict[str, tuple[str, ...]] = {word: commands for commands, words in _WORDS.items() for word in words.split()}

_UPDATE = "docs/update.md in Satchel's repository tells how to update it; `satchel decide` changes a decision"
_HINTS = {"update": _UPDATE, "upgrade": _UPDATE}

# The commands of groups whose first argument is a text.
_TAKES_TEXT = ("send", "add", "save")

_MOST = 3


class SuggestingGroup(click.Group):
    """A group with lazily made commands; for an unknown name it suggests up to three."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Treat ``help COMMAND`` as ``COMMAND --help``."""
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, names = args[0], self.list_commands(ctx)
        if name not in names and not name.startswith("-"):
            commands = _suggestions(name.casefold(), names, ctx)
            hint = f" Did you mean {_either(commands)}?" if commands else ""
            if ctx.parent is None and name in _HINTS:
                hint = f" {_HINTS[name]}."
            raise click.UsageError(f"unknown command {name[:80]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


def option_hint(option: str, ctx: click.Context | None) -> str | None:
    """Return what an unknown option of a command may have meant, or None."""
    root = "satchel" if ctx is None else ctx.find_root().command_path
    command = "" if ctx is None else ctx.command_path.removeprefix(root).partition(" ")[2]
    commands = [one for one in GUESSES.get(option, ()) if one.split()[0] == command.partition(" ")[0]]
    # first that of the command itself, then of its group
    commands.sort(key=lambda one: not one.startswith(command))
    return f"Did you mean `{root} {commands[0]}`?" if commands else None


def _suggestions(name: str, names: list[str], ctx: click.Context) -> list[str]:
    import difflib

    root = ctx.find_root().command_path
    guesses = {one: [f"{root} {command}" for command in commands] for one, commands in GUESSES.items()}
    if ctx.parent is not None:
        near = difflib.get_close_matches(name, names, n=_MOST)
        near = [one for one in names if one in _TAKES_TEXT] if " " in name else near
        group = ctx.find_root().command
        of_root = [f"{root} {name}"] if isinstance(group, click.Group) and name in group.list_commands(ctx) else []
        commands = [f"{ctx.command_path} {one}" for one in near] or guesses.get(name, of_root)
    elif name in guesses:
        commands = guesses[name]
    else:
        near = [*difflib.get_close_matches(name, guesses, cutoff=0.8), *difflib.get_close_matches(name, names)]
        commands = [command for one in near for command in guesses.get(one, [f"{root} {one}"])]
    return [f"`{one}`" for one in dict.fromkeys(commands)][:_MOST]


def _either(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"
