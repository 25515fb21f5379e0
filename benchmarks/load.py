"""Hooks on a busy machine: which starts are briefed, and which edits of a claimed file are stopped."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from benchmarks.harness import Bench, Figure, Samples, Section
from benchmarks.start_up import clean_environment, satchel_command
from satchel import open_satchel
from satchel.keep.entries.records import NewEntry

RULE = "never log a password"
_CLAIMED = "claimed.py"
_BUSY = 10
_TIMES, _QUICK_TIMES = 200, 5
_NOTES, _DECISIONS, _RULES, _ERRORS = 240, 50, 13, 20
_ITEMS = _NOTES + _DECISIONS + _RULES + _ERRORS


@dataclass(slots=True)
class Played:
    """Outcomes of a number of starts or edits.

    Attributes:
        milliseconds: how long each hook took that should have done it.
        at_once: how many that hook delivered, or stopped.
        late: how many the next hook of the session delivered.
        lost: how many neither did.
    """

    milliseconds: list[float] = field(default_factory=list)
    at_once: int = 0
    late: int = 0
    lost: int = 0

    def add(self, milliseconds: float, *, at_once: bool, late: bool) -> None:
        """Count one more."""
        self.milliseconds.append(milliseconds)
        self.at_once += at_once
        self.late += late and not at_once
        self.lost += not (at_once or late)


def run(bench: Bench) -> Section:
    """Play starts and edits while other processes are busy."""
    environ = clean_environment() | {"HOME": str(bench.folder), "SATCHEL_TRUST": "1"}
    environ = {name: value for name, value in environ.items() if not name.startswith(("XDG_", "CLAUDE", "GEMINI"))}
    project = bench.folder / "project"
    fill(project)
    times = bench.choose(_TIMES, _QUICK_TIMES)
    hook = [satchel_command(), "hook", "claude"]
    alone = starts(project, hook, environ, _QUICK_TIMES)
    with busy(_BUSY):
        begun = starts(project, hook, environ, times)
        edited = edits(project, hook, environ, times)
    begun_in, edited_in = Samples(tuple(begun.milliseconds)), Samples(tuple(edited.milliseconds))
    return Section(
        "Hooks on a busy machine",
        (
            Figure("a start, alone", Samples(tuple(alone.milliseconds)).median, "ms"),
            Figure(f"a start, {_BUSY} busy processes", begun_in.median, "ms", p95=begun_in.p95),
            Figure(f"of {times} starts: briefed by the prompt after it", begun.late),
            Figure(f"of {times} starts: lost", begun.lost, at_most=0),
            Figure(
                f"before an edit of a claimed file, {_BUSY} busy processes", edited_in.median, "ms", p95=edited_in.p95
            ),
            Figure(f"of {times} edits: not stopped", edited.late + edited.lost, at_most=0),
        ),
        (
            f"Whole processes, one after another, in a store of {_ITEMS} items, with the limits that hooks have. A "
            "start is lost if neither it nor the prompt after it brings the briefing.",
        ),
    )


def fill(project: Path) -> None:
    """Make a project with a store of a few hundred items, in which another agent has claimed a file."""
    (project / ".git").mkdir(parents=True)
    (project / ".satchel").mkdir(mode=0o700)
    with open_satchel(project / ".satchel" / "satchel.db", cwd=project, environ={"SATCHEL_TRUST": "1"}) as satchel:
        satchel.constraints.add(RULE, priority="critical", agent="ann")
        for number in range(_RULES - 1):
            satchel.constraints.add(f"module {number} is changed only with a test of its own", agent="ann")
        for number in range(_DECISIONS):
            satchel.decisions.set(f"module.{number}", f"choice {number}", rationale="it was measured", agent="ann")
        for number in range(_ERRORS):
            message = f"module {number} has no attribute {number}"
            satchel.patterns.report("AttributeError", message, solution=f"rename attribute {number}", agent="ann")
        texts = [f"module {number} reads its settings once, at its start" for number in range(_NOTES)]
        satchel.entries.write_many([NewEntry("discovery", text) for text in texts], agent="ann")
        satchel.files.claim([_CLAIMED], minutes=600, reason="rotating tokens", agent="ann")


def starts(project: Path, hook: Sequence[str], environ: Mapping[str, str], times: int) -> Played:
    """Begin sessions; where the start says nothing, a prompt follows."""
    played = Played()
    for _ in range(times):
        session = _session()
        milliseconds, said = _call(project, hook, environ, "SessionStart", session, source="startup")
        is_briefed = RULE in said
        late = is_briefed or RULE in _call(project, hook, environ, "UserPromptSubmit", session, prompt="go on")[1]
        played.add(milliseconds, at_once=is_briefed, late=late)
    return played


def edits(project: Path, hook: Sequence[str], environ: Mapping[str, str], times: int) -> Played:
    """Edit a file that another agent has claimed; if that is not stopped, the hook after it may report it."""
    played, session = Played(), _session()
    for _ in range(times):
        fields = {"tool_name": "Edit", "tool_input": {"file_path": str(project / _CLAIMED)}, "tool_use_id": _session()}
        milliseconds, said = _call(project, hook, environ, "PreToolUse", session, **fields)
        is_stopped = '"permissionDecision":"deny"' in said
        is_told = (
            is_stopped or "is claimed by ann" in _call(project, hook, environ, "PostToolUse", session, **fields)[1]
        )
        played.add(milliseconds, at_once=is_stopped, late=is_told)
    return played


_numbers = count()


def _session() -> str:
    return f"load-{next(_numbers)}"


def _call(
    project: Path, hook: Sequence[str], environ: Mapping[str, str], name: str, session: str, **fields: object
) -> tuple[float, str]:
    """Run one hook as a client does; return how long it took in milliseconds, and what it printed."""
    event = {"session_id": session, "cwd": str(project), "hook_event_name": name, **fields}
    began = time.perf_counter()
    done = subprocess.run(
        [*hook, name], input=json.dumps(event).encode(), capture_output=True, check=True, env=dict(environ), cwd=project
    )
    return (time.perf_counter() - began) * 1_000, done.stdout.decode()


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep the machine busy with processes that compute, and end them."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
        for one in running:
            one.wait()
