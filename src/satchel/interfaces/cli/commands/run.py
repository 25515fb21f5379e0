"""``satchel run``: start, end, list, use and state."""

from __future__ import annotations

import shlex

import click

from satchel.base.clock import iso
from satchel.base.errors import NotFound
from satchel.base.paging import DEFAULT_LIMIT
from satchel.interfaces.cli.common import json_option, opened, run_option, show_json, store_options
from satchel.keep.runs import STATUSES, Run


@click.group()
def command() -> None:
    """Start, end, list and show runs. A run is one piece of work by one or more agents.

    \b
    Example:
      satchel run start login-page --title "New login page"
    """


@command.command()
@click.argument("run_id", required=False)
@click.option("--title", help="What it is about.")
@click.option("--spec", "spec_path", metavar="FILE", help="The specification it works from.")
@click.option("--effort", metavar="WORD", help="Such as low, medium or high.")
@store_options
@json_option
def start(
    run_id: str | None,
    title: str | None,
    spec_path: str | None,
    effort: str | None,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Start a run; without RUN_ID it is named by the day and a number.

    \b
    Example:
      satchel run start login-page --title "New login page"
    """
    with opened(db, project) as satchel:
        run = satchel.runs.start(run_id, title=title, spec_path=spec_path, effort=effort)
    _show(
        run,
        as_json,
        f"started run {run.run_id}; `satchel run use {shlex.quote(run.run_id)}` says how to choose it",
    )


@command.command()
@click.argument("run_id", required=False)
@click.option("--status", type=click.Choice(STATUSES[1:]), default="completed", show_default=True)
@store_options
@json_option
def end(run_id: str | None, status: str, db: str | None, project: str | None, as_json: bool) -> None:
    """End a run; without RUN_ID the only active one.

    \b
    Example:
      satchel run end login-page --status failed
    """
    with opened(db, project) as satchel:
        run = satchel.runs.end(run_id, status)
    _show(run, as_json, f"run {run.run_id} is {run.status}")


@command.command("list")
@click.option("--status", type=click.Choice(STATUSES))
@click.option("--limit", type=int, default=DEFAULT_LIMIT, show_default=True)
@click.option("--offset", type=int, default=0)
@store_options
@json_option
def list_runs(status: str | None, limit: int, offset: int, db: str | None, project: str | None, as_json: bool) -> None:
    """List runs, the newest first.

    \b
    Example:
      satchel run list --status active
    """
    with opened(db, project) as satchel:
        page = satchel.runs.list(status, limit=limit, offset=offset)
    if as_json:
        show_json({"runs": page.items, "total": page.total, "next_offset": page.next_offset})
        return
    for run in page:
        colour = {"active": "green", "failed": "red"}.get(run.status)
        title = f"  {run.title}" if run.title else ""
        click.echo(f"{run.run_id}  {click.style(run.status, fg=colour)}  {iso(run.created_at)}{title}")
    rest = f"; --offset {page.next_offset} shows more" if page.next_offset is not None else ""
    click.echo(f"{len(page)} of {page.total} runs{rest}", err=True)


@command.command()
@click.argument("run_id")
@store_options
@json_option
def use(run_id: str, db: str | None, project: str | None, as_json: bool) -> None:
    """Print the line that makes a run this shell's choice. Nothing is stored.

    \b
    Example:
      eval "$(satchel run use login-page)"
    """
    with opened(db, project, read_only=True) as satchel:
        run = satchel.runs.get(run_id)
    if run is None:
        raise NotFound(f"there is no run {run_id!r}")
    line = f"export SATCHEL_RUN={shlex.quote(run.run_id)}"
    _show({"run_id": run.run_id, "line": line} if as_json else run, as_json, line)


@command.command()
@run_option
@store_options
@json_option
def state(run_id: str | None, db: str | None, project: str | None, as_json: bool) -> None:
    """Show what is known in a run: the analysis, discoveries, decisions, errors and the review.

    \b
    Example:
      satchel run state --run login-page
    """
    from satchel.interfaces.state_text import state_text

    with opened(db, project, run_id=run_id, read_only=True) as satchel:
        loaded = satchel.entries.load_state()
    if as_json:
        show_json(loaded)
    else:
        click.echo(state_text(loaded))


def _show(value: Run | dict[str, str], as_json: bool, text: str) -> None:
    if as_json:
        show_json(value)
    else:
        click.echo(text)
