"""Handovers from a session whose agent stored nothing to the next one of its worktree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from satchel import Satchel
from satchel.base import processes
from satchel.base.processes import Process
from satchel.brief.briefing.collecting import Deadline
from satchel.brief.moments import COMPACTION, START, PutIn
from satchel.keep.sessions.caller import Caller

if TYPE_CHECKING:
    from conftest import ManualClock

HOUR = 3_600_000
COMMITTED = "[main 1a2b3c4] Cap the pool\n 1 file changed"
ERROR = "Traceback (most recent call last):\nKeyError: 'limit'"


class Session:
    """A session of Claude Code in a project, with its process."""

    def __init__(self, satchel: Satchel, project: Path, process: Process, dead: set[Process]) -> None:
        self.satchel, self._project, self._process, self._dead = satchel, project, process, dead

    def start(self) -> PutIn:
        moments = self.satchel.moments
        made = moments.make(START, Deadline(60_000))
        moments.record(START, made)
        return made

    def edit(self, name: str) -> None:
        (self._project / name).parent.mkdir(parents=True, exist_ok=True)
        (self._project / name).write_text("x\n", encoding="utf-8")
        self.satchel.working.after_edit(str(self._project), [(name, "modified")])

    def run(self, command: str, output: str = "", *, fails: bool = False) -> None:
        working, here = self.satchel.working, str(self._project)
        if fails:
            working.command_failed(here, command, 1, output)
        else:
            working.command_succeeded(here, command, output)

    def end(self) -> None:
        self.satchel.sessions.end("exit")

    def be_killed(self) -> None:
        self._dead.add(self._process)


Begin = Callable[..., Session]


@pytest.fixture
def begin(open_in: Callable[..., Satchel], project: Path, monkeypatch: pytest.MonkeyPatch) -> Begin:
    """Begin a session in the project, or in another folder of it; its start is yet to come."""
    dead: set[Process] = set()
    begun: list[Process] = []
    monkeypatch.setattr(processes, "find_client", lambda *_: begun[-1])
    monkeypatch.setattr(processes, "is_alive", lambda process: process not in dead)

    def call(folder: Path = project, **options: Any) -> Session:
        begun.append(Process(1_000_000 + len(begun), 1))
        caller = Caller.of_hook({}, "claude", f"s{len(begun)}", begins=True)
        satchel = open_in(folder, caller=caller, **options)
        satchel.sessions.enter()
        return Session(satchel, folder, begun[-1], dead)

    return call


def handover_of(made: PutIn) -> list[str]:
    """Return the lines of the handover, without the other lines around a briefing's items."""
    lines = made.text.splitlines()
    first = next((number for number, line in enumerate(lines) if "without a scratchpad" in line), len(lines))
    others = ("you claim ", "also at work: ", "note: ", "More, and only what is new")
    return [line for line in lines[first:] if not line.startswith(others)]


def test_the_next_session_is_told_what_was_changed_committed_and_mended_and_the_last_step(
    begin: Begin, clock: ManualClock
) -> None:
    first = begin()
    first.start()
    first.edit("src/pool.py")
    first.run("cd src && pytest -q tests/test_pool.py", ERROR, fails=True)
    first.edit("tests/test_pool.py")
    first.run("cd src && pytest -q tests/test_pool.py", "2 passed")
    first.run("git commit -am 'Cap the pool'", COMMITTED)
    clock.advance(1_000)
    first.edit("docs/pool.md")
    first.end()
    clock.advance(3 * HOUR)
    made = begin().start()
    name = first.satchel.sessions.team().sessions[0].agents[0]
    assert [line.replace(name, "it") for line in handover_of(made)] == [
        "it left off (3 h ago) without a scratchpad: changed docs/pool.md, tests/test_pool.py, src/pool.py",
        'committed "Cap the pool"',
        'failed, then passed: "pytest -q tests/test_pool.py"',
        "last: edited docs/pool.md",
    ]
    assert "1 handover" in made.line


def test_a_command_that_still_fails_is_the_last_step(begin: Begin, clock: ManualClock) -> None:
    first = begin()
    first.edit("a.py")
    clock.advance(1_000)
    first.run("make", ERROR, fails=True)
    first.end()
    clock.advance(1_000)
    assert handover_of(begin().start())[-1] == "last: a command failed, x1 KeyError"


def test_a_session_that_was_killed_is_handed_over_and_one_at_work_is_not(begin: Begin, clock: ManualClock) -> None:
    first = begin()
    first.edit("a.py")
    clock.advance(1_000)
    assert handover_of(begin().start()) == []
    first.be_killed()
    clock.advance(1_000)
    assert handover_of(begin().start()) == []  # the second may have seen how the first ended
    third = begin()
    third.edit("b.py")
    third.be_killed()
    clock.advance(120_000)
    assert "changed b.py" in handover_of(begin().start())[0]


def test_it_is_told_once_and_only_at_a_start(begin: Begin, clock: ManualClock) -> None:
    first = begin()
    first.edit("a.py")
    first.end()
    clock.advance(1_000)
    second = begin()
    assert "left off" not in second.satchel.brief(dry_run=True).text
    assert handover_of(second.start()) != []
    assert "left off" not in second.satchel.moments.make(COMPACTION, Deadline(60_000)).text
    second.end()
    clock.advance(1_000)
    assert handover_of(begin().start()) == []


def test_a_scratchpad_goes_before_events_but_an_approved_plan_does_not(begin: Begin, clock: ManualClock) -> None:
    first = begin()
    first.edit("a.py")
    first.satchel.working.plan_approved("# Cap the pool\n\n1. measure")
    first.end()
    clock.advance(1_000)
    second = begin()
    assert any("without a scratchpad: changed a.py" in line for line in handover_of(second.start()))
    second.edit("b.py")
    second.satchel.entries.write("scratchpad", {"iteration": 1, "attempted": ["cap it"], "done": False})
    second.end()
    clock.advance(1_000)
    assert not any("without a scratchpad" in line for line in handover_of(begin().start()))


def test_another_worktree_is_not_handover_of(begin: Begin, clock: ManualClock, project: Path, tmp_path: Path) -> None:
    first = begin()
    first.edit("a.py")
    first.end()
    clock.advance(1_000)
    worktree = project.parent / "other"
    (project / ".git" / "worktrees" / "other").mkdir(parents=True)
    (project / ".git" / "worktrees" / "other" / "commondir").write_text("../..\n")
    (project / ".git" / "worktrees" / "other" / "gitdir").write_text(f"{worktree}/.git\n")
    worktree.mkdir()
    (worktree / ".git").write_text(f"gitdir: {project}/.git/worktrees/other\n")
    assert handover_of(begin(worktree).start()) == []
    assert handover_of(begin().start()) != []


def test_secrets_in_commands_and_subjects_are_redacted_and_settings_left_out(begin: Begin, clock: ManualClock) -> None:
    token = "ghp_a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5f6G7h8"
    first = begin()
    command = f"DB_URL=postgres://me:pw@host/db deploy --token {token}"
    first.run(command, ERROR, fails=True)
    first.run(command)
    first.run("git commit -qam x", f"[main 1a2b3c4] use {token}")
    first.end()
    clock.advance(1_000)
    text = "\n".join(handover_of(begin().start()))
    assert '"deploy --token [redacted' in text
    assert token not in text
    assert "postgres" not in text


def test_however_much_was_done_it_is_four_short_lines(begin: Begin, clock: ManualClock) -> None:
    first = begin()
    for number in range(30):
        first.edit(f"src/{'deep/' * 30}{number}.py")
        first.run(f"make {'x' * 200} {number}", ERROR, fails=True)
        first.run(f"make {'x' * 200} {number}")
        first.run(f"git commit -m {number}", f"[main 1a2b3c{number:03}] {number} {'long ' * 80}")
    first.end()
    clock.advance(1_000)
    lines = handover_of(begin().start())
    assert 1 <= len(lines) <= 4
    assert sum(map(len, lines)) < 1_800
    assert "and 25 more" in lines[0]
