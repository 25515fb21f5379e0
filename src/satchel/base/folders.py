"""The user's own folders: where Satchel keeps what is known about stores, and where its configuration file lies."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_NAME = "satchel"


def state_folder() -> Path:
    """Return the folder for the list of stores and for automatic backups; it need not exist."""
    return _folder("XDG_STATE_HOME", ".local/state", "user_state_path")


def config_folder() -> Path:
    """Return the folder of the user's ``config.toml``; it need not exist."""
    return _folder("XDG_CONFIG_HOME", ".config", "user_config_path")


def _folder(variable: str, below_home: str, function: str) -> Path:
    # The same folders as platformdirs gives on Linux, which a test compares: measured, importing platformdirs takes
    # 5 to 8 ms of every command, since it loads tempfile and shutil.
    if sys.platform == "linux":
        base, home = os.environ.get(variable, "").strip(), os.environ.get("HOME", "")
        if base.startswith("/"):
            return Path(base) / _NAME
        if not base and home.startswith("/"):
            return Path(home) / below_home / _NAME
    import platformdirs

    path: Path = getattr(platformdirs, function)(_NAME, appauthor=False)
    return path
