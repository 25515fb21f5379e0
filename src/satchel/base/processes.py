"""Processes of this machine: who started this one, and whether one is still there."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cache

from satchel.base.machine import asked_of_caller
from satchel.base.records import dataclass

_NAMESPACE = "/proc/self/ns/pid"
_HAS_PROC = os.path.exists(_NAMESPACE)  # noqa: PTH110 -- importing pathlib takes 3 ms

_MOST = 64
"""So many ancestors are looked at."""

_OVER = frozenset({b"Z", b"X", b"x"})
"""The states of what has ended, as proc(5) writes them."""

_WRAPPERS = frozenset({"env", "nice", "nohup", "npx", "setsid", "stdbuf", "timeout", "uv", "uvx"})
"""Programs that start another one and wait for it."""

_SHELLS = frozenset({"ash", "bash", "dash", "fish", "ksh", "sh", "zsh"})

_WITH_VALUE = (["-o"], ["+o"], ["-O"], ["+O"], ["--rcfile"], ["--init-file"])
"""The options of shells that another argument belongs to."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process, named so that it is not taken for a later one with its number.

    Attributes:
        pid: its number.
        started: when it started, in a unit of the machine's own.
    """

    pid: int
    started: int


def find(pid: int) -> Process | None:
    """Return the process that has a number now, or None where there is none, or it cannot be seen."""
    found = _look_at(pid)
    return None if found is None else found[0]


@asked_of_caller()
def own() -> Process | None:
    """Return this process, or None where it cannot be seen."""
    return find(os.getpid())


@asked_of_caller(unknown=True)
def is_alive(process: Process) -> bool:
    """Whether a process is still there."""
    return find(process.pid) == process


@asked_of_caller(unknown=())
def ancestors() -> tuple[tuple[Process, str], ...]:
    """Return the processes that this one descends from, the nearest first, each with the name of its program."""
    above: list[tuple[Process, str]] = []
    pid = os.getppid()
    while len(above) < _MOST and pid > 1 and (found := _look_at(pid)) is not None:
        process, name, pid = found
        above.append((process, name))
    return tuple(above)


@asked_of_caller()
def find_client(programs: tuple[str, ...] = ()) -> Process | None:
    """Return the program that started this one, past wrappers such as ``uvx`` and ``sh -c``.

    Args:
        programs: the names of a program that is known to be above this one: the nearest of them is it, whatever else
            stands between.

    Returns:
        None where it is not known, and where a person started this one from a shell, which serves many things.
    """
    above = ancestors()
    named = next((process for process, name in above if name in programs), None)
    if named is not None:
        return named
    for process, name in above:
        if name in _SHELLS:
            arguments = _arguments(process.pid)
            if _is_interactive(arguments):
                return None
            if not _is_given_a_command(arguments):
                return process
        elif name not in _WRAPPERS:
            return process
    return None


@asked_of_caller()
def machine() -> str | None:
    """Return what names the processes that this one can see: the machine since it started, and the container in it.

    None where that is not known.
    """
    return _machine()


@cache
def _machine() -> str | None:
    if _HAS_PROC:
        try:
            boot = _content("/proc/sys/kernel/random/boot_id").decode("ascii").strip()
            return f"{boot} {os.readlink(_NAMESPACE)}"  # noqa: PTH115 -- as in pid:[4026531836]
        except OSError:
            return None
    import psutil

    return f"{os.uname().nodename} {round(psutil.boot_time())}"


def _look_at(pid: int) -> tuple[Process, str, int] | None:
    """Return a process, the name of its program, and the number of what started it; None for one that has ended.

    What nobody waited for after it ended still has its number: in a container without an init, for ever.
    """
    if _HAS_PROC:
        # what psutil reads too, as a test compares; measured, importing it takes 30 ms of a command
        try:
            text = _content(f"/proc/{pid}/stat")
        except OSError:
            return None
        # proc(5): pid (comm) state ppid ... starttime, which is the 22nd; comm may hold anything but a NUL
        name, rest = text[text.index(b"(") + 1 : text.rindex(b")")], text[text.rindex(b")") + 2 :].split()
        return None if rest[0] in _OVER else (Process(pid, int(rest[19])), os.fsdecode(name), int(rest[1]))
    import psutil

    try:
        found = psutil.Process(pid)
        with found.oneshot():
            if found.status() in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}:
                return None
            return Process(pid, round(found.create_time() * 1_000)), found.name(), found.ppid()
    except psutil.Error:
        return None


def _is_given_a_command(arguments: Sequence[str]) -> bool:
    """Whether a shell was started for one command, as by ``bash -lc``; a script is what another one serves."""
    return any(re.fullmatch("-[a-z]*c[a-z]*", option) for option in _options(arguments))


def _is_interactive(arguments: Sequence[str]) -> bool:
    """Whether a shell has neither a command nor a script."""
    options = _options(arguments)
    return len(options) == len(arguments) - 1 and not _is_given_a_command(arguments)


def _options(arguments: Sequence[str]) -> list[str]:
    """Return the options of a shell before its script or command, with the values of those that have one."""
    options: list[str] = []
    for argument in arguments[1:]:
        if not argument.startswith(("-", "+")) and options[-1:] not in _WITH_VALUE:
            break
        options.append(argument)
    return options


def _arguments(pid: int) -> list[str]:
    if _HAS_PROC:
        try:
            return os.fsdecode(_content(f"/proc/{pid}/cmdline")).split("\0")[:-1]
        except OSError:
            return []
    import psutil

    try:
        arguments: list[str] = psutil.Process(pid).cmdline()
    except psutil.Error:
        return []
    return arguments


def _content(file: str) -> bytes:
    with open(file, "rb", buffering=0) as stream:  # noqa: PTH123 -- importing pathlib takes 3 ms
        return stream.readall()
