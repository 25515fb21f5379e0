"""``satchel config``."""

from __future__ import annotations

import os

import click

from satchel.base.config import FILE_NAME, documented_toml
from satchel.base.folders import config_folder, current_folder
from satchel.client import open_satchel
from satchel.interfaces.cli.common import json_option, setting_text, show_json, store_options
from satchel.interfaces.cli.opening import warn
from satchel.interfaces.text.config import server_fields, server_line


@click.command()
@click.option("--template", is_flag=True, help="Print a configuration file that explains every key.")
@click.option("--user", "of_user", is_flag=True, help="With --template: your own file, which may set every key.")
@store_options
@json_option
def command(template: bool, of_user: bool, db: str | None, project: str | None, as_json: bool) -> None:
    """Show the configuration in force and where each value comes from.

    \b
    Examples:
      satchel config
      satchel config --template --user
    """
    if template:
        click.echo(documented_toml(of_user=of_user), nl=False)
        return
    own = config_folder() / FILE_NAME
    from satchel.interfaces.text.config import config_fields, safe_value

    with open_satchel(db, project, read_only=True) as satchel:
        config, folder = satchel.config, satchel.place.folder
    of_project = None if folder is None else folder / FILE_NAME
    server = server_fields(os.environ, current_folder())
    if as_json:
        show_json({"file": of_project, "user_file": own, "server": server, **config_fields(config)})
        return
    warn(config.warnings)
    for file, what in ((own, "yours"), (of_project, "the project's")):
        if file is None:  # a store in a database has no folder
            continue
        click.echo(f"# {what}: {file}{'' if file.exists() else ' (not there)'}")
    if server is not None:
        click.echo(f"# the server: {server_line(server)}")
    for setting in config.settings:
        value = setting_text(safe_value(setting.value))
        click.echo(f"{setting.key.name} = {value}  {click.style(f'({setting.source})', dim=True)}")
        click.echo(click.style(f"    {setting.key.help}", dim=True))
