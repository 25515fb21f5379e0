"""All that Satchel keeps for a user: stores, backups, settings and tokens, as removal deletes them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from satchel.base.errors import Refused
from satchel.base.folders import config_folder, state_folder
from satchel.base.paths import FILE_NAME, FOLDER_NAME
from satchel.base.records import dataclass
from satchel.store.known_stores import KnownStore, KnownStores
from satchel.store.trust import tracked_below

_BESIDE_A_STORE = frozenset({".gitignore", "config.toml", "backups"})
"""Other files that Satchel creates in a ``.satchel`` folder; the shared text, which stays, is not among them."""


@dataclass(frozen=True, slots=True)
class AllData:
    """The files to delete when the user removes all data."""

    paths: tuple[Path, ...]
    left: tuple[str, ...]


def find_all_data() -> AllData:
    """Return the files of every store registered for this user, and the user's own folders."""
    paths: list[Path] = []
    remaining: list[str] = []
    for store in KnownStores(state_folder()).every():
        if not store.file.exists():
            continue
        reason = _reason_to_leave(store)
        if reason is not None:
            remaining.append(f"{store.file}: {reason}")
            continue
        folder = store.file.parent
        tracked = {name.partition("/")[0] for name in tracked_below(folder)}
        others: list[Path] = []
        for path in sorted(folder.iterdir()):
            is_ours = path.name.startswith(FILE_NAME) or path.name in _BESIDE_A_STORE
            (paths if is_ours and path.name not in tracked else others).append(path)
        remaining += [f"{path}: it is not Satchel's own, or git carries it" for path in others]
    for own in (state_folder(), config_folder()):
        if own.is_symlink():
            remaining.append(f"{own}: it is a link to {own.resolve()}")
        elif own.is_dir():
            paths.append(own)
    return AllData(tuple(paths), tuple(remaining))


def _reason_to_leave(store: KnownStore) -> str | None:
    # a registered path may by now lead to somebody else's files
    file = store.file
    if store.owner is not None:
        return "it belongs to another user"
    if file.parent.name != FOLDER_NAME:
        return f"it lies outside a {FOLDER_NAME} folder"
    status = file.lstat()
    if (status.st_dev, status.st_ino) != store.identity or file.resolve() != file:
        return "another file is there by now"
    return None


def delete(paths: Sequence[Path], home: Path) -> None:
    """Delete files and folders, then the parent folders left empty, up to the home folder."""
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
