"""``satchel mcp``."""

from __future__ import annotations

from contextlib import ExitStack

import click

from satchel.base.errors import Refused, StoreMissing
from satchel.client import Satchel
from satchel.interfaces.cli.common import agent_option, opened, run_option, show_json, store_options
from satchel.keep.sessions.caller import SERVER
from satchel.store.daily import daily_backups


@click.command()
@store_options
@run_option
@agent_option
@click.option(
    "--toolsets",
    metavar="NAMES",
    help="Comma-separated names, or all. Default: context,search,decisions,constraints,briefing,errors,messages,files.",
    default=None,
)
@click.option("--read-only", is_flag=True, help="Serve only the tools that change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Do not serve: print the tools as JSON and leave.")
def command(
    db: str | None,
    project: str | None,
    run_id: str | None,
    agent: str | None,
    toolsets: str | None,
    read_only: bool,
    as_json: bool,
) -> None:
    """Serve agents over stdio with the Model Context Protocol, until the input ends.

    A host starts this; standard output carries nothing but the protocol.

    \b
    Example:
      satchel mcp --agent builder-1 --toolsets all
    """
    from satchel.interfaces.mcp.server import make_late_server, make_server
    from satchel.interfaces.mcp.stdio import serve_stdio
    from satchel.interfaces.mcp.tools import ALL_TOOLS, DEFAULT_TOOLSETS

    chosen = DEFAULT_TOOLSETS if toolsets is None else tuple(name.strip() for name in toolsets.split(","))
    if as_json:
        from satchel.interfaces.mcp.registry import Registry

        show_json({"tools": Registry(ALL_TOOLS, chosen, read_only=read_only).listing()})
        return
    with ExitStack() as stack:

        def open_here() -> Satchel:
            satchel = stack.enter_context(
                opened(db, project, run_id=run_id, agent=agent, read_only=read_only, caller=SERVER)
            )
            stack.enter_context(daily_backups(satchel.workplace.engine))
            return satchel

        try:
            server = make_server(open_here(), chosen, read_only=read_only)
        except (Refused, StoreMissing) as error:
            # a client shows no more of a server that leaves than that it failed; a call can say why
            click.echo(f"satchel: {error}", err=True)
            server = make_late_server(open_here, chosen, read_only=read_only)
        serve_stdio(server)
