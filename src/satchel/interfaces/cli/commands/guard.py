"""``satchel guard``."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from satchel.base.errors import ERROR_KINDS, Refused
from satchel.interfaces.cli.common import json_option, show_json
from satchel.interfaces.cli.suggesting import SuggestingGroup
from satchel.interfaces.guard import block, installing
from satchel.interfaces.guard.installing import Change
from satchel.interfaces.guard.site import HookSite, find_site
from satchel.interfaces.setup.launcher import find_launcher
from satchel.interfaces.setup.parts import State
from satchel.interfaces.setup.shown import diff_lines


@click.group(cls=SuggestingGroup)
def command() -> None:
    """Look at a commit before git makes it: files that other sessions have claimed, and what is Satchel's own.

    The guard stands in the repository's pre-commit hook, behind what is there already. It warns of claimed files; with
    guard.claims = "deny" it stops a commit of theirs where the session that commits is known. What lies below .satchel,
    but for shared/, it never lets into a commit. `git commit --no-verify` passes it.

    \b
    Example:
      satchel guard install --dry-run
    """


def _options(function: Callable[..., Any]) -> Callable[..., Any]:
    shared = click.option("--shared", is_flag=True, help="Also in a folder of hooks outside of the repository.")
    dry_run = click.option("--dry-run", is_flag=True, help="Show the changes as a diff and change nothing.")
    return shared(dry_run(json_option(function)))


@command.command()
@_options
def install(shared: bool, dry_run: bool, as_json: bool) -> None:
    """Put the guard into this repository's pre-commit hook; a hook that is there runs first, as before.

    core.hooksPath counts. Without `satchel` on somebody's PATH the hook does nothing of its own.

    \b
    Examples:
      satchel guard install --dry-run
      satchel guard install
    """
    site = _site(shared)
    wanted, note = _wanted(site)
    change = installing.plan_installing(site, wanted)
    _do(site, change, note, done="installed", is_dry=dry_run, as_json=as_json)


@command.command()
@_options
def remove(shared: bool, dry_run: bool, as_json: bool) -> None:
    """Take the guard out: the hook is as it was, to the byte, and one that the guard made is deleted.

    \b
    Examples:
      satchel guard remove
    """
    site = _site(shared)
    _do(site, installing.plan_removal(site), None, done="removed", is_dry=dry_run, as_json=as_json)


@command.command()
@json_option
def check(as_json: bool) -> int:
    """Say whether the guard is installed and up to date; it leaves with status 3 where it is not.

    \b
    Examples:
      satchel guard check
    """
    site = find_site(Path.cwd())
    guard = installing.look(site, _wanted(site)[0])
    if as_json:
        show_json({"state": guard.state.value, "hook": str(guard.file.path), **_fields(site), "notes": guard.notes})
    else:
        said = {
            State.CURRENT: f"the guard is installed in {guard.file.path}",
            State.STALE: f"the guard in {guard.file.path} is out of date; `satchel guard install` renews it",
            State.MISSING: f"the guard is not installed in {site.hook}; `satchel guard install` puts it there",
        }
        for line in (said[guard.state], *guard.notes):
            click.echo(line)
    return 0 if guard.state is State.CURRENT else ERROR_KINDS["not_found"].exit_status


@command.command(hidden=True)
def run() -> int:
    """Look at what is staged: the hook calls it, and managers of hooks can.

    \b
    Example:
      satchel guard run
    """
    from satchel.interfaces.guard.command import run as run_hook

    return run_hook()


def _site(shared: bool) -> HookSite:
    site = find_site(Path.cwd())
    if site.is_outside and not shared:
        raise Refused(
            f"core.hooksPath in git's {site.scope} configuration names {site.folder}, outside of this repository, so "
            "that other repositories may run the hooks there too",
            "Add --shared to change it there all the same: where there is no store, the guard says nothing. Or give "
            "this repository hooks of its own: `git config --local core.hooksPath .git/hooks`",
        )
    return site


def _wanted(site: HookSite) -> tuple[str, str | None]:
    """Return the lines as they are to be, and what is to be said of them."""
    if site.travels:
        return block.lines(None), None
    try:
        return block.lines(str(find_launcher(os.environ))), None
    except Refused as error:
        return block.lines(None), f"the hook starts the `satchel` that it finds on the PATH: {error.problem}"


def _do(site: HookSite, change: Change, note: str | None, *, done: str, is_dry: bool, as_json: bool) -> None:
    notes = [*change.notes, *([note] if note is not None and change.edits else [])]
    if not is_dry:
        installing.carry_out(change)
    if as_json:
        changed = [str(edit.file.path) for edit in change.edits]
        show_json({"done": not is_dry, "changed": changed, "hook": str(site.hook), **_fields(site), "notes": notes})
        return
    if is_dry:
        for line in diff_lines(change.edits):
            click.echo(line)
    would = "would be " if is_dry else ""
    places = ", ".join(str(edit.file.path) for edit in change.edits)
    said = f"the guard {would or 'is '}{done}: {places}" if places else f"the guard is {done} already"
    for line in (said, *notes):
        click.echo(line, err=is_dry)


def _fields(site: HookSite) -> dict[str, object]:
    return {"scope": site.scope, "outside": site.is_outside}
