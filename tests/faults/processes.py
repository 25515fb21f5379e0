"""Processes of the tests' own, spoken to in lines."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType

_SCRIPT = Path(__file__).with_name("children.py")


class Child:
    """A running task of ``children.py``; killed when its block is left, should it still run.

    Args:
        task: which one.
        arguments: what it takes.
        private_mounts: give it a mount namespace of its own, so that nothing it mounts is seen outside or outlives it.
    """

    def __init__(self, task: str, *arguments: object, private_mounts: bool = False) -> None:
        command = [sys.executable, str(_SCRIPT), task, *map(str, arguments)]
        self.process = subprocess.Popen(
            [*_unshare(), *command] if private_mounts else command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._input, self._output = self.process.stdin, self.process.stdout

    def hear(self) -> str:
        """Wait for the next line."""
        line = self._output.readline()
        assert line, f"the process ended with {self.process.wait()}"
        return line.rstrip("\n")

    def tell(self, line: str = "go") -> None:
        """Send a line."""
        self._input.write(f"{line}\n")
        self._input.flush()

    def ask(self, line: str) -> str:
        """Send a line and wait for the answer."""
        self.tell(line)
        return self.hear()

    def finish(self) -> list[str]:
        """Let it come to its end, and return the lines it still said."""
        self._input.close()
        said = self._output.read().splitlines()
        assert self.process.wait() == 0
        return said

    def kill(self) -> list[str]:
        """End it in the middle of whatever it does, and return the whole lines it had said."""
        self.process.kill()
        said = self._output.read().split("\n")[:-1]
        self.process.wait()
        return said

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        if not self._input.closed:
            with suppress(BrokenPipeError):
                self._input.close()
        self._output.close()


def why_no_mounts(folder: Path) -> str | None:
    """Return why this machine lets the tests mount nothing, or None when it does."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "satchel-test", str(folder)]
    try:
        tried = subprocess.run([*_unshare(), *mount], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "there is no unshare command here"
    return f"mounting is not permitted here: {tried.stderr.strip()}" if tried.returncode else None


def _unshare() -> list[str]:
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", "--mount", *user]
