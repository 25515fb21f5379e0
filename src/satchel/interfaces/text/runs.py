"""Runs as compact text.

A run's line is its name, ``active``, ``completed`` or ``failed``, its ``effort:``, when it was started, and when it
``ended``; its title stands below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.base.clock import moment_text, year_of
from satchel.base.paging import Page
from satchel.interfaces.text.lists import note_lines
from satchel.interfaces.text.parts import content_lines, place_in_list, shown_of, times_text, value_text

if TYPE_CHECKING:
    from satchel.interfaces.operations.runs import EndedRun
    from satchel.keep.runs import Run


def runs_text(page: Page[Run]) -> str:
    """Render a page of runs for an agent."""
    year = year_of(page.items[0].created_at) if len(page) else ""
    head = [shown_of(len(page), page.total, "run"), *(["newest first", times_text(year)] if len(page) else [])]
    head += place_in_list(page)
    return "\n".join([", ".join(head), *(line for run in page for line in _lines(run, year))])


def started_text(run: Run) -> str:
    """Say that a run was started, and how to work in it."""
    name = value_text(run.run_id)
    return f"started run {name}: your session works in it until it ends; others join it with run_id={name}"


def ended_text(done: EndedRun) -> str:
    """Say how a run ended, and which strategies it suggests."""
    lines = [f"run {value_text(done.run.run_id)} is {done.run.status}"]
    if done.proposals:
        lines.append("it suggests these strategies; save_strategy or `satchel strategy save` saves one:")
    for one in done.proposals:
        lines += [f"{one.topic} (from {', '.join(one.evidence)})", *content_lines(one.insight)]
    return "\n".join([*lines, *note_lines(done.notes)])


def _lines(run: Run, year: str) -> list[str]:
    parts = [value_text(run.run_id), run.status]
    parts += [f"effort:{value_text(run.effort)}"] if run.effort is not None else []
    parts += [f"started {moment_text(run.created_at, year)}"]
    parts += [f"ended {moment_text(run.ended_at, year)}"] if run.ended_at is not None else []
    return [" ".join(parts), *(content_lines(run.title) if run.title is not None else [])]
