"""Everything that Satchel stores for this user, to delete it: stores, backups, state and configuration."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from satchel.base.errors import Refused
from satchel.base.folders import config_folder, state_folder
from satchel.base.paths import FOLDER_NAME
from satchel.store.known_stores import KnownStores

_OF_THE_PROJECT = frozenset({"shared", "config.toml"})
"""What a ``.satchel`` folder holds for git to carry: it belongs to the repository."""


def all_data() -> list[Path]:
    """Return the files and folders to delete: those of every listed store, then the user's own folders."""
    folders = {store.file.parent for store in KnownStores(state_folder()).every()}
    stored = [
        path
        for folder in sorted(folders)
        # a listed path may lead elsewhere by now
        if folder.name == FOLDER_NAME and folder.is_dir() and not folder.is_symlink()
        for path in sorted(folder.iterdir())
        if path.name not in _OF_THE_PROJECT
    ]
    return [*stored, *(folder for folder in (state_folder(), config_folder()) if folder.is_dir())]


def delete(paths: Sequence[Path], home: Path) -> None:
    """Delete files and folders, and the folders around them that are empty then, up to the home.

    Raises:
        Refused: one cannot be deleted.
    """
    for path in paths:
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise Refused(f"{path} cannot be deleted: {error.strerror}", "Check its permissions, and repeat") from error
    for path in paths:
        for folder in path.parents if path.is_relative_to(home) else path.parents[:1]:
            if folder == home or folder.name not in {FOLDER_NAME, ".local", "state", ".config", "share"}:
                break
            with suppress(OSError):
                folder.rmdir()
