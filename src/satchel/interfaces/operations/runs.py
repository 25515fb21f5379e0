"""Runs: start, end, list, choose, and what is known in one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from satchel.base.errors import NotFound
from satchel.interfaces.operations.declaration import Group, Operation, Parameter, Table
from satchel.interfaces.operations.parameters import PAGE, RUN

if TYPE_CHECKING:
    from satchel.client import Satchel
    from satchel.keep.runs import Run

_STATUSES = ("active", "completed", "failed")
_RUN_ID = Parameter("run_id", option="RUN_ID")

GROUP = Group(
    "Start, end, list and show runs. A run is one piece of work by one or more agents.",
    ('run start login-page --title "New login page"',),
)


def _use(satchel: Satchel, *, run_id: str) -> Mapping[str, str]:
    run = satchel.runs.get(run_id)
    if run is None:
        raise NotFound(f"there is no run {run_id!r}")
    return {"run_id": run.run_id, "line": f"export SATCHEL_RUN={shlex.quote(run.run_id)}"}


def started(run: Run) -> str:
    """Say that a run was started, and how to choose it."""
    return f"started run {run.run_id}; `satchel run use {shlex.quote(run.run_id)}` says how to choose it"


def ended(run: Run) -> str:
    """Say how a run ended."""
    return f"run {run.run_id} is {run.status}"


def used(choice: Mapping[str, str]) -> str:
    """Return the line that chooses a run."""
    return choice["line"]


OPERATIONS = (
    Operation(
        command=("run", "start"),
        help="Start a run; without RUN_ID it is named by the day and a number.",
        examples=('run start login-page --title "New login page"',),
        parameters=(
            _RUN_ID,
            Parameter("title", help="What it is about.", metavar="TEXT"),
            Parameter("spec_path", help="The specification it works from.", option="--spec", metavar="FILE"),
            Parameter("effort", help="Such as low, medium or high.", metavar="WORD"),
        ),
        run="runs.start",
        writes=True,
        shown="operations.runs:started",
    ),
    Operation(
        command=("run", "end"),
        help="End a run; without RUN_ID the only active one.",
        examples=("run end login-page --status failed",),
        parameters=(_RUN_ID, Parameter("status", choices=_STATUSES[1:], default="completed")),
        run="runs.end",
        writes=True,
        shown="operations.runs:ended",
    ),
    Operation(
        command=("run", "list"),
        help="List runs, the newest first.",
        examples=("run list --status active",),
        parameters=(Parameter("status", choices=_STATUSES), *PAGE),
        run="runs.list",
        items="runs",
        shown=Table(
            {
                "run": "run_id",
                "status": "status",
                "started": "created_at",
                "ended": "ended_at",
                "title": "title",
                "effort": "effort",
            }
        ),
    ),
    Operation(
        command=("run", "use"),
        help="Print the line that makes a run this shell's choice. Nothing is stored.",
        examples=('eval "$(satchel run use login-page)"',),
        parameters=(Parameter("run_id", required=True, option="RUN_ID"),),
        run=_use,
        shown="operations.runs:used",
        names_files=False,
    ),
    Operation(
        command=("run", "state"),
        help="Show what is known in a run: the analysis, discoveries, decisions, errors and the review.",
        examples=("run state --run login-page",),
        parameters=(RUN,),
        run="entries.load_state",
        text="state_text:state_text",
    ),
)
