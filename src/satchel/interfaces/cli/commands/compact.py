"""``satchel compact``."""

from __future__ import annotations

import click

from satchel.interfaces.cli.common import json_option, progress, show_json, size_text, store_options
from satchel.interfaces.cli.opening import opened


@click.command()
@store_options
@json_option
def command(db: str | None, project: str | None, as_json: bool) -> None:
    """Merge the search index, drop what only things that are gone needed, and give the space back to the disk.

    \b
    Example:
      satchel compact
    """
    with opened(db, project) as satchel, progress("compacting", quiet=as_json):
        result = satchel.housekeeping.compact()
    if as_json:
        show_json(result)
        return
    click.echo(f"{size_text(result.before)} before, {size_text(result.after)} after")
    if not result.wal_emptied:
        click.echo("another process reads what was deleted; compact again when that one is done", err=True)
    if result.out_of_reach is not None:
        click.echo(result.out_of_reach, err=True)
