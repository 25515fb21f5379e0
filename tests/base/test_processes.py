"""Processes as /proc shows them, beside psutil, and which of them is the client that started another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from satchel.base import processes
from satchel.base.processes import Process
from satchel.base.records import replace
from tables import in_one_test

LOOK = """
import json, os
from satchel.base import processes
client = processes.find_client(tuple(json.loads(os.environ.get("PROGRAMS", "[]"))))
print(json.dumps([None if client is None else client.pid, [[p.pid, name] for p, name in processes.ancestors()]]))
"""
"""What a process prints that looks at those above it."""

on_linux = pytest.mark.skipif(not processes._HAS_PROC, reason="there is no /proc here")


@pytest.fixture
def child() -> Iterator[subprocess.Popen[str]]:
    """A process that ends when its input does."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """What looks at the processes above it."""
    file = tmp_path / "look.py"
    file.write_text(LOOK)
    return file


def named(folder: Path, name: str) -> str:
    """Return a program of some name that runs the command it is given as its child."""
    program = folder / name
    program.write_text('#!/bin/sh\n"$@"\nexit $?\n')
    program.chmod(0o755)
    return str(program)


def look(*command: str, said: str | None = None, **variables: str) -> tuple[int | None, list[list[object]]]:
    """Run a command that looks at the processes above it; return its client's number, and all that are above it."""
    done = subprocess.run(
        command, input=said, capture_output=True, text=True, check=True, env={**os.environ, **variables}
    )
    client, above = json.loads(done.stdout)
    return client, above


def with_psutil(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_HAS_PROC", False)


def test_a_process_is_found_by_its_number_while_it_runs(child: subprocess.Popen[str]) -> None:
    found = processes.find(child.pid)
    assert found is not None
    assert found.pid == child.pid
    assert processes.find(child.pid) == found
    assert processes.is_alive(found)
    child.communicate("")
    assert processes.find(child.pid) is None
    assert not processes.is_alive(found)


def test_what_has_ended_is_gone_although_nobody_waited_for_it(child: subprocess.Popen[str]) -> None:
    found = processes.find(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE
    assert found is not None
    assert not processes.is_alive(found)
    assert processes.find(child.pid) is None


def test_a_later_process_with_the_same_number_is_another(child: subprocess.Popen[str]) -> None:
    found = processes.find(child.pid)
    assert found is not None
    assert not processes.is_alive(replace(found, started=found.started - 1))
    assert not processes.is_alive(replace(found, started=found.started + 1))


def test_two_processes_are_never_the_same() -> None:
    assert processes.find(os.getpid()) != processes.find(os.getppid())


@in_one_test("number", [0, -1, 2**31 - 1, 2**63])
def test_a_number_that_no_process_has(number: int) -> None:
    assert processes.find(number) is None


@on_linux
def test_it_sees_what_psutil_sees(child: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ours, here = processes.find(child.pid), list(processes.ancestors())
    chain = [(process.pid, name) for process, name in here]
    theirs = [(one.pid, one.name()[:15]) for one in psutil.Process().parents() if one.pid > 1]
    assert [pid for pid, _ in chain] == [pid for pid, _ in theirs]
    assert [name[:15] for _, name in chain] == [name for _, name in theirs]
    assert ours is not None
    tick = os.sysconf("SC_CLK_TCK")
    assert ours.started / tick + psutil.boot_time() == pytest.approx(psutil.Process(child.pid).create_time(), abs=1)
    with_psutil(monkeypatch)
    assert [process.pid for process, _ in processes.ancestors()] == [pid for pid, _ in chain]
    other = processes.find(child.pid)
    assert other is not None
    assert processes.is_alive(other)
    assert not processes.is_alive(replace(other, started=other.started + 1))


def test_without_proc_what_has_ended_is_gone_too(child: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with_psutil(monkeypatch)
    found = processes.find(child.pid)
    assert found is not None
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not processes.is_alive(found)
    child.wait()
    assert not processes.is_alive(found)


@on_linux
def test_the_name_of_a_program_may_hold_what_its_line_is_parted_by(tmp_path: Path, script: Path) -> None:
    program = named(tmp_path, "a) S 1 (b")
    assert look(program, sys.executable, str(script))[1][0][1] == "a) S 1 (b"


def test_this_machine_has_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert processes.machine()
    assert processes.machine() == processes.machine()
    processes._machine.cache_clear()
    with_psutil(monkeypatch)
    assert processes.machine()
    processes._machine.cache_clear()


def test_who_starts_a_program_is_its_client(script: Path) -> None:
    client, above = look(sys.executable, str(script))
    assert client == os.getpid()
    assert above[0][0] == os.getpid()


@pytest.mark.parametrize("wrapper", ["env", "nice", "npx", "timeout", "uv", "uvx"])
def test_a_wrapper_is_passed_over(tmp_path: Path, script: Path, wrapper: str) -> None:
    client, above = look(named(tmp_path, wrapper), sys.executable, str(script))
    assert client == os.getpid()
    assert above[0][1] == wrapper
    assert above[0][0] != os.getpid()


@pytest.mark.parametrize(
    "shell", [["sh", "-c"], ["bash", "-c"], ["bash", "-lc"], ["bash", "-l", "-c"], ["bash", "-o", "pipefail", "-ec"]]
)
def test_a_shell_that_was_given_a_command_is_passed_over(script: Path, shell: list[str]) -> None:
    # what follows keeps the shell from becoming the program
    client, above = look(*shell, f'"{sys.executable}" "{script}"; true')
    assert client == os.getpid()
    assert above[0][1] == shell[0]
    assert above[0][0] != os.getpid()


@pytest.mark.parametrize("arguments", [[], ["-c"], ["-x", "--login"]])
def test_a_shell_that_runs_a_script_is_a_client(tmp_path: Path, script: Path, arguments: list[str]) -> None:
    file = tmp_path / "script.sh"
    file.write_text(f'"{sys.executable}" "{script}"\nexit 0\n')
    client, above = look("bash", str(file), *arguments)
    assert client == above[0][0]
    assert client != os.getpid()


@pytest.mark.parametrize("options", [["-s"], ["--norc", "-i"], ["-O", "extglob"]])
def test_a_shell_in_which_a_person_types_is_no_client(script: Path, options: list[str]) -> None:
    client, above = look("bash", *options, said=f'"{sys.executable}" "{script}"\nexit 0\n')
    assert above[0][1] == "bash"
    assert client is None


def test_a_program_that_is_known_to_be_above_is_the_client(tmp_path: Path, script: Path) -> None:
    inner = [named(tmp_path, "make"), "bash", "-c", f'"{sys.executable}" "{script}"; true']
    without, above = look(*inner)
    assert without == above[1][0]
    client, above = look(named(tmp_path, "claude"), *inner, PROGRAMS='["codex", "claude"]')
    assert (client, "claude") == (above[2][0], above[2][1])
    client, above = look(named(tmp_path, "claude-helper"), *inner, PROGRAMS='["codex", "claude"]')
    assert client == above[1][0]


def test_a_process_is_a_plain_value() -> None:
    assert Process(1, 2) == Process(1, 2)
    assert {Process(1, 2): 3}[Process(1, 2)] == 3
