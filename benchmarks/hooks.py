"""Hooks: what they take beside a bare interpreter in a project of 100,000 records, and what they put in over a day."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path

from benchmarks.big_stores import open_kept
from benchmarks.briefing import LATER, fill
from benchmarks.harness import Bench, Figure, Section, interleave, timed
from benchmarks.start_up import clean_environment, satchel_command
from satchel import open_satchel
from satchel.base.tokens import token_counter
from satchel.brief.briefing.collecting import Deadline
from satchel.brief.moments import COMPACTION, START, SUBAGENT, Moment
from satchel.keep.sessions.caller import Caller

_AT_ONCE = 8
_SILENT, _BRIEFING, _EDIT, _PROMPT, _FAILURE = 3, 9, 5, 8, 8
_SILENT_AT_ONCE, _BRIEFING_AT_ONCE = 4, 10
"""So many times a bare interpreter's."""

_NOTE = "DHL's tracking gives Berlin's local times without an offset"
_PROMPT_TEXT = "tracking events from DHL appear two hours early in the app"
_DAY_ITEMS = 10_000
_DAY_TOKENS = 5_600
_LEAST_USED = 0.8

_Run = Callable[[int], object]


def run(bench: Bench) -> Section:
    """Time hooks as clients run them, then play a day of three sessions."""
    project = _project(bench, bench.choose(100_000, 4_000))
    environ = _environment(bench.folder)
    bare = [sys.executable, "-c", "pass"]
    numbers = count()
    satchel = satchel_command()

    def hook(name: str, **fields: object) -> list[str | bytes]:
        event = {"session_id": "s1", "cwd": str(project), "hook_event_name": name, **fields}
        return [satchel, "hook", "claude", name, json.dumps(event).encode()]

    edit = {"file_path": str(project / "src" / "edited.py"), "old_string": "a", "new_string": "b"}
    with open_satchel(project / ".satchel" / "satchel.db", "bench", environ={"SATCHEL_TRUST": "1"}) as opened:
        opened.entries.write("discovery", _NOTE, agent="carrier")

    def tool(name: str, tool_name: str, given: dict[str, str], **fields: object) -> list[str | bytes]:
        return hook(name, tool_name=tool_name, tool_input=given, tool_use_id=f"t{next(numbers)}", **fields)

    def prompt(text: str) -> list[str | bytes]:
        return hook("UserPromptSubmit", prompt=f"{text} ({next(numbers)})", session_id=f"p{next(numbers)}")

    def failure() -> list[str | bytes]:
        said = f"Exit code 1\nTraceback (most recent call last):\nKeyError: 'session{next(numbers)}'"
        return tool("PostToolUseFailure", "Bash", {"command": "make test"}, error=said)

    def fresh() -> list[str | bytes]:
        return hook("SessionStart", source="startup", session_id=f"n{next(numbers)}")

    told_twice = hook("SessionStart", source="startup")
    _at_once([told_twice], environ)
    kinds: Mapping[str, Callable[[], list[str | bytes]]] = {
        "bare": lambda: [*bare, b""],
        "another client's": lambda: hook("Notification"),
        "told a second time": lambda: told_twice,
        "a subagent that only looks": lambda: hook("SubagentStart", agent_type="Explore", agent_id=f"a{next(numbers)}"),
        "a briefing": fresh,
        "a prompt that is about something": lambda: prompt(_PROMPT_TEXT),
        "a prompt that is about nothing": lambda: prompt("good morning! is anything uncommitted? then go on"),
        "before an edit": lambda: tool("PreToolUse", "Edit", edit),
        "after an edit": lambda: tool("PostToolUse", "Edit", edit, tool_response={}),
        "a failing command": failure,
    }
    ratios = {"a briefing": _BRIEFING, "before an edit": _EDIT, "after an edit": _EDIT, "a failing command": _FAILURE}
    ratios |= {what: _PROMPT for what in kinds if what.startswith("a prompt")}
    alone = interleave({what: _timer(make, environ, 1) for what, make in kinds.items()}, bench.choose(40, 8), warm_up=2)
    together = interleave(
        {what: _timer(make, environ, _AT_ONCE) for what, make in kinds.items()}, bench.choose(12, 3), warm_up=1
    )
    figures = [
        timed(
            f"hook: {what}",
            alone[what],
            alone["bare"],
            "python -c pass",
            ratio_at_most=ratios.get(what, _SILENT),
        )
        for what in kinds
        if what != "bare"
    ]
    for what, at_most in (("told a second time", _SILENT_AT_ONCE), ("a briefing", _BRIEFING_AT_ONCE)):
        figures.append(
            Figure(
                f"{_AT_ONCE} at once, p95: {what}",
                together[what].p95,
                "ms",
                baseline=together["bare"].p95,
                beside=f"{_AT_ONCE} bare ones",
                ratio_at_most=at_most,
            )
        )
    return Section(
        "Hooks",
        (*figures, *_day(bench)),
        (
            "Whole processes, from their start to their end, bytecode compiled; the event on standard input.",
            f"The day: 3 sessions, 2 compactions and 5 subagents, in a project of {_DAY_ITEMS:,} items, by o200k_base.",
        ),
    )


def _project(bench: Bench, size: int) -> Path:
    """Return a project's folder with a copy of the store of so many records."""
    folder = bench.folder / f"project-{size}"
    (folder / ".satchel").mkdir(parents=True, mode=0o700)
    with open_kept("project", size, bench, fill, clock=lambda: LATER) as kept:
        file = kept.place.file
    shutil.copyfile(file, folder / ".satchel" / "satchel.db")
    (folder / ".satchel" / "satchel.db").chmod(0o600)
    return folder


def _environment(home: Path) -> dict[str, str]:
    own = {name: value for name, value in clean_environment().items() if not name.startswith(("XDG_", "CLAUDE"))}
    return own | {
        "HOME": str(home),
        "SATCHEL_TRUST": "1",
        "SATCHEL_PROJECT": "bench",
        "SATCHEL_HOOKS_DEADLINE_MS": "60000",  # what it takes is measured, not cut off
    }


def _timer(make: Callable[[], list[str | bytes]], environ: Mapping[str, str], times: int) -> _Run:
    return lambda _: _at_once([make() for _ in range(times)], environ)


def _at_once(commands: list[list[str | bytes]], environ: Mapping[str, str]) -> None:
    """Run commands at once, each with what stands last on its standard input, and wait for the last."""
    running = []
    for *command, event in commands:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=dict(environ))
        assert process.stdin is not None
        assert isinstance(event, bytes)
        process.stdin.write(event)
        process.stdin.close()
        running.append(process)
    for process in running:
        process.wait()


def _day(bench: Bench) -> list[Figure]:
    """Play three sessions with two compactions and five subagents; return what they were given."""
    file = _project(bench, _DAY_ITEMS) / ".satchel" / "satchel.db"
    told: list[tuple[Moment, int]] = []
    numbers = count()

    def put_in(session: str, moment: Moment) -> None:
        caller = Caller.of_hook({}, "claude", session, begins=moment is START)
        environ, clock = {"SATCHEL_TRUST": "1"}, lambda: LATER + next(numbers)
        with open_satchel(file, "bench", caller=caller, clock=clock, environ=environ) as satchel:
            agent = f"agent-{next(numbers)}" if moment is SUBAGENT else None
            made = satchel.moments.make(moment, Deadline(60_000), agent_id=agent)
            satchel.moments.record(moment, made)
            told.append((moment, token_counter().count(made.text)))

    for session, moments in (
        ("s1", (START, SUBAGENT, SUBAGENT, COMPACTION)),
        ("s2", (START, SUBAGENT, COMPACTION, SUBAGENT)),
        ("s3", (START, SUBAGENT)),
    ):
        for moment in moments:
            put_in(session, moment)
    budgets = {moment.name: budget for moment, budget in ((START, 600), (COMPACTION, 900), (SUBAGENT, 400))}
    used = min(tokens / budgets[moment.name] for moment, tokens in told)
    return [
        Figure("a day's briefings", sum(tokens for _, tokens in told), "tokens", at_most=_DAY_TOKENS),
        Figure("the least part of its budget that one uses", used, "", at_least=_LEAST_USED),
    ]
