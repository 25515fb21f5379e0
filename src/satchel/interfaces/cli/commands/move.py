"""``satchel move``."""

from __future__ import annotations

import click

from satchel.client import open_satchel
from satchel.interfaces.cli.common import json_option, progress, show_json
from satchel.interfaces.cli.opening import warn


@click.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@json_option
def command(source: str, target: str, as_json: bool) -> None:
    """Copy everything of the store FROM into the empty store TO; each is a file or the URL of a PostgreSQL database.

    FROM is read in one snapshot and stays as it is. TO can be used once every row is there and was compared, and the
    search index is built. What was stopped goes on when the same command is run again.

    \b
    Examples:
      satchel move .satchel/satchel.db 'postgresql://me@db.example.org/team?schema=satchel'
      satchel move 'postgresql://me@db.example.org/team?schema=satchel' copy.db
    """
    with (
        open_satchel(source, read_only=True) as giving,
        open_satchel(target) as taking,
        progress("moving", quiet=as_json) as told,
    ):
        moved = giving.housekeeping.move(taking.workplace.engine, told)
    if moved.source_changed:
        warn((f"{moved.source} was written to meanwhile: that is not in {moved.target}; stop what writes there first",))
    if as_json:
        show_json(moved)
        return
    if moved.began_anew:
        click.echo("what a stopped move had copied was dropped: the store had changed since")
    elif moved.went_on:
        click.echo("a stopped move was brought to its end")
    click.echo(f"{moved.rows:,} rows copied and compared, {moved.indexed:,} items indexed")
    click.echo(f"{moved.target} can be used; {moved.source} is as it was, and whatever uses it still writes there")
