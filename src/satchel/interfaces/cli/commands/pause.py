"""``satchel pause``."""

from __future__ import annotations

from pathlib import Path

import click

from satchel.base.errors import NoProject
from satchel.interfaces.cli.common import json_option, leave_trace, show_json
from satchel.interfaces.cli.opening import opened
from satchel.interfaces.hooks import state


@click.command()
@click.option("--project", "of_project", is_flag=True, help="Only in the project of this folder.")
@click.option("--off", is_flag=True, help="Turn hooks on again.")
@json_option
def command(of_project: bool, off: bool, as_json: bool) -> None:
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
    if as_json:
        show_json({"paused": paused})
        return
    if not paused:
        click.echo("hooks are on")
    for one in paused:
        click.echo("hooks are off everywhere" if one == "*" else f"hooks are off in {one}")
