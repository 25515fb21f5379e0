"""A run before its agent begins: the clone, the memory of its condition, the agent's tool and the prompts."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks import memory_stores
from benchmarks.harness import ROOT
from benchmarks.memory_stores import Areas, Item, MemoryStore
from benchmarks.outcome.working import ABOUT, NOTES_FILE, environ_of
from benchmarks.start_up import satchel_command

NOTHING, NOTES, SATCHEL = "nothing", "notes", "satchel"
CONDITIONS = (NOTHING, NOTES, SATCHEL)
SIZES = (300, 3_000)
TASKS = ("task1", "task2")
NOTES_SENTENCE = f"{NOTES_FILE} is the team's memory: read it first and keep to it."

_SOURCES = (".py", ".js", ".mjs", ".cjs", ".ts")
_THING = re.compile(
    r"^\s*(?:export\s+)?(?:async\s+)?(?:def|class|function)\s+(\w+)(?: extends [\w.]+)?\s*[({:]"
    r"|^ +(?:async )?(\w+)\([^()]*\) \{$",
    re.MULTILINE,
)
_CASE = re.compile(r"def test_(\w+)|\b(?:test|it)\(\s*(['\"`])(.+?)\2")
_WORDS_OF_JS = frozenset({"if", "for", "while", "switch", "catch", "constructor"})
_CASES_PER_FILE = 16

_PROMPT = """\
You work on the repository in {folder}. Do all of your work through one command, {work}, which logs it;
use no other tool and read no other folder. Its calls:

    start                     prints your task: call it first
    read FILE [FROM TO]       a file, or its lines FROM to TO
    grep PATTERN [PATH]       lines that match an extended regular expression
    edit FILE < EDIT          replace one text, which must occur once in the file; the input is a line <<<<,
                              the old text, a line ====, the new text, a line >>>>
    write FILE < TEXT         make a file or replace it
    run COMMAND...            run a command in the repository: tests, git and the like
{tools}    done                      when you have finished: call it last

Begin with `{work} start`. What is printed as <system-reminder> comes from your client.
Finish the task without asking back, and leave the changes uncommitted."""
_TOOLS = """\
    tools [NAME...]           the descriptions of the tools of the server "satchel"
    tool NAME 'JSON'          call one of them
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """A run to prepare.

    Attributes:
        data: the folder with the items, tasks and checks of a repository.
        tasks: one for each agent.
        clone: the repository with all that its tests need.
        into: the new folder of the run.
        has_worktrees: whether the second agent has a linked worktree.
    """

    data: Path
    tasks: tuple[str, ...]
    condition: str
    size: int
    clone: Path
    into: Path
    has_worktrees: bool = False


def prepare(plan: Plan) -> list[tuple[Path, str]]:
    """Make the folder of a run, and return where each of its agents works and its prompt."""
    into = plan.into.resolve()
    into.mkdir(parents=True)
    project, home = into / "project", into / "home"
    home.mkdir()
    repository = json.loads((plan.data / "repository.json").read_text(encoding="utf-8"))
    for folder in (project, into / "pristine"):
        _clone(plan.clone, repository["commit"], folder)
    path = os.environ["PATH"]
    if plan.condition != NOTHING:
        store = store_of(plan.data, plan.size, project)
        if plan.condition == NOTES:
            (project / NOTES_FILE).write_text(notes_of(store), encoding="utf-8")
            _git(project, "add", NOTES_FILE)
            _git(project, "commit", "-qm", "Keep the team's notes")
        else:
            path = _install(into / "bin", project, home, path)
            with mock.patch.dict(os.environ, environ_of(home, path), clear=True):
                memory_stores.write(project, store)
    agents: dict[str, dict[str, str]] = {}
    for number, task in enumerate(plan.tasks, 1):
        place = "project"
        if plan.has_worktrees and number > 1:
            place = f"project{number}"
            _git(project, "worktree", "add", "-q", "-b", f"work{number}", str(into / place))
            _link_modules(plan.clone, into / place)
        prompt = json.loads((plan.data / f"{task}.json").read_text(encoding="utf-8"))["prompt"]
        if plan.condition == NOTES:
            prompt += f"\n\n{NOTES_SENTENCE}"
        agents[f"writer{number}"] = {"task": task, "folder": place, "session": str(uuid.uuid4()), "prompt": prompt}
    about = {
        "repository": repository["name"],
        "condition": plan.condition,
        "size": plan.size,
        "worktrees": plan.has_worktrees,
        "data": str(plan.data.resolve()),
        "base": _git(project, "rev-parse", "HEAD"),
        "path": path,
        "agents": agents,
    }
    (into / ABOUT).write_text(json.dumps(about, indent=2), encoding="utf-8")
    work = into / "work"
    work.write_text(
        f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m benchmarks.outcome.working "{into}" "$@"\n',
        encoding="utf-8",
    )
    work.chmod(0o755)
    return [(into / one["folder"], _prompt_of(into, name, one, about)) for name, one in agents.items()]


def _prompt_of(into: Path, name: str, agent: Mapping[str, str], about: Mapping[str, Any]) -> str:
    work = f"{into / 'work'} --as {name}" if len(about["agents"]) > 1 else str(into / "work")
    tools = _TOOLS if about["condition"] == SATCHEL else ""
    return _PROMPT.format(folder=into / agent["folder"], work=work, tools=tools)


def store_of(data: Path, size: int, project: Path) -> MemoryStore:
    """Return the items about a repository, and for the larger size distractors about its files between them."""
    lines = (data / "memory.jsonl").read_text(encoding="utf-8").splitlines()
    store = MemoryStore(data.name, [json.loads(line) for line in lines], ())
    return store if size == SIZES[0] else memory_stores.grown(store, size, areas_of(project))


def areas_of(project: Path) -> Areas:
    """Return the names that a repository's source files define, and cases from the titles of its tests."""
    files = [name for name in _git(project, "ls-files").splitlines() if name.endswith(_SOURCES)]
    texts = {name: (project / name).read_text(encoding="utf-8") for name in files}
    tests = {name for name in files if "test" in name}
    cases = sorted(
        {
            (match[1] or match[3]).replace("_", " ").replace(",", "")
            for name in tests
            for match in _CASE.finditer(texts[name])
        }
    )
    areas: dict[str, tuple[str, str]] = {}
    for name in sorted(set(files) - tests):
        things = {match[1] or match[2] for match in _THING.finditer(texts[name])} - _WORDS_OF_JS
        if len(things) > 1:
            some = random.Random(name).sample(cases, min(_CASES_PER_FILE, len(cases)))
            areas[name] = ", ".join(sorted(things)), ", ".join(some)
    return areas


def notes_of(store: MemoryStore) -> str:
    """Return all items as a person would keep them in a file: in the order of time, with those that were replaced."""
    return "".join(f"{line}\n" for line in _notes(store))


def _notes(store: MemoryStore) -> Iterator[str]:
    yield "# Notes"
    yield ""
    for day, items in memory_stores.days_of(store):
        date = datetime.fromtimestamp(day / 1_000, UTC).date()
        for item in items:
            yield f"- {date} {item['by'].removeprefix('human:')}: {' '.join(_text_of(item).split())}"


def _text_of(item: Item) -> str:
    place = f" ({', '.join(item['paths'])})" if "paths" in item else f" ({item['file']})" if "file" in item else ""
    if "rule" in item:
        return f"RULE ({item['priority']}): {item['rule']}{place}"
    if "decision" in item:
        why = f", because: {item['rationale']}" if "rationale" in item else ""
        return f"DECIDED {item['decision']}: {item['value']}{why}{place}"
    if "error" in item:
        return f"ERROR {item['error']}: {item['message']} FIX: {item['fix']}{place}"
    return f"{item['note']}{place}"


def _clone(source: Path, commit: str, folder: Path) -> None:
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(source), str(folder)], check=True)
    _git(folder, "checkout", "-q", "-B", "main", commit)
    _git(folder, "remote", "remove", "origin")
    _git(folder, "config", "user.name", "Robin")
    _git(folder, "config", "user.email", "robin@example.org")
    _link_modules(source, folder)


def _link_modules(source: Path, folder: Path) -> None:
    """Give a clone the packages of JavaScript that its source has."""
    modules = source.resolve() / "node_modules"
    if modules.is_dir():
        (folder / "node_modules").symlink_to(modules)
        exclude = Path(_git(folder, "rev-parse", "--path-format=absolute", "--git-path", "info/exclude"))
        with exclude.open("a", encoding="utf-8") as file:
            file.write("/node_modules\n")


def _install(folder: Path, project: Path, home: Path, path: str) -> str:
    """Put the command ``satchel`` on the path, set Claude Code up with it, and return the path."""
    folder.mkdir()
    command = folder / "satchel"
    command.write_text(f'#!/bin/sh\nexec "{satchel_command()}" "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    path = f"{folder}{os.pathsep}{path}"
    program = shutil.which("satchel", path=path)
    subprocess.run(
        [str(program), "setup", "claude", "--allow", "--yes"],
        cwd=project,
        env=environ_of(home, path),
        check=True,
        capture_output=True,
    )
    return path


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()
