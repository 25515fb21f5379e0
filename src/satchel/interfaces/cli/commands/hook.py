"""``satchel hook`` for people; clients run it without click."""

from __future__ import annotations

import click

from satchel.interfaces.hooks import events


@click.command()
@click.option("--explain", is_flag=True, help="Show what it would put in, and why, from the last real event.")
@click.argument("client", type=click.Choice(events.CLIENTS))
@click.argument("event")
def command(explain: bool, client: str, event: str) -> int:
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
