"""Running git so that nothing in a repository's configuration runs: the settings of a clone can name programs."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

_SETTINGS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_ENVIRON = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # in a partial clone git would fetch missing objects, with programs from its configuration
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}


def ask_git(folder: str, arguments: Sequence[str], seconds: float, input_: bytes = b"") -> bytes | None:
    """Run a git command in a folder and return its output; None if it fails, is missing or times out.

    The command must be plumbing, which starts no pager, hook, filter or diff program. On a timeout it is killed with
    its children. Output written before a failure is returned.
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
            answer, _ = process.communicate(input_, timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return answer if answer or process.returncode == 0 else None
