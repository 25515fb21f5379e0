"""``satchel guard``, and the pre-commit hook that it writes."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from shutil import which

import click

from satchel.base import user_files
from satchel.base.errors import ERROR_KINDS, NotFound, Refused
from satchel.base.folders import current_folder
from satchel.base.git_commands import ask_git
from satchel.base.git_files import top_of
from satchel.base.records import dataclass
from satchel.base.user_files import ConfigFile
from satchel.interfaces.cli.common import json_option, leave_trace, show, show_json
from satchel.interfaces.cli.suggesting import SuggestingGroup
from satchel.interfaces.guard import STOPPED
from satchel.interfaces.setup.entries import find_launcher
from satchel.interfaces.setup.parts import State
from satchel.interfaces.setup.planning import Edit, Way
from satchel.interfaces.setup.shown import diff_text

# Runs the guard in a hook of the user's own; without Satchel on the PATH the commit is not stopped.
LINE = f"satchel guard run || [ $? -ne {STOPPED} ] || exit 1"

_MADE = "#!/bin/sh\n# Written by `satchel guard install`; `satchel guard remove` deletes this file.\n"
_LINES_OF_0_2 = "#!/bin/sh\n# >>> satchel guard >>>"
_MADE_BY_0_2 = "# <<< satchel guard <<<\n# This hook was made by `satchel guard install`.\n"
_SECONDS = 10.0
# The scope of what :func:`ask_git` sets itself.
_FROM_US = "command"


@dataclass(frozen=True, slots=True)
class Hook:
    """A repository's pre-commit hook."""

    file: ConfigFile
    configured: str | None

    @property
    def path(self) -> Path:
        return self.file.path

    @property
    def is_ours(self) -> bool:
        text = self.file.text
        of_0_2 = text.startswith(_LINES_OF_0_2) and text.endswith(_MADE_BY_0_2)
        return self.configured is None and (text.startswith(_MADE) or of_0_2)

    def state(self, launcher: str | None) -> State:
        """Return whether a commit runs the guard, with the launcher that it would get now."""
        if not self.is_ours:
            call = self.file.text.replace('"$satchel"', "satchel")  # how 0.2.0 named it
            return State.CURRENT if "satchel guard run" in call and self._runs else State.MISSING
        return State.CURRENT if self.file.text == script(launcher) and self._runs else State.STALE

    @property
    def _runs(self) -> bool:
        return os.access(self.path, os.X_OK)


def find_hook(here: Path) -> Hook:
    """Return the pre-commit hook of the repository of a folder."""
    folder = ask_git(str(here), ["rev-parse", "--git-common-dir"], _SECONDS)
    if folder is None and which("git") is None:
        raise NotFound("git is not on the PATH", "Install git, or add it to the PATH")
    if folder is None:
        owned = top_of(str(here))
        if owned is not None and Path(owned).stat().st_uid != os.geteuid():
            raise Refused(
                f"git reads nothing in {owned}, which belongs to another user",
                f"If you trust it: `git config --global --add safe.directory {shlex.quote(owned)}`",
            )
        raise NotFound(f"git finds no repository in {here}", "Go into one, or make it with `git init`")
    common = _absolute(here, folder)
    configured = _hooks_path(here)
    if configured in {"", os.devnull}:
        raise Refused(
            f"git's core.hooksPath is {configured!r}: hooks are switched off",
            "Give this repository hooks of its own: `git config --local core.hooksPath .git/hooks`",
        )
    path = common / "hooks" / "pre-commit"
    if configured is None and not path.is_symlink():
        return Hook(user_files.read(path, common, any_bytes=True), None)
    if configured is not None:  # a relative one starts where hooks run: https://git-scm.com/docs/githooks
        answer = ask_git(str(here), ["rev-parse", "--show-toplevel"], _SECONDS)
        path = Path(os.path.normpath((_absolute(here, answer) if answer else common) / configured)) / "pre-commit"
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    return Hook(ConfigFile(path, path.parent, text=text, existed=os.path.lexists(path)), configured)


def script(launcher: str | None) -> str:
    on_path = "satchel=$(command -v satchel) || exit 0"
    find = on_path if launcher is None else f'satchel={shlex.quote(launcher)}; [ -x "$satchel" ] || {on_path}'
    return f'{_MADE}{find}\n"$satchel" guard run\n[ $? -ne {STOPPED} ]\n'


def check_installable(hook: Hook) -> None:
    """Refuse to write where git runs a hook that somebody else wrote, or hooks in another folder."""
    if hook.configured is not None:
        raise Refused(
            f"core.hooksPath is {hook.configured}: the hooks there are not this clone's alone",
            f"Add this line to {hook.path}: {LINE}",
        )
    if hook.file.existed and not hook.is_ours:
        raise Refused(
            f"{hook.path} is a hook of your own or of a hook manager",
            f"Add this line to it, or to the manager's configuration: {LINE}",
        )


def _hooks_path(here: Path) -> str | None:
    arguments = ["config", "-z", "--show-scope", "--path", "--get-all", "core.hooksPath"]
    fields = os.fsdecode(ask_git(str(here), arguments, _SECONDS) or b"").split("\0")
    values = [value for scope, value in zip(fields[::2], fields[1::2], strict=False) if scope != _FROM_US]
    return values[-1] if values else None


def _absolute(here: Path, answer: bytes) -> Path:
    return Path(os.path.normpath(here / os.fsdecode(answer.removesuffix(b"\n"))))


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
        note = None if hook.state(None) is State.MISSING else f"remove the lines of the guard from {hook.path}"
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
    messages = {
        State.CURRENT: f"the guard is installed in {hook.path}",
        State.STALE: f"the guard in {hook.path} does not work as it should; `satchel guard install` renews it",
        State.MISSING: f"{hook.path} does not run the guard; `satchel guard install` installs it",
    }
    show({"state": state.value, "hook": str(hook.path)}, messages[state], as_json=as_json)
    return 0 if state is State.CURRENT else ERROR_KINDS["not_found"].exit_status


@guard_command.command(hidden=True)
def run() -> int:
    """Check what is staged; hooks and hook managers call it.

    \b
    Example:
      satchel guard run
    """
    from satchel.interfaces.guard import run as run_hook

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
    for edit in edits if is_dry else ():
        click.echo(diff_text(edit))
    for line in (done, *notes):
        click.echo(line, err=is_dry)
