"""The user's folders: the state that Satchel keeps about stores, and the configuration."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # keeps typing out of the start
if TYPE_CHECKING:
    from pathlib import Path

_NAME = "satchel"
_STATE = ("XDG_STATE_HOME", ".local/state", "user_state_path")
_CONFIG = ("XDG_CONFIG_HOME", ".config", "user_config_path")


def state_folder() -> Path:
    """Return the folder for the list of stores and for automatic backups, which may not exist."""
    return _folder(state_path())


def config_folder() -> Path:
    """Return the folder of the user's ``config.toml``, which may not exist."""
    return _folder(config_path())


def state_path() -> str:
    """Return the path of :func:`state_folder`, without loading ``pathlib``."""
    return _path(*_STATE)


def config_path() -> str:
    """Return the path of :func:`config_folder`, without loading ``pathlib``."""
    return _path(*_CONFIG)


def home_path() -> str:
    """Return the user's home folder; the root if neither ``HOME`` nor the system knows one, as in containers."""
    home = os.environ.get("HOME", "")
    if home.startswith("/"):
        return home
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return os.sep


def current_folder() -> Path:
    from pathlib import Path

    try:
        return Path.cwd()
    except FileNotFoundError:
        from satchel.base.errors import NoProject

        raise NoProject(
            "the current folder was deleted", 'Go into one that exists; `cd "$PWD"` enters one that was made again'
        ) from None


def _folder(path: str) -> Path:
    from pathlib import Path

    return Path(path)


def _path(variable: str, below_home: str, function: str) -> str:
    # The folders that platformdirs returns on Linux, as a test checks: importing it loads tempfile and shutil.
    if sys.platform == "linux":
        base = os.environ.get(variable, "").strip()
        if base.startswith("/"):
            return f"{base}/{_NAME}"
        if not base:
            return f"{home_path().rstrip('/')}/{below_home}/{_NAME}"
    import platformdirs

    return str(getattr(platformdirs, function)(_NAME, appauthor=False))
