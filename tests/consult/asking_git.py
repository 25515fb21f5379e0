"""Git itself, asked what it sees, untouched by what is configured on this machine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

AS_SOMEBODY = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always")


@contextmanager
def at_home(home: Path, **variables: str) -> Iterator[Path]:
    """Let git, and us, look for what is configured in a folder, for as long as this lasts."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", **variables}
    with mock.patch.dict(os.environ, environ, clear=True):
        yield home


def git(folder: Path, *arguments: str, may_fail: bool = False) -> str:
    """Run git there."""
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=not may_fail)
    return done.stdout.decode()


def write_all(folder: Path, texts: dict[str, str]) -> None:
    """Write files into a folder."""
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())
