"""``satchel init``."""

from __future__ import annotations

import click

from satchel.base.config import FILE_NAME, documented_toml
from satchel.faces.cli.common import json_option, opened, show_json, store_options


@click.command()
@store_options
@json_option
def command(db: str | None, project: str | None, as_json: bool) -> None:
    """Make this folder a project: its store, and a configuration file that explains every key.

    Inside a git repository this is not needed: the first write does it.

    \b
    Example:
      satchel init
    """
    with opened(db, project, here=True) as satchel:
        existed = satchel.place.file.exists()
        satchel.housekeeping.initialise()
        configuration = satchel.place.folder / FILE_NAME
        if satchel.place.owns_folder and not configuration.exists():
            configuration.write_text(documented_toml(), encoding="utf-8")
        statistics = satchel.housekeeping.statistics()
        if as_json:
            show_json({"store": satchel.place.file, "project": statistics.project, "existed": existed})
            return
        click.echo(f"project {statistics.project}: {satchel.place.file}{' (was there already)' if existed else ''}")
        click.echo("Next: have your agent's host start `satchel mcp` in this folder, or try `satchel tour`.")
