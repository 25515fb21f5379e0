"""``satchel config``."""

from __future__ import annotations

import click

from satchel.base.config import FILE_NAME, documented_toml
from satchel.client import open_satchel
from satchel.faces.cli.common import json_option, setting_text, show_json, store_options, warn


@click.command()
@click.option("--template", is_flag=True, help="Print a configuration file that explains every key.")
@store_options
@json_option
def command(template: bool, db: str | None, project: str | None, as_json: bool) -> None:
    """Show the configuration in force and where each value comes from.

    \b
    Example:
      satchel config --template > .satchel/config.toml
    """
    if template:
        click.echo(documented_toml(), nl=False)
        return
    with open_satchel(db, project, read_only=True) as satchel:
        config, folder = satchel.config, satchel.place.folder
    if as_json:
        show_json(
            {
                "file": folder / FILE_NAME,
                "warnings": config.warnings,
                "settings": {
                    setting.key.name: {
                        "value": setting.value,
                        "source": setting.source,
                        "help": setting.key.help,
                    }
                    for setting in config.settings
                },
            }
        )
        return
    warn(config.warnings)
    click.echo(f"# {folder / FILE_NAME}{'' if (folder / FILE_NAME).exists() else ' (not there)'}")
    for setting in config.settings:
        click.echo(
            f"{setting.key.name} = {setting_text(setting.value)}  {click.style(f'({setting.source})', dim=True)}"
        )
        click.echo(click.style(f"    {setting.key.help}", dim=True))
