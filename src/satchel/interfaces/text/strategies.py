"""Strategies as text: id, topic, ``lang:`` and ``framework:``, and proposals from a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.find.kind import Kind
from satchel.interfaces.text.lists import NO_AGENT, Line, agent_cell, note_lines
from satchel.interfaces.text.parts import content_lines, ended_text, outcome_counts, value_text
from satchel.keep.strategies import Strategy

if TYPE_CHECKING:
    from satchel.brief.extraction import StrategyProposal


def saved_text(strategy: Strategy) -> str:
    line = f"saved {_title(strategy)} {agent_cell(strategy.agent) or NO_AGENT}"
    return "\n".join([line, *note_lines(strategy.notes)])


def judged_text(strategy: Strategy) -> str:
    line = " ".join([_title(strategy), *outcome_counts(strategy.helped, strategy.not_helped)])
    return "\n".join([line, *note_lines(strategy.notes)])


def strategy_line(strategy: Strategy) -> Line:
    heir = strategy.superseded_by
    return Line(
        start=_title(strategy),
        cells=(agent_cell(strategy.agent),),
        own=(
            *outcome_counts(strategy.helped, strategy.not_helped),
            *([] if heir is None else [ended_text(Kind.STRATEGY, strategy.id, heir)]),
        ),
        moment=strategy.created_at,
        below=tuple(content_lines(strategy.insight)),
    )


def show_proposals(proposals: Sequence[StrategyProposal]) -> None:
    import click

    for one in proposals:
        places = (("task", one.task_id), ("loop", one.loop_id))
        about = "".join(f"{name} {value}, " for name, value in places if value is not None)
        click.echo(f"{one.topic} ({about}from {', '.join(one.evidence)})")
        click.echo("  " + one.insight.replace("\n", "\n  "))
        click.echo(f"  {_saving_command(one)}")
    click.echo(f"{len(proposals)} proposed, none saved", err=True)


def proposals_fields(proposals: Sequence[StrategyProposal]) -> dict[str, object]:
    import click

    from satchel.interfaces.text.json import fields_of

    fields = [{**fields_of(one), "command": _saving_command(one)} for one in proposals]
    context = click.get_current_context(silent=True)  # None if a server answers
    return {"run_id": None if context is None else context.params["from_run"], "proposals": fields}


def _saving_command(proposal: StrategyProposal) -> str:
    import shlex

    import click

    context = click.get_current_context(silent=True)
    options = {"--lang": proposal.lang, "--framework": proposal.framework}
    options |= {} if context is None else {"--db": context.params["db"], "--project": context.params["project"]}
    arguments = [part for name, value in options.items() if value is not None for part in (name, value)]
    texts = [proposal.topic, proposal.insight]
    if any(text.startswith("-") for text in texts):
        texts.insert(0, "--")
    return shlex.join(["satchel", "strategy", "save", *arguments, *texts])


def _title(strategy: Strategy) -> str:
    parts = [strategy.ref, value_text(strategy.topic)]
    parts += [] if strategy.lang is None else [f"lang:{value_text(strategy.lang)}"]
    parts += [] if strategy.framework is None else [f"framework:{value_text(strategy.framework)}"]
    return " ".join(parts)
