"""``satchel guard``."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from satchel.base import user_files
from satchel.base.errors import ERROR_KINDS, Refused
from satchel.base.folders import current_folder
from satchel.interfaces.cli.common import json_option, leave_trace, show_json
from satchel.interfaces.cli.suggesting import SuggestingGroup
from satchel.interfaces.guard.hook import check_installable, find_hook, script
from satchel.interfaces.setup.entries import find_launcher
from satchel.interfaces.setup.parts import State
from satchel.interfaces.setup.planning import Edit, Way
from satchel.interfaces.setup.shown import diff_lines


@click.group(cls=SuggestingGroup)
def guard_command() -> None:
    """Check commits for files that other sessions have claimed, and for Satchel's own files.

    The guard runs in the repository's pre-commit hook. It warns of claimed files; with guard.claims = "deny" it stops a
    commit of them if the committing session is known. Files below .satchel, except shared/, never get into a commit.
    `git commit --no-verify` bypasses it.

    \b
    Example:
      satchel guard install --dry-run
    """


_dry_run_option = click.option("--dry-run", is_flag=True, help="Show the changes as a diff and change nothing.")


@guard_command.command()
@_dry_run_option
@json_option
def install(dry_run: bool, as_json: bool) -> None:
    """Write this repository's pre-commit hook; where there is one already, print the line to add to it.

    Where `satchel` is not installed the hook does nothing.

    \b
    Examples:
      satchel guard install --dry-run
      satchel guard install
    """
    hook = find_hook(current_folder())
    launcher, note = _launcher()
    if hook.state(launcher) is State.CURRENT:
        _show((), "the guard is installed already", note, is_dry=dry_run, as_json=as_json)
        return
    check_installable(hook)
    text = script(launcher)
    if not dry_run:
        user_files.overwrite(hook.file, hook.file.encoded(text), is_program=True)
        hook.path.chmod(hook.path.stat().st_mode | 0o111)
    done = f"the guard {'would be' if dry_run else 'is'} installed: {hook.path}"
    _show((Edit(hook.file, text, Way.PUT),), done, note, is_dry=dry_run, as_json=as_json)


@guard_command.command()
@_dry_run_option
@json_option
def remove(dry_run: bool, as_json: bool) -> None:
    """Delete the hook that `satchel guard install` wrote.

    \b
    Examples:
      satchel guard remove
    """
    hook = find_hook(current_folder())
    if not hook.is_ours:
        note = None if hook.state(None) is State.MISSING else f"remove the line `satchel guard run` from {hook.path}"
        _show((), "no hook of the guard's own is here", note, is_dry=dry_run, as_json=as_json)
        return
    if not dry_run:
        user_files.delete(hook.file)
        leave_trace("removed the guard")
    done = f"the guard {'would be' if dry_run else 'is'} removed: {hook.path}"
    _show((Edit(hook.file, None, Way.RESTORE),), done, None, is_dry=dry_run, as_json=as_json)


@guard_command.command()
@json_option
def check(as_json: bool) -> int:
    """Show whether commits run the guard; exit status 3 if they do not, or not as they should.

    \b
    Examples:
      satchel guard check
    """
    hook = find_hook(current_folder())
    state = hook.state(_launcher()[0])
    if as_json:
        show_json({"state": state.value, "hook": str(hook.path)})
    else:
        messages = {
            State.CURRENT: f"the guard is installed in {hook.path}",
            State.STALE: f"the guard in {hook.path} does not work as it should; `satchel guard install` renews it",
            State.MISSING: f"{hook.path} does not run the guard; `satchel guard install` installs it",
        }
        click.echo(messages[state])
    return 0 if state is State.CURRENT else ERROR_KINDS["not_found"].exit_status


@guard_command.command(hidden=True)
def run() -> int:
    """Check what is staged; hooks and hook managers call it.

    \b
    Example:
      satchel guard run
    """
    from satchel.interfaces.guard.command import run as run_hook

    return run_hook()


def _launcher() -> tuple[str | None, str | None]:
    try:
        return str(find_launcher(os.environ)), None
    except Refused as error:
        return None, f"the hook starts the `satchel` that it finds on the PATH: {error.problem}"


def _show(edits: Sequence[Edit], done: str, note: str | None, *, is_dry: bool, as_json: bool) -> None:
    notes = [] if note is None else [note]
    if as_json:
        changed = [str(edit.file.path) for edit in edits]
        show_json({"done": not is_dry, "changed": changed, "notes": notes})
        return
    if is_dry:
        for line in diff_lines(edits):
            click.echo(line)
    for line in (done, *notes):
        click.echo(line, err=is_dry)
