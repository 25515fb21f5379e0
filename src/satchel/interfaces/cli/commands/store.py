"""Commands that look after a store: ``satchel init``, ``trust``, ``backup``, ``restore`` and ``export``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import click

from satchel.base.clock import iso
from satchel.base.config import FILE_NAME as CONFIGURATION
from satchel.base.config import documented_toml
from satchel.base.errors import Conflict, InvalidInput, NotFound, SatchelError, StoreMissing
from satchel.base.file_checks import owner_name
from satchel.base.folders import current_folder, state_folder
from satchel.base.paths import FILE_NAME, FOLDER_NAME, locate_store
from satchel.client import Satchel
from satchel.interfaces.cli import common
from satchel.interfaces.cli.opening import opened, warn
from satchel.interfaces.text.lists import local_time
from satchel.interfaces.text.parts import counted
from satchel.keep.housekeeping.publishing import check_publishing
from satchel.store.known_stores import KnownStore, KnownStores


@click.command()
@click.option("--new", is_flag=True, help="Begin with an empty store where the last is gone or unusable.")
@common.store_options
@common.json_option
def init_command(new: bool, db: str | None, project: str | None, as_json: bool) -> None:
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
            configuration = satchel.place.file.with_name(CONFIGURATION)
            with suppress(FileExistsError), configuration.open("x", encoding="utf-8") as stream:
                stream.write(documented_toml())
            publishing = check_publishing(satchel.place.file.parent)
            if publishing.status != "ok":
                warn((publishing.detail,))
        statistics = satchel.housekeeping.statistics()
        if as_json:
            common.show_json(
                {"store": engine.location, "project": statistics.project, "existed": existed, "set_aside": aside}
            )
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


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--owner", metavar="NAME", help="Accept that the files belong to this user instead of you.")
@click.option("--tree", is_flag=True, help="Let the repositories below that folder use its store too.")
@click.option("--list", "only_list", is_flag=True, help="List the stores that you made or trust.")
@click.option("--remove", is_flag=True, help="Trust this store no longer; its file stays.")
@common.json_option
def trust_command(
    path: Path | None, owner: str | None, tree: bool, only_list: bool, remove: bool, as_json: bool
) -> None:
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
        common.require_person_here("end the trust in a store")
        removed = KnownStores(state_folder()).remove(file)
        text = f"{file} {'is trusted no longer' if removed else 'was not on the list'}"
        common.show({"store": file, "removed": removed}, text, as_json=as_json)
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
        common.show_json(
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
        common.show_json([_fields(store) for store in stores])
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


@click.command()
@click.argument("target", required=False, type=click.Path(path_type=Path))
@click.option("--list", "only_list", is_flag=True, help="List the backups of the store.")
@common.store_options
@common.json_option
def backup_command(target: Path | None, only_list: bool, db: str | None, project: str | None, as_json: bool) -> None:
    """Copy the store while it is in use, to TARGET or your state folder. The copy is checked before it gets its name.

    Of a store in PostgreSQL, print the command that copies it with pg_dump.

    \b
    Example:
      satchel backup
    """
    with opened(db, project, read_only=True) as satchel:
        command = satchel.housekeeping.dump_command(target)
        if command is not None:
            common.show_command(command, "pg_dump must be as new as the server.", as_json=as_json)
            return
        if only_list:
            made = satchel.housekeeping.backups()
        else:
            with common.progress("copying and checking", quiet=as_json) as report:
                made = [satchel.housekeeping.backup(None if target is None else target.absolute(), report)]
    if as_json:
        common.show_json(made if only_list else made[0])
        return
    for backup in made:
        click.echo(f"{backup.file}  {common.size_text(backup.size_bytes)}  {iso(backup.created_at)}")
    if only_list and not made:
        click.echo("there is no backup yet", err=True)


@click.command()
@click.argument("source", required=False, type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Restore without asking; needed with --json.")
@common.store_options
@common.json_option
def restore_command(source: Path | None, yes: bool, db: str | None, project: str | None, as_json: bool) -> None:
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
            common.show_command(command, note, as_json=as_json)
            return
        if as_json and not yes:
            raise InvalidInput("restore with --json asks nobody", "Add --yes to put the backup in the store's place")
        backup = satchel.housekeeping.newest_backup().file if source is None else source.absolute()
        if not backup.exists():
            raise NotFound(f"there is no file {backup}", "`satchel backup --list` shows the backups")
        location = satchel.workplace.engine.location
        times = [one.created_at for one in satchel.housekeeping.backups() if one.file == backup]
        state = f"{backup}, the state of {local_time(times[0])}" if times else str(backup)
        lost = _lost_since(satchel, times[0] if times else None)
        if not yes and not common.confirm(f"Put {state}, in the place of {location}? {lost}"):
            click.echo("nothing was changed")
            return
        with common.progress("restoring", quiet=as_json) as report:
            result = satchel.housekeeping.restore(backup, report)
    what = "the damaged file was set aside as" if result.previous_was_damaged else "the state before it is in"
    previous = [] if result.previous is None else [f"{what} {result.previous}"]
    common.show(result, f"restored {state}: what was written since is not in it", *previous, as_json=as_json)


def _lost_since(satchel: Satchel, since: int | None) -> str:
    try:
        counts = {} if since is None else satchel.housekeeping.written_since(since)
    except StoreMissing:
        return "The store is gone: if you moved it, say no and move it back. What was written since is lost"
    except SatchelError:  # a store that cannot be read does not tell
        counts = {}
    known = ", ".join(counted(number, noun) for noun, number in counts.items())
    return f"What was written since is lost{f': {known}' if known else ''}"


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--kinds", metavar="KIND,...", help="Only these kinds of lines, such as decision,constraint.")
@common.store_options
@common.json_option
def export_command(file: Path | None, kinds: str | None, db: str | None, project: str | None, as_json: bool) -> None:
    """Write everything that the project keeps as lines of JSON, to FILE or standard output.

    Each line is an item with its uid, its history and its links; `satchel import` takes them into any store, as often
    as you like. FILE appears once it is whole; only an older export is replaced.

    \b
    Examples:
      satchel export project.jsonl
      satchel export --kinds decision,constraint | less
    """
    names = None if kinds is None else [kind.strip() for kind in kinds.split(",")]
    to_file = file is not None and str(file) != "-"
    with opened(db, project, read_only=True) as satchel, common.progress("exporting", quiet=as_json) as report:
        if to_file and file is not None:
            with _appearing(file) as target:
                result = satchel.moving.export(target, kinds=names, progress=report)
        else:
            result = satchel.moving.export(sys.stdout.buffer, kinds=names, progress=report)
            sys.stdout.buffer.flush()
    if as_json and to_file:
        common.show_json(result)
    else:
        click.echo(f"exported {counted(result.lines, 'line')} of {result.project}", err=True)
        if result.damaged:
            what = f"{counted(len(result.damaged), 'item')} with damaged text left out"
            warn((f"{what}; `satchel doctor` names each",))


@contextmanager
def _appearing(file: Path) -> Iterator[BinaryIO]:
    from satchel.keep.moving.files import header_of

    if os.path.lexists(file) and (not file.is_file() or file.is_symlink() or header_of(file) is None):
        raise Conflict(f"{file} is there and is no export", "Give another name")
    draft = file.with_name(f".{file.name}.{os.getpid()}.partial")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        raise NotFound(f"there is no folder {file.parent}", "Make it first, or give another name") from None
    except OSError as error:
        raise SatchelError(f"{file} cannot be written: {error.strerror}", "Give another name") from error
    try:
        with os.fdopen(descriptor, "wb") as target:
            yield target
            target.flush()
            os.fsync(target.fileno())
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
