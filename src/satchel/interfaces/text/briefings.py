"""Briefings as text: the briefing itself, and as many notes as its budget has room for."""

from __future__ import annotations

from collections.abc import Callable

from satchel.brief.briefing.records import Briefing

Count = Callable[[str], int]

_MAX_NOTES = 3
# The largest part of a budget that may be reserved for a notice.
_MAX_FOR_NOTICE = 0.25

# The tokens that joining a notice to a text may add.
_JOINT = 2


def briefing_text(briefing: Briefing, count: Count) -> str:
    """Return a briefing with its newest notes that fit, or without room for any text the items that are left out."""
    if not briefing.text:
        return waiting_text(briefing)
    text = briefing.text
    for line in other_notes(briefing)[-_MAX_NOTES:]:
        longer = f"{text}\n{line}"
        if count(longer) <= briefing.budget:
            text = longer
    return text


def other_notes(briefing: Briefing) -> list[str]:
    lines = set(briefing.text.split("\n"))
    return [line for line in (f"note: {note}" for note in briefing.notes) if line not in lines]


def room_for(notice: str | None, budget: int, count: Count) -> int:
    """Return the tokens to reserve for a notice; 0 if it would take more than a quarter of the budget."""
    cost = 0 if notice is None else count(f"\n{notice}") + _JOINT
    return cost if cost <= _MAX_FOR_NOTICE * budget else 0


def waiting_text(briefing: Briefing) -> str:
    """Return the line that replaces a briefing without room in its budget."""
    omitted = ", ".join(map(str, briefing.left_out))
    rest = f"left out: {omitted}" if omitted else "; ".join(briefing.notes) or "nothing waits"
    return f"a budget of {briefing.budget} tokens has no room for a briefing; {rest}"


def show_briefing(briefing: Briefing) -> None:
    """Print a briefing to stdout, and its notes and cost to stderr."""
    import sys

    import click

    from satchel.interfaces.cli.common import warn_notes

    if not briefing.text:
        click.echo(waiting_text(briefing))
        return
    text = briefing.text
    for note in briefing.notes:
        text = text.replace(f"note: {note}", f"note: {_with_options(note)}")
    click.echo(text)
    warn_notes(map(_with_options, other_notes(briefing)))
    if sys.stdout.isatty():
        click.echo(click.style(_cost(briefing), dim=True), err=True)


def _with_options(note: str) -> str:
    return note.replace("again=true", "--again").replace("agent=NAME", "--agent NAME")


def _cost(briefing: Briefing) -> str:
    estimated = " (estimated)" if briefing.counter == "estimate" else ""
    omitted = ", ".join(one.counted for one in briefing.left_out) or "nothing"
    cost = f"{briefing.tokens:,} of {briefing.budget:,} tokens{estimated}, left out: {omitted}"
    return cost if briefing.is_recorded else f"{cost}, not recorded as delivered"
