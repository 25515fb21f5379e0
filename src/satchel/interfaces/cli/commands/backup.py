"""``satchel backup``."""

from __future__ import annotations

from pathlib import Path

import click

from satchel.base.clock import iso
from satchel.interfaces.cli.common import json_option, progress, show_command, show_json, size_text, store_options
from satchel.interfaces.cli.opening import opened


@click.command()
@click.argument("target", required=False, type=click.Path(path_type=Path))
@click.option("--list", "only_list", is_flag=True, help="List the backups of the store.")
@store_options
@json_option
def command(target: Path | None, only_list: bool, db: str | None, project: str | None, as_json: bool) -> None:
    """Copy the store while it is in use, to TARGET or your state folder. The copy is checked before it gets its name.

    Of a store in PostgreSQL, print the command that copies it with pg_dump.

    \b
    Example:
      satchel backup
    """
    with opened(db, project, read_only=True) as satchel:
        command = satchel.housekeeping.dump_command(target)
        if command is not None:
            show_command(command, "pg_dump must be as new as the server.", as_json=as_json)
            return
        if only_list:
            made = satchel.housekeeping.backups()
        else:
            with progress("copying and checking", quiet=as_json) as report:
                made = [satchel.housekeeping.backup(None if target is None else target.absolute(), report)]
    if as_json:
        show_json(made if only_list else made[0])
        return
    for backup in made:
        click.echo(f"{backup.file}  {size_text(backup.size_bytes)}  {iso(backup.created_at)}")
    if only_list and not made:
        click.echo("there is no backup yet", err=True)
