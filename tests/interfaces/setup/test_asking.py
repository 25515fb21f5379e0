"""What clients are asked: their version, and whether Codex trusts the hooks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from satchel.interfaces.setup.checking import codex_hooks, is_older, program_of, version_of
from satchel.interfaces.setup.clients import CLIENTS, Place

Program = Callable[[str, str], Path]

CODEX = CLIENTS["codex"]


def test_the_version_of_a_package_is_read_from_it(place: Place) -> None:
    package = place.home / "lib" / "node_modules" / "@google" / "gemini-cli"
    (package / "bundle").mkdir(parents=True)
    (package / "package.json").write_text('{"version": "0.61.0"}')
    (package / "bundle" / "gemini.js").write_text("never run")
    (package / "bundle" / "gemini.js").chmod(0o755)
    (place.home / "bin" / "gemini").symlink_to(package / "bundle" / "gemini.js")
    assert version_of(CLIENTS["gemini"], place) == "0.61.0"


def test_the_version_is_the_name_of_the_program_where_that_is_one(place: Place, program: Program) -> None:
    real = program("2.1.330", "raise SystemExit(1)")
    (place.home / "bin" / "claude").symlink_to(real)
    assert version_of(CLIENTS["claude"], place) == "2.1.330"


@pytest.mark.slow
def test_another_program_is_asked(place: Place, program: Program) -> None:
    program("codex", "print('WARNING: x'); print('codex-cli 0.169.0')")
    assert version_of(CODEX, place) == "0.169.0"


@pytest.mark.slow
@pytest.mark.parametrize("script", ["raise SystemExit(3)", "print('no number')", "import os; os.kill(os.getpid(), 9)"])
def test_a_program_that_does_not_say_has_no_version(script: str, place: Place, program: Program) -> None:
    program("codex", script)
    assert version_of(CODEX, place) is None


@pytest.mark.slow
def test_a_program_that_hangs_is_ended_with_its_children(
    place: Place, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("satchel.interfaces.setup.checking._VERSION_SECONDS", 0.3)
    child = "import subprocess, time; subprocess.Popen(['sleep', '60']); time.sleep(60)"
    program("codex", f"{child}\nprint('1.2.3')")
    assert version_of(CODEX, place) is None


def test_programs_in_relative_folders_of_the_path_are_never_run(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "codex").write_text("#!/bin/sh\n")
    (tmp_path / "codex").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert program_of(CODEX, Place(place.home, {"PATH": ".:"})) is None
    assert program_of(CODEX, Place(place.home, {})) is None


@pytest.mark.parametrize(
    ("one", "other", "older"), [("2.1.9", "2.1.330", True), ("2.1.330", "2.1.330", False), ("10.0.0", "9.9.9", False)]
)
def test_versions_are_compared_as_numbers(one: str, other: str, older: bool) -> None:
    assert is_older(one, other) is older


APP_SERVER = """
import json, sys
assert sys.argv[1:] == ["app-server"]
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "initialize":
        print(json.dumps({"id": asked["id"], "result": {}}), flush=True)
        print(json.dumps({"method": "configWarning", "params": {"id": 1}}), flush=True)
    if asked["method"] == "hooks/list":
        print("not JSON", flush=True)
        hooks = [{"command": cwd, "trustStatus": "untrusted"} for cwd in asked["params"]["cwds"]]
        print(json.dumps({"id": asked["id"], "result": {"data": [{"hooks": hooks}]}}), flush=True)
"""


@pytest.mark.slow
def test_codex_says_which_hooks_it_trusts(place: Place, program: Program) -> None:
    program("codex", APP_SERVER)
    (place.home / ".codex").mkdir()
    assert codex_hooks(CODEX, place) == [{"command": str(place.project), "trustStatus": "untrusted"}]


@pytest.mark.slow
@pytest.mark.parametrize("answer", [{"id": 1, "error": {}}, {"id": 1, "result": {"data": 3}}, [], None])
def test_an_answer_of_another_shape_is_none(answer: object, place: Place, program: Program) -> None:
    program("codex", f"print({json.dumps(answer)!r})")
    (place.home / ".codex").mkdir()
    assert codex_hooks(CODEX, place) is None


def test_codex_is_not_started_where_it_was_never_used(place: Place, program: Program) -> None:
    program("codex", "import pathlib; pathlib.Path.home().joinpath('started').touch()")
    assert codex_hooks(CODEX, place) is None
    assert not (place.home / "started").exists()
