"""``satchel mcp`` in click, for help and errors; hosts start it without click."""

from __future__ import annotations

from typing import Any

import click

from satchel.interfaces.cli.common import with_options
from satchel.interfaces.mcp.command import OPTIONS, run


@click.command()
@with_options(*OPTIONS)
def command(**options: Any) -> int:
    """Serve agents over stdio with the Model Context Protocol, until the input ends.

    A host starts this; standard output carries nothing but the protocol.

    \b
    Example:
      satchel mcp --agent builder-1 --toolsets all
    """
    return run(**options)
