"""How long it takes until something runs: the import, and whole commands."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.content import PLAIN, notes, open_filled, sqlite_of
from benchmarks.harness import Bench, Figure, NotMeasuredError, Samples, Section, interleave, timed
from satchel import open_satchel

_COMMAND_LINE_MS = 100
_TRUST_MS = 0.3


def run(bench: Bench) -> Section:
    """Start each command in turn with a bare interpreter."""
    satchel = satchel_command()
    file = bench.folder / "store.db"
    open_filled(file, notes(200)).close()
    started = interleave(
        {
            "bare": starter([sys.executable, "-c", "pass"]),
            "import": starter([sys.executable, "-c", "import satchel"]),
            "--version": starter([satchel, "--version"]),
            "--help": starter([satchel, "--help"]),
            "read": starter([satchel, "read", "--db", str(file), "--project", "bench", "--run", "bench"]),
            "write": starter(
                [satchel, "write", "discovery", "x", "--db", str(file), "--project", "bench", "--run", "bench"]
            ),
        },
        bench.choose(30, 6),
        warm_up=1,
    )
    opened = _openings(bench)
    bare = started["bare"]
    beside = "python -c pass"
    commands = ("--version", "--help", "read", "write")
    bench.progress.say("satchel tour")
    return Section(
        "Start-up",
        (
            timed("`import satchel`", started["import"], bare, beside),
            *(timed(f"`satchel {name}`", started[name], bare, beside, at_most=_COMMAND_LINE_MS) for name in commands),
            timed("opening a listed store, one read", opened["listed"], opened["unchecked"], "no trust asked"),
            Figure(
                "of it for trust",
                opened["listed"].median - opened["unchecked"].median,
                "ms",
                at_most=_TRUST_MS,
            ),
            timed("`satchel tour`, end to end", _tour(satchel, bench.choose(3, 1))),
        ),
        ("Wall time of whole processes, bytecode already compiled; `read` prints 20 of 200 entries.",),
    )


def _openings(bench: Bench) -> dict[str, Samples]:
    """Open a store that is on a list of its own, and the same without asking whether it may be trusted."""
    folder = bench.folder / "listed"
    (folder / ".git").mkdir(parents=True)
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(bench.folder / "state")

    def opening(trusted: bool) -> Callable[[int], object]:
        def run(_: int) -> None:
            with open_satchel(cwd=folder, environ={}) as satchel:
                if not trusted:
                    sqlite_of(satchel).trust = None
                satchel.entries.read(limit=1)

        return run

    try:
        with open_satchel(cwd=folder, environ={}, agent="bench") as satchel:
            satchel.entries.write("discovery", "x")
        return interleave({"listed": opening(True), "unchecked": opening(False)}, bench.choose(400, 50), warm_up=5)
    finally:
        if before is None:
            del os.environ["XDG_STATE_HOME"]
        else:
            os.environ["XDG_STATE_HOME"] = before


def satchel_command() -> str:
    """Return the installed command.

    Raises:
        NotMeasuredError: it is not installed beside this interpreter.
    """
    command = Path(sys.executable).parent / "satchel"
    if not command.is_file():
        raise NotMeasuredError("the satchel command is not installed in this environment")
    return str(command)


def clean_environment() -> dict[str, str]:
    """Return the environment of a plain install, without what configures Satchel or keeps bytecode from being written.

    Where ``PYTHONDONTWRITEBYTECODE`` is set, as in some containers, every start compiles all modules anew.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("SATCHEL_") and name != "PYTHONDONTWRITEBYTECODE"
    } | PLAIN


def _tour(satchel: str, rounds: int) -> Samples:
    return interleave({"tour": starter([satchel, "tour"])}, rounds)["tour"]


def starter(command: list[str], folder: Path | None = None) -> Callable[[int], object]:
    """Return what runs a command in a folder, and waits for it."""
    environment = clean_environment()
    return lambda _: subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True, cwd=folder)
