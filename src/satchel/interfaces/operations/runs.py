"""Runs: start, end, list, select, and show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from satchel.base.records import dataclass
from satchel.interfaces.operations import parameters, services, text
from satchel.interfaces.operations.declaration import Operation, Parameter, Table

if TYPE_CHECKING:
    from satchel.brief.extraction import StrategyProposal
    from satchel.client import Satchel
    from satchel.keep.runs import Run

_STATUSES = ("active", "completed", "failed")
_RUN_ID = Parameter("run_id", about="Its name; made up if left out", option="RUN_ID")


@dataclass(frozen=True, slots=True)
class EndedRun:
    """An ended run, and the strategies that it suggests."""

    run: Run
    proposals: tuple[StrategyProposal, ...]
    notes: tuple[str, ...]


def _end(satchel: Satchel, *, run_id: str | None = None, status: str = "completed") -> EndedRun:
    from satchel.base.errors import SatchelError
    from satchel.brief import extraction  # noqa: F401 -- before anything is written

    run = satchel.runs.end(run_id, status)
    try:
        return EndedRun(run, satchel.learning.strategies(run.run_id), ())
    except SatchelError as error:  # the run has ended all the same
        return EndedRun(run, (), (f"what the run has taught could not be looked up: {error}",))


def _use(satchel: Satchel, *, run_id: str) -> Mapping[str, str]:
    from satchel.interfaces.text.runs import export_line

    run = satchel.runs.get(run_id)
    name = run_id if run is None else run.run_id  # main may not exist yet
    return {"run_id": name, "line": export_line(name)}


OPERATIONS = (
    Operation(
        tool="start_run",
        toolset="runs",
        about="Start a run: a named piece of work that keeps its notes apart. Your session works in it until it ends.",
        found_by="run start project phase separate work",
        command=("run", "start"),
        help="Start a run, and print the line that makes it this shell's choice. Inside a client, its session works in "
        "the run. Without RUN_ID it is named by the day and a number.\n\nWithout a choice of run, notes go to the run "
        "main, which never ends, and what reads spans all runs.",
        examples=('run start login-page --title "New login page"', 'eval "$(satchel run start login-page)"'),
        parameters=(
            _RUN_ID,
            Parameter("title", help="What it is about.", metavar="TEXT"),
            Parameter("spec_path", about="File of its specification", option="--spec", metavar="FILE", facts="path"),
            Parameter("effort", about="low, medium, high or your own", metavar="WORD"),
        ),
        run=services.runs.start,
        writes=True,
        text=text.runs.started_text,
        shown=text.runs.show_started,
    ),
    Operation(
        tool="end_run",
        toolset="runs",
        about="End a run, by default your session's; answers with the strategies that it suggests. main never ends.",
        found_by="run end finish complete",
        idempotent=True,
        command=("run", "end"),
        help="End a run, by default that of SATCHEL_RUN, and list the strategies that it suggests. The run main never "
        "ends.",
        examples=("run end login-page --status failed",),
        parameters=(_RUN_ID.but(about="Its name"), Parameter("status", choices=_STATUSES[1:], default="completed")),
        run=_end,
        writes=True,
        text=text.runs.ended_text,
        shown=text.runs.show_ended,
        fields=text.runs.ended_fields,
    ),
    Operation(
        tool="get_runs",
        toolset="runs",
        about="Runs (named pieces of work), newest first.",
        found_by="runs list pieces of work",
        command=("run", "list"),
        help="List runs, the newest first.",
        examples=("run list --status active",),
        parameters=(Parameter("status", choices=_STATUSES), *parameters.PAGE),
        run=services.runs.list,
        items="runs",
        text=text.runs.runs_text,
        shown=Table("run=run_id, status, started=created_at, ended=ended_at, title, effort"),
    ),
    Operation(
        command=("run", "use"),
        help="Print the line that makes a run this shell's choice. Nothing is stored.",
        examples=('eval "$(satchel run use login-page)"',),
        parameters=(Parameter("run_id", required=True, option="RUN_ID"),),
        run=_use,
        shown=text.runs.chosen_text,
        names_files=False,
    ),
    Operation(
        command=("run", "state"),
        help="Show what is known in all runs or in one: the analysis, discoveries, decisions, errors and the review.",
        examples=("run state --run login-page",),
        parameters=(parameters.RUN_READ,),
        run=services.entries.load_state,
        cites=True,
        text=text.runs.state_text,
    ),
)
