"""Lists for people that are more than one row of fields for each item."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from satchel.interfaces.cli.common import warn_notes
from satchel.interfaces.text.decision_values import shown_value
from satchel.interfaces.text.tables import local_day, local_time, rest_text, show_table

if TYPE_CHECKING:
    from satchel.brief.extraction import StrategyProposal
    from satchel.keep.constraints import Constraint
    from satchel.keep.decisions import Decision, DecisionHistory, DecisionState
    from satchel.keep.patterns.records import ErrorPattern, ErrorPatternPage, Reported


def reported(reported: Reported) -> str:
    """Say what is known of an error that was reported."""
    from satchel.interfaces.text.errors import reported_text

    return reported_text(reported, "`satchel error outcome {} --solution TEXT` records what does")


def show_history(history: DecisionHistory) -> None:
    """Print a decision with what it was before, a state in each row."""
    from satchel.interfaces.operations.decisions import USUAL

    now, page = history.decision, history.history
    rows = [(*_state(now), local_time(now.updated_at), "now", now.rationale)]
    rows += [(*_state(one), local_time(one.set_at), local_time(one.replaced_at), one.rationale) for one in page]
    click.echo(f"{now.ref} {now.key}, made {local_time(now.created_at)}")
    headings = ("value", "status", "layer", "tags", "scopes", "version", "rev", "by", "set", "until", "why")
    show_table(headings, rows, usual=USUAL)
    click.echo(rest_text(len(page), page.total, "earlier states", page.next_offset), err=True)
    warn_notes(now.notes)


def _state(state: Decision | DecisionState) -> tuple[object, ...]:
    return (
        shown_value(state.value),
        state.status,
        state.layer,
        ", ".join(state.tags),
        ", ".join(state.scopes),
        state.version,
        state.revision,
        state.agent,
    )


def value_of(decision: Decision) -> str:
    """Return a decision's value as a cell."""
    return shown_value(decision.value)


def state_of(constraint: Constraint) -> str:
    """Return whether a constraint holds as a cell."""
    return "active" if constraint.active else "inactive"


def made_at(decision: Decision) -> str | None:
    """Return when a decision was made as a cell, where that is not when it was set."""
    made = local_time(decision.created_at)
    return None if made == local_time(decision.updated_at) else made


def show_errors(page: ErrorPatternPage) -> None:
    """Print errors, a solution in each row."""
    if page.patterns:
        headings = ("id", "type", "error", "lang", "met", "last", "kept until")
        show_table(
            (*headings, "solution", "state", "helped", "by", "fixed by"),
            [row for pattern in page for row in _rows(pattern)],
        )
    click.echo(rest_text(len(page), page.total, "errors", page.next_offset), err=True)


def _rows(pattern: ErrorPattern) -> list[tuple[object, ...]]:
    """Return a row for each solution; what is said of the error stands in the first alone."""
    told = (
        pattern.ref,
        pattern.error_type,
        pattern.message,
        pattern.lang,
        f"{pattern.occurrences}x",
        local_day(pattern.last_seen),
        local_day(pattern.expires_at),
    )
    fixes: list[tuple[object, ...]] = [
        (
            f"{one.ref} {one.standing} {one.confidence}/10",
            one.state,
            f"{one.confirmed} of {one.confirmed + one.failed}",
            one.agent,
            one.text,
        )
        for one in pattern.solutions
    ]
    first, *more = fixes or [(None,) * 5]
    return [(*told, *first), *((*(None,) * len(told), *fix) for fix in more)]


def show_proposals(proposals: Sequence[StrategyProposal]) -> None:
    """Print what could be learnt from a run, each with the command that saves it."""
    for one in proposals:
        places = (("task", one.task_id), ("loop", one.loop_id))
        about = "".join(f"{name} {value}, " for name, value in places if value is not None)
        click.echo(f"{one.topic} ({about}from {', '.join(one.evidence)})")
        click.echo("  " + one.insight.replace("\n", "\n  "))
        click.echo(f"  {_saving(one)}")
    click.echo(f"{len(proposals)} proposed, none saved", err=True)


def proposals_fields(proposals: Sequence[StrategyProposal]) -> dict[str, object]:
    """Return what could be learnt from a run as JSON fields, each with the command that saves it."""
    from satchel.interfaces.text.json import fields_of

    shown = [{**fields_of(one), "command": _saving(one)} for one in proposals]
    context = click.get_current_context(silent=True)  # there is none where a server answers
    return {"run_id": None if context is None else context.params["from_run"], "proposals": shown}


def _saving(proposal: StrategyProposal) -> str:
    """Return the command that saves a proposal in the store that it is from."""
    context = click.get_current_context(silent=True)
    options = {"--lang": proposal.lang, "--framework": proposal.framework}
    options |= {} if context is None else {"--db": context.params["db"], "--project": context.params["project"]}
    given = [part for name, value in options.items() if value is not None for part in (name, value)]
    texts = [proposal.topic, proposal.insight]
    if any(text.startswith("-") for text in texts):
        texts.insert(0, "--")
    return shlex.join(["satchel", "strategy", "save", *given, *texts])
