"""``satchel config``."""

from __future__ import annotations

import os
from pathlib import Path

import click

from satchel.base.config import FILE_NAME, check_setting, documented_toml
from satchel.base.config_keys import Key, key_named
from satchel.base.errors import Refused
from satchel.base.folders import config_folder, current_folder
from satchel.client import open_satchel
from satchel.interfaces.cli.common import json_option, require_person_here, setting_text, show, show_json, store_options
from satchel.interfaces.cli.opening import warn
from satchel.interfaces.cli.suggesting import SuggestingGroup
from satchel.interfaces.text.housekeeping import server_fields, server_line


@click.group(cls=SuggestingGroup, invoke_without_command=True)
@click.option("--template", is_flag=True, help="Print a configuration file that explains every key.")
@click.option("--user", "of_user", is_flag=True, help="With --template: your own file, which may set every key.")
@store_options
@json_option
@click.pass_context
def config_command(
    ctx: click.Context, template: bool, of_user: bool, db: str | None, project: str | None, as_json: bool
) -> None:
    """Show the configuration in force and where each value comes from, or change it.

    \b
    Examples:
      satchel config
      satchel config set retention.messages_hours 72
      satchel config --template --user
    """
    if ctx.invoked_subcommand is not None:
        return
    if template:
        click.echo(documented_toml(of_user=of_user), nl=False)
        return
    own = config_folder() / FILE_NAME
    from satchel.interfaces.text.housekeeping import config_fields, safe_value

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


_shared_option = click.option(
    "--shared", is_flag=True, help="Change the project's file, which counts for everyone here, instead of yours."
)


@config_command.command("set")
@click.argument("key")
@click.argument("value")
@_shared_option
@json_option
def set_value(key: str, value: str, shared: bool, as_json: bool) -> None:
    """Set KEY to VALUE in your configuration file, whose comments stay.

    Several folders are separated as in PATH.

    \b
    Examples:
      satchel config set person.name ann
      satchel config set store.durability relaxed
    """
    declared, checked = check_setting(key, value, of_project=shared)
    _write(declared, list(checked) if isinstance(checked, tuple) else checked, shared=shared, as_json=as_json)


@config_command.command()
@click.argument("key")
@_shared_option
@json_option
def unset(key: str, shared: bool, as_json: bool) -> None:
    """Remove KEY from your configuration file.

    \b
    Example:
      satchel config unset person.name
    """
    _write(key_named(key), None, shared=shared, as_json=as_json)


def _write(key: Key, value: object, *, shared: bool, as_json: bool) -> None:
    from satchel.base.user_files import followed, read, write
    from satchel.interfaces.setup.editing import Change, Drop, Prune, Put, Syntax, edited

    require_person_here("change the configuration")
    path = tuple(key.name.split("."))
    changes: list[Change] = [Drop(path), Prune(path[:-1])] if value is None else [Put(path, value)]
    file = read(*_file_of_project()) if shared else read(followed(config_folder() / FILE_NAME, Path.home()))
    text = edited(file.text, Syntax.TOML, changes)
    if text != file.text:
        write(file, text)
    text = f"{key.name} {'is not set' if value is None else f'= {setting_text(value)}'} in {file.path}"
    show({"file": file.path, "key": key.name, "value": value}, text, as_json=as_json)
    if not as_json and key.variable in os.environ:
        warn((f"{key.variable} in the environment overrides it",))


def _file_of_project() -> tuple[Path, Path]:
    with open_satchel(read_only=True) as satchel:
        folder = satchel.place.folder
    if folder is None:
        raise Refused("this store is in a database, so there is no file of the project", "Leave out --shared")
    return folder / FILE_NAME, folder.parent
