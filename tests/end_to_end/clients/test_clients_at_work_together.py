"""Claude Code and Codex in one project: one holds a file, the other is told; once it is killed, its claim is free."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest

from end_to_end.clients.client_programs import SECONDS, Seen, Workplace
from end_to_end.clients.clients_set_up import CLAUDE, CODEX, let_work, set_up
from end_to_end.clients.dialects import Answer, Call, Dialect, Json
from end_to_end.clients.scripted_model import PROMPT, ScriptedModel
from end_to_end.clients.test_codex_at_work import patch

pytestmark = pytest.mark.referee


class HoldingModel(ScriptedModel):
    """A model that lets its client wait once a script is done."""

    def __init__(self, dialect: Dialect, scripts: Mapping[str, Sequence[Call]]) -> None:
        super().__init__(dialect, scripts)
        self.is_done, self.may_end = threading.Event(), threading.Event()

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def answer(self, path: str, body: Json) -> Answer:
        """Answer with the next call; after the last one, only when that is allowed."""
        prompt, given = self._conversation(body)
        if prompt is not None and self._dialect.has_tools(body) and len(given) == len(self._scripts[prompt]):
            self.is_done.set()
            self.may_end.wait(SECONDS)
        return super().answer(path, body)


@dataclass(frozen=True, slots=True)
class Together:
    """What was seen of Codex while Claude Code held a file, and once that was killed.

    Attributes:
        holder: the name of Claude Code's agent.
        meanwhile, afterwards: two sessions of Codex, each with who held the file after it.
    """

    holder: str
    meanwhile: tuple[Seen, str]
    afterwards: tuple[Seen, str]


def holder(workplace: Workplace) -> str:
    """Return the agent that has claimed the file."""
    (claim,) = workplace.satchel("file", "claims")["claims"]
    return str(claim["agent"])


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Together:
    workplace = Workplace.make(tmp_path_factory.mktemp("together"))
    workplace.environment["SATCHEL_HOOKS_END"] = "false"  # a claim stays, so that it is seen after the session
    file = workplace.project / "open.py"
    file.write_text("LIMIT = 1\n")
    edit = {"file_path": str(file), "old_string": "LIMIT = 1", "new_string": "LIMIT = 2"}
    script = (Call("Read", {"file_path": str(file)}), Call("Edit", edit))

    def seen(old: str, new: str) -> tuple[Seen, str]:
        codex = let_work(CODEX, workplace, [patch("open.py", old, new)], "--sandbox", "danger-full-access")
        return codex, holder(workplace)

    with HoldingModel(CLAUDE.dialect, {PROMPT: script}) as model:
        process = start_claude(workplace, model)
        try:
            assert model.is_done.wait(SECONDS)
            first = holder(workplace)
            meanwhile = seen("LIMIT = 2", "LIMIT = 3")
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            model.may_end.set()
    return Together(first, meanwhile, seen("LIMIT = 3", "LIMIT = 4"))


def start_claude(workplace: Workplace, model: ScriptedModel) -> subprocess.Popen[bytes]:
    """Start a session of Claude Code that edits without asking."""
    environment = workplace.environment | set_up(CLAUDE, workplace, model)
    command: list[str | Path] = [*CLAUDE.program(), *CLAUDE.asks, PROMPT, "--permission-mode", "acceptEdits"]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(
        command,
        cwd=workplace.project,
        env=environment,
        stdin=quiet,
        stdout=quiet,
        stderr=quiet,
        start_new_session=True,
    )


def test_the_second_is_told_who_edits_the_file(together: Together) -> None:
    seen, _ = together.meanwhile
    assert f"{together.holder} edits open.py too" in seen.told


def test_the_first_keeps_its_claim(together: Together) -> None:
    _, agent = together.meanwhile
    assert agent == together.holder


def test_the_second_takes_it_over_at_once_when_the_first_is_killed(together: Together) -> None:
    seen, agent = together.afterwards
    assert f"taken over from {together.holder}" in seen.told
    assert agent != together.holder
