"""``satchel hook`` and ``satchel mcp`` for people, which clients run without click; and ``satchel pause``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from satchel.base.errors import NoProject
from satchel.interfaces.cli.common import json_option, leave_trace, show, with_options
from satchel.interfaces.cli.opening import opened
from satchel.interfaces.cli.options import OF_SERVER
from satchel.interfaces.hooks import events, state


@click.command()
@click.option("--explain", is_flag=True, help="Show what it would put in, and why, from the last real event.")
@click.argument("client", type=click.Choice(events.CLIENTS))
@click.argument("event")
def hook_command(explain: bool, client: str, event: str) -> int:
    """Answer a hook of a client: EVENT, as JSON on standard input, with what the client's model should know.

    `satchel setup` installs it. It prints nothing and ends with status 0 where there is nothing to say, where the
    project has no store, and whatever goes wrong; `satchel doctor` shows what did.

    \b
    Examples:
      satchel hook --explain claude SessionStart
      satchel hook claude SessionStart < event.json
    """
    if explain:
        from satchel.interfaces.hooks.explaining import explain as show

        return show(client, event)
    from satchel.interfaces.hooks.command import run

    return run([client, event])


@click.command()
@with_options(*OF_SERVER)
def mcp_command(**options: Any) -> int:
    """Serve agents over stdio with the Model Context Protocol, until the input ends.

    A host starts this; standard output carries nothing but the protocol.

    \b
    Example:
      satchel mcp --agent builder-1 --toolsets all
    """
    from satchel.interfaces.mcp.server import run

    return run(**options)


@click.command()
@click.option("--project", "of_project", is_flag=True, help="Only in the project of this folder.")
@click.option("--off", is_flag=True, help="Turn hooks on again.")
@json_option
def pause_command(of_project: bool, off: bool, as_json: bool) -> None:
    """Turn the hooks of all clients off: they inject nothing and record nothing until --off.

    Servers and commands keep working.

    \b
    Examples:
      satchel pause
      satchel pause --project
      satchel pause --off
    """
    folder = None
    if of_project:
        with opened(None, None) as satchel:
            root = satchel.place.worktree or satchel.place.root
        if root is None:
            raise NoProject("this store belongs to no folder", "Leave --project out to silence all hooks")
        folder = str(Path(root).resolve())
    paused = state.pause(folder, on=not off)
    leave_trace(f"turned hooks {'on' if off else 'off'}{'' if of_project else ' everywhere'}")
    lines = [f"hooks are off {'everywhere' if one == '*' else f'in {one}'}" for one in paused]
    show({"paused": paused}, *lines or ["hooks are on"], as_json=as_json)
