"""The tour: starts real servers and hooks over a temporary store, and prints each step."""

from __future__ import annotations

import os
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path

import click

from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass
from satchel.interfaces.cli.tour.client import ToolClient
from satchel.interfaces.cli.tour.scenes import Act, keep_apart, learn, share, work_as_team
from satchel.interfaces.cli.tour.sessions import HookSession

_COLOURS = {"builder": "cyan", "reviewer": "magenta", "codex": "green", "claude": "yellow"}
_FILE = "src/report.py"
_PROJECT = "tour"
_WRAPPER = textwrap.TextWrapper(100, initial_indent=" " * 6, subsequent_indent=" " * 8, break_on_hyphens=False)


@dataclass(frozen=True, slots=True)
class TourResult:
    """The result of the tour.

    Attributes:
        store: the path of the saved store, or None.
    """

    share: tuple[Act, ...]
    team: tuple[Act, ...]
    apart: tuple[Act, ...]
    lesson: tuple[Act, ...]
    seconds: float
    store: Path | None


def guide(keep: Path | None, say: Callable[[str], None]) -> TourResult:
    """Run the tour."""
    started = time.monotonic()
    if keep is not None and keep.exists():
        raise InvalidInput(f"{keep} exists already", "Name a new file for the tour's store")

    def play(number: int, title: str, scene: Iterable[Act]) -> tuple[Act, ...]:
        say(click.style(f"{number}. {title}", bold=True))
        acts: list[Act] = []
        for act in scene:
            acts.append(act)
            say(f"   {click.style(f'{act.agent}: ', fg=_COLOURS[act.agent])}{act.action}")
            for line in act.answer.splitlines():
                say(_WRAPPER.fill(line))
        return tuple(acts)

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="satchel-tour-")))
        store = (keep or folder / "tour.db").absolute()
        work = folder / "work"  # not the user's project, whose shared texts and files are no part of the tour
        (work / ".git").mkdir(parents=True)  # makes this the root of paths, as in a repository
        environ = {name: value for name, value in os.environ.items() if not name.startswith("SATCHEL_")}
        where = {"SATCHEL_DB": str(store), "SATCHEL_PROJECT": _PROJECT}
        say("Two agents start. Each has its own MCP server; both servers use one temporary store.")
        builder, reviewer = (
            stack.enter_context(ToolClient(["mcp", "--agent", name, "--toolsets", "all"], environ | where, name, work))
            for name in ("builder", "reviewer")
        )
        codex, claude = (HookSession(name, work, where, folder / "home") for name in ("codex", "claude"))
        result = TourResult(
            play(1, "One writes what it learned, the other finds it in its own words.", share(builder, reviewer)),
            play(2, "They decide, agree on a rule, and write to each other.", work_as_team(builder, reviewer, _FILE)),
            play(3, "Two clients edit one file; their hooks keep them apart.", keep_apart(codex, claude, _FILE)),
            play(4, "One fails; the other is warned before it fails the same way.", learn(builder, reviewer, folder)),
            round(time.monotonic() - started, 1),
            keep and store,
        )
    say(f"It took {result.seconds:.0f} s.")
    if keep:
        say(f"The store is kept: satchel read --db {store} --project {_PROJECT}")
    say("Now your own project: `satchel setup` connects your coding clients.")
    return result
