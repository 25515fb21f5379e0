"""``satchel trust``."""

from __future__ import annotations

import os
from pathlib import Path

import click

from satchel.base.clock import iso
from satchel.base.errors import InvalidInput, NotFound
from satchel.base.file_checks import owner_name
from satchel.base.folders import current_folder, state_folder
from satchel.base.paths import FILE_NAME, FOLDER_NAME, locate_store
from satchel.interfaces.cli.common import json_option, require_person_here, show_json
from satchel.interfaces.cli.opening import opened
from satchel.store.known_stores import KnownStore, KnownStores


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--owner", metavar="NAME", help="Accept that the files belong to this user instead of you.")
@click.option("--tree", is_flag=True, help="Let the repositories below that folder use its store too.")
@click.option("--list", "only_list", is_flag=True, help="List the stores that you made or trust.")
@click.option("--remove", is_flag=True, help="Trust this store no longer; its file stays.")
@json_option
def command(path: Path | None, owner: str | None, tree: bool, only_list: bool, remove: bool, as_json: bool) -> None:
    """Trust the store of the project in PATH, or of the one that you are in.

    A store that you did not make yourself may have come with a clone or an archive, and agents follow what it says. So
    it is used only after this. A copy of one of your stores becomes a store of its own.

    \b
    Examples:
      satchel trust
      satchel trust ~/src/moved-project
      satchel trust --list
    """
    if only_list and (path is not None or owner or tree or remove):
        raise InvalidInput("--list takes nothing else", "Run `satchel trust --list`")
    if remove and (owner or tree):
        raise InvalidInput("--remove goes with neither --owner nor --tree", "Run `satchel trust PATH --remove`")
    if only_list:
        _show_list(KnownStores(state_folder()).every(), as_json=as_json)
        return
    if remove:
        file = locate_store(None, os.environ, current_folder()).file if path is None else _store_in(path)
        require_person_here("end the trust in a store")
        removed = KnownStores(state_folder()).remove(file)
        if as_json:
            show_json({"store": file, "removed": removed})
        else:
            click.echo(f"{file} {'is trusted no longer' if removed else 'was not on the list'}")
        return
    store = None if path is None else _store_in(path)
    if store is not None and not os.path.lexists(store):
        raise NotFound(
            f"there is no store at {store}", "Name the folder that holds the .satchel, or run `satchel init`"
        )
    with opened(None if store is None else str(store), None, read_only=True) as satchel:
        accepted = satchel.housekeeping.trust(owner, tree=tree)
    with opened(str(accepted.store.file), None) as satchel:
        satchel.housekeeping.record_action("trusted this store")
    if as_json:
        show_json(
            _fields(accepted.store)
            | {"was_listed": accepted.was_listed, "copy_of": accepted.copy_of}
            | {"projects": accepted.projects, "items": accepted.items, "agents": accepted.agents}
        )
        return
    click.echo(_line(accepted.store))
    if accepted.copy_of is not None:
        click.echo(f"a copy of {accepted.copy_of}; from now on a store of its own")
    click.echo(
        f"It holds {_count(accepted.items, 'item')} of {_count(accepted.projects, 'project')} "
        f"by {_count(accepted.agents, 'agent')}. `satchel rule list` shows the rules that agents will be given."
    )


def _store_in(path: Path) -> Path:
    path = path.expanduser().absolute()
    for file in (path / FOLDER_NAME / FILE_NAME, path / FILE_NAME):
        if os.path.lexists(file):
            return file
    return path / FOLDER_NAME / FILE_NAME if path.is_dir() else path


def _show_list(stores: list[KnownStore], *, as_json: bool) -> None:
    if as_json:
        show_json([_fields(store) for store in stores])
        return
    for store in stores:
        click.echo(_line(store))
    if not stores:
        click.echo("no store is listed yet: the first write in a project lists its store", err=True)


def _fields(store: KnownStore) -> dict[str, object]:
    return {
        "store": store.file,
        "how": store.how,
        "listed_at": store.listed_at,
        "tree": store.tree,
        "owner": None if store.owner is None else owner_name(store.owner),
        "exists": store.file.exists(),
    }


def _line(store: KnownStore) -> str:
    facts = [f"{'made here' if store.how == 'made' else 'trusted'} on {iso(store.listed_at)[:10]}"]
    if store.owner is not None:
        facts.append(f"of user {owner_name(store.owner)}")
    if store.tree:
        facts.append("for all projects below")
    if not store.file.exists():
        facts.append("its file is gone")
    return f"{store.file}  {', '.join(facts)}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
