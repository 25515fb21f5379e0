"""Damaged stores: no command ends in a fault of its own, and the advice that is given leads back to a whole store."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from faults.damaged import damage
from satchel import open_satchel
from satchel.interfaces.cli import run

_COMMANDS = (
    ["doctor"],
    ["read"],
    ["search", "alpha"],
    ["stats"],
    ["decisions"],
    ["message", "read", "--agent", "b"],
    ["brief", "--agent", "b"],
    ["write", "discovery", "written to a damaged store"],
    ["backup"],
    ["rebuild"],
)
_SEEDS = 13
"""One of every kind of damage; a longer range tries more."""


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a store of every kind, a verified backup, and a WAL that holds commits."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / ".git").mkdir()
    with open_satchel(cwd=folder, agent="a", environ={}) as satchel:
        for place in range(60):
            satchel.entries.write("discovery", f"alpha {place} " + "lorem ipsum " * (place % 30), file="src/a.py")
            satchel.decisions.set(f"key{place}", f"alpha {place}", layer="data", tags=["api"])
        for place in range(20):
            satchel.constraints.add(f"alpha rule {place}", category="security")
            satchel.messages.send(f"alpha message {place}", to="b", type="info")
            satchel.patterns.report("ValueError", f"alpha is no number {place}", solution=f"parse it {place}")
            satchel.strategies.save(f"topic {place}", f"alpha insight {place}")
            satchel.files.record(f"src/{place}.py", "modified", description="alpha")
        satchel.housekeeping.backup()
        satchel.entries.write("discovery", "alpha only in the WAL")
        shutil.copytree(folder, folder.with_name("kept"), dirs_exist_ok=True)
    return folder.with_name("kept")


@pytest.mark.parametrize("seed", range(_SEEDS))
def test_a_damaged_store_is_never_a_fault_and_the_advice_leads_back(
    whole: Path, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "project"
    shutil.copytree(whole, folder)
    monkeypatch.chdir(folder)
    file = folder / ".satchel" / "satchel.db"
    (file.parent / "satchel.db-shm").unlink(missing_ok=True)
    what = damage(file, seed)

    def ask(arguments: list[str]) -> tuple[int, str]:
        status = run(arguments)
        said = capsys.readouterr()
        text = said.out + said.err
        assert "error [internal]" not in text, (what, arguments, text)
        assert "Traceback" not in text, (what, arguments, text)
        return status, text

    for arguments in _COMMANDS:
        ask(list(arguments))
    _follow_the_advice(ask, what)
    assert ask(["write", "discovery", "the store works again"])[0] == 0
    with closing(apsw.Connection(str(file))) as connection:
        assert connection.pragma("integrity_check") == "ok"


def _follow_the_advice(ask: Callable[[list[str]], tuple[int, str]], what: str) -> None:
    """Run what doctor advises until it finds nothing that failed."""
    followed: list[str] = []
    for _ in range(5):
        status, text = ask(["doctor"])
        if status == 0:
            return
        failed = [line for line in text.splitlines() if line.startswith("failed")]
        advised = [command for line in failed for command in re.findall(r"`satchel ([^`]+)`", line)]
        advised = [command for command in advised if command != "forget"] or advised
        assert advised, (what, text)
        command = next((one for one in advised if one not in followed), advised[-1])
        followed.append(command)
        arguments = [*command.split(), *(["--yes"] if command.startswith("restore") else [])]
        status, said = ask(arguments)
        assert status == 0, (what, command, said)
    pytest.fail(f"{what}: nothing of {followed} helped")
