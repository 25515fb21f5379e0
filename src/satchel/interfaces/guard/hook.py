"""The pre-commit hook that runs the guard: locate, render and check it.

A hook that somebody else wrote is never edited; the user gets the line to paste into it.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from shutil import which

from satchel.base import user_files
from satchel.base.errors import NotFound, Refused
from satchel.base.git_commands import ask_git
from satchel.base.git_files import top_of
from satchel.base.records import dataclass
from satchel.base.user_files import ConfigFile
from satchel.interfaces.guard.command import STOPPED
from satchel.interfaces.setup.parts import State

LINE = f"satchel guard run || [ $? -ne {STOPPED} ] || exit 1"
"""Runs the guard in a hook of the user's own; without Satchel on the PATH the commit goes on."""

_MADE = "#!/bin/sh\n# Written by `satchel guard install`; `satchel guard remove` deletes this file.\n"
_SECONDS = 10.0
_FROM_US = "command"
"""The scope of what :func:`ask_git` sets itself."""


@dataclass(frozen=True, slots=True)
class Hook:
    """A repository's pre-commit hook.

    Attributes:
        file: as it was read.
        configured: the value of ``core.hooksPath``, if there is one.
    """

    file: ConfigFile
    configured: str | None

    @property
    def path(self) -> Path:
        """The file that git runs before a commit."""
        return self.file.path

    @property
    def is_ours(self) -> bool:
        """Whether the guard made this file."""
        return self.configured is None and self.file.text.startswith(_MADE)

    def state(self, launcher: str | None) -> State:
        """Return whether a commit runs the guard, with the launcher that it would get now."""
        if not self.is_ours:
            return State.CURRENT if "satchel guard run" in self.file.text and self._runs else State.MISSING
        return State.CURRENT if self.file.text == script(launcher) and self._runs else State.STALE

    @property
    def _runs(self) -> bool:
        return os.access(self.path, os.X_OK)


def find_hook(here: Path) -> Hook:
    """Return the pre-commit hook of the repository of a folder.

    Raises:
        NotFound: git finds no repository there, or is missing.
        Refused: hooks are switched off, or the file is one that must not be read.
    """
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
    """Return the hook's text.

    Args:
        launcher: the absolute path of the installed command; None is the one that PATH finds, if any does.
    """
    on_path = "satchel=$(command -v satchel) || exit 0"
    find = on_path if launcher is None else f'satchel={shlex.quote(launcher)}; [ -x "$satchel" ] || {on_path}'
    return f'{_MADE}{find}\n"$satchel" guard run\n[ $? -ne {STOPPED} ]\n'


def check_installable(hook: Hook) -> None:
    """Refuse to write where git runs a hook that somebody else wrote, or hooks in another folder.

    Raises:
        Refused: with the line to paste.
    """
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
    """Return the last value of ``core.hooksPath``, which counts."""
    arguments = ["config", "-z", "--show-scope", "--path", "--get-all", "core.hooksPath"]
    fields = os.fsdecode(ask_git(str(here), arguments, _SECONDS) or b"").split("\0")
    values = [value for scope, value in zip(fields[::2], fields[1::2], strict=False) if scope != _FROM_US]
    return values[-1] if values else None


def _absolute(here: Path, answer: bytes) -> Path:
    return Path(os.path.normpath(here / os.fsdecode(answer.removesuffix(b"\n"))))
