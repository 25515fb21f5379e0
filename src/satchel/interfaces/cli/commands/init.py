"""``satchel init``."""

from __future__ import annotations

from contextlib import suppress

import click

from satchel.base.config import FILE_NAME, documented_toml
from satchel.interfaces.cli.common import json_option, show_json, store_options
from satchel.interfaces.cli.opening import opened, warn
from satchel.keep.housekeeping.publishing import check_publishing


@click.command()
@click.option("--new", is_flag=True, help="Begin with an empty store where the last is gone or unusable.")
@store_options
@json_option
def command(new: bool, db: str | None, project: str | None, as_json: bool) -> None:
    """Make this folder a project: its store, and a configuration file that explains every key.

    Inside a git repository this is not needed: the first write does it.

    \b
    Example:
      satchel init
    """
    with opened(db, project, here=True) as satchel:
        engine = satchel.workplace.engine
        was_there = engine.exists()
        lost = satchel.housekeeping.backups() if new else []
        aside = satchel.housekeeping.initialise(new=new)
        existed = was_there and aside is None
        if satchel.place.owns_folder:
            configuration = satchel.place.file.with_name(FILE_NAME)
            with suppress(FileExistsError), configuration.open("x", encoding="utf-8") as stream:
                stream.write(documented_toml())
            publishing = check_publishing(satchel.place.file.parent)
            if publishing.status != "ok":
                warn((publishing.detail,))
        statistics = satchel.housekeeping.statistics()
        if as_json:
            show_json({"store": engine.location, "project": statistics.project, "existed": existed, "set_aside": aside})
            return
        click.echo(f"project {statistics.project}: {engine.location}{' (was there already)' if existed else ''}")
        if aside is not None:
            click.echo(f"the file that could not be used was set aside as {aside}")
        if lost:
            backups = (
                "1 backup of the lost store is" if len(lost) == 1 else f"{len(lost)} backups of the lost store are"
            )
            click.echo(f"{backups} in {lost[-1].file.parent}; `satchel restore FILE` goes back to one")
        if engine.folder is None:
            click.echo("Next: name it in the configuration of `satchel serve`, as [databases.NAME], and make a token.")
            return
        click.echo("Next: `satchel setup` connects your coding clients.")
