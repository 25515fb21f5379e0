"""``satchel restore``."""

from __future__ import annotations

from pathlib import Path

import click

from satchel.base.errors import InvalidInput
from satchel.interfaces.cli.common import json_option, progress, show_command, show_json, store_options
from satchel.interfaces.cli.opening import opened


@click.command()
@click.argument("source", required=False, type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Restore without asking; needed with --json.")
@store_options
@json_option
def command(source: Path | None, yes: bool, db: str | None, project: str | None, as_json: bool) -> None:
    """Go back to the backup SOURCE, or without one to the newest that passes its check.

    What is there now is saved first; what is no usable store is set aside, never deleted. Running servers go on with
    the restored state. Of a store in PostgreSQL, print the command that restores the dump SOURCE with pg_restore.

    \b
    Examples:
      satchel restore
      satchel backup --list
    """
    with opened(db, project) as satchel:
        command = satchel.housekeeping.load_command(source)
        if command is not None:
            note = "It needs a database without the schema: stop what uses that, then rename it in psql (ALTER SCHEMA)."
            show_command(command, note, as_json=as_json)
            return
        if as_json and not yes:
            raise InvalidInput("restore with --json asks nobody", "Add --yes to put the backup in the store's place")
        backup = satchel.housekeeping.newest_backup().file if source is None else source.absolute()
        location = satchel.workplace.engine.location
        if not yes and not click.confirm(f"Put {backup} in the place of {location}?", err=True):
            click.echo("nothing was changed")
            return
        with progress("restoring", quiet=as_json) as report:
            result = satchel.housekeeping.restore(backup, report)
    if as_json:
        show_json(result)
        return
    click.echo(f"restored {result.source}")
    if result.previous is not None:
        what = "the damaged file was set aside as" if result.previous_was_damaged else "the state before it is in"
        click.echo(f"{what} {result.previous}")
