"""Damaged stores: no command ends in a fault of its own, and the advice that is given leads back to a whole store."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from faults.damaged import damage
from satchel import open_satchel
from satchel.interfaces.cli import run
from satchel.store.known_stores import KnownStores
from satchel.store.opening import identity_of

pytestmark = pytest.mark.slow

_COMMANDS = (
    ["doctor"],
    ["read"],
    ["search", "alpha"],
    ["stats"],
    ["decisions"],
    ["message", "read", "--agent", "b", "--all"],
    ["brief", "--agent", "b"],
    ["write", "discovery", "written to a damaged store"],
    ["backup"],
    ["doctor", "--rebuild"],
)
_SITUATIONS = ("a copy", "listed", "listed, no backup", "a stranger's")
"""Where a store comes from: a copy of a listed one, one that is listed and has a verified backup or none, a clone."""

_SEEDS = (7, 9, 12, 14, 15, 20, 28, 37, 49, 53, 56, 71, 136, 199)
"""Every kind of damage, three of them to the WAL, and every situation; 56, 71 and 199 hit the row with the store's uid,
136 what only reading every text finds, 53 the text of the schema. ``range(400)`` tries more."""


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a project, whose store holds every kind and has commits in its WAL, and its user's state folder."""
    kept = tmp_path_factory.mktemp("kept")
    folder = tmp_path_factory.mktemp("whole")
    (folder / ".git").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(kept / "state"))
        _fill(folder, kept / "project")
    return kept


def _fill(folder: Path, copy: Path) -> None:
    """Fill the store of a project, back it up, and copy the project while it is open."""
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
        shutil.copytree(folder, copy)


def _settle(whole: Path, folder: Path, situation: str) -> Path:
    """Copy the project and the state folder, and have the list say what the situation asks for; return the store."""
    shutil.copytree(whole / "project", folder / "project")
    file = folder / "project" / ".satchel" / "satchel.db"
    (file.parent / "satchel.db-shm").unlink(missing_ok=True)
    if situation != "a stranger's":
        shutil.copytree(whole / "state", folder / "state")
    if situation.startswith("listed"):
        known = KnownStores(folder / "state" / "satchel")
        (store,) = known.every()
        known.put(replace(store, file=file, identity=identity_of(file)))
    if situation == "listed, no backup":
        shutil.rmtree(folder / "state" / "satchel" / "backups")
    return file


@pytest.mark.parametrize(("seed", "situation"), [(seed, _SITUATIONS[seed // 13 % 4]) for seed in _SEEDS])
def test_a_damaged_store_is_never_a_fault_and_the_advice_leads_back(
    whole: Path,
    tmp_path: Path,
    seed: int,
    situation: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    file = _settle(whole, tmp_path, situation)
    monkeypatch.chdir(tmp_path / "project")
    what = f"{damage(file, seed)}, {situation}"

    def ask(arguments: list[str]) -> tuple[int, str]:
        status = run(arguments)
        said = capsys.readouterr()
        text = said.out + said.err
        assert "error [internal]" not in text, (what, arguments, text)
        assert "Traceback" not in text, (what, arguments, text)
        return status, text

    for arguments in _COMMANDS:
        ask(list(arguments))
    followed = _follow_the_advice(ask, what)
    assert situation == "listed" or not any(command.startswith("restore") for command in followed)
    assert situation != "listed" or not any(command.startswith(("init", "trust")) for command in followed)
    assert ask(["write", "discovery", "the store works again"])[0] == 0
    with closing(apsw.Connection(str(file))) as connection:
        assert connection.pragma("integrity_check") == "ok"


def _follow_the_advice(ask: Callable[[list[str]], tuple[int, str]], what: str) -> list[str]:
    """Run what doctor advises until it finds nothing that failed; return that."""
    followed: list[str] = []
    for _ in range(5):
        status, text = ask(["doctor"])
        if status == 0:
            return followed
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
