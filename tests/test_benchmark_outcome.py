"""The runner of the outcome trial, shown with a scripted agent and a tiny repository."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.outcome import __main__ as outcome
from benchmarks.outcome import preparing, results, working

from satchel import open_satchel

ITEMS = [
    {"id": "old", "rule": "Durations are printed in minutes", "priority": "high", "by": "human:sofia"},
    {"id": "new", "rule": "Durations are printed in hours", "priority": "high", "by": "human:sofia", "replaces": "old"},
    {"decision": "unit.sign", "value": "h", "rationale": "as on paper", "by": "human:devin", "paths": ["lib.py"]},
    {"id": "zero", "error": "ZeroDivisionError", "message": "division by zero", "fix": "say 0", "by": "codex-91ae"},
    {"note": "lib.py is read by the billing jobs", "by": "claude-3f2b", "file": "lib.py"},
]
TASK = {
    "prompt": "Print durations.",
    "binds": ["new", "unit.sign", "zero"],
    "test": "python3 -c ''",
    "failures": {"zero": ""},
}
CHECKS = """
def has(word):
    return lambda clone, pristine: word in (clone / "lib.py").read_text() != (pristine / "lib.py").read_text()

CHECKS = {"task1": {"new": has("hours"), "unit.sign": has("'h'"), "zero": has("0")}}
CHECKS["task2"] = CHECKS["task1"]
"""
AGENT = """
import re, subprocess, sys
work = re.search("Begin with `(.*) start`", sys.argv[1])[1]
def call(arguments, stdin=""):
    subprocess.run(f"{work} {arguments}", shell=True, input=stdin, text=True, check=True)
call("start")
call("edit lib.py", "<<<<\\ndef one():\\n====\\ndef hours():\\n>>>>\\n")
call("run 'cat NOTES.md; false'")
call("run 'echo ZeroDivisionError: division by zero'")
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository of one file, and a folder with the data about it."""
    clone, data = tmp_path / "clone", tmp_path / "data"
    clone.mkdir()
    data.mkdir()
    functions = "".join(f"def f{number}():\n    return {number}\n\n" for number in range(20))
    (clone / "lib.py").write_text(f"def one():\n    return 1\n\n{functions}")
    (clone / "test_lib.py").write_text("def test_one_two():\n    pass\n")
    git = ["git", "-C", str(clone), "-c", "user.name=r", "-c", "user.email=r@example.org"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "Begin"]):
        subprocess.run([*git, *arguments], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    (data / "repository.json").write_text(json.dumps({"name": "tiny", "commit": commit}))
    (data / "memory.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in ITEMS))
    (data / "checks.py").write_text(CHECKS)
    for task in preparing.TASKS:
        (data / f"{task}.json").write_text(json.dumps(TASK))
    return clone


def plan(clone: Path, condition: str) -> preparing.Plan:
    return preparing.Plan(clone.parent / "data", ("task1",), condition, 300, clone, clone.parent / "run")


def answer(run: Path, agent: str, name: str, *arguments: str, stdin: str = "") -> str:
    working.Session(run, agent).call(name, arguments, stdin)
    return str(json.loads((run / working.LOG).read_text().splitlines()[-1])["output"])


def test_an_agent_with_a_command_line_is_run_and_judged(clone: Path, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    folder = tmp_path / "results"
    folders = ["--data", str(tmp_path / "data"), "--clone", str(clone), "--into", str(tmp_path / "run")]
    who = ["--condition", "notes", "--model", "script", "--by", "test", "--results", str(folder)]
    agent = f"{sys.executable} {tmp_path / 'agent.py'} {{prompt}}"
    assert outcome.main(["run", *folders, *who, "--agent", agent]) == 0
    result = json.loads((folder / "tiny-task1-notes-300-1.json").read_text())
    assert result["kept"] == {"task1": {"new": True, "unit.sign": False, "zero": True}}
    assert result["repeated"] == {"task1": ["zero"]}, "a command printed the error"
    assert result["calls"] == {"start": 1, "edit": 1, "run": 2}
    notes = (tmp_path / "run" / "project" / "NOTES.md").read_text().splitlines()[2:]
    assert len(notes) == len(ITEMS), "also what was replaced"
    assert result["memory_chars"] == sum(len(line) + 1 for line in notes)
    log = (folder / "tiny-task1-notes-300-1.jsonl").read_text()
    assert preparing.NOTES_SENTENCE in log
    assert str(tmp_path) not in log
    assert "+def hours():" in (folder / "tiny-task1-notes-300-1.patch").read_text()
    assert "| 300 | tiny | task1 | notes | 2 of 3 | yes | 1 |" in results.report(folder)


def test_without_a_memory_the_tool_adds_nothing(clone: Path, tmp_path: Path) -> None:
    preparing.prepare(plan(clone, "nothing"))
    assert answer(tmp_path / "run", "writer1", "start") == "<task>\nPrint durations.\n</task>"
    assert "no server" in answer(tmp_path / "run", "writer1", "tool", "search")
    assert not (tmp_path / "run" / "project" / "NOTES.md").exists()


def test_with_satchel_an_agent_gets_what_its_hooks_add_and_what_they_deny(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preparing.prepare(plan(clone, "satchel"))
    run = tmp_path / "run"
    try:
        start = answer(run, "writer1", "start")
        assert "SessionStart hook additional context: Satchel" in start
        assert "unit.sign: h" in start
        assert "Durations are printed in hours" in start
        assert "in minutes" not in start
        assert "claimed" in answer(run, "writer1", "tool", "claim_files", '{"paths": ["lib.py"], "reason": "mine"}')
        change = "<<<<\ndef one():\n====\ndef two():\n>>>>\n"
        assert answer(run, "writer1", "edit", "lib.py", stdin=change).startswith("lib.py was changed"), "one session"
        monkeypatch.setenv("SATCHEL_TRUST", "1")  # the run has a home of its own, whose list of stores has this one
        with open_satchel(run / "project" / ".satchel" / "satchel.db", cwd=run / "project") as satchel:
            satchel.files.claim(["test_lib.py"], agent="other")
        assert "denied" in answer(run, "writer1", "write", "test_lib.py", stdin="")
    finally:
        working.Session(run, "writer1").stop()


def test_a_store_grows_by_items_about_the_repositorys_own_files(clone: Path) -> None:
    store = preparing.store_of(clone.parent / "data", 3_000, clone)
    assert len(store.items) == 3_000
    assert [item for item in store.items if item in ITEMS] == ITEMS
    assert {item["file"] for item in store.items if "file" in item} == {"lib.py"}
    assert any("one two" in item.get("note", "") for item in store.items)
