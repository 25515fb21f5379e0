"""A terminal that is drawn on: taken over and given back as it was, with its keys and its size."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from rich.console import Console
from rich.text import Text

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
"""Another screen, without the cursor, on which a line that is too long does not go on in the next."""

_LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l"

_KEYS = {
    b"\x1b[A": "up",
    b"\x1bOA": "up",
    b"\x1b[B": "down",
    b"\x1bOB": "down",
    b"\x1b[C": "right",
    b"\x1bOC": "right",
    b"\x1b[D": "left",
    b"\x1bOD": "left",
    b"\x1b[5~": "page up",
    b"\x1b[6~": "page down",
    b"\x1b[H": "home",
    b"\x1b[F": "end",
    b"\x1b[Z": "back tab",
    b"\x1b": "escape",
    b"\t": "tab",
    b"\r": "enter",
    b"\n": "enter",
    b" ": "page down",
}
_LONGEST_FIRST = sorted(_KEYS, key=len, reverse=True)

_REST_SECONDS = 0.05
"""So long an escape waits for the rest of a key's sequence."""


class Terminal:
    """The terminal that standard input and output are."""

    def __init__(self) -> None:
        self._input = sys.stdin.fileno()
        self._before = termios.tcgetattr(self._input)
        self._awake, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._awake, False)
        self._is_live = False

    def wake(self) -> None:
        """End the waiting for keys; from any thread."""
        with suppress(BlockingIOError, OSError):
            os.write(self._wake, b"\0")

    @property
    def size(self) -> tuple[int, int]:
        """The columns and lines it has now."""
        try:
            columns, lines = os.get_terminal_size(sys.stdout.fileno())
        except OSError:
            return 80, 24
        return columns or 80, lines or 24

    @contextmanager
    def live(self) -> Iterator[None]:
        """Take it over, and give it back however this ends: by SIGTERM and SIGHUP as well, and for SIGTSTP."""
        handlers = {
            signal.SIGWINCH: lambda *_: self.wake(),
            signal.SIGTERM: _end,
            signal.SIGHUP: _end,
            signal.SIGTSTP: self._stop,
        }
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            self._enter()
            yield
        finally:
            self._leave()
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(self._awake)
            os.close(self._wake)

    @contextmanager
    def left(self) -> Iterator[None]:
        """Give it back for a while, to ask for text in the usual way."""
        self._leave()
        try:
            yield
        finally:
            # the rest of what was pasted would press keys
            termios.tcflush(self._input, termios.TCIFLUSH)
            self._enter()

    def draw(self, lines: Sequence[Text]) -> None:
        """Show lines, and nothing below them."""
        width, height = self.size
        console = Console(width=width, soft_wrap=True, highlight=False)
        with console.capture() as capture:
            for line in lines[:height]:
                console.print(line, end="\n")
        text = "".join(f"\x1b[{place};1H{line}\x1b[K" for place, line in enumerate(capture.get().splitlines(), 1))
        sys.stdout.write(f"{text}\x1b[J" if len(lines) < height else text)
        sys.stdout.flush()

    def keys(self, seconds: float) -> list[str]:
        """Return the keys that were pressed, by their names or letters; none after a time, or once it was woken."""
        ready, _, _ = select.select([self._input, self._awake], [], [], max(0.0, seconds))
        if self._awake in ready:
            with suppress(BlockingIOError):
                os.read(self._awake, 4_096)
        if self._input not in ready:
            return []
        read = os.read(self._input, 4_096)
        if not read:
            raise EOFError
        while read.endswith((b"\x1b", b"\x1b[", b"\x1bO")) and select.select([self._input], [], [], _REST_SECONDS)[0]:
            read += os.read(self._input, 4_096)
        return list(_named(read))

    def _enter(self) -> None:
        tty.setcbreak(self._input)
        sys.stdout.write(_ENTER)
        sys.stdout.flush()
        self._is_live = True

    def _leave(self) -> None:
        if not self._is_live:
            return
        self._is_live = False
        with suppress(OSError, ValueError, termios.error):  # it may be gone
            sys.stdout.write(_LEAVE)
            sys.stdout.flush()
        with suppress(OSError, termios.error):
            termios.tcsetattr(self._input, termios.TCSADRAIN, self._before)

    def _stop(self, number: int, _: FrameType | None) -> None:
        was_live = self._is_live
        self._leave()
        handler = signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, handler)
        if was_live:
            self._enter()
        self.wake()


def _end(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _named(read: bytes) -> Iterator[str]:
    while read:
        known = next((key for key in _LONGEST_FIRST if read.startswith(key)), None)
        if known == b"\x1b" and read[1:2] in {b"[", b"O"}:
            return  # a key of a terminal's own
        if known is not None:
            yield _KEYS[known]
            read = read[len(known) :]
            continue
        letter = chr(read[0])
        if letter.isascii() and letter.isprintable():
            yield letter
        read = read[1:]
