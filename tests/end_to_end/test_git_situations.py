"""One answer to where the store is, in every situation of git, by library, hook, command, guard and server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from git_situations import DELETED, SITUATIONS, Repository, Situation, make_template
from repositories import git
from satchel import open_satchel
from satchel.base.errors import Refused
from satchel.interfaces.cli.commands import serve
from satchel.interfaces.hooks import command

RULE = "never log a password"
_EVENT = {"session_id": "s1", "hook_event_name": "SessionStart", "source": "startup"}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return make_template(tmp_path_factory.mktemp("template") / "repository")


@pytest.fixture(params=SITUATIONS)
def situation(request: pytest.FixtureRequest) -> Situation:
    return SITUATIONS[request.param]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path.resolve()


@pytest.fixture
def here(situation: Situation, base: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand where the situation says, with a rule in the store of each repository that could be meant."""
    folder = situation.make(base / "tree", repository)
    monkeypatch.setenv("XDG_STATE_HOME", str(base / "state"))
    for name in ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CLAUDE_ENV_FILE", "SATCHEL_SESSION", "SATCHEL_DB"):
        monkeypatch.delenv(name, raising=False)
    if situation.home is not None:
        with open_satchel(cwd=base / "tree" / situation.home) as satchel:
            satchel.constraints.add(RULE, priority="critical", agent="ann")
    for name, value in situation.environ.items():
        monkeypatch.setenv(name, value.format(base=base / "tree"))
    monkeypatch.chdir(folder)
    if situation.problem == DELETED:
        folder.rmdir()
    return folder


@pytest.fixture
def only_store(situation: Situation, here: Path, base: Path) -> Callable[[], None]:
    """Check that no store was made but the one that is meant."""

    def check() -> None:
        stores = [file.parent.parent for file in base.rglob(".satchel/satchel.db")]
        assert stores == ([] if situation.home is None else [base / "tree" / situation.home])

    return check


def test_a_server_a_hook_and_the_library_use_one_store(
    situation: Situation,
    here: Path,
    base: Path,
    only_store: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """What a server offers to people, what a hook says and what the library reads, in this order: the last writes."""
    home = situation.home
    assert serve._own_stores() == ([] if home is None else [base / "tree" / home / ".satchel" / "satchel.db"])
    only_store()

    monkeypatch.setenv("SATCHEL_HOOKS_DEADLINE_MS", "60000")
    monkeypatch.setattr(command, "_read", lambda: json.dumps(_EVENT | {"cwd": str(here)}).encode())
    assert command.run(["claude", "SessionStart"]) == 0
    printed, errors = capfd.readouterr()
    assert errors == ""
    if situation.problem == DELETED:  # there is no project, so there is nothing to say
        assert printed == ""
    else:
        assert re.search(situation.problem or RULE, printed.replace("\\n", " "))
    only_store()

    if situation.problem:
        with pytest.raises(Refused, match=situation.problem):
            open_satchel(here=True)
    else:
        with open_satchel() as satchel:
            assert [rule.text for rule in satchel.constraints.find()] == [RULE]
            satchel.entries.write("discovery", "a note", agent="ben")
    only_store()


_CALLS = [
    {"method": "initialize", "id": 1, "params": {"protocolVersion": "2025-06-18", "capabilities": {}}},
    {"method": "tools/call", "id": 2, "params": {"name": "search", "arguments": {"kinds": ["constraint"]}}},
]
_PROCESSES = {
    "rule list": "",
    "doctor": "",
    "mcp": "".join(json.dumps({"jsonrpc": "2.0"} | call) + "\n" for call in _CALLS),
    "hook claude SessionStart": json.dumps(_EVENT),
}


@pytest.mark.slow
def test_every_process_uses_one_store(situation: Situation, here: Path, only_store: Callable[[], None]) -> None:
    for arguments, text in _PROCESSES.items():
        result = _run(arguments, text)
        said = result.stdout + result.stderr
        if arguments == "doctor" and situation.home is not None:
            assert f"{situation.home}/.satchel/satchel.db" in said, said
        elif arguments != "hook claude SessionStart" or situation.problem != DELETED:
            assert re.search(situation.problem or RULE, said), (arguments, said)
        assert "Traceback" not in said
        assert "[internal]" not in said
    only_store()


@pytest.mark.slow
def test_the_guard_knows_the_claims_of_the_one_store(situation: Situation, here: Path) -> None:
    if not situation.has_files or situation.home is None:
        return
    with open_satchel(agent="ben") as satchel:
        satchel.files.claim(["a.py"] if satchel.place.files_root == here else [f"{here}/a.py"])
    (here / "a.py").write_text("a = 2\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("GIT_DIR", raising=False)
        git(here, "add", "a.py")
        assert "a.py is claimed by ben" in _run("guard run").stderr


# the guard has as much time as hooks: a machine at its limit is not what is judged
_PROGRAM = "from satchel.interfaces import entry, guard; guard.SECONDS = 60.0; entry.main()"


def _run(arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments.split()],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SATCHEL_HOOKS_DEADLINE_MS": "60000"},
    )
