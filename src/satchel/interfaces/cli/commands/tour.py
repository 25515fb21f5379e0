"""``satchel tour``."""

from __future__ import annotations

from pathlib import Path

import click

from satchel.interfaces.cli.common import json_option, show_json


@click.command()
@click.option("--keep", metavar="FILE", type=click.Path(path_type=Path), help="Keep the tour's store in this new file.")
@json_option
def command(keep: Path | None, as_json: bool) -> None:
    """Watch two agents share a memory: real servers and hooks over a temporary store, in a few seconds.

    One agent writes notes and the other finds them; they decide, agree on a rule and send messages; hooks keep two
    clients from editing one file; one agent fails, and the other is warned before it fails the same way. Your own
    store is not touched.

    \b
    Examples:
      satchel tour
      satchel tour --keep tour.db
    """
    from satchel.interfaces.cli.tour.guide import guide

    result = guide(keep, (lambda _: None) if as_json else click.echo)
    if as_json:
        show_json(result)
