"""``satchel rebuild``."""

from __future__ import annotations

import click

from satchel.interfaces.cli.common import json_option, progress, show_json, store_options
from satchel.interfaces.cli.opening import opened


@click.command()
@store_options
@json_option
def command(db: str | None, project: str | None, as_json: bool) -> None:
    """Rebuild the search index from what is kept, and recount. Others may read and write meanwhile.

    \b
    Example:
      satchel rebuild
    """
    with opened(db, project) as satchel, progress("indexing", quiet=as_json) as told:
        satchel.housekeeping.recount()
        count = satchel.finding.rebuild(told)
    if as_json:
        show_json({"indexed": count})
    else:
        click.echo(f"{count:,} items indexed")
