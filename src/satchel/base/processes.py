"""Processes of this machine: who started this one, and whether one is still running."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import cache

from satchel.base.machine import seen_by_caller
from satchel.base.records import dataclass

_NAMESPACE = "/proc/self/ns/pid"
_HAS_PROC = os.path.exists(_NAMESPACE)  # noqa: PTH110 -- keeps pathlib out of the start

# The most ancestors to follow.
_MOST = 64

# The states of ended processes in proc(5).
_OVER = frozenset({b"Z", b"X", b"x"})

# Programs that start another one and wait for it.
_WRAPPERS = frozenset({"env", "nice", "nohup", "npx", "setsid", "stdbuf", "timeout", "uv", "uvx"})

_SHELLS = frozenset({"ash", "bash", "dash", "fish", "ksh", "sh", "zsh"})

# Shell options that take a value.
_WITH_VALUE = (["-o"], ["+o"], ["-O"], ["+O"], ["--rcfile"], ["--init-file"])


@dataclass(frozen=True, slots=True)
class Process:
    """A process, distinguishable from a later one with the same number.

    Attributes:
        started: when it started, in a unit of the machine.
    """

    pid: int
    started: int


def find(pid: int) -> Process | None:
    """Return the process with a number, or None if it does not exist or is not visible."""
    result = _read_process(pid)
    return None if result is None else result[0]


@seen_by_caller(unknown=None)
def own() -> Process | None:
    return find(os.getpid())


@seen_by_caller(unknown=None)
def is_alive(process: Process) -> bool | None:
    """Return whether a process runs; None if its machine did not say."""
    return find(process.pid) == process


@seen_by_caller(unknown=())
def ancestors() -> tuple[tuple[Process, str], ...]:
    """Return the ancestors of this process, the nearest first, each with the name of its program."""
    above: list[tuple[Process, str]] = []
    pid = os.getppid()
    while len(above) < _MOST and pid > 1 and (result := _read_process(pid)) is not None:
        process, name, pid = result
        above.append((process, name))
    return tuple(above)


def has_terminal() -> bool:
    """Return whether this process has a terminal, wherever its input and output go."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


@seen_by_caller(unknown=None)
def find_client(programs: tuple[str, ...] = ()) -> Process | None:
    """Return the program that started this one, skipping wrappers such as ``uvx`` and ``sh -c``.

    The nearest ancestor named in ``programs`` wins over any other. Returns None if it is unknown, or if a person
    started this process from a shell, which serves many purposes.
    """
    above = ancestors()
    known_program = next((process for process, name in above if name in programs), None)
    if known_program is not None:
        return known_program
    for process, name in above:
        if name in _SHELLS:
            arguments = _arguments(process.pid)
            if _is_interactive(arguments):
                return None
            if not _has_command(arguments):
                return process
        elif name not in _WRAPPERS:
            return process
    return None


def parent_watch() -> Callable[[], bool]:
    """Return a function that tells whether the parent of this process has ended, or the client that waits for it."""
    parent, client = os.getppid(), find_client()
    return lambda: os.getppid() != parent or (client is not None and find(client.pid) != client)


@seen_by_caller(unknown=None)
def machine() -> str | None:
    """Return a name for the visible set of processes: the boot of the machine and the container; None if unknown."""
    return _machine()


@cache
def _machine() -> str | None:
    if _HAS_PROC:
        try:
            boot = _content("/proc/sys/kernel/random/boot_id").decode("ascii").strip()
            return f"{boot} {os.readlink(_NAMESPACE)}"  # noqa: PTH115 -- no path: pid:[4026531836]
        except OSError:
            return None
    import psutil

    return f"{os.uname().nodename} {round(psutil.boot_time())}"


def _read_process(pid: int) -> tuple[Process, str, int] | None:
    # a zombie still has its number: in a container without an init, for ever
    if _HAS_PROC:
        # psutil reads the same, as a test checks, but takes long to import
        try:
            text = _content(f"/proc/{pid}/stat")
        except OSError:
            return None
        # proc(5): pid (comm) state ppid ... starttime, which is the 22nd; comm may hold anything but a NUL
        name, rest = text[text.index(b"(") + 1 : text.rindex(b")")], text[text.rindex(b")") + 2 :].split()
        return None if rest[0] in _OVER else (Process(pid, int(rest[19])), os.fsdecode(name), int(rest[1]))
    import psutil

    try:
        process = psutil.Process(pid)
        with process.oneshot():
            if process.status() in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}:
                return None
            return Process(pid, round(process.create_time() * 1_000)), process.name(), process.ppid()
    except psutil.Error:
        return None


def _has_command(arguments: Sequence[str]) -> bool:
    return any(re.fullmatch("-[a-z]*c[a-z]*", option) for option in _options(arguments))


def _is_interactive(arguments: Sequence[str]) -> bool:
    options = _options(arguments)
    return len(options) == len(arguments) - 1 and not _has_command(arguments)


def _options(arguments: Sequence[str]) -> list[str]:
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
    with open(file, "rb", buffering=0) as stream:  # noqa: PTH123 -- keeps pathlib out of the start
        return stream.readall()
