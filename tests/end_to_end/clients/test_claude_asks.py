"""Claude Code at a terminal, with `hooks.claims = ask`: whether its user is asked, and what becomes of the edit."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from end_to_end.clients.client_programs import SECONDS, Workplace
from end_to_end.clients.clients_set_up import CLAUDE, set_up
from end_to_end.clients.dialects import Call
from end_to_end.clients.scripted_model import LAST_WORDS, PROMPT, ScriptedModel

pytestmark = pytest.mark.referee

QUESTION = "Do you want to make this edit to held.py?"
REJECTED = "Rejected update to held.py"
CLAIMED = 'for "release freeze"'
YES, NO = "1", "2"

_MOVES = re.compile(r"\x1b\[\d*(?:;\d*)?[CGH]")
_CONTROLS = re.compile(r"\x1b(?:\[[0-9;?<>=]*[a-zA-Z]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)")


class Terminal:
    """A terminal in which a program runs: what it has shown, as words."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._shown = b""

    @property
    def words(self) -> str:
        """All that was shown so far; a move of the cursor counts as a space."""
        text = _MOVES.sub(" ", self._shown.decode(errors="replace"))
        return " ".join(_CONTROLS.sub("", text).split())

    def wait_for(self, *texts: str) -> str:
        """Return the first of some texts to be shown.

        Raises:
            AssertionError: none is within :data:`SECONDS`.
        """
        deadline = time.monotonic() + SECONDS
        while not (found := [text for text in texts if text in self.words]):
            left = deadline - time.monotonic()
            assert left > 0, f"none of {texts} in: {self.words[-2_000:]}"
            if select.select([self._descriptor], [], [], left)[0]:
                with suppress(OSError):
                    self._shown += os.read(self._descriptor, 1 << 16)
        return found[0]

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._descriptor, keys.encode())


@contextmanager
def terminal(command: list[str | Path], folder: Path, environment: dict[str, str]) -> Iterator[Terminal]:
    """Run a program in a terminal of 45 lines of 140 characters, and end it."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 45, 140, 0, 0))
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment | {"TERM": "xterm-256color"},
        stdin=its,
        stdout=its,
        stderr=its,
        start_new_session=True,
    )
    os.close(its)
    try:
        yield Terminal(ours)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(ours)


def answered(folder: Path, mode: str, key: str) -> tuple[str, str]:
    """Return what Claude Code shows of an edit of a claimed file, and what the file holds once a key was pressed."""
    workplace = Workplace.make(folder)
    file = workplace.project / "held.py"
    file.write_text("LIMIT = 1\n")
    workplace.run(["satchel", "file", "claim", "held.py", "--why", "release freeze"])
    edit = {"file_path": str(file), "old_string": "LIMIT = 1", "new_string": "LIMIT = 2"}
    with ScriptedModel(CLAUDE.dialect, {PROMPT: [Call("Read", {"file_path": str(file)}), Call("Edit", edit)]}) as model:
        environment = workplace.environment | set_up(CLAUDE, workplace, model) | {"SATCHEL_HOOKS_CLAIMS": "ask"}
        known = workplace.home / ".claude.json"  # else it asks about colours, the key and the folder
        settings = json.loads(known.read_text())
        settings |= {"hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": {"approved": ["none"]}}
        settings["projects"] = {str(workplace.project): {"hasTrustDialogAccepted": True}}
        known.write_text(json.dumps(settings))
        command: list[str | Path] = [*CLAUDE.program(), "--model", "scripted", "--permission-mode", mode, PROMPT]
        with terminal(command, workplace.project, environment) as seen:
            if seen.wait_for(QUESTION, LAST_WORDS) == QUESTION:
                assert file.read_text() == "LIMIT = 1\n"
                seen.type(key)
                seen.wait_for(REJECTED, LAST_WORDS)
            return seen.words, file.read_text()


def test_the_edit_is_made_after_yes(tmp_path: Path) -> None:
    shown, content = answered(tmp_path, "acceptEdits", YES)
    assert QUESTION in shown
    assert content == "LIMIT = 2\n"


def test_why_is_shown_beside_the_edit_but_not_in_the_dialog(tmp_path: Path) -> None:
    shown, _ = answered(tmp_path, "acceptEdits", YES)
    assert shown.index(QUESTION) < shown.index(CLAIMED)


def test_the_edit_is_not_made_after_no(tmp_path: Path) -> None:
    shown, content = answered(tmp_path, "acceptEdits", NO)
    assert REJECTED in shown
    assert content == "LIMIT = 1\n"


def test_where_each_edit_is_asked_about_this_one_is_stopped(tmp_path: Path) -> None:
    shown, content = answered(tmp_path, "default", YES)
    assert QUESTION not in shown
    assert content == "LIMIT = 1\n"
