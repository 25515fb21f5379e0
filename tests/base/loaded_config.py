"""Configuration as tests load it: from one file, and from nothing else unless they say so."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from satchel.base.config import load_config
from satchel.base.config_keys import Config

MOMENTS = ("start", "resume", "compaction", "subagent", "first_prompt", "prompt", "edit", "error", "messages")
"""The moments at which hooks put something in."""


def from_toml(folder: Path, text: str) -> Config:
    """Load a configuration file of the user's and nothing else."""
    (folder / "config.toml").write_text(text, encoding="utf-8")
    return from_user(folder)


def from_user(folder: Path, environ: Mapping[str, str] | None = None, arguments: object = None) -> Config:
    """Load the user's file in a folder, with other sources."""
    assert arguments is None or isinstance(arguments, dict)
    return load_config(None, environ or {}, arguments, user_file=folder / "config.toml")


def from_project(folder: Path, text: str, **options: Any) -> Config:
    """Load a project's file and nothing else, unless options say so."""
    (folder / "config.toml").write_text(text, encoding="utf-8")
    return load_config(folder, {}, **options)
