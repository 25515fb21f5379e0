"""Where git looks for the hooks of a repository."""

from __future__ import annotations

import os
from pathlib import Path
from shutil import which

from satchel.base.errors import NotFound, Refused
from satchel.base.git_asking import ask_git
from satchel.base.records import dataclass

_SECONDS = 10.0
_OURS = "command"
"""The scope of what :func:`ask_git` itself sets."""


@dataclass(frozen=True, slots=True)
class HookSite:
    """The folder of a repository's hooks.

    Attributes:
        folder: absolute; it need not exist.
        root: the folder of the repository that it lies in, below which no link is followed.
        scope: the scope of git's configuration in which ``core.hooksPath`` names it; None where nothing does.
        is_outside: whether it lies outside the repository, so that other repositories may run its hooks.
        travels: whether git takes the folder's files to other clones, or would.
    """

    folder: Path
    root: Path
    scope: str | None
    is_outside: bool
    travels: bool

    @property
    def hook(self) -> Path:
        """The hook that runs before a commit."""
        return self.folder / "pre-commit"


def find_site(here: Path) -> HookSite:
    """Return where git looks for the hooks of the repository of a folder.

    Raises:
        NotFound: git knows no repository there, or is missing.
        Refused: hooks are switched off.
    """
    asked = ask_git(str(here), ["rev-parse", "--git-common-dir"], _SECONDS)
    if asked is None and which("git") is None:
        raise NotFound("git is not on the PATH", "Install git, or add it to the PATH")
    if asked is None:
        raise NotFound(f"git knows no repository in {here}", "Go into one, or make it with `git init`")
    common = _absolute(here, asked)
    shown = ask_git(str(here), ["rev-parse", "--show-toplevel"], _SECONDS)
    top = None if not shown else _absolute(here, shown)
    scope, configured = _configured(here)
    if configured is None:
        return HookSite(common / "hooks", common, None, False, False)
    if configured in {"", os.devnull}:
        raise Refused(
            f"core.hooksPath is {configured!r} in git's {scope} configuration: hooks are switched off",
            "Give this repository hooks of its own: `git config --local core.hooksPath .git/hooks`",
        )
    # a relative one starts where hooks run: https://git-scm.com/docs/githooks
    folder = Path(os.path.normpath((top or common) / configured))
    main = common.parent if common.name == ".git" else common
    for root in (common, *([] if top is None else [top]), main):
        if Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(root)) and folder.is_relative_to(root):
            return HookSite(folder, root, scope, False, root != common and _travels(root, folder))
    existing = next(above for above in (folder, *folder.parents) if above.exists())
    return HookSite(folder, existing, scope, True, False)


def _configured(here: Path) -> tuple[str | None, str | None]:
    """Return the scope and the value of ``core.hooksPath``: the last of them counts."""
    asked = ["config", "-z", "--show-scope", "--path", "--get-all", "core.hooksPath"]
    fields = os.fsdecode(ask_git(str(here), asked, _SECONDS) or b"").split("\0")
    found = [(scope, value) for scope, value in zip(fields[::2], fields[1::2], strict=False) if scope != _OURS]
    return found[-1] if found else (None, None)


def _travels(top: Path, folder: Path) -> bool:
    """Whether git tracks the files of a folder of a worktree, or does not ignore them."""
    hook = str((folder / "pre-commit").relative_to(top))
    if ask_git(str(top), ["ls-files", "-z", "--", hook], _SECONDS):
        return True
    return ask_git(str(top), ["check-ignore", "--quiet", "--", hook], _SECONDS) is None


def _absolute(here: Path, answer: bytes) -> Path:
    return Path(os.path.normpath(here / os.fsdecode(answer.removesuffix(b"\n"))))
