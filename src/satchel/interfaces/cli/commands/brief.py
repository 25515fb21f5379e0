"""``satchel brief``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from satchel.interfaces.cli.common import (
    agent_option,
    json_option,
    opened,
    run_option,
    show_json,
    store_options,
    tell,
    warn_notes,
)

if TYPE_CHECKING:
    from satchel.brief.briefing import Briefing


@click.command()
@click.argument("query", nargs=-1)
@click.option(
    "--role", metavar="NAME", help="developer, senior_engineer, qa_expert, tech_lead, investigator or your own."
)
@click.option("--task", "task_id", metavar="ID", help="The task; what belongs to it goes first.")
@click.option("--loop", "loop_id", metavar="ID", help="The loop; its scratchpads are shown, and whether it is stuck.")
@click.option("--iteration", type=int, metavar="N", default=0, help="The attempt; a new one sees everything again.")
@click.option("--budget", type=int, metavar="TOKENS", help="What it may cost. Default: brief.budget.")
@click.option("--window-used", type=float, metavar="SHARE", help="0 to 1 of the agent's window; fuller means shorter.")
@click.option("--again", is_flag=True, help="Repeat what was delivered.")
@click.option("--preview", is_flag=True, help="Record nothing as delivered.")
@run_option
@agent_option
@store_options
@json_option
def command(
    query: tuple[str, ...],
    role: str | None,
    task_id: str | None,
    loop_id: str | None,
    iteration: int,
    budget: int | None,
    window_used: float | None,
    again: bool,
    preview: bool,
    run_id: str | None,
    agent: str | None,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Brief an agent: what it needs most and did not get yet. QUERY says what it is about to do.

    The briefing alone goes to standard output, and what it shows counts as delivered.

    \b
    Example:
      satchel brief fix the token refresh --role developer --task T1 --budget 2000 --agent builder
    """
    from satchel.interfaces.briefing.briefing_text import briefing_text, untold
    from satchel.interfaces.to_json import fields_of

    with opened(db, project, agent=agent, read_only=preview) as satchel:
        briefing = satchel.brief(
            role,
            task_id=task_id,
            loop_id=loop_id,
            iteration=iteration,
            query=" ".join(query) if query else None,
            budget=budget,
            window_used=window_used,
            again=again,
            preview=preview,
            run_id=run_id,
        )
        if as_json:
            show_json(fields_of(briefing))
        elif not briefing.text:
            click.echo(briefing_text(briefing, satchel.briefings.count))
        else:
            click.echo(briefing.text)
            warn_notes(untold(briefing))
            if sys.stdout.isatty():
                click.echo(click.style(_cost(briefing), dim=True), err=True)
        tell(satchel, [item.file for item in briefing.items if item.file is not None])


def _cost(briefing: Briefing) -> str:
    """Say what a briefing costs, and how much it leaves out."""
    estimated = " (estimated)" if briefing.counter == "estimate" else ""
    left = ", ".join(one.counted for one in briefing.left_out) or "nothing"
    told = f"{briefing.tokens:,} of {briefing.budget:,} tokens{estimated}, left out: {left}"
    return told if briefing.is_recorded else f"{told}, not recorded as delivered"
