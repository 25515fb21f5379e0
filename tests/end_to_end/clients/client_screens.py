"""The screen of an interactive client as a person sees it: a terminal emulator behind a pseudo-terminal."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pyte

from pseudo_terminal import InTerminal

COLUMNS, LINES = 130, 100
"""So large that nothing scrolls away; from about 160 columns on Claude Code shows a second pane beside the first."""

_SECONDS = 120.0
_AGAIN_SECONDS = 10.0
# The emulator takes the letter after <, = or : for text, and does not know the strings of devices and applications.
_FOREIGN = re.compile(
    rb"\x1b\[[<=>][0-9;:?]*[A-Za-z]|\x1b\[\?[0-9;]*[mu]|\x1b\[[0-9;]*:[0-9;:]*m|\x1b[P_^X].*?(?:\x1b\\|\x07)", re.DOTALL
)
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-9;:<=>?]*|[P_^X\]][^\x07\x1b]*\x1b?|)\Z")
_ANSWERS = {
    b"\x1b[6n": b"\x1b[1;1R",
    b"\x1b[c": b"\x1b[?62;22c",
    b"\x1b[?u": b"\x1b[?0u",
    b"\x1b]10;?": b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
    b"\x1b]11;?": b"\x1b]11;rgb:0000/0000/0000\x1b\\",
}
"""What a terminal answers to the questions by which clients find out what it can do."""


class _Emulator(pyte.Screen):
    def report_device_status(self, mode: int = 0, **_: object) -> None:
        """Leave it to the answers above."""

    def report_device_attributes(self, mode: int = 0, **_: object) -> None:
        """Leave it to the answers above."""


class ClientScreen(InTerminal):
    """A client in a terminal of its own.

    Attributes:
        lines: every line that was ever on its screen, in order of appearance.
    """

    def __init__(self, command: Sequence[str | Path], folder: Path, environment: dict[str, str]) -> None:
        super().__init__([str(part) for part in command], folder, environment, (COLUMNS, LINES))
        self._home = environment["HOME"]
        self._emulator = _Emulator(COLUMNS, LINES)
        self._stream = pyte.ByteStream(self._emulator)
        self._fed = 0
        self._rows = [""] * LINES
        self.lines: dict[str, None] = {}

    @property
    def visible(self) -> str:
        """What is on the screen now."""
        return "\n".join(self._rows).rstrip()

    @property
    def transcript(self) -> str:
        """All lines that were ever on the screen."""
        return "\n".join(self.lines)

    def wait_for(self, *texts: str, is_entered: bool = False) -> str:
        """Read until one of some texts is on the screen; return the first of them that is.

        Args:
            is_entered: whether a prompt was entered just before: then Enter is pressed again now and then, since a
                client that shows a dialog just then, as Codex does about trust, may keep the prompt in its input.
        """
        deadline = time.monotonic() + _SECONDS
        again = time.monotonic() + _AGAIN_SECONDS
        while (there := next((text for text in texts if text in self.visible), None)) is None:
            is_waiting = is_entered and time.monotonic() < deadline
            if not self._read(min(again, deadline) if is_waiting else deadline):
                assert is_waiting, f"none of {texts} came; on the screen:\n{self.visible}"
                again = time.monotonic() + _AGAIN_SECONDS
                self.press("\r")
        return there

    def settle(self, quiet: float = 0.4) -> None:
        """Read until the screen has not changed for a while: keys that come while it does may be lost."""
        start = since = time.monotonic()
        while time.monotonic() < min(since + quiet, start + 10 * quiet):
            before = self.visible
            if self._read(since + quiet) and self.visible != before:
                since = time.monotonic()

    def answer_until(self, ready: str, dialogs: Mapping[str, Sequence[str]], *, is_entered: bool = False) -> None:
        """Answer each dialog once, by a text in it, until the client shows another text."""
        left = dict(dialogs)
        while (there := self.wait_for(*left, ready, is_entered=is_entered)) != ready:
            for key in left.pop(there):
                self._press_until_it_counts(key)

    def enter(self, text: str) -> None:
        """Type a text, and press Enter once it is on the screen."""
        self.settle()
        self.press(text)
        self.wait_for(text)
        self._press_until_it_counts("\r")

    def _press_until_it_counts(self, key: str) -> None:
        """Press a key again while the screen stays as it is: a client that is busy may drop one."""
        self.settle()
        before = self.visible
        for _ in range(5):
            self.press(key)
            deadline = time.monotonic() + 5
            while self.visible == before and self._read(deadline):
                pass
            if self.visible != before:
                return

    def close(self) -> None:
        """End the client, and what it left in the background: Codex keeps a server at work."""
        super().close()
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get("HOME") == self._home:
                    process.send_signal(signal.SIGKILL)

    def _read(self, deadline: float) -> bool:
        is_read = super()._read(deadline)
        if is_read:
            self._feed()
        return is_read

    def _feed(self) -> None:
        fresh = self.written[self._fed :]
        cut = _UNFINISHED.search(fresh)
        fresh = fresh[: cut.start()] if cut else fresh
        self._fed += len(fresh)
        for question, answer in _ANSWERS.items():
            for _ in range(fresh.count(question)):
                with suppress(OSError):
                    os.write(self._ours, answer)
        self._stream.feed(_FOREIGN.sub(b"", fresh))
        for number in sorted(self._emulator.dirty):
            if number < LINES:
                cells = self._emulator.buffer[number]
                self._rows[number] = "".join(cells[column].data for column in range(COLUMNS)).strip()
                self.lines.setdefault(self._rows[number])
        self._emulator.dirty.clear()
