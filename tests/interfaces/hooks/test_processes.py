"""Hooks as clients run them: processes of their own, many at once, and none that stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest

from interfaces.hooks.conftest import RULE, context
from satchel import Satchel, open_satchel
from satchel.interfaces.hooks import state

pytestmark = pytest.mark.slow

_HOOK = [sys.executable, "-m", "satchel", "hook", "claude"]
_PATIENT = """\
from satchel.interfaces.hooks import state
state._SAME_MS, state._LOCK_TRIES = 600_000, 10_000
from satchel.interfaces.entry import main
main()
"""
"""A hook that takes what it hears for the same, and waits for others who look, also where each takes seconds."""


@pytest.fixture
def real(own_state: None, project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a rule in a store of its own, and a home in which nothing is configured."""
    monkeypatch.setenv("HOME", str(project.parent))
    with open_satchel(cwd=project) as satchel:
        satchel.constraints.add(RULE, priority="critical", agent="ann")
    return project


def start(project: Path, name: str, *, is_patient: bool = False, **fields: Any) -> subprocess.Popen[bytes]:
    """Start a hook and hand it its event."""
    program = [sys.executable, "-c", _PATIENT, "hook", "claude"] if is_patient else _HOOK
    event = {"session_id": "s1", "cwd": str(project), "hook_event_name": name, **fields}
    process = subprocess.Popen(
        [*program, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=project
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(event).encode())
    process.stdin.close()
    process.stdin = None
    return process


def end(process: subprocess.Popen[bytes]) -> dict[str, Any] | None:
    """Return what a hook printed; it ended well and said nothing else."""
    printed, said = process.communicate(timeout=110)
    assert (process.returncode, said) == (0, b"")
    return json.loads(printed) if printed else None


def sessions(project: Path) -> tuple[Any, ...]:
    with open_satchel(cwd=project) as satchel:
        return satchel.sessions.team(all=True).sessions


def claimed(project: Path) -> list[str]:
    with open_satchel(cwd=project) as satchel:
        return [claim.path for claim in satchel.files.claims()]


def test_a_session_begins_briefed_and_ends(real: Path) -> None:
    assert RULE in context(end(start(real, "SessionStart", is_patient=True, source="startup")))
    assert end(start(real, "SessionStart", is_patient=True, source="startup")) is None
    assert end(start(real, "SessionEnd", reason="other")) is None
    (session,) = sessions(real)
    assert session.ended_at is not None


def test_fifty_at_once_are_all_briefed_and_each_is_a_session(real: Path) -> None:
    started = [start(real, "SessionStart", source="startup", session_id=f"s{number}") for number in range(50)]
    texts = [context(end(one)) for one in started]
    assert all(RULE in text for text in texts)
    # a hook that did not get its turn in 50 ms is briefed without a session
    assert len({text.splitlines()[0] for text in texts if "You are" in text.splitlines()[0]}) == len(sessions(real))


def test_of_the_same_event_told_many_times_at_once_one_is_answered(real: Path) -> None:
    started = [start(real, "SessionStart", is_patient=True, source="startup") for _ in range(8)]
    assert [answer is not None for answer in map(end, started)].count(True) == 1


def test_a_store_that_another_process_keeps_locked_is_briefed_from(real: Path, open_in: Callable[..., Satchel]) -> None:
    with open_in(real).workplace.engine.write() as transaction:
        transaction.run("UPDATE store SET min_reader = min_reader")
        assert RULE in context(end(start(real, "SessionStart", source="startup")))


def test_an_event_is_answered_while_its_pipe_stays_open(real: Path) -> None:
    process = subprocess.Popen([*_HOOK, "SessionStart"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=real)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps({"session_id": "s1", "cwd": str(real), "source": "startup"}).encode())
    process.stdin.flush()
    assert RULE in context(json.loads(process.stdout.read()))
    assert process.wait(timeout=110) == 0
    process.stdin.close()
    process.stdout.close()


@pytest.mark.parametrize("begin", [b"", b'{"session_id": "s1", "prompt'])
def test_an_event_that_never_ends_is_given_up(real: Path, monkeypatch: pytest.MonkeyPatch, begin: bytes) -> None:
    monkeypatch.setenv("SATCHEL_HOOKS_DEADLINE_MS", "50")
    process = subprocess.Popen([*_HOOK, "SessionStart"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=real)
    assert process.stdin is not None
    process.stdin.write(begin)
    process.stdin.flush()
    assert process.wait(timeout=110) == 0
    assert process.stdout is not None
    assert process.stdout.read() == b""
    process.stdout.close()
    process.stdin.close()
    (fault,) = state.faults(0)
    assert (fault.problem, fault.folder) == ("it took longer than 50 ms and was ended", str(real))


def test_a_client_that_has_gone_is_no_fault(real: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    event: IO[bytes]
    with (real / "event.json").open("w+b") as event:
        event.write(json.dumps({"session_id": "s1", "cwd": str(real)}).encode())
        event.seek(0)
        process = subprocess.Popen([*_HOOK, "SessionStart"], stdin=event, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert process.stderr is not None
    assert (process.wait(timeout=110), process.stderr.read()) == (0, b"")
    process.stderr.close()
    assert state.faults(0) == []


_CLIENT = """
import subprocess, sys
for line in sys.stdin:
    client, event, data = line.split(" ", 2)
    command = [sys.executable, "-m", "satchel", "hook", client, event]
    printed = subprocess.run(command, input=data.encode(), stdout=subprocess.PIPE, check=True).stdout
    sys.stdout.write((printed.decode() or "{}") + "\\n")
    sys.stdout.flush()
"""


class RealClient:
    """A process that runs hooks as a client does, until it is killed."""

    def __init__(self, client: str, project: Path) -> None:
        self.client, self.project = client, project
        self.process = subprocess.Popen(
            [sys.executable, "-c", _CLIENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=project, text=True
        )

    def hear(self, event: str, **fields: Any) -> dict[str, Any]:
        told = {"session_id": self.client, "cwd": str(self.project), "hook_event_name": event, **fields}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{self.client} {event} {json.dumps(told)}\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert isinstance(answer, dict)
        return answer

    def edit(self) -> dict[str, Any]:
        return self.hear("PreToolUse", tool_name="Edit", tool_use_id="t", tool_input={"file_path": "a.py"})

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def test_what_a_client_that_was_killed_has_claimed_is_taken_over(real: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_HOOKS_DEADLINE_MS", "60000")
    first, second = RealClient("claude", real), RealClient("codex", real)
    try:
        for one in (first, second):
            one.hear("SessionStart", source="startup")
        assert first.edit() == {}
        assert "is editing a.py too" in context(second.edit())
        first.kill()
        assert "a.py is taken over from claude-" in context(second.edit())
    finally:
        first.kill()
        second.kill()
    with open_satchel(cwd=real) as satchel:
        (claim,) = satchel.files.claims().items
    assert claim.agent.startswith("codex-")


def test_in_an_app_server_only_the_named_conversation_ends_and_its_next_event_revives_it(
    real: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SATCHEL_HOOKS_DEADLINE_MS", "60000")
    patch = {
        "tool_name": "apply_patch",
        "tool_input": {"command": "*** Begin Patch\n*** Add File: a.py\n*** End Patch"},
    }
    server = RealClient("codex", real)
    try:
        server.hear("SessionStart", session_id="t1", source="startup")
        server.hear("PreToolUse", session_id="t1", tool_use_id="1", **patch)
        server.hear("SessionStart", session_id="t2", source="startup")
        server.hear("SessionEnd", session_id="never started", reason="other")
        server.hear("SessionEnd", session_id="t2", reason="other")
        assert sorted(one.ended_at is None for one in sessions(real)) == [False, True]
        assert claimed(real) == ["a.py"]
        server.hear("SessionEnd", session_id="t1", reason="other")
        assert claimed(real) == []
        server.hear("PostToolUse", session_id="t1", tool_use_id="2", tool_name="Bash", tool_input={"command": "ls"})
        assert sorted(one.ended_at is None for one in sessions(real)) == [False, True]
        assert claimed(real) == ["a.py"]
    finally:
        server.kill()


def test_nothing_stays_behind(real: Path) -> None:
    end(start(real, "SessionStart", source="startup"))
    mine = f"{real}".encode()
    running = []
    for entry in Path("/proc").iterdir() if Path("/proc").is_dir() else ():
        if entry.name.isdigit():
            try:
                command, folder = (entry / "cmdline").read_bytes(), (entry / "cwd").readlink()
            except OSError:
                continue
            if b"satchel\0hook" in command and bytes(folder) == mine:
                running.append(command)
    assert running == []


def test_a_home_that_cannot_be_written_is_no_hindrance(real: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # a file where the state folder would be: also root cannot make anything below it
    elsewhere = real.parent / "file"
    elsewhere.write_text("no folder")
    monkeypatch.setenv("SATCHEL_TRUST", "1")
    monkeypatch.setenv("XDG_STATE_HOME", str(elsewhere))
    assert RULE in context(end(start(real, "SessionStart", source="startup")))


def test_a_program_that_is_being_upgraded_shows_the_client_nothing(real: Path) -> None:
    program = (
        "import sys; sys.modules['satchel.interfaces.hooks.command'] = None; "
        "sys.argv = ['satchel', 'hook', 'claude', 'SessionStart']; from satchel.interfaces.entry import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", program], input=b"{}", cwd=real, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
