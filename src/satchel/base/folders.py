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


def _folder(path: str) -> Path:
    from pathlib import Path

    return Path(path)


def _path(variable: str, below_home: str, function: str) -> str:
    # The folders that platformdirs returns on Linux, as a test checks: importing it loads tempfile and shutil.
    if sys.platform == "linux":
        base, home = os.environ.get(variable, "").strip(), os.environ.get("HOME", "")
        if base.startswith("/"):
            return f"{base}/{_NAME}"
        if not base and home.startswith("/"):
            return f"{home}/{below_home}/{_NAME}"
    import platformdirs

    return str(getattr(platformdirs, function)(_NAME, appauthor=False))
