"""A program in a terminal of its own, which a test reads until what it expects has come."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_SECONDS = 300.0
_SEQUENCE = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]")
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"


class InTerminal:
    """A program that runs in a pseudo-terminal.

    Args:
        command: what is run.
        size: columns and lines.

    Attributes:
        written: all that it has written so far.
    """

    def __init__(
        self, command: Sequence[str], folder: Path, environment: dict[str, str], size: tuple[int, int] = (80, 24)
    ) -> None:
        self._ours, self._its = pty.openpty()
        self.resize(*size)
        self.before = termios.tcgetattr(self._its)
        self.written = b""
        self._looked = 0
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env={"TERM": "xterm-256color", **environment},
            stdin=self._its,
            stdout=self._its,
            stderr=self._its,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def resize(self, columns: int, lines: int) -> None:
        """Give it another size; the program is told."""
        fcntl.ioctl(self._its, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def press(self, keys: str) -> None:
        """Press keys; what is expected then is looked for in what is written from now on."""
        self._looked = len(self.written)
        os.write(self._ours, keys.encode())

    def expect(self, *texts: str) -> str:
        """Read until all texts have come since a key was pressed; return what has."""
        deadline = time.monotonic() + _SECONDS
        while True:
            shown = _SEQUENCE.sub(b"", self.written[self._looked :]).decode(errors="replace")
            if all(text in shown for text in texts):
                return shown
            assert self._read(deadline), f"{texts} did not come; what came:\n{shown[-4_000:]}"

    def end(self) -> int:
        """Return the exit status of a program that ends by itself."""
        deadline = time.monotonic() + _SECONDS
        while self.process.poll() is None:
            assert self._read(min(deadline, time.monotonic() + 0.2)) or time.monotonic() < deadline
        while self._read(time.monotonic()):
            pass
        return self.process.returncode

    def is_as_before(self) -> bool:
        """Whether the terminal is as it was given to the program."""
        return self.written.rfind(LEAVE) >= self.written.rfind(ENTER) and termios.tcgetattr(self._its) == self.before

    def close(self) -> None:
        """End the program where it has not ended."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        os.close(self._ours)
        os.close(self._its)

    def _read(self, deadline: float) -> bool:
        waiting = select.poll()  # select takes no descriptor above 1,023
        waiting.register(self._ours, select.POLLIN)
        if waiting.poll(max(0, int((deadline - time.monotonic()) * 1_000))):
            with suppress(OSError):
                self.written += os.read(self._ours, 65_536)
                return True
        return False
