"""The command that clients start: the installed ``satchel`` by a path that stays."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from satchel.base.errors import Refused
from satchel.base.installation import is_cached, source_of_this

_NAME = "satchel.exe" if sys.platform == "win32" else "satchel"


def find_launcher(environ: Mapping[str, str], *, prefix: str | None = None, started_as: str | None = None) -> Path:
    """Return the absolute path by which clients start this installation of Satchel.

    A link on the path that leads to it comes first, since pipx and uv keep it where it is; then the command in the
    environment that runs.
    """
    root = Path(sys.prefix if prefix is None else prefix).absolute()
    if is_cached(root, environ):
        raise Refused(
            f"this is Satchel in an environment that does not stay ({root}), which clients could not start later",
            _install(),
        )
    scripts = root / ("Scripts" if sys.platform == "win32" else "bin")
    asked = Path(sys.argv[0] if started_as is None else started_as)
    installed = [
        file for file in (scripts / _NAME, asked.absolute()) if file.name == _NAME and os.access(file, os.X_OK)
    ]
    if not installed or not installed[0].is_file():
        raise Refused(f"there is no command {_NAME} in {scripts}", _install())
    for link in _on_path(environ):
        if link.is_symlink() and link.exists() and link.samefile(installed[0]):
            return link
    return installed[0]


def _on_path(environ: Mapping[str, str]) -> Iterator[Path]:
    home = environ.get("HOME")
    own = [f"{home}/.local/bin"] if home else []
    for folder in [*own, *environ.get("PATH", "").split(os.pathsep)]:
        if Path(folder).is_absolute():
            yield Path(folder) / _NAME


def _install() -> str:
    source = source_of_this()
    return f"Install it with `uv tool install {source}` or `pipx install {source}`, then run `satchel setup` again"


def on_path(environ: Mapping[str, str]) -> Path | None:
    """Return the command that ``satchel`` starts in a shell, or None."""
    for folder in environ.get("PATH", "").split(os.pathsep):
        file = Path(folder) / _NAME
        if file.is_absolute() and file.is_file() and os.access(file, os.X_OK):
            return file
    return None
