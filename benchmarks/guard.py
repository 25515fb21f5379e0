"""What runs at each commit and at each prompt, beside a bare interpreter: the guard, and the line of a prompt."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest.mock import patch

from benchmarks.harness import Bench, Figure, NotMeasuredError, Samples, Section, interleave, timed
from benchmarks.start_up import clean_environment, satchel_command
from satchel import open_satchel
from satchel.base import processes
from satchel.interfaces.cli.commands.guard import find_hook, script
from satchel.keep.sessions.caller import SERVER

_LINE_RATIO = 3
_MANY = 10_000
_GIT = ("git", "-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false")
_TRIED = ("rewrite the parser by hand", "raise the timeout to a minute", "mock the whole network")


def run(bench: Bench) -> Section:
    """Start the line and the guard in turn with a bare interpreter, and commit with and without the guard."""
    satchel = satchel_command()
    environment = clean_environment() | {
        "HOME": str(bench.folder),
        "XDG_STATE_HOME": str(bench.folder / "state"),
        "XDG_CONFIG_HOME": str(bench.folder / "config"),
    }
    nothing = bench.folder / "nothing"
    (nothing / ".git").mkdir(parents=True)
    quiet, claimed, stuck = (_make(bench.folder / name, satchel, environment) for name in ("quiet", "claimed", "stuck"))
    _work(quiet, environment, [])
    _work(claimed, environment, ["many/"])
    _work(stuck, environment, [], _TRIED)
    bench.progress.say("the guard and the line")
    line, guard = [satchel, "who", "--line"], [satchel, "guard", "run"]
    for folder, said in ((quiet, "3 at work, 2 unread"), (stuck, "3 at work, 1 stuck, 2 unread"), (nothing, "")):
        printed = subprocess.run(line, cwd=folder, env=environment, check=True, capture_output=True, text=True)
        if printed.stdout.strip() != said:
            raise NotMeasuredError(f"the line is {printed.stdout!r} where it should be {said!r}")
    _stage(quiet, 1)
    _stage(claimed, bench.choose(_MANY, 100))
    alone = interleave(
        {
            "bare": _starter([sys.executable, "-c", "pass"], environment, bench.folder),
            "line": _starter(line, environment, quiet),
            "stuck": _starter(line, environment, stuck),
            "nothing": _starter(line, environment, nothing),
            "guard": _starter(guard, environment, quiet),
            "many": _starter(guard, environment, claimed),
        },
        bench.choose(40, 5),
    )
    commits = interleave(
        {
            "with": _starter([*_GIT, "commit", "--quiet", "--allow-empty", "-m", "x"], environment, quiet),
            "without": _starter([*_GIT, "commit", "--quiet", "--allow-empty", "-n", "-m", "x"], environment, quiet),
        },
        bench.choose(20, 3),
    )
    beside = "python -c pass"

    def shown(what: str, samples: Samples, ratio: float | None = None) -> Figure:
        return timed(what, samples, alone["bare"], beside, ratio_at_most=ratio)

    return Section(
        "The guard and the line",
        (
            shown("`satchel who --line`: 3 at work, 2 unread", alone["line"], _LINE_RATIO),
            shown("... without a store", alone["nothing"], _LINE_RATIO),
            shown("... with a loop of three scratchpads", alone["stuck"]),
            shown("`satchel guard run`, one file, nothing claimed", alone["guard"]),
            shown(f"... {bench.choose(_MANY, 100):,} files, all claimed by another", alone["many"]),
            timed("a commit with the guard", commits["with"], commits["without"], "the same with --no-verify"),
        ),
        ("Wall time of whole processes in git repositories with small stores, bytecode compiled.",),
    )


def _make(folder: Path, satchel: str, environment: dict[str, str]) -> Path:
    """Make a repository with a store and the guard."""
    folder.mkdir()
    for command in ([*_GIT, "init", "--quiet"], [*_GIT, "commit", "--quiet", "--allow-empty", "-m", "first"]):
        subprocess.run(command, cwd=folder, env=environment, check=True)
    subprocess.run([satchel, "init"], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    hook = find_hook(folder).path
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(script(satchel), encoding="utf-8")
    hook.chmod(0o755)
    return folder


def _work(folder: Path, environment: dict[str, str], claims: list[str], tried: tuple[str, ...] = ()) -> None:
    """Let three sessions work, one of which claims files or fails, and two messages wait for a person."""
    for agent in ("ann", "ben", "cat"):
        with (
            patch.dict(os.environ, environment),
            open_satchel(cwd=folder, environ={}, caller=SERVER, agent=agent) as opened,
        ):
            opened.entries.write("discovery", f"a note of {agent}")
            if agent != "ann":
                opened.messages.send("look", to="human")
                continue
            if claims:
                opened.files.claim(claims)
            for number, attempt in enumerate(tried, 1):
                pad = {"iteration": number, "done": False, "test_status": "failing", "attempted": [attempt]}
                opened.entries.write("scratchpad", pad)
    own = processes.find(os.getpid())
    assert own is not None
    with (
        patch.dict(os.environ, environment),
        open_satchel(cwd=folder, environ={}) as opened,
        opened.workplace.engine.write() as transaction,
    ):
        values = {"pid": own.pid, "started": own.started}
        transaction.execute("UPDATE sessions SET process = :pid, process_started = :started", values)


def _starter(command: Sequence[str], environment: dict[str, str], folder: Path) -> Callable[[int], object]:
    """Return what runs a command to its end, whatever it prints."""
    return lambda _: subprocess.run(command, env=environment, cwd=folder, capture_output=True, check=True)


def _stage(folder: Path, files: int) -> None:
    (folder / "many").mkdir()
    for number in range(files):
        (folder / "many" / f"{number}.txt").touch()
    subprocess.run([*_GIT, "add", "many"], cwd=folder, check=True)
