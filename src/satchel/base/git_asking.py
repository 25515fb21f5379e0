"""Asking git itself, so that nothing of a repository's own configuration runs: a clone's settings can name programs."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

_SETTINGS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_ENVIRON = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # of a partial clone git would fetch what is missing, with programs that its configuration names
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}


def ask_git(folder: str, arguments: Sequence[str], seconds: float, given: bytes = b"") -> bytes | None:
    """Return what git answers about the repository of a folder; None where it fails, is missing or takes too long.

    Args:
        folder: where git starts.
        arguments: a command of git's plumbing, which starts no pager, hook, filter or program for differences.
        seconds: how long it may take; then it is killed with all it started.
        given: its standard input.

    Returns:
        What was written before it failed counts too, where it is more than nothing.
    """
    import subprocess

    # the environment could name another repository
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _ENVIRON
    command = ["git", "--no-pager", "--no-optional-locks", *_SETTINGS, "-C", folder, *arguments]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environ,
            start_new_session=True,
        )
    except OSError:
        return None
    with process:
        try:
            answer, _ = process.communicate(given, timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return answer if answer or process.returncode == 0 else None
