"""The shared text: a sync with nothing to do, the look that a session's start takes, and what a change costs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.harness import Bench, Section, interleave, timed
from benchmarks.start_up import satchel_command, starter
from satchel import open_satchel
from satchel.keep.decisions.records import NewDecision
from satchel.keep.shared.folder import may_be_news, place_of

_ITEMS = 1_000
_SYNC_MS = 50
_LOOK_MS = 0.1
_IDENTITY = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")


def run(bench: Bench) -> Section:
    """Share a thousand decisions, and bring them in step again and again."""
    folder = bench.folder / "project"
    folder.mkdir()
    with _own_state(bench.folder):
        _share(folder)
        return _measured(bench, folder)


def _share(folder: Path) -> None:
    _git(folder, "init", "--quiet", "--initial-branch=main")
    with open_satchel(cwd=folder, environ={}, caller="command") as satchel:
        for first in range(0, _ITEMS, 200):
            satchel.decisions.set_many(
                [
                    NewDecision(f"area.{number}", f"what was decided of area {number}", rationale="measured")
                    for number in range(first, first + 200)
                ]
            )
        satchel.shared.share(rule=["decisions"])
        _git(folder, "add", "--all")
        _git(folder, "commit", "--quiet", "--message=share")
        for _ in range(2):
            satchel.shared.sync()


def _measured(bench: Bench, folder: Path) -> Section:
    satchel = satchel_command()
    started = interleave(
        {
            "--help": starter([satchel, "--help"]),
            "sync": starter([satchel, "sync"], folder),
        },
        bench.choose(30, 6),
        warm_up=1,
    )
    with open_satchel(cwd=folder, environ={}, caller="command") as opened:
        root = str(folder)

        def write(number: int) -> None:
            opened.decisions.set("area.0", f"decided {number} times")
            opened.shared.sync()

        inside = interleave(
            {
                "look": lambda _: place_of(root, None).look,
                "asked": lambda _: may_be_news(opened.workplace, None),
                "sync": lambda _: opened.shared.sync(),
            },
            bench.choose(200, 30),
            warm_up=3,
        )
        changed = interleave({"write": write}, bench.choose(10, 3), warm_up=1)
    more = started["sync"].median - started["--help"].median
    return Section(
        "The shared text",
        (
            timed(
                f"`satchel sync` of {_ITEMS:,} items, nothing changed",
                started["sync"],
                started["--help"],
                "satchel --help",
                at_most=started["--help"].median + _SYNC_MS,
            ),
            timed("the look at folder and branches", inside["look"], at_most=_LOOK_MS),
            timed("the look, and the row that it is compared with", inside["asked"]),
            timed("the same sync in an open store", inside["sync"]),
            timed("a decision set, and its file written by sync", changed["write"]),
        ),
        (f"{more:.1f} ms more than `satchel --help`; at most {_SYNC_MS} are allowed.",),
    )


@contextmanager
def _own_state(folder: Path) -> Iterator[None]:
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    try:
        yield
    finally:
        if before is None:
            del os.environ["XDG_STATE_HOME"]
        else:
            os.environ["XDG_STATE_HOME"] = before


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *_IDENTITY, *arguments], cwd=folder, check=True, capture_output=True)
